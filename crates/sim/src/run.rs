//! From a checked plan to results.

mod by_time;

pub use by_time::world_of;

use std::collections::BTreeMap;

use undertone_node::plan::Precision;
use undertone_node::{Algorithm, Claim, Experiment, Learner, Oracle, OracleError};
use undertone_privacy::ledger::{Guarantee, OpenError, Store};
use undertone_protocol::{
    Dsgd, Gossip, PrivSgp, PushSum, RunningSum, SparsePushSum, Steps, Surplus, Synchronous,
    Topology, TopologyError, TwoStage, Wirings,
};
use undertone_real::Real;
use undertone_trace::{Record, SCHEMA, hash_of};

use crate::evaluate::{Evaluator, Metrics};
use crate::events::SimError;
use crate::lockstep::{Halt, Lockstep, Traffic};

/// What came of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The seed it was run with.
    pub seed: u64,
    /// How many rounds it took.
    pub rounds: u64,
    /// What was sent.
    pub traffic: Traffic,
    /// What was measured, round 0 first.
    pub points: Vec<Point>,
    /// What every node's ledger promises.
    pub guarantees: Vec<Guarantee>,
    /// What the algorithm's paper claims for the same noise, node by node.
    pub claims: Vec<Option<Claim>>,
    /// After how many gradient steps nodes stopped because their budgets were spent; none for nodes
    /// that did not.
    pub stopped: Vec<Option<u64>>,
    /// What else is to be said: nodes that were left behind, messages that were lost.
    pub notes: Vec<String>,
}

/// What was measured after so many rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// How many rounds.
    pub round: u64,
    /// What.
    pub metrics: Metrics,
}

/// Who is told what happens.
pub struct Watch<'a> {
    /// Gets the lines of the trace, in order.
    pub record: &'a mut dyn FnMut(Record),
    /// Gets the rounds that are over, and the most there can be.
    pub progress: &'a mut dyn FnMut(u64, u64),
}

/// Why a run has no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// With this seed the plan does not do.
    #[error("seed {seed}: {source}")]
    Plan {
        /// The seed.
        seed: u64,
        /// What is wrong.
        source: undertone_node::plan::PlanError,
    },
    /// A ledger does not open.
    #[error("a ledger does not open: {0}")]
    Open(#[from] OpenError),
    /// An oracle failed.
    #[error("round {round}: {source}")]
    Oracle {
        /// When.
        round: u64,
        /// What is wrong.
        source: OracleError,
    },
    /// The world makes no sense, or something went wrong in it.
    #[error(transparent)]
    World(#[from] SimError),
    /// A round has no graph.
    #[error("round {round}: {source}")]
    Topology {
        /// When.
        round: u64,
        /// What is wrong.
        source: TopologyError,
    },
}

/// Runs an experiment with one seed: by virtual time if the plan has a `[world]`, otherwise all
/// nodes in step over ideal links. Neither results nor the trace depend on the number of threads
/// (invariant I5).
pub fn run(experiment: &Experiment, seed: u64, watch: &mut Watch<'_>) -> Result<Run, RunError> {
    match experiment.plan().run.precision {
        Precision::F32 => run_as::<f32>(experiment, seed, watch),
        Precision::F64 => run_as::<f64>(experiment, seed, watch),
    }
}

fn run_as<R: Real>(
    experiment: &Experiment,
    seed: u64,
    watch: &mut Watch<'_>,
) -> Result<Run, RunError> {
    let d = experiment.dimension();
    let job = Job { experiment, seed };
    match experiment.algorithm() {
        Algorithm::Dsgd { step, rounds } => {
            let node = |start: &[R], steps, _| Dsgd::new(start, steps);
            job.learn(Steps::new(rounds, step, 1.0), node, watch)
        }
        Algorithm::Gossip => job.average(|| Gossip::<R>::new(d), watch),
        Algorithm::PrivSgp { step, rounds, reduced } => {
            let node = |start: &[R], steps, records| match reduced {
                false => PrivSgp::new(start, steps),
                true => PrivSgp::new(start, steps).with_reduction(records),
            };
            job.learn(Steps::new(rounds, step, 1.0), node, watch)
        }
        Algorithm::PushSum => job.average(|| PushSum::<R>::new(d), watch),
        Algorithm::RunningSum => job.average(|| RunningSum::<R>::new(d), watch),
        Algorithm::SparsePushSum { sparsity } => {
            job.average(|| SparsePushSum::<R>::new(d, sparsity, seed), watch)
        }
        Algorithm::Surplus { sparsity, gamma, window } => {
            job.average(|| Surplus::<R>::new(d, sparsity, seed, window, gamma), watch)
        }
        Algorithm::TwoStage { domain, steps, first_step } => {
            job.average(|| TwoStage::<R>::new(d, domain, steps, first_step), watch)
        }
    }
}

impl From<Halt<OracleError>> for RunError {
    fn from(halt: Halt<OracleError>) -> Self {
        match halt {
            Halt::Oracle { round, source } => Self::Oracle { round, source },
            Halt::Topology { round, source } => Self::Topology { round, source },
        }
    }
}

struct Job<'a> {
    experiment: &'a Experiment,
    seed: u64,
}

