//! Nodes by virtual time, over links that delay, lose and double, with faults.
//!
//! One event at a time, on one thread: whatever happens depends on what happened before, and most
//! events are too small to share. Runs with ideal links belong to the lockstep engine, which uses
//! all threads and ends in the same bits (invariant I5).

mod delivery;
mod outcome;
mod queue;

use std::sync::Arc;

use undertone_graph::NodeId;
use undertone_node::OracleError;
use undertone_protocol::{
    Answer, Drops, Input, Machine, Output, Patience, Question, Synchronous, Topology,
    TopologyError, Wirings, wire,
};
use undertone_real::Real;

use crate::faults::FaultKind;
use crate::invariants::Violation;
use crate::links::Delivery;
use crate::time::Time;
use crate::world::{World, WorldError};

pub use self::outcome::{Copy, Flow, Happening, Outcome, Stuck};
use self::outcome::{add_drops, count};
use self::queue::{Event, Queue, Transfer};

/// A network in virtual time. Messages are moved by reference; their bytes are only counted.
pub struct Events<P, R: Real, O> {
    nodes: Vec<Node<P, R, O>>,
    answer: Answering<O, R>,
    wirings: Wirings,
    world: World,
    queue: Queue<R>,
    now: Time,
    /// Nodes that neither finished nor left.
    n_open: usize,
    ended: Option<Time>,
    flow: Flow,
    happenings: Vec<Happening<R>>,
}

/// How an oracle is asked; `Oracle::answer` for one.
pub type Answering<O, R> = fn(&mut O, Question<R>) -> Result<Answer<R>, OracleError>;

