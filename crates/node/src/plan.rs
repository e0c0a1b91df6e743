//! A plan as written: plain structs that a file is read into, before anything is checked.
//!
//! Keys are in kebab case and unknown ones are refused. No privacy parameter has a default.

mod band;
mod expand;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::private::Bound;

pub use band::{At, Expected};
pub use expand::{Variant, expand, overlay};

/// Everything about an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Plan {
    /// What it is called; the folder of its results, too.
    pub name: String,
    /// Of everything random: data, graphs, masks, noise. Public, so the noise hides nothing: a
    /// simulation shows what a guarantee costs.
    pub seed: u64,
    /// Who hears whom.
    pub network: NetworkPlan,
    /// What the nodes have.
    pub data: DataPlan,
    /// What they do.
    pub algorithm: AlgorithmPlan,
    /// What they hide; nothing if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub privacy: Option<PrivacyPlan>,
    /// How long.
    pub run: RunPlan,
    /// Links, speeds and faults, as the simulator reads them; ideal if absent, and then no time
    /// passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world: Option<Map<String, Value>>,
    /// What is measured.
    pub evaluate: EvaluatePlan,
    /// Keys that take several values; all combinations are run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vary: Vec<Vary>,
    /// What the results have to be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<Expected>,
    /// What is drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart: Option<ChartPlan>,
}

/// Why a plan does not do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct PlanError {
    /// Where in the plan, as `algorithm.gamma`.
    pub key: String,
    /// What is wrong, and what to do.
    pub message: String,
}

impl PlanError {
    /// What is wrong at `key`.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into() }
    }
}

/// `[network]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NetworkPlan {
    /// How many nodes.
    pub nodes: u32,
    /// A family of graphs and its parameters; `nodes` is filled in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Map<String, Value>>,
    /// Which graph in which round.
    pub schedule: ScheduleWord,
    /// The number of rounds that are connected together, for the schedule `window`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// How much of what it hears a node takes over, for algorithms that mix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<WeightsWord>,
    /// The share of its own value that everybody keeps on top.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lazy: Option<f64>,
}

/// Kinds of schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScheduleWord {
    /// Hop by powers of two, one power a round.
    Exponential,
    /// The same graph always.
    Fixed,
    /// Pairs in every round, of neighbours if there is a topology.
    Matching,
    /// A graph of its own for every round.
    PerRound,
    /// A graph of its own for every window, its edges dealt out over the window's rounds.
    Window,
}

/// Rules for weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WeightsWord {
    /// The same share of everybody that is heard.
    In,
    /// `I - 2 L / (3 lambda_max(L))`: those of paper 004.
    LaplacianMax,
    /// Metropolis and Hastings.
    Metropolis,
    /// An even split among hearers.
    Out,
}

/// `[data]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DataPlan {
    /// Where numbers are drawn from; nothing if there are `values`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceWord>,
    /// Numbers of a record.
    pub dimension: usize,
    /// Records of a node; one if not given.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub records: u64,
    /// Of `uniform`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Of `uniform`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Of `truncated-gaussian`: the mean before it is truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// Of `truncated-gaussian`: nothing is farther from zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radius: Option<f64>,
    /// The numbers themselves, a row for each node, its records one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<Vec<f64>>>,
}

/// Where data is drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceWord {
    /// Normal with unit variance, redrawn until it is within the radius.
    TruncatedGaussian,
    /// Uniform between `low` and `high`.
    Uniform,
}

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
}

/// The algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlgorithmWord {
    /// Averaging with symmetric weights.
    Gossip,
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

/// `[privacy]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PrivacyPlan {
    /// The budget; not given if the noise is, for then it follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// The budget.
    pub delta: f64,
    /// What records are clipped to.
    pub clip: Bound,
    /// How the noise is chosen.
    pub noise: NoisePlan,
    /// Nodes with budgets of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node: Vec<NodeBudget>,
}

/// `[[privacy.node]]`: a budget of its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NodeBudget {
    /// Whose.
    pub node: u32,
    /// The budget.
    pub epsilon: f64,
    /// The budget.
    pub delta: f64,
}

/// How noise is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "Value")]
pub enum NoisePlan {
    /// The least that keeps the budget, as proved.
    Sound,
    /// What the algorithm's paper says; the true price is computed and stated.
    Paper,
    /// This standard deviation; zero is no noise and no guarantee.
    #[serde(untagged)]
    Fixed {
        /// The standard deviation.
        sigma: f64,
    },
}

impl TryFrom<Value> for NoisePlan {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let sigma = |table: &Map<String, Value>| match table.len() {
            1 => table.get("sigma").and_then(Value::as_f64),
            _ => None,
        };
        match &value {
            Value::String(word) if word == "sound" => Some(Self::Sound),
            Value::String(word) if word == "paper" => Some(Self::Paper),
            Value::Object(table) => sigma(table).map(|sigma| Self::Fixed { sigma }),
            _ => None,
        }
        .ok_or_else(|| format!("noise is \"sound\", \"paper\" or {{ sigma = 1.0 }}, not {value}"))
    }
}

/// `[run]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RunPlan {
    /// At most so many.
    pub rounds: u64,
    /// The numbers of states and messages.
    pub precision: Precision,
    /// Stop when the first metric is below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_below: Option<f64>,
    /// With so many seeds, counted up from the plan's; one if not given.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub repeat: u64,
}

/// The two number types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// Single.
    F32,
    /// Double.
    F64,
}

/// `[evaluate]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EvaluatePlan {
    /// After every so many rounds; one if not given.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub every: u64,
    /// What.
    pub metrics: Vec<Metric>,
    /// What residuals are measured from; the data's mean if not given.
    #[serde(default)]
    pub target: Target,
}

/// What the simulator's evaluator measures; it sees everything, and no node sees its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Norm of all estimates less their own mean.
    ConsensusError,
    /// Half the squared distance between an estimate and a record, averaged over all pairs: what
    /// mean estimation minimises.
    Loss,
    /// `|mean of the estimates - mean of the data|^2 / |mean of the data|^2`.
    MeanError,
    /// The same for the estimate of node 0.
    NodeError,
    /// Norm of all estimates less the target, over that at round 0.
    RelativeResidual,
    /// Norm of all estimates less the target.
    Residual,
}

impl Metric {
    /// As in a plan.
    pub fn name(self) -> &'static str {
        match self {
            Self::ConsensusError => "consensus-error",
            Self::Loss => "loss",
            Self::MeanError => "mean-error",
            Self::NodeError => "node-error",
            Self::RelativeResidual => "relative-residual",
            Self::Residual => "residual",
        }
    }
}

/// What residuals are measured from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The mean of the data.
    #[default]
    Data,
    /// The mean of what was released, which is what averaging tends to.
    Released,
}

/// `[[vary]]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Vary {
    /// As `algorithm.sparsity`.
    pub key: String,
    /// What it becomes, one after the other.
    pub values: Vec<Value>,
}

/// `[chart]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ChartPlan {
    /// `round`, or a varied key, over which the last values are drawn.
    pub x: String,
    /// A metric, or `rounds-run`.
    pub y: String,
    /// Whether the horizontal axis is logarithmic.
    #[serde(default)]
    pub log_x: bool,
    /// Whether the vertical axis is.
    #[serde(default)]
    pub log_y: bool,
}

fn one() -> u64 {
    1
}

fn is_one(value: &u64) -> bool {
    *value == 1
}