impl Job<'_> {
    /// Nodes that agree on a mean.
    fn average<R, P>(&self, node: impl Fn() -> P, watch: &mut Watch<'_>) -> Result<Run, RunError>
    where
        R: Real,
        P: Synchronous<R> + Send + Sync,
    {
        (watch.record)(self.start());
        let topology = self.topology()?;
        let oracles = self.experiment.oracles(self.seed)?;
        let nodes = oracles.iter().map(|_| node()).collect();
        self.drive(nodes, oracles, topology, watch)
    }

    /// Nodes that learn a model. A node is made of where all start, its steps, and how many records
    /// it has.
    fn learn<R, P>(
        &self,
        steps: Steps,
        node: impl Fn(&[R], Steps, usize) -> P,
        watch: &mut Watch<'_>,
    ) -> Result<Run, RunError>
    where
        R: Real,
        P: Synchronous<R> + Send + Sync,
    {
        (watch.record)(self.start());
        let topology = self.topology()?;
        let seed = self.seed;
        let learners = self.experiment.learners(seed);
        let learners = learners.map_err(|source| RunError::Plan { seed, source })?;
        let start = self.experiment.initial::<R>(seed);
        let split = |learner: Learner<R>| {
            let steps = Steps { divisor: learner.divisor, ..steps };
            (node(&start, steps, learner.records), learner.oracle)
        };
        let (nodes, oracles) = learners.into_iter().map(split).unzip();
        self.drive(nodes, oracles, topology, watch)
    }

    fn topology(&self) -> Result<Topology, RunError> {
        let Self { experiment, seed } = *self;
        experiment.topology(seed).map_err(|source| RunError::Plan { seed, source })
    }

    fn drive<R, S, P>(
        &self,
        nodes: Vec<P>,
        oracles: Vec<Oracle<R, S>>,
        topology: Topology,
        watch: &mut Watch<'_>,
    ) -> Result<Run, RunError>
    where
        R: Real,
        S: Store + Send,
        P: Synchronous<R> + Send + Sync,
    {
        let seed = self.seed;
        let world = world_of(self.experiment).map_err(|source| RunError::Plan { seed, source })?;
        match world {
            None => self.in_step(nodes, oracles, topology, watch),
            Some(world) => self.by_time(nodes, oracles, topology, world, watch),
        }
    }

    /// All nodes in step over ideal links.
    fn in_step<R, S, P>(
        &self,
        nodes: Vec<P>,
        mut oracles: Vec<Oracle<R, S>>,
        topology: Topology,
        watch: &mut Watch<'_>,
    ) -> Result<Run, RunError>
    where
        R: Real,
        S: Store + Send,
        P: Synchronous<R> + Send + Sync,
    {
        let plan = self.experiment.plan();
        let learns = self.experiment.learns();
        let mut wirings = Wirings::new(topology, 1);
        let mut nodes = Lockstep::new(nodes);
        let asking = nodes.nodes()[0].asking_rounds();
        let mut looks = Looks::new(self, watch);
        loop {
            let round = nodes.round();
            let last = round == plan.run.rounds;
            let looks_now = last || round.is_multiple_of(plan.evaluate.every);
            if learns && looks_now {
                looks.take(round, None, nodes.traffic(), nodes.nodes());
            }
            // Averages are looked at when the first answers are there: what was released.
            if !learns && !last && round < asking {
                let asked = nodes.ask(&mut oracles, |oracle, question| oracle.answer(question));
                asked.map_err(|source| RunError::Oracle { round, source })?;
            }
            if !learns && looks_now {
                looks.take(round, None, nodes.traffic(), nodes.nodes());
            }
            if last || looks.is_done() {
                break;
            }
            // On to the next round in which anything is looked at, or asked of averages.
            let look = (round / plan.evaluate.every + 1) * plan.evaluate.every;
            let look = look.min(plan.run.rounds);
            if learns && round < asking {
                let to = look.min(asking);
                let answer = |oracle: &mut Oracle<R, S>, question| oracle.answer(question);
                nodes.advance_asking(to - round, &mut wirings, &mut oracles, answer)?;
                continue;
            }
            let next = if round + 1 < asking { round + 1 } else { look };
            nodes
                .advance(next - round, &mut wirings)
                .map_err(|source| RunError::Topology { round, source })?;
        }
        let (points, rounds) = (looks.points, nodes.round());
        Ok(self.finish(points, rounds, nodes.traffic(), oracles.iter(), Vec::new(), watch))
    }

    /// The last lines of the trace, and the result.
    fn finish<'o, R: Real, S: Store + 'o>(
        &self,
        points: Vec<Point>,
        rounds: u64,
        traffic: Traffic,
        oracles: impl Iterator<Item = &'o Oracle<R, S>>,
        notes: Vec<String>,
        watch: &mut Watch<'_>,
    ) -> Run {
        let guarantees: Vec<_> = oracles.map(Oracle::guarantee).collect();
        let stopped = stopped(self.experiment, rounds, &guarantees);
        let mut notes = notes;
        notes.extend(self.experiment.notes());
        notes.extend(say_stopped(&stopped));
        let claims: Vec<_> =
            (0..self.experiment.nodes()).map(|node| self.experiment.claim(node).copied()).collect();
        for (guarantee, claim) in guarantees.iter().zip(&claims) {
            (watch.record)(Record::Guarantee {
                node: guarantee.node,
                guarantee: serde_json::to_value(guarantee).expect("plain data"),
                claim: claim.map(|claim| serde_json::to_value(claim).expect("plain data")),
            });
        }
        notes.iter().for_each(|text| (watch.record)(Record::Note { text: text.clone() }));
        let Traffic { messages, bytes } = traffic;
        (watch.record)(Record::End { rounds, messages, bytes });
        Run { seed: self.seed, rounds, traffic, points, guarantees, claims, stopped, notes }
    }

    fn start(&self) -> Record {
        let plan = self.experiment.plan();
        let word = |value| match value {
            serde_json::Value::String(word) => word,
            other => other.to_string(),
        };
        let json = |value: serde_json::Result<_>| value.expect("a plan is plain data");
        Record::Start {
            schema: SCHEMA,
            name: plan.name.clone(),
            plan_hash: hash_of(&serde_json::to_vec(plan).expect("a plan is plain data")),
            seed: self.seed,
            nodes: self.experiment.nodes(),
            algorithm: word(json(serde_json::to_value(plan.algorithm.name))),
            precision: word(json(serde_json::to_value(plan.run.precision))),
        }
    }
}

