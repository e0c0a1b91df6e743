//! What nodes do, as written.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use undertone_protocol::StepSize;

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
}

/// The algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlgorithmWord {
    /// Noisy gradient descent with symmetric weights (Yu and others 2021).
    #[serde(rename = "dp2-sgd")]
    Dp2Sgd,
    /// The same without noise.
    Dsgd,
    /// Averaging with symmetric weights.
    Gossip,
    /// Paper 003's gradient push, without variance reduction.
    PrivSgp,
    /// The same with a noisy mean of remembered gradients.
    PrivSgpVr,
    /// Averaging over directed graphs.
    PushSum,
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
    /// Whether it takes gradient steps of a model.
    pub fn learns(self) -> bool {
        matches!(self, Self::Dp2Sgd | Self::Dsgd | Self::PrivSgp | Self::PrivSgpVr)
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