/// Why a run cannot go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SimError {
    /// Numbers of nodes do not agree.
    #[error("there are {machines} machines, {oracles} oracles and {nodes} nodes in the graph")]
    Sizes {
        /// Machines that were given.
        machines: usize,
        /// Oracles that were given.
        oracles: usize,
        /// Nodes of the first round's graph.
        nodes: usize,
    },
    /// Machines are not in order of their nodes.
    #[error("machine number {place} is that of node {node}; give them in order")]
    Order {
        /// Where it is.
        place: usize,
        /// Whose it is.
        node: NodeId,
    },
    /// The world makes no sense.
    #[error(transparent)]
    World(#[from] WorldError),
    /// A round has no wiring.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// An oracle failed.
    #[error("the oracle of node {node} failed: {source}")]
    Oracle {
        /// Whose.
        node: NodeId,
        /// Why.
        source: OracleError,
    },
    /// An invariant does not hold: a bug of ours.
    #[error(transparent)]
    Violated(#[from] Violation),
}

struct Node<P, R: Real, O> {
    machine: Machine<P, R>,
    oracle: O,
    presence: Presence,
    /// How often it has crashed: timers of an earlier life mean nothing.
    life: u32,
    /// The life and round for which there is a timer.
    timer: Option<(u32, u64)>,
    /// What waits for its return.
    parked: Vec<Event<R>>,
    /// When its last message has left.
    uplink_free: Time,
    mixed: u64,
    releases: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Up,
    Down,
    Gone,
}

/// Rounds of a schedule without a period that are kept: nodes drift apart.
const KEPT_WIRINGS: usize = 64;

impl<P: Synchronous<R>, R: Real, O> Events<P, R, O> {
    /// One machine and one oracle for each node, in order.
    pub fn new(
        machines: Vec<Machine<P, R>>,
        oracles: Vec<O>,
        answer: Answering<O, R>,
        topology: Topology,
        world: World,
    ) -> Result<Self, SimError> {
        let mut wirings = Wirings::new(topology, KEPT_WIRINGS);
        let n_nodes = wirings.at(0)?.graph.n_nodes() as usize;
        let sizes = (machines.len(), oracles.len());
        if sizes != (n_nodes, n_nodes) {
            return Err(SimError::Sizes { machines: sizes.0, oracles: sizes.1, nodes: n_nodes });
        }
        for (place, machine) in machines.iter().enumerate() {
            if machine.node().idx() != place {
                return Err(SimError::Order { place, node: machine.node() });
            }
        }
        world.check(n_nodes)?;
        let mut queue = Queue::new();
        (0..n_nodes as u32).for_each(|i| queue.push(Time::ZERO, Event::Start(NodeId(i))));
        for fault in world.faults.timeline(world.seed, n_nodes) {
            queue.push(fault.at, Event::Fault { node: fault.node, kind: fault.kind });
        }
        let nodes = machines.into_iter().zip(oracles).map(|(machine, oracle)| Node {
            machine,
            oracle,
            presence: Presence::Up,
            life: 0,
            timer: None,
            parked: Vec::new(),
            uplink_free: Time::ZERO,
            mixed: 0,
            releases: 0,
        });
        Ok(Self {
            nodes: nodes.collect(),
            answer,
            wirings,
            world,
            queue,
            now: Time::ZERO,
            n_open: n_nodes,
            ended: None,
            flow: Flow::default(),
            happenings: Vec::new(),
        })
    }

    /// Runs until nothing is left to happen. The observer is told of everything, after the event
    /// that brought it about, and sees all.
    pub fn run(
        &mut self,
        observer: &mut dyn FnMut(&Self, &Happening<R>),
    ) -> Result<Outcome, SimError> {
        while self.step()? {
            let happenings = std::mem::take(&mut self.happenings);
            happenings.iter().for_each(|happening| observer(self, happening));
            self.happenings = happenings;
        }
        Ok(self.outcome())
    }

    /// Lets the next event happen; false if there is none.
    pub fn step(&mut self) -> Result<bool, SimError> {
        self.happenings.clear();
        let Some((at, event)) = self.queue.pop() else { return Ok(false) };
        if self.n_open == 0 && matches!(event, Event::Fault { .. }) {
            return Ok(true);
        }
        self.now = at;
        match event {
            Event::Start(node) => self.serve(node)?,
            Event::Answer { node, round, answer } => match self.nodes[node.idx()].presence {
                Presence::Up => {
                    let kept = answer.clone();
                    self.nodes[node.idx()].machine.handle(Input::Answer { round, answer });
                    self.happenings.push(Happening::Answered { node, round, answer: kept });
                    self.serve(node)?;
                }
                Presence::Down => {
                    let event = Event::Answer { node, round, answer };
                    self.nodes[node.idx()].parked.push(event);
                }
                Presence::Gone => {}
            },
            Event::Arrival { transfer, is_extra } => self.arrive(transfer, is_extra)?,
            Event::Retry(transfer) => self.retry(transfer),
            Event::Deadline { node, round, life } => {
                let state = &mut self.nodes[node.idx()];
                if state.life == life && state.presence == Presence::Up {
                    state.machine.handle(Input::Deadline { round });
                    self.serve(node)?;
                }
            }
            Event::Fault { node, kind } => self.fault(node, kind)?,
        }
        Ok(true)
    }

    /// How it stands.
    pub fn outcome(&self) -> Outcome {
        let mut drops = Drops::default();
        self.nodes.iter().for_each(|node| add_drops(&mut drops, node.machine.drops()));
        let stuck = self.nodes.iter().filter(|node| node.is_open()).map(|node| Stuck {
            node: node.machine.node(),
            round: node.machine.round(),
            missing: node.machine.missing(),
            is_down: node.presence == Presence::Down,
        });
        Outcome {
            virtual_time: self.ended.unwrap_or(self.now),
            flow: self.flow,
            rounds: self.nodes.iter().map(|node| node.mixed).collect(),
            stuck: stuck.collect(),
            drops,
            releases: self.nodes.iter().map(|node| node.releases).sum(),
        }
    }

    /// The present time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// What the last step brought about.
    pub fn happenings(&self) -> &[Happening<R>] {
        &self.happenings
    }

    /// All machines, in order of their nodes.
    pub fn machines(&self) -> impl ExactSizeIterator<Item = &Machine<P, R>> + Clone {
        self.nodes.iter().map(|node| &node.machine)
    }

    /// All protocols, in order of their nodes, for an observer who sees everything.
    pub fn protocols(&self) -> impl ExactSizeIterator<Item = &P> + Clone {
        self.machines().map(Machine::protocol)
    }

    /// All oracles, in order of their nodes.
    pub fn oracles(&self) -> impl ExactSizeIterator<Item = &O> + Clone {
        self.nodes.iter().map(|node| &node.oracle)
    }

    /// What was on the links so far.
    pub fn flow(&self) -> Flow {
        self.flow
    }

    /// How many copies are on their way, counted one by one.
    pub fn in_flight(&self) -> u64 {
        let copies = self.queue.iter().filter(|event| matches!(event, Event::Arrival { .. }));
        copies.count() as u64
    }

    /// Whether a node is gone for good.
    pub fn has_left(&self, node: NodeId) -> bool {
        self.nodes[node.idx()].presence == Presence::Gone
    }

    /// The topology.
    pub fn topology(&self) -> &Topology {
        self.wirings.topology()
    }

    /// Gives a machine what it wants until it waits.
    fn serve(&mut self, node: NodeId) -> Result<(), SimError> {
        let idx = node.idx();
        while let Some(output) = self.nodes[idx].machine.poll() {
            match output {
                Output::Begin { round } => {
                    let wiring = self.wirings.at(round)?;
                    self.nodes[idx].machine.handle(Input::Wiring { round, wiring });
                }
                Output::Ask { round, question } => {
                    let answer = (self.answer)(&mut self.nodes[idx].oracle, question);
                    let answer = answer.map_err(|source| SimError::Oracle { node, source })?;
                    let released = answer != Answer::Refused;
                    self.nodes[idx].releases += u64::from(released);
                    self.happenings.push(Happening::Asked { node, round, released });
                    let time = self.world.compute.time(self.world.seed, node, round);
                    self.queue.push(self.now + time, Event::Answer { node, round, answer });
                }
                Output::Send { message } => {
                    let wiring = self.wirings.at(message.round())?;
                    let bytes = wire::size(&message.letter());
                    for &to in wiring.hearers(node) {
                        let message = Arc::clone(&message);
                        self.transmit(Transfer { from: node, to, message, bytes, attempt: 0 });
                    }
                }
                Output::Wait { round } => self.start_timer(node, round),
                Output::RoundDone { round } => {
                    self.nodes[idx].mixed += 1;
                    self.happenings.push(Happening::RoundDone { node, round });
                }
                Output::Finished => {
                    self.happenings.push(Happening::Finished { node });
                    self.close();
                }
            }
        }
        Ok(())
    }

    fn close(&mut self) {
        self.n_open -= 1;
        if self.n_open == 0 {
            self.ended = Some(self.now);
        }
    }

    fn start_timer(&mut self, node: NodeId, round: u64) {
        let state = &mut self.nodes[node.idx()];
        let Some(deadline) = self.world.deadline else { return };
        if state.machine.patience() == Patience::Deadline {
            let life = state.life;
            state.timer = Some((life, round));
            self.queue.push(self.now + deadline, Event::Deadline { node, round, life });
        }
    }
}