/// A step is a debit: a node that spent all it had on fewer than it was asked for has stopped.
fn stopped(experiment: &Experiment, rounds: u64, ledgers: &[Guarantee]) -> Vec<Option<u64>> {
    let plan = experiment.plan();
    let asked = plan.algorithm.rounds_of_gradients.unwrap_or(plan.run.rounds).min(rounds);
    let stop = |ledger: &Guarantee| {
        let is_spent = ledger.spent >= 1.0 && ledger.debits < asked;
        (plan.run.stop_on_budget && is_spent).then_some(ledger.debits)
    };
    ledgers.iter().map(stop).collect()
}

/// One line for all nodes that stopped after as many steps.
fn say_stopped(stopped: &[Option<u64>]) -> Vec<String> {
    let mut groups: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (node, steps) in stopped.iter().enumerate() {
        steps.iter().for_each(|steps| groups.entry(*steps).or_default().push(node));
    }
    let say = |(steps, nodes): (u64, Vec<usize>)| {
        let others = match nodes.len() {
            1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        let first = nodes[0];
        format!("node {first}{others} stopped on budget after {steps} gradient steps, then mixed")
    };
    groups.into_iter().map(say).collect()
}

/// What the evaluator has seen so far.
struct Looks<'w, 'a> {
    evaluator: Evaluator<'w>,
    points: Vec<Point>,
    stop_below: Option<f64>,
    rounds: u64,
    /// The metric that decides when to stop.
    first: &'static str,
    watch: &'w mut Watch<'a>,
}

impl<'w, 'a> Looks<'w, 'a> {
    fn new(job: &Job<'w>, watch: &'w mut Watch<'a>) -> Self {
        let plan = job.experiment.plan();
        Self {
            evaluator: Evaluator::new(job.experiment, job.seed),
            points: Vec::new(),
            stop_below: plan.run.stop_below,
            rounds: plan.run.rounds,
            first: plan.evaluate.metrics[0].name(),
            watch,
        }
    }

    fn take<'n, P, R, I>(&mut self, round: u64, time: Option<f64>, traffic: Traffic, nodes: I)
    where
        P: Synchronous<R> + 'n,
        R: Real,
        I: IntoIterator<Item = &'n P> + Clone,
    {
        let metrics = self.evaluator.measure(nodes);
        let Traffic { messages, bytes } = traffic;
        let record = Record::Round { round, time, messages, bytes, metrics: metrics.clone() };
        (self.watch.record)(record);
        (self.watch.progress)(round, self.rounds);
        self.points.push(Point { round, metrics });
    }

    fn is_done(&self) -> bool {
        let below =
            |limit: f64| self.points.last().is_some_and(|point| point.metrics[self.first] < limit);
        self.stop_below.is_some_and(below)
    }
}
