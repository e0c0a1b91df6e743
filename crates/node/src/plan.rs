//! A plan as written: plain structs that a file is read into, before anything is checked.
//!
//! Keys are in kebab case and unknown ones are refused. No privacy parameter has a default.

mod admm;
mod algorithm;
mod band;
mod data;
mod expand;
mod facts;
mod planning;
mod privacy;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use admm::{AdmmPlan, ModeWord, PenaltyPlan};
pub use algorithm::{
    AlgorithmPlan, AlgorithmWord, DeadlinePlan, DomainPlan, SamplingWord, Speed, StepPlan,
};
pub use band::{At, Expected};
pub use data::{DataPlan, DrawnPlan, DrawnWord, NumbersPlan, SourceWord};
pub use expand::{Variant, expand, overlay};
pub use facts::{Facts, Objective, Paper};
pub use planning::{EstimatePlan, PlanningPlan};
pub use privacy::{AdaptivePlan, ClipPlan, NodeBudget, NoisePlan, PrivacyPlan};

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
    /// What they learn from it; nothing if absent, and then they agree on a mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Map<String, Value>>,
    /// What they do.
    pub algorithm: AlgorithmPlan,
    /// What they hide; nothing if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub privacy: Option<PrivacyPlan>,
    /// How long.
    pub run: RunPlan,
    /// How rounds go by the clock, for nodes of a network; they wait for everybody if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<RoundsPlan>,
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
    /// What `undertone plan` knows of the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanningPlan>,
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
    /// Several of them, for the schedule `cycle`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub topologies: Vec<Map<String, Value>>,
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

impl NetworkPlan {
    /// Whether nobody hears anybody, on purpose: edges of one's own, and none of them.
    pub fn leaves_nodes_alone(&self) -> bool {
        let edges = self.topology.as_ref().and_then(|topology| topology.get("edges"));
        edges.and_then(Value::as_array).is_some_and(Vec::is_empty)
    }
}

/// Kinds of schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScheduleWord {
    /// Some graphs in turn, over and over.
    Cycle,
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
    /// Whether nodes take gradient steps until their ledgers refuse, and then only mix.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop_on_budget: bool,
    /// With so many seeds, counted up from the plan's; one if not given.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub repeat: u64,
}

/// `[rounds]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RoundsPlan {
    /// How long to wait for messages, in seconds; for ever if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<f64>,
    /// The share of those who should be heard without which a round does not end at its deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<f64>,
    /// How many hearers a node asks, when it starts, for the last word they have of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witnesses: Option<u32>,
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
    /// The share of held-out records (of all, if none is held out) whose sign or class the mean of
    /// the estimates predicts.
    Accuracy,
    /// The accuracy of a node's own estimate, averaged over nodes.
    AverageAccuracy,
    /// Norm of all estimates less their own mean.
    ConsensusError,
    /// How often group 0 is predicted to be positive, over how often group 1 is; of held-out
    /// records, by the mean of the estimates, as all measures of fairness.
    DisparateImpact,
    /// The absolute difference between groups in how often what is positive is found to be.
    EqualOpportunity,
    /// The larger of that and the same of what is not positive.
    EqualisedOdds,
    /// The accuracy of the group that has the lower.
    GroupAccuracy,
    /// Of a model: the mean loss of the training records at the mean of the estimates. Without one:
    /// half the squared distance between an estimate and a record, averaged over all pairs, which
    /// is what mean estimation minimises.
    Loss,
    /// `|mean of the estimates - mean of the data|^2 / |mean of the data|^2`.
    MeanError,
    /// The accuracy of the node that has the lowest.
    NodeAccuracy,
    /// The same as the mean error for the estimate of node 0.
    NodeError,
    /// The loss of the node that has the highest.
    NodeLoss,
    /// Norm of all estimates less the target, over that at round 0.
    RelativeResidual,
    /// Norm of all estimates less the target.
    Residual,
    /// The absolute difference between groups in how often they are predicted to be positive.
    RiskDifference,
}

impl Metric {
    /// As in a plan.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy",
            Self::AverageAccuracy => "average-accuracy",
            Self::ConsensusError => "consensus-error",
            Self::DisparateImpact => "disparate-impact",
            Self::EqualOpportunity => "equal-opportunity",
            Self::EqualisedOdds => "equalised-odds",
            Self::GroupAccuracy => "group-accuracy",
            Self::Loss => "loss",
            Self::MeanError => "mean-error",
            Self::NodeAccuracy => "node-accuracy",
            Self::NodeError => "node-error",
            Self::NodeLoss => "node-loss",
            Self::RelativeResidual => "relative-residual",
            Self::Residual => "residual",
            Self::RiskDifference => "risk-difference",
        }
    }

    /// Whether it compares two groups of records.
    pub fn is_fairness(self) -> bool {
        matches!(
            self,
            Self::DisparateImpact
                | Self::EqualOpportunity
                | Self::EqualisedOdds
                | Self::GroupAccuracy
                | Self::RiskDifference
        )
    }

    /// Whether it is one of models, of averages, or of both.
    pub fn is_of(self, learning: bool) -> bool {
        match self {
            Self::Accuracy
            | Self::AverageAccuracy
            | Self::DisparateImpact
            | Self::EqualOpportunity
            | Self::EqualisedOdds
            | Self::GroupAccuracy
            | Self::NodeAccuracy
            | Self::NodeLoss
            | Self::RiskDifference => learning,
            Self::ConsensusError | Self::Loss => true,
            Self::MeanError | Self::NodeError | Self::RelativeResidual | Self::Residual => {
                !learning
            }
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
    /// As `algorithm.sparsity`, or several that vary together.
    pub key: Keys,
    /// What it becomes, one after the other; of several keys, a list with one for each.
    pub values: Vec<Value>,
    /// What to call each of them in results; by key and value if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<String>>,
}

/// A key or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Keys {
    /// One.
    One(String),
    /// Several.
    Together(Vec<String>),
}

/// `[chart]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ChartPlan {
    /// `round`, `time` (virtual), or a varied key or a metric, over which the last values are
    /// drawn; over a metric, a line for all variants that differ in the last varied key only.
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
