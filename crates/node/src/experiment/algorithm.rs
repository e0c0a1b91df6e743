//! Algorithms with their parameters.

use undertone_protocol::{Domain, Sparsity, StepSize};

use super::protection;
use crate::plan::{AlgorithmWord, Plan, PlanError, StepPlan, WeightsWord};

/// An algorithm with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Algorithm {
    /// [`Admm`](undertone_protocol::Admm) and its relatives.
    Admm,
    /// [`Dsgd`](undertone_protocol::Dsgd), also with noise.
    Dsgd {
        /// How far steps go.
        step: StepSize,
        /// In how many rounds.
        rounds: u64,
    },
    /// [`Gossip`](undertone_protocol::Gossip).
    Gossip,
    /// [`PrivSgp`](undertone_protocol::PrivSgp).
    PrivSgp {
        /// How far steps go.
        step: StepSize,
        /// In how many rounds.
        rounds: u64,
        /// Whether the oracle answers differences from remembered gradients.
        reduced: bool,
    },
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

impl Algorithm {
    /// Which keys an algorithm takes, and what they are.
    pub(super) fn new(plan: &Plan) -> Result<Self, PlanError> {
        use AlgorithmWord as Word;
        let written = &plan.algorithm;
        let name = written.name;
        let sparse = matches!(name, Word::SparsePushSum | Word::Surplus);
        let mixes = matches!(name, Word::Dp2Sgd | Word::Dsgd | Word::Gossip | Word::TwoStage);
        let learns = name.learns() && !name.minimises();
        let two_stage = name == Word::TwoStage;
        for (key, given, taken) in [
            ("algorithm.sparsity", written.sparsity.is_some(), sparse),
            ("algorithm.gamma", written.gamma.is_some(), name == Word::Surplus),
            ("algorithm.window", written.window.is_some(), name == Word::Surplus),
            ("algorithm.steps", written.steps.is_some(), two_stage),
            ("algorithm.printed", written.printed.is_some(), two_stage),
            ("algorithm.step", written.step.is_some(), learns),
            ("algorithm.batch", written.batch.is_some(), learns),
            ("algorithm.sampling", written.sampling.is_some(), learns),
            ("algorithm.rounds-of-gradients", written.rounds_of_gradients.is_some(), learns),
            ("algorithm.admm", written.admm.is_some(), name.minimises()),
            ("network.weights", plan.network.weights.is_some(), mixes),
            ("network.lazy", plan.network.lazy.is_some(), mixes),
        ] {
            let required = taken && !OPTIONAL.contains(&key);
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
        let rounds = written.rounds_of_gradients.unwrap_or(plan.run.rounds);
        Ok(match name {
            Word::Admm
            | Word::Dvp
            | Word::IppAdmm
            | Word::MAdmm
            | Word::MrAdmm
            | Word::PpAdmm
            | Word::PrAdmmIteration
            | Word::PrAdmmPeriodic
            | Word::PrivateMrAdmm
            | Word::PrivateRAdmm
            | Word::RAdmm => Algorithm::Admm,
            Word::Dp2Sgd | Word::Dsgd => Algorithm::Dsgd { step: step(plan, rounds)?, rounds },
            Word::PrivSgp | Word::PrivSgpVr => {
                let reduced = name == Word::PrivSgpVr;
                Algorithm::PrivSgp { step: step(plan, rounds)?, rounds, reduced }
            }
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
                let first_step = protection::first_step(plan.data.numbers());
                Algorithm::TwoStage { domain, steps, first_step }
            }
        })
    }
}

/// Keys that nobody needs, or that are checked elsewhere.
const OPTIONAL: [&str; 6] = [
    "algorithm.window",
    "algorithm.printed",
    "algorithm.batch",
    "algorithm.sampling",
    "algorithm.rounds-of-gradients",
    "network.lazy",
];

fn step(plan: &Plan, rounds: u64) -> Result<StepSize, PlanError> {
    let written = plan.algorithm.step.unwrap_or(StepPlan::Constant(f64::NAN));
    let size = written.size(plan.network.nodes, rounds);
    let (first, power) = match size {
        StepSize::Constant(size) => (size, 0.0),
        StepSize::Decaying { first, power } => (first, power),
    };
    if first > 0.0 && first.is_finite() && power >= 0.0 && power.is_finite() {
        return Ok(size);
    }
    let message = "steps must be positive and finite, and a power at least 0; try 0.1";
    Err(PlanError::new("algorithm.step", message))
}

fn sparsity(plan: &Plan) -> Result<Sparsity, PlanError> {
    let unsent = plan.algorithm.sparsity.unwrap_or(f64::NAN);
    let error = |message: String| Err(PlanError::new("algorithm.sparsity", message));
    if !(0.0..1.0).contains(&unsent) {
        return error(format!(
            "is the share of coordinates that are not sent, at least 0 and below 1, got {unsent}"
        ));
    }
    let dimension = plan.data.numbers().dimension;
    let sent = ((1.0 - unsent) * dimension as f64).round() as usize;
    if sent == 0 {
        return error(format!("leaves none of {dimension} coordinates to send; take less"));
    }
    Ok(if sent == dimension { Sparsity::Full } else { Sparsity::Exactly(sent) })
}
