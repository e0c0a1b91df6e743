//! From a checked plan to results.

use undertone_node::plan::Precision;
use undertone_node::{Algorithm, Claim, Experiment, Oracle, OracleError};
use undertone_privacy::ledger::{Guarantee, OpenError};
use undertone_protocol::{
    Gossip, PushSum, RunningSum, SparsePushSum, Surplus, Synchronous, TopologyError, TwoStage,
    Wirings,
};
use undertone_real::Real;
use undertone_trace::{Record, SCHEMA, hash_of};

use crate::lockstep::{Lockstep, Traffic};
use crate::metrics::{Evaluator, Metrics};

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
    /// A round has no graph.
    #[error("round {round}: {source}")]
    Topology {
        /// When.
        round: u64,
        /// What is wrong.
        source: TopologyError,
    },
}

/// Runs an experiment with one seed, all nodes in step over ideal links. Neither results nor the
/// trace depend on the number of threads (invariant I5).
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
    let d = experiment.plan().data.dimension;
    let job = Job { experiment, seed };
    match experiment.algorithm() {
        Algorithm::Gossip => job.drive(|| Gossip::<R>::new(d), watch),
        Algorithm::PushSum => job.drive(|| PushSum::<R>::new(d), watch),
        Algorithm::RunningSum => job.drive(|| RunningSum::<R>::new(d), watch),
        Algorithm::SparsePushSum { sparsity } => {
            job.drive(|| SparsePushSum::<R>::new(d, sparsity, seed), watch)
        }
        Algorithm::Surplus { sparsity, gamma, window } => {
            job.drive(|| Surplus::<R>::new(d, sparsity, seed, window, gamma), watch)
        }
        Algorithm::TwoStage { domain, steps, first_step } => {
            job.drive(|| TwoStage::<R>::new(d, domain, steps, first_step), watch)
        }
    }
}

struct Job<'a> {
    experiment: &'a Experiment,
    seed: u64,
}

impl Job<'_> {
    fn drive<R, P>(&self, node: impl Fn() -> P, watch: &mut Watch<'_>) -> Result<Run, RunError>
    where
        R: Real,
        P: Synchronous<R> + Send + Sync,
    {
        let Self { experiment, seed } = *self;
        let plan = experiment.plan();
        (watch.record)(self.start());
        let topology =
            experiment.topology(seed).map_err(|source| RunError::Plan { seed, source })?;
        let mut wirings = Wirings::new(topology, 1);
        let mut oracles = experiment.oracles(seed)?;
        let mut nodes = Lockstep::new((0..experiment.nodes()).map(|_| node()).collect());
        let asking = nodes.nodes()[0].asking_rounds();
        let mut evaluator = Evaluator::new(experiment, seed);
        let mut points: Vec<Point> = Vec::new();
        let first = plan.evaluate.metrics[0].name();
        let is_done =
            |point: &Point| plan.run.stop_below.is_some_and(|limit| point.metrics[first] < limit);
        loop {
            let round = nodes.round();
            let last = round == plan.run.rounds;
            if !last && round < asking {
                nodes
                    .ask(&mut oracles, |oracle: &mut Oracle, question| oracle.answer(question))
                    .map_err(|source| RunError::Oracle { round, source })?;
            }
            // Round 0 is looked at when the first answers are there: what was released.
            if last || round.is_multiple_of(plan.evaluate.every) {
                let point = Point { round, metrics: evaluator.measure(nodes.nodes()) };
                (watch.record)(line(&point, nodes.traffic()));
                points.push(point);
            }
            (watch.progress)(round, plan.run.rounds);
            if last || points.last().is_some_and(is_done) {
                break;
            }
            // On to the next round in which anything is asked or looked at.
            let look = (round / plan.evaluate.every + 1) * plan.evaluate.every;
            let next = if round + 1 < asking { round + 1 } else { look.min(plan.run.rounds) };
            nodes
                .advance(next - round, &mut wirings)
                .map_err(|source| RunError::Topology { round, source })?;
        }
        let guarantees: Vec<_> = oracles.iter().map(Oracle::guarantee).collect();
        let claims: Vec<_> =
            (0..experiment.nodes()).map(|node| experiment.claim(node).copied()).collect();
        for (guarantee, claim) in guarantees.iter().zip(&claims) {
            (watch.record)(Record::Guarantee {
                node: guarantee.node,
                guarantee: serde_json::to_value(guarantee).expect("plain data"),
                claim: claim.map(|claim| serde_json::to_value(claim).expect("plain data")),
            });
        }
        let traffic = nodes.traffic();
        let Traffic { messages, bytes } = traffic;
        (watch.record)(Record::End { rounds: nodes.round(), messages, bytes });
        Ok(Run { seed, rounds: nodes.round(), traffic, points, guarantees, claims })
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

fn line(point: &Point, traffic: Traffic) -> Record {
    Record::Round {
        round: point.round,
        time: None,
        messages: traffic.messages,
        bytes: traffic.bytes,
        metrics: point.metrics.clone(),
    }
}
