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
    /// Whether the last step is sent without noise, as paper 004 prints it (CE-1).
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
    /// What ADMM and its relatives take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admm: Option<AdmmPlan>,
}

/// The algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlgorithmWord {
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
    /// ADMM whose every second step recycles what is known, without noise.
    RAdmm,
    /// Push-sum over links that lose messages.
    RunningSum,
    /// Push-sum that sends some coordinates only.
    SparsePushSum,
    /// Paper 001's consensus.
    Surplus,
    /// Paper 004's gradient descent.
    TwoStage,
}

impl AlgorithmWord {
    /// Whether it learns a model.
    pub fn learns(self) -> bool {
        self.minimises()
            || matches!(self, Self::Dp2Sgd | Self::Dsgd | Self::PrivSgp | Self::PrivSgpVr)
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
}

impl StepPlan {
    /// For so many nodes and rounds.
    pub fn size(self, nodes: u32, rounds: u64) -> StepSize {
        match self {
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
            Value::String(word) if word == "003" => Some(Self::Paper003),
            Value::Number(_) => value.as_f64().map(Self::Constant),
            Value::Object(table) if table.len() == 2 => number("first")
                .zip(number("power"))
                .map(|(first, power)| Self::Decaying { first, power }),
            _ => None,
        };
        found.ok_or_else(|| {
            format!(
                "step is a number, {{ first = 0.5, power = 0.5 }} or \"003\" for sqrt(n/K), not \
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
