//! A plan that was checked: everything a driver needs to run it.

mod data;
mod network;
mod protection;

use std::collections::BTreeMap;
use std::sync::Arc;

use undertone_graph::{Family, Weights};
use undertone_privacy::ledger::OpenError;
use undertone_privacy::noise::Key;
use undertone_protocol::{Domain, Sparsity, Topology};
use undertone_real::Real;

use crate::oracle::Oracle;
use crate::plan::{AlgorithmWord, NoisePlan, Plan, PlanError, Target, WeightsWord};
use protection::Protection;

pub use network::schedule_of;
pub use protection::Claim;

/// An experiment that can be run: its numbers are in range and go together.
pub struct Experiment {
    plan: Plan,
    algorithm: Algorithm,
    family: Option<Family>,
    protection: Arc<Protection>,
    /// Of nodes with budgets of their own.
    personal: BTreeMap<u32, Arc<Protection>>,
}

/// An algorithm with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Algorithm {
    /// [`Gossip`](undertone_protocol::Gossip).
    Gossip,
    /// [`PushSum`](undertone_protocol::PushSum).
    PushSum,
    /// [`RunningSum`](undertone_protocol::RunningSum).
    RunningSum,
    /// [`SparsePushSum`](undertone_protocol::SparsePushSum).
    SparsePushSum {
        /// What is sent.
        sparsity: Sparsity,
    },
    /// [`Surplus`](undertone_protocol::Surplus).
    Surplus {
        /// What is sent.
        sparsity: Sparsity,
        /// The share of the surplus that is put back.
        gamma: f64,
        /// After how many rounds.
        window: u64,
    },
    /// [`TwoStage`](undertone_protocol::TwoStage).
    TwoStage {
        /// Where estimates stay.
        domain: Domain,
        /// How many.
        steps: u64,
        /// The size of the first.
        first_step: f64,
    },
}

