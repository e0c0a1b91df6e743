//! Nodes without rounds by virtual time: each is active at its own pace.
//!
//! Only computing takes time. A meeting of two is one event that nothing comes between, as the
//! analysis of the algorithm supposes; links are ideal and nobody crashes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use undertone_graph::{Graph, NodeId};
use undertone_protocol::{Answer, PairwiseSgd, PublicBits, wire};
use undertone_real::Real;

use crate::compute::Compute;
use crate::events::{Answering, SimError};
use crate::lockstep::Traffic;
use crate::time::Time;
use crate::world::WorldError;

/// A network of [`PairwiseSgd`] nodes. Same seed, same bits.
pub struct Asynchronous<R: Real, O> {
    nodes: Vec<PairwiseSgd<R>>,
    oracles: Vec<O>,
    answer: Answering<O, R>,
    graph: Graph,
    compute: Compute,
    seed: u64,
    /// Who is ready when: by time, then by activation, then by node.
    queue: BinaryHeap<Reverse<(Time, u64, u32)>>,
    /// Answers on which nodes are still computing, and how often each point had moved before.
    pending: Vec<Option<(Answer<R>, u64)>>,
    /// How often each point has moved.
    moves: Vec<u64>,
    outcome: Outcome,
}

/// Who looks at the nodes and their oracles after every activation.
pub type Watching<'a, R, O> = dyn FnMut(Time, Traffic, &[PairwiseSgd<R>], &[O]) + 'a;

/// What happened in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// When the last node had finished.
    pub virtual_time: Time,
    /// How often each node was active.
    pub activations: Vec<u64>,
    /// How many of those were refused a gradient.
    pub refused: u64,
    /// How often others had moved a node's point between reading and stepping, at most.
    pub stalest: u64,
    /// Two messages a meeting.
    pub traffic: Traffic,
}

impl<R: Real, O> Asynchronous<R, O> {
    /// One node and one oracle for each node of the graph, in order. A node meets those who hear
    /// it.
    pub fn new(
        nodes: Vec<PairwiseSgd<R>>,
        oracles: Vec<O>,
        answer: Answering<O, R>,
        graph: Graph,
        compute: Compute,
        seed: u64,
    ) -> Result<Self, SimError> {
        let n_nodes = graph.n_nodes() as usize;
        if (nodes.len(), oracles.len()) != (n_nodes, n_nodes) {
            let (machines, oracles) = (nodes.len(), oracles.len());
            return Err(SimError::Sizes { machines, oracles, nodes: n_nodes });
        }
        if let Some(complaint) = compute.complaint(n_nodes) {
            return Err(WorldError { part: "compute", complaint }.into());
        }
        let outcome = Outcome { activations: vec![0; n_nodes], ..Outcome::default() };
        let pending = (0..n_nodes).map(|_| None).collect();
        let (queue, moves) = (BinaryHeap::new(), vec![0; n_nodes]);
        let mut network =
            Self { nodes, oracles, answer, graph, compute, seed, queue, pending, moves, outcome };
        for node in (0..n_nodes as u32).map(NodeId) {
            network.begin(node, 0, Time::ZERO)?;
        }
        Ok(network)
    }

    /// Runs until every node has been active as often as it may; `watch` sees the time, what was
    /// sent and all nodes after every activation.
    pub fn run(&mut self, watch: &mut Watching<'_, R, O>) -> Result<&Outcome, SimError> {
        while let Some(Reverse((now, activation, node))) = self.queue.pop() {
            self.finish(NodeId(node), activation);
            self.outcome.virtual_time = now;
            watch(now, self.outcome.traffic, &self.nodes, &self.oracles);
            self.begin(NodeId(node), activation + 1, now)?;
        }
        Ok(&self.outcome)
    }

    /// What was sent so far.
    pub fn traffic(&self) -> Traffic {
        self.outcome.traffic
    }

    /// The nodes, in order.
    pub fn nodes(&self) -> &[PairwiseSgd<R>] {
        &self.nodes
    }

    /// Their oracles, in order.
    pub fn oracles(&self) -> &[O] {
        &self.oracles
    }

    /// Reads the point, asks, and lets the node compute.
    fn begin(&mut self, node: NodeId, activation: u64, now: Time) -> Result<(), SimError> {
        let idx = node.idx();
        let Some(question) = self.nodes[idx].ask(activation) else { return Ok(()) };
        let answer = (self.answer)(&mut self.oracles[idx], question)
            .map_err(|source| SimError::Oracle { node, source })?;
        self.pending[idx] = Some((answer, self.moves[idx]));
        let ready = now + self.compute.time(self.seed, node, activation);
        self.queue.push(Reverse((ready, activation, node.0)));
        Ok(())
    }

    /// Meets a neighbour and steps.
    fn finish(&mut self, node: NodeId, activation: u64) {
        let idx = node.idx();
        let Some((answer, moves)) = self.pending[idx].take() else { return };
        let outcome = &mut self.outcome;
        outcome.stalest = outcome.stalest.max(self.moves[idx] - moves);
        outcome.refused += u64::from(answer == Answer::Refused);
        outcome.activations[idx] += 1;
        let neighbours = self.graph.out_neighbours(node);
        // Whom a node meets is public.
        let mut bits = PublicBits::new(self.seed, node, activation, 0);
        let n_neighbours = neighbours.len() as u64;
        let chosen = (n_neighbours > 0).then(|| bits.below(n_neighbours) as usize);
        if let Some(other) = chosen.map(|k| neighbours[k]) {
            let pair = self.nodes.get_disjoint_mut([idx, other.idx()]);
            let [own, other_node] = pair.expect("nobody is its own neighbour");
            own.meet(other_node);
            self.moves[other.idx()] += 1;
            let size = wire::HEADER + own.dimension() * size_of::<R>();
            self.outcome.traffic.messages += 2;
            self.outcome.traffic.bytes += 2 * size as u64;
        }
        self.nodes[idx].step(activation, answer);
        self.moves[idx] += 1;
    }
}
