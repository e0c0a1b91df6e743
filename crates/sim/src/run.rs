//! From a checked plan to results.

mod by_meeting;
mod by_time;
mod looks;
mod spending;
mod stopping;
mod trained;

pub use by_time::world_of;
pub use spending::{Spending, Spent};
pub use trained::{Account, Trained};

use serde::{Deserialize, Serialize};
use undertone_node::plan::{Plan, Precision};
use undertone_node::{
    Algorithm, AssembleError, Claim, Experiment, Oracle, OracleError, Visitor, Wanted,
};
use undertone_privacy::ledger::{Guarantee, OpenError, Store};
use undertone_protocol::{Synchronous, Topology, TopologyError, Wirings};
use undertone_real::Real;
use undertone_trace::{Record, SCHEMA, hash_of};

use crate::evaluate::{Estimate, Metrics, Paired};
use crate::events::SimError;
use crate::lockstep::{Halt, Lockstep, Traffic};
use looks::{Looks, Seen};
use stopping::{say_stopped, stopped};

/// What came of one run. As plain data it is without what its experiment knows or what is kept in
/// files of its own: claims, model and accounts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The seed it was run with.
    pub seed: u64,
    /// How many rounds it took.
    pub rounds: u64,
    /// What was sent.
    pub traffic: Traffic,
    /// What was measured, round 0 first.
    pub points: Vec<Point>,
    /// What nodes had spent on the way; nothing in other repetitions than the first.
    pub spending: Spending,
    /// What every node's ledger promises.
    pub guarantees: Vec<Guarantee>,
    /// What the algorithm's paper claims for the same noise, node by node.
    #[serde(skip)]
    pub claims: Vec<Option<Claim>>,
    /// After how many gradient steps nodes stopped because their budgets were spent; none for nodes
    /// that did not.
    pub stopped: Vec<Option<u64>>,
    /// What else is to be said: nodes that were left behind, messages that were lost.
    pub notes: Vec<String>,
    /// What was learned, if there is a model.
    #[serde(skip)]
    pub trained: Option<Trained>,
    /// What every node was charged for; nothing with more than [`Account::MOST`] nodes.
    #[serde(skip)]
    pub accounts: Vec<Account>,
}

/// What was measured after so many rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// How many rounds.
    pub round: u64,
    /// By which virtual time, in seconds; none in step.
    pub time: Option<f64>,
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
) -> Result<Run, RunError>
where
    for<'n> Paired<'n, R>: Estimate<R>,
{
    let job = Job { experiment, seed };
    if let Algorithm::Adp2Sgd { steps } = experiment.algorithm() {
        return job.meet::<R>(steps, watch);
    }
    (watch.record)(job.start());
    let topology = job.topology()?;
    let driving = Driving { job: &job, topology, watch };
    let driven = experiment.assemble::<R, _>(seed, Wanted::All, driving);
    driven.map_err(|error| match error {
        AssembleError::Open(error) => RunError::Open(error),
        AssembleError::Plan(source) => RunError::Plan { seed, source },
        AssembleError::NoNode(_) | AssembleError::NoRounds => {
            unreachable!("all nodes of an algorithm with rounds are wanted")
        }
    })?
}

/// Drives all nodes, whatever their algorithm is.
struct Driving<'j, 'w, 'a> {
    job: &'j Job<'j>,
    topology: Topology,
    watch: &'w mut Watch<'a>,
}

impl<R: Real> Visitor<R> for Driving<'_, '_, '_> {
    type Out = Result<Run, RunError>;

    fn visit<P, S>(self, nodes: Vec<(P, Oracle<R, S>)>) -> Self::Out
    where
        P: Synchronous<R> + Send + Sync + 'static,
        S: Store + Send,
    {
        let (nodes, oracles) = nodes.into_iter().unzip();
        self.job.drive(nodes, oracles, self.topology, self.watch)
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

/// The hash of a plan that traces bear.
pub fn plan_hash(plan: &Plan) -> String {
    hash_of(&serde_json::to_vec(plan).expect("a plan is plain data"))
}

/// What the algorithm's paper claims, node by node.
pub(crate) fn claims(experiment: &Experiment) -> Vec<Option<Claim>> {
    (0..experiment.nodes()).map(|node| experiment.claim(node).copied()).collect()
}

struct Job<'a> {
    experiment: &'a Experiment,
    seed: u64,
}

impl Job<'_> {
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
            let over = last || looks.is_done();
            if looks_now || over {
                looks.audit(over, &oracles);
            }
            if over {
                break;
            }
            // On to the next round in which anything is looked at, or asked of averages.
            let look = (round / plan.evaluate.every + 1) * plan.evaluate.every;
            let look = look.min(plan.run.rounds);
            if learns && round < asking {
                let to = look.min(asking);
                let answer = Oracle::answer_all;
                nodes.advance_asking(to - round, &mut wirings, &mut oracles, answer)?;
                continue;
            }
            let next = if round + 1 < asking { round + 1 } else { look };
            nodes
                .advance(next - round, &mut wirings)
                .map_err(|source| RunError::Topology { round, source })?;
        }
        let (seen, rounds) = (looks.seen(), nodes.round());
        let run = self.finish(seen, rounds, nodes.traffic(), oracles.iter(), Vec::new(), watch);
        Ok(run.with_trained(self.experiment, nodes.nodes()))
    }

    /// The last lines of the trace, and the result.
    fn finish<'o, R: Real, S: Store + 'o>(
        &self,
        seen: Seen,
        rounds: u64,
        traffic: Traffic,
        oracles: impl Iterator<Item = &'o Oracle<R, S>>,
        notes: Vec<String>,
        watch: &mut Watch<'_>,
    ) -> Run {
        let oracles: Vec<_> = oracles.collect();
        let guarantees: Vec<_> = oracles.iter().map(|oracle| oracle.guarantee()).collect();
        let accounts = Account::all(&oracles);
        let stopped = stopped(self.experiment, rounds, &guarantees);
        let mut notes = notes;
        notes.extend(self.experiment.notes());
        notes.extend(say_stopped(&stopped));
        let claims = claims(self.experiment);
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
        let (seed, Seen { points, spending }, trained) = (self.seed, seen, None);
        Run {
            seed,
            rounds,
            traffic,
            points,
            spending,
            guarantees,
            claims,
            stopped,
            notes,
            trained,
            accounts,
        }
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
            plan_hash: plan_hash(plan),
            seed: self.seed,
            nodes: self.experiment.nodes(),
            algorithm: word(json(serde_json::to_value(plan.algorithm.name))),
            precision: word(json(serde_json::to_value(plan.run.precision))),
        }
    }
}
