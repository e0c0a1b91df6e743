//! What nodes do, as written.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use undertone_protocol::StepSize;

use super::AdmmPlan;

/// `[algorithm]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AlgorithmPlan {
    /// Which.
    pub name: AlgorithmWord,
    /// The share of coordinates that is not sent: `q` of paper 001.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sparsity: Option<f64>,
    /// The share of the surplus that is put back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gamma: Option<f64>,
    /// After how many rounds that happens; the network's window if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// How many gradient steps there are before averaging.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Whether it runs as its paper prints it: the last step of `two-stage` without noise (CE-1),
    /// `priv-sgp-vr` with a table whose mean is private (CE-3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<bool>,
    /// How far a gradient step goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepPlan>,
    /// How many records a batch has, on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u64>,
    /// How a batch is drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingWord>,
    /// In how many rounds there are gradient steps; in all if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_of_gradients: Option<u64>,
    /// How much of the last step is taken again; nothing if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub momentum: Option<f64>,
    /// The bits of a quantised number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits: Option<u32>,
    /// The distance of neighbouring quantised numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lattice: Option<f64>,
    /// The share of a change that is carried out: `e` of Q-DPSGD, theta of SDM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<f64>,
    /// The chance of a coordinate to be sent, of SDM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transmit: Option<f64>,
    /// Batches of as many records as there is time for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<DeadlinePlan>,
    /// Where the points of a model stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<DomainPlan>,
    /// What ADMM and its relatives take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admm: Option<AdmmPlan>,
}

/// The algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlgorithmWord {
    /// Descent by meetings of two (Xu, Zhang, Wang 2021).
    #[serde(rename = "adp2-sgd")]
    Adp2Sgd,
    /// Consensus by penalties, without noise.
    Admm,
    /// Noisy gradient descent with symmetric weights (Yu and others 2021).
    #[serde(rename = "dp2-sgd")]
    Dp2Sgd,
    /// The same without noise.
    Dsgd,
    /// ADMM with noise in the dual variable (Zhang and Zhu 2017).
    Dvp,
    /// Averaging with symmetric weights.
    Gossip,
    /// PP-ADMM that sends only what is worth it.
    IppAdmm,
    /// ADMM with noise in the penalty (Zhang, Khalili, Liu 2018).
    MAdmm,
    /// R-ADMM with a growing penalty, without noise.
    MrAdmm,
    /// ADMM with noise on what is sent, or in the objective.
    PpAdmm,
    /// ADMM with noise that falls from round to round.
    PrAdmmIteration,
    /// The same, falling after every period.
    PrAdmmPeriodic,
    /// Paper 003's gradient push, without variance reduction.
    PrivSgp,
    /// The same with a noisy mean of remembered gradients.
    PrivSgpVr,
    /// MR-ADMM with noise in the objective.
    PrivateMrAdmm,
    /// R-ADMM with noise in the objective.
    PrivateRAdmm,
    /// Averaging over directed graphs.
    PushSum,
    /// Paper 000's descent with quantised messages.
    #[serde(rename = "q-dpsgd-1")]
    QDpsgd1,
    /// The same with noise on the lattice.
    #[serde(rename = "q-dpsgd-2")]
    QDpsgd2,
    /// ADMM whose every second step recycles what is known, without noise.
    RAdmm,
    /// Push-sum over links that lose messages.
    RunningSum,
    /// Descent that sends a random part of every change (Zhang and others 2020).
    Sdm,
    /// Push-sum that sends some coordinates only.
    SparsePushSum,
    /// Paper 001's consensus.
    Surplus,
    /// Paper 001's optimisation on top of it.
    SurplusGradient,
    /// Paper 004's gradient descent.
    TwoStage,
}

impl AlgorithmWord {
    /// Whether it learns a model and can do nothing else.
    pub fn learns(self) -> bool {
        match self {
            name if name.minimises() => true,
            Self::Adp2Sgd
            | Self::Dp2Sgd
            | Self::Dsgd
            | Self::PrivSgp
            | Self::PrivSgpVr
            | Self::QDpsgd1
            | Self::QDpsgd2
            | Self::Sdm
            | Self::SurplusGradient => true,
            _ => false,
        }
    }

    /// Whether it can do so.
    pub fn takes_model(self) -> bool {
        self.learns() || self == Self::TwoStage
    }

    /// Whether it learns by local minima, not by gradient steps.
    pub fn minimises(self) -> bool {
        use AlgorithmWord::*;
        let recycled = matches!(self, MrAdmm | PrivateMrAdmm | PrivateRAdmm | RAdmm);
        let output = matches!(self, IppAdmm | PpAdmm | PrAdmmIteration | PrAdmmPeriodic);
        recycled || output || matches!(self, Admm | Dvp | MAdmm)
    }
}