impl Experiment {
    /// Checks a variant of a plan.
    pub fn new(plan: &Plan) -> Result<Self, PlanError> {
        check_run(plan)?;
        data::check(&plan.data, plan.network.nodes)?;
        let family = network::family(&plan.network)?;
        let algorithm = algorithm(plan)?;
        let protection = Arc::new(Protection::new(plan, None)?);
        let mut personal = BTreeMap::new();
        for (index, own) in plan.privacy.iter().flat_map(|p| p.node.iter().enumerate()) {
            let key = format!("privacy.node.{index}");
            if own.node >= plan.network.nodes {
                let message = format!("there are only nodes 0 to {}", plan.network.nodes - 1);
                return Err(PlanError::new(format!("{key}.node"), message));
            }
            let own_protection = Protection::new(plan, Some((own, &key)))?;
            if personal.insert(own.node, Arc::new(own_protection)).is_some() {
                let message = format!("node {} has two budgets; leave one out", own.node);
                return Err(PlanError::new(format!("{key}.node"), message));
            }
        }
        let experiment = Self { plan: plan.clone(), algorithm, family, protection, personal };
        experiment.topology(plan.seed)?;
        Ok(experiment)
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// How many nodes.
    pub fn nodes(&self) -> u32 {
        self.plan.network.nodes
    }

    /// The seeds it is run with.
    pub fn seeds(&self) -> impl Iterator<Item = u64> + use<> {
        let first = self.plan.seed;
        (0..self.plan.run.repeat).map(move |k| first.wrapping_add(k))
    }

    /// Who hears whom, with what weights.
    pub fn topology(&self, seed: u64) -> Result<Topology, PlanError> {
        let network = &self.plan.network;
        let schedule = schedule_of(network, self.family.as_ref(), seed)?;
        network::check(&schedule, network, self.algorithm)?;
        let topology = Topology::new(schedule);
        Ok(match (self.algorithm, network.weights) {
            (Algorithm::Surplus { .. }, _) => {
                topology.with_pull(Weights::In, 0.0).with_push(Weights::Out)
            }
            (_, Some(weights)) => {
                topology.with_pull(network::rule(weights), network.lazy.unwrap_or(0.0))
            }
            (_, None) => topology,
        })
    }

    /// A node's records, one after the other, as they are: for its oracle, and for an evaluator
    /// that sees everything.
    pub fn data(&self, seed: u64, node: u32) -> Vec<f64> {
        data::of(&self.plan.data, seed, node)
    }

    /// The oracle of every node, with its data, its noise and its open ledger.
    pub fn oracles<R: Real>(&self, seed: u64) -> Result<Vec<Oracle<R>>, OpenError> {
        let open = |node| {
            let protection = self.protection(node);
            let private = protection.private(&self.plan.data, self.data(seed, node));
            let (event, budget) = (protection.event.clone(), protection.budget);
            Oracle::open(node, private, event, budget, Key::from_seed(seed), Vec::new())
        };
        (0..self.nodes()).map(open).collect()
    }

    /// What the algorithm's paper claims for the noise of a node, if that is another thing than
    /// what the node's ledger promises.
    pub fn claim(&self, node: u32) -> Option<&Claim> {
        self.protection(node).claim.as_ref()
    }

    fn protection(&self, node: u32) -> &Protection {
        self.personal.get(&node).unwrap_or(&self.protection)
    }
}

fn check_run(plan: &Plan) -> Result<(), PlanError> {
    let error = |key: &str, message: &str| Err(PlanError::new(key, message));
    let named = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if plan.name.is_empty() || !plan.name.chars().all(named) || plan.name.starts_with('.') {
        return error("name", "names a folder: letters, digits, - and _ only");
    }
    if plan.run.rounds == 0 {
        return error("run.rounds", "must be at least 1");
    }
    if plan.run.repeat == 0 {
        return error("run.repeat", "must be at least 1");
    }
    if plan.run.stop_below.is_some_and(|limit| !(limit > 0.0 && limit.is_finite())) {
        return error("run.stop-below", "must be positive and finite; leave it out to run on");
    }
    if plan.evaluate.every == 0 {
        return error("evaluate.every", "must be at least 1");
    }
    if plan.evaluate.metrics.is_empty() {
        return error("evaluate.metrics", "needs at least one metric, such as \"residual\"");
    }
    let two_stage = plan.algorithm.name == AlgorithmWord::TwoStage;
    if two_stage && plan.evaluate.target == Target::Released {
        return error("evaluate.target", "gradient steps have no released mean; take \"data\"");
    }
    Ok(())
}

/// Which keys an algorithm takes, and what they are.
fn algorithm(plan: &Plan) -> Result<Algorithm, PlanError> {
    use AlgorithmWord as Word;
    let written = &plan.algorithm;
    let name = written.name;
    let sparse = matches!(name, Word::SparsePushSum | Word::Surplus);
    let mixes = matches!(name, Word::Gossip | Word::TwoStage);
    let two_stage = name == Word::TwoStage;
    for (key, given, taken) in [
        ("algorithm.sparsity", written.sparsity.is_some(), sparse),
        ("algorithm.gamma", written.gamma.is_some(), name == Word::Surplus),
        ("algorithm.window", written.window.is_some(), name == Word::Surplus),
        ("algorithm.steps", written.steps.is_some(), two_stage),
        ("algorithm.printed", written.printed.is_some(), two_stage),
        ("network.weights", plan.network.weights.is_some(), mixes),
        ("network.lazy", plan.network.lazy.is_some(), mixes),
    ] {
        let required =
            taken && !["algorithm.window", "algorithm.printed", "network.lazy"].contains(&key);
        let word = serde_json::to_value(name).expect("a word is plain data");
        if given && !taken {
            return Err(PlanError::new(key, format!("{word} does not take it; leave it out")));
        }
        if required && !given {
            return Err(PlanError::new(key, format!("{word} needs it")));
        }
    }
    if plan.network.weights == Some(WeightsWord::Out) {
        let message =
            "what a node takes in has to sum to one; take metropolis, laplacian-max or in";
        return Err(PlanError::new("network.weights", message));
    }
    Ok(match name {
        Word::Gossip => Algorithm::Gossip,
        Word::PushSum => Algorithm::PushSum,
        Word::RunningSum => Algorithm::RunningSum,
        Word::SparsePushSum => Algorithm::SparsePushSum { sparsity: sparsity(plan)? },
        Word::Surplus => {
            let gamma = written.gamma.unwrap_or(f64::NAN);
            if !(gamma > 0.0 && gamma < 1.0) {
                let message = format!("must be above 0 and below 1, got {gamma}; try 0.1");
                return Err(PlanError::new("algorithm.gamma", message));
            }
            let window = written.window.or(plan.network.window).unwrap_or(1);
            if window == 0 {
                return Err(PlanError::new("algorithm.window", "must be at least 1"));
            }
            Algorithm::Surplus { sparsity: sparsity(plan)?, gamma, window }
        }
        Word::TwoStage => {
            let steps = written.steps.unwrap_or(0);
            if steps == 0 || steps > plan.run.rounds {
                let message = format!(
                    "must be at least 1 and at most run.rounds ({}), got {steps}",
                    plan.run.rounds
                );
                return Err(PlanError::new("algorithm.steps", message));
            }
            let domain = protection::bound(plan).domain();
            let first_step = protection::first_step(&plan.data);
            Algorithm::TwoStage { domain, steps, first_step }
        }
    })
}

fn sparsity(plan: &Plan) -> Result<Sparsity, PlanError> {
    let unsent = plan.algorithm.sparsity.unwrap_or(f64::NAN);
    let error = |message: String| Err(PlanError::new("algorithm.sparsity", message));
    if !(0.0..1.0).contains(&unsent) {
        return error(format!(
            "is the share of coordinates that are not sent, at least 0 and below 1, got {unsent}"
        ));
    }
    let dimension = plan.data.dimension;
    let sent = ((1.0 - unsent) * dimension as f64).round() as usize;
    if sent == 0 {
        return error(format!("leaves none of {dimension} coordinates to send; take less"));
    }
    Ok(if sent == dimension { Sparsity::Full } else { Sparsity::Exactly(sent) })
}

/// Whether somebody chose the noise, so that the budget follows from it.
fn is_fixed(noise: NoisePlan) -> bool {
    matches!(noise, NoisePlan::Fixed { .. })
}
