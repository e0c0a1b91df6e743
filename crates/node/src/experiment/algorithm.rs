//! Algorithms with their parameters.

use undertone_protocol::{Domain, Lattice, QDpsgd, Sparsity, StepSize, Steps};

use super::protection;
use crate::plan::{AlgorithmWord, DomainPlan, Plan, PlanError, StepPlan, WeightsWord};

/// An algorithm with its parameters. Steps are divided by one: what a node divides its sums by is
/// its own affair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Algorithm {
    /// [`PairwiseSgd`](undertone_protocol::PairwiseSgd); rounds are activations.
    Adp2Sgd {
        /// The steps.
        steps: Steps,
    },
    /// [`Admm`](undertone_protocol::Admm) and its relatives.
    Admm,
    /// [`Dsgd`](undertone_protocol::Dsgd), also with noise.
    Dsgd {
        /// The steps.
        steps: Steps,
    },
    /// [`Gossip`](undertone_protocol::Gossip).
    Gossip,
    /// [`PrivSgp`](undertone_protocol::PrivSgp).
    PrivSgp {
        /// The steps.
        steps: Steps,
        /// Whether the oracle answers differences from remembered gradients.
        reduced: bool,
    },
    /// [`PushSum`](undertone_protocol::PushSum).
    PushSum,
    /// [`QDpsgd`](undertone_protocol::QDpsgd).
    QDpsgd1 {
        /// The steps.
        steps: Steps,
        /// The share of a change that is carried out.
        pace: f64,
        /// What messages are quantised to.
        lattice: Lattice,
    },
    /// [`QDpsgd2`](undertone_protocol::QDpsgd2).
    QDpsgd2 {
        /// The steps.
        steps: Steps,
        /// The share of a change that is carried out.
        pace: f64,
        /// What messages are quantised to.
        lattice: Lattice,
        /// Whether a node keeps a point of its own, as printed.
        printed: bool,
    },
    /// [`RunningSum`](undertone_protocol::RunningSum).
    RunningSum,
    /// [`Sdm`](undertone_protocol::Sdm).
    Sdm {
        /// The steps.
        steps: Steps,
        /// The share of a change that is carried out.
        pace: f64,
        /// The chance of a coordinate.
        transmit: f64,
    },
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
    /// [`SurplusGradient`](undertone_protocol::SurplusGradient).
    SurplusGradient {
        /// The steps, one a window.
        steps: Steps,
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
        /// The size of the first, of the sum over all records; with a model, of their mean.
        first_step: f64,
    },
}