/// How far steps go.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value")]
pub enum StepPlan {
    /// `0.3/T^(1/6)` for `T` rounds, as paper 000 has it.
    #[serde(rename = "000")]
    Paper000,
    /// `sqrt(n/K)` for `n` nodes and `K` rounds, as paper 003 has it.
    #[serde(rename = "003")]
    Paper003,
    /// Always so far.
    #[serde(untagged)]
    Constant(f64),
    /// `first/(k + 1)^power` in round `k`, from 0.
    #[serde(untagged)]
    Decaying {
        /// The first.
        first: f64,
        /// How fast the others shrink.
        power: f64,
    },
    /// Always `first/K^horizon` for `K` rounds: small enough for so many.
    #[serde(untagged)]
    Horizon {
        /// That of a single round.
        first: f64,
        /// How fast it shrinks with the number of rounds.
        horizon: f64,
    },
}

impl StepPlan {
    /// For so many nodes and rounds.
    pub fn size(self, nodes: u32, rounds: u64) -> StepSize {
        match self {
            Self::Paper000 => StepSize::for_horizon(0.3, 1.0 / 6.0, rounds),
            Self::Horizon { first, horizon } => StepSize::for_horizon(first, horizon, rounds),
            Self::Paper003 => StepSize::Constant((f64::from(nodes) / rounds as f64).sqrt()),
            Self::Constant(size) => StepSize::Constant(size),
            Self::Decaying { first, power } => StepSize::Decaying { first, power },
        }
    }
}

impl TryFrom<Value> for StepPlan {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let number = |key: &str| value.get(key).and_then(Value::as_f64);
        let found = match &value {
            Value::String(word) if word == "000" => Some(Self::Paper000),
            Value::String(word) if word == "003" => Some(Self::Paper003),
            Value::Number(_) => value.as_f64().map(Self::Constant),
            Value::Object(table) if table.len() == 2 => {
                match (number("first"), number("power"), number("horizon")) {
                    (Some(first), Some(power), _) => Some(Self::Decaying { first, power }),
                    (Some(first), _, Some(horizon)) => Some(Self::Horizon { first, horizon }),
                    _ => None,
                }
            }
            _ => None,
        };
        found.ok_or_else(|| {
            format!(
                "step is a number, {{ first = 0.5, power = 0.5 }}, {{ first = 0.5, horizon = 0.5 \
                 }} for first/K^horizon, \"003\" for sqrt(n/K) or \"000\" for 0.3/K^(1/6), not \
                 {value}"
            )
        })
    }
}

/// How a batch is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SamplingWord {
    /// So many records, each set of them equally likely.
    FixedSize,
    /// All records.
    Full,
    /// Every record by itself, so many on average.
    Poisson,
    /// One record, each equally likely.
    Single,
}

/// Batches of as many records as a node can process in time. How fast it is depends on node and
/// round, never on data, and is public.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DeadlinePlan {
    /// In seconds.
    pub time: f64,
    /// How fast nodes are.
    pub speed: Speed,
}

/// How many records a second a node processes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "law", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Speed {
    /// Always the same.
    Constant {
        /// Records a second.
        speed: f64,
    },
    /// The same, but a random share of the nodes is slower.
    Straggler {
        /// Of a node that is not slower.
        speed: f64,
        /// How many are slower, as a probability for each node.
        share: f64,
        /// How many times slower they are.
        factor: f64,
    },
    /// Anything between two speeds, another one in every round.
    Uniform {
        /// The slowest.
        low: f64,
        /// The fastest.
        high: f64,
    },
}

impl Speed {
    /// Records a second, from two uniform numbers: the node's `fate`, the same in all rounds, and
    /// the round's `luck`.
    pub fn rate(&self, fate: f64, luck: f64) -> f64 {
        match *self {
            Self::Constant { speed } => speed,
            Self::Straggler { speed, share, factor } => {
                if fate < share {
                    speed / factor
                } else {
                    speed
                }
            }
            Self::Uniform { low, high } => low + (high - low) * luck,
        }
    }

    /// What is wrong with it, if anything.
    pub fn complaint(&self) -> Option<String> {
        let positive = |v: f64| v > 0.0 && v.is_finite();
        let fits = match *self {
            Self::Constant { speed } => positive(speed),
            Self::Straggler { speed, share, factor } => {
                positive(speed) && (0.0..=1.0).contains(&share) && factor >= 1.0 && positive(factor)
            }
            Self::Uniform { low, high } => positive(low) && positive(high) && low <= high,
        };
        let message = "speeds are records a second, above 0, low at most high, a share from 0 to \
                       1, a factor of at least 1";
        (!fits).then(|| message.into())
    }
}

/// Where the points of a model stay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum DomainPlan {
    /// Euclidean norm at most this.
    Ball(f64),
    /// Every coordinate at most this far from zero.
    Box(f64),
}