impl Algorithm {
    /// Which keys an algorithm takes.
    pub(super) fn check(plan: &Plan) -> Result<(), PlanError> {
        use AlgorithmWord as Word;
        let written = &plan.algorithm;
        let name = written.name;
        let is = |words: &[Word]| words.contains(&name);
        let surplus = is(&[Word::Surplus, Word::SurplusGradient]);
        let sparse = surplus || is(&[Word::SparsePushSum]);
        let quantised = is(&[Word::QDpsgd1, Word::QDpsgd2]);
        let two_stage = is(&[Word::TwoStage]);
        let mixes = quantised || two_stage || is(&[Word::Dp2Sgd, Word::Dsgd, Word::Gossip]);
        let mixes = mixes || is(&[Word::Sdm]);
        let printable = two_stage || is(&[Word::PrivSgpVr, Word::QDpsgd2]);
        let learns = name.learns() && !name.minimises();
        let heavy = learns && !is(&[Word::QDpsgd2]);
        let modelled = two_stage && plan.model.is_some();
        for (key, given, taken) in [
            ("algorithm.sparsity", written.sparsity.is_some(), sparse),
            ("algorithm.gamma", written.gamma.is_some(), surplus),
            ("algorithm.window", written.window.is_some(), surplus),
            ("algorithm.steps", written.steps.is_some(), two_stage),
            ("algorithm.printed", written.printed.is_some(), printable),
            ("algorithm.step", written.step.is_some(), learns || modelled),
            ("algorithm.batch", written.batch.is_some(), learns),
            ("algorithm.sampling", written.sampling.is_some(), learns),
            ("algorithm.rounds-of-gradients", written.rounds_of_gradients.is_some(), learns),
            ("algorithm.momentum", written.momentum.is_some(), heavy),
            ("algorithm.bits", written.bits.is_some(), quantised),
            ("algorithm.lattice", written.lattice.is_some(), quantised),
            ("algorithm.pace", written.pace.is_some(), quantised || is(&[Word::Sdm])),
            ("algorithm.transmit", written.transmit.is_some(), is(&[Word::Sdm])),
            ("algorithm.deadline", written.deadline.is_some(), quantised),
            ("algorithm.domain", written.domain.is_some(), modelled),
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
        Ok(())
    }

    /// For estimates of so many numbers.
    pub(super) fn new(plan: &Plan, dimension: usize) -> Result<Self, PlanError> {
        use AlgorithmWord as Word;
        let written = &plan.algorithm;
        Ok(match written.name {
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
            Word::Adp2Sgd => Algorithm::Adp2Sgd { steps: steps(plan)? },
            Word::Dp2Sgd | Word::Dsgd => Algorithm::Dsgd { steps: steps(plan)? },
            Word::PrivSgp | Word::PrivSgpVr => {
                // As printed the oracle's answer is the whole estimator.
                let reduced = written.name == Word::PrivSgpVr && written.printed != Some(true);
                Algorithm::PrivSgp { steps: steps(plan)?, reduced }
            }
            Word::Gossip => Algorithm::Gossip,
            Word::PushSum => Algorithm::PushSum,
            Word::QDpsgd1 => {
                let (pace, lattice) = (pace(plan)?, lattice(plan)?);
                Algorithm::QDpsgd1 { steps: steps(plan)?, pace, lattice }
            }
            Word::QDpsgd2 => {
                let (pace, lattice) = (pace(plan)?, lattice(plan)?);
                let printed = written.printed == Some(true);
                Algorithm::QDpsgd2 { steps: steps(plan)?, pace, lattice, printed }
            }
            Word::RunningSum => Algorithm::RunningSum,
            Word::Sdm => {
                let transmit = written.transmit.unwrap_or(f64::NAN);
                if !(transmit > 0.0 && transmit <= 1.0) {
                    let message = format!("is a chance above 0 and at most 1, got {transmit}");
                    return Err(PlanError::new("algorithm.transmit", message));
                }
                Algorithm::Sdm { steps: steps(plan)?, pace: pace(plan)?, transmit }
            }
            Word::SparsePushSum => {
                Algorithm::SparsePushSum { sparsity: sparsity(plan, dimension)? }
            }
            Word::Surplus | Word::SurplusGradient => {
                let gamma = written.gamma.unwrap_or(f64::NAN);
                if !(gamma > 0.0 && gamma < 1.0) {
                    let message = format!("must be above 0 and below 1, got {gamma}; try 0.1");
                    return Err(PlanError::new("algorithm.gamma", message));
                }
                let (sparsity, window) = (sparsity(plan, dimension)?, window(plan)?);
                match written.name {
                    Word::Surplus => Algorithm::Surplus { sparsity, gamma, window },
                    _ => {
                        let steps = steps(plan)?;
                        Algorithm::SurplusGradient { steps, sparsity, gamma, window }
                    }
                }
            }
            Word::TwoStage => two_stage(plan)?,
        })
    }
}

/// Keys that nobody needs, or that are checked elsewhere.
const OPTIONAL: [&str; 10] = [
    "algorithm.window",
    "algorithm.printed",
    "algorithm.batch",
    "algorithm.sampling",
    "algorithm.rounds-of-gradients",
    "algorithm.momentum",
    "algorithm.pace",
    "algorithm.deadline",
    "algorithm.domain",
    "network.lazy",
];

/// In how many rounds there are gradients; of the surplus, in how many windows.
pub(super) fn gradient_rounds(plan: &Plan) -> Result<u64, PlanError> {
    let written = &plan.algorithm;
    let (most, what) = match written.name {
        AlgorithmWord::SurplusGradient => (plan.run.rounds / window(plan)?, "the windows in it"),
        AlgorithmWord::TwoStage => return Ok(written.steps.unwrap_or(0)),
        _ => (plan.run.rounds, "run.rounds"),
    };
    let rounds = written.rounds_of_gradients.unwrap_or(most);
    if (1..=most).contains(&rounds) {
        return Ok(rounds);
    }
    let message = format!("must be at least 1 and at most {what} ({most}), got {rounds}");
    Err(PlanError::new("algorithm.rounds-of-gradients", message))
}

fn two_stage(plan: &Plan) -> Result<Algorithm, PlanError> {
    let written = &plan.algorithm;
    let steps = written.steps.unwrap_or(0);
    if steps == 0 || steps > plan.run.rounds {
        let most = plan.run.rounds;
        let message = format!("must be at least 1 and at most run.rounds ({most}), got {steps}");
        return Err(PlanError::new("algorithm.steps", message));
    }
    if plan.model.is_none() {
        let domain = protection::bound(plan).domain();
        let first_step = protection::first_step(plan.data.numbers());
        return Ok(Algorithm::TwoStage { domain, steps, first_step });
    }
    let domain = match written.domain {
        None => Domain::Whole,
        Some(DomainPlan::Ball(radius)) => Domain::Ball { radius },
        Some(DomainPlan::Box(radius)) => Domain::Box { radius },
    };
    if let Some(DomainPlan::Ball(radius) | DomainPlan::Box(radius)) = written.domain
        && !(radius > 0.0 && radius.is_finite())
    {
        let message = format!("must be positive and finite, got {radius}");
        return Err(PlanError::new("algorithm.domain", message));
    }
    match step(plan, steps)? {
        StepSize::Decaying { first, power: 1.0 } => {
            Ok(Algorithm::TwoStage { domain, steps, first_step: first })
        }
        _ => {
            let message = "two stages step by first/t; take { first = 1.0, power = 1.0 }";
            Err(PlanError::new("algorithm.step", message))
        }
    }
}

fn steps(plan: &Plan) -> Result<Steps, PlanError> {
    let momentum = plan.algorithm.momentum.unwrap_or(0.0);
    if !(0.0..1.0).contains(&momentum) {
        let message = format!("must be at least 0 and below 1, got {momentum}; try 0.9");
        return Err(PlanError::new("algorithm.momentum", message));
    }
    let rounds = gradient_rounds(plan)?;
    Ok(Steps::new(rounds, step(plan, rounds)?, 1.0).with_momentum(momentum))
}

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

/// As given, or that of the papers: 000 for Q-DPSGD and for its baseline.
fn pace(plan: &Plan) -> Result<f64, PlanError> {
    let pace = match (plan.algorithm.pace, plan.algorithm.name) {
        (Some(pace), _) => pace,
        (None, AlgorithmWord::Sdm) => 0.6,
        (None, _) => QDpsgd::<f64>::rates(gradient_rounds(plan)?).1,
    };
    if pace > 0.0 && pace <= 1.0 {
        return Ok(pace);
    }
    let message =
        format!("must be above 0 and at most 1, got {pace}; leave it out for the paper's");
    Err(PlanError::new("algorithm.pace", message))
}

fn lattice(plan: &Plan) -> Result<Lattice, PlanError> {
    let written = &plan.algorithm;
    Lattice::new(written.lattice.unwrap_or(f64::NAN), written.bits.unwrap_or(0))
        .map_err(|error| PlanError::new("algorithm.lattice", error.to_string()))
}

fn window(plan: &Plan) -> Result<u64, PlanError> {
    match plan.algorithm.window.or(plan.network.window).unwrap_or(1) {
        0 => Err(PlanError::new("algorithm.window", "must be at least 1")),
        window => Ok(window),
    }
}

fn sparsity(plan: &Plan, dimension: usize) -> Result<Sparsity, PlanError> {
    let unsent = plan.algorithm.sparsity.unwrap_or(f64::NAN);
    let error = |message: String| Err(PlanError::new("algorithm.sparsity", message));
    if !(0.0..1.0).contains(&unsent) {
        return error(format!(
            "is the share of coordinates that are not sent, at least 0 and below 1, got {unsent}"
        ));
    }
    let sent = ((1.0 - unsent) * dimension as f64).round() as usize;
    if sent == 0 {
        return error(format!("leaves none of {dimension} coordinates to send; take less"));
    }
    Ok(if sent == dimension { Sparsity::Full } else { Sparsity::Exactly(sent) })
}
