//! All that came of a run, as data. `report.json` is exactly this.

mod nodes;
pub(crate) mod real;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use undertone_privacy::ledger::Guarantee;

pub use nodes::Nodes;

use crate::numbers::{number, rough};

/// The version of the schema that is written, and the only one that is read.
pub const SCHEMA: u32 = 2;

/// What has to be said wherever a simulation's guarantee is: its noise is no secret.
pub const SIMULATED: &str = "The noise was drawn from the plan's seed, which is public: a \
    simulation shows what a guarantee costs and hides nothing. Nodes on a network draw theirs in \
    secret.";

/// All that came of a plan, or of several that are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The version of these fields; see [`SCHEMA`].
    pub schema: u32,
    /// The name of the plan.
    pub name: String,
    /// Of the programs that took part.
    pub versions: BTreeMap<String, String>,
    /// The plans as written.
    pub plans: Vec<PlanText>,
    /// What was taken from the data and not declared: guarantees hold if it is public.
    pub taken_for_public: Vec<String>,
    /// Why results should not be compared without a second thought.
    pub warnings: Vec<String>,
    /// What was measured, the most important first.
    pub metrics: Vec<Metric>,
    /// The keys that vary, the last running fastest.
    pub varied: Vec<String>,
    /// What was run.
    pub variants: Vec<Variant>,
    /// Who heard whom.
    pub networks: Vec<Network>,
    /// The chart that the plan asks for.
    pub chart: Option<ChartAsked>,
    /// What became of the plan's expectations.
    pub expected: Vec<Verdict>,
    /// Whether all of them hold.
    pub passed: bool,
}

/// A plan file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanText {
    /// What the plan is called.
    pub name: String,
    /// As written.
    pub text: String,
    /// Blake3 of the text.
    pub hash: String,
    /// What was set to other values on the command line.
    pub set: Vec<String>,
}

/// Something that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// As in plans.
    pub name: String,
    /// Whether more of it is better.
    pub higher_is_better: bool,
    /// Whether it compares two groups of people.
    pub fairness: bool,
}

/// One variant of a plan, over all its repetitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// A short name; empty if nothing varies.
    pub label: String,
    /// The varied keys and their values.
    pub settings: Map<String, Value>,
    /// Every key of the plan and its value, to be compared with those of others.
    pub setup: BTreeMap<String, Value>,
    /// The name of the algorithm.
    pub algorithm: String,
    /// What it is, in a sentence.
    pub about: String,
    /// How many nodes there were.
    pub nodes: u32,
    /// How many rounds were run, averaged over repetitions.
    pub rounds: f64,
    /// How many messages were sent, averaged.
    pub messages: f64,
    /// How many bytes were sent, averaged.
    pub bytes: f64,
    /// The last values of what was measured.
    pub metrics: BTreeMap<String, Spread>,
    /// The weakest promise of any node: an upper bound on epsilon; null if there is no guarantee.
    pub epsilon: Option<f64>,
    /// What the algorithm's paper claims for that node.
    pub claim: Option<Claim>,
    /// What ledgers promise, by groups of nodes with the same promise.
    pub guarantees: Vec<Promise>,
    /// How many groups are not listed, because there are too many; their promises are no weaker.
    pub guarantees_left_out: usize,
    /// What nodes had spent on the way, in the first repetition.
    pub spending: Vec<Spending>,
    /// Nodes whose budgets were spent before the end.
    pub stopped: Vec<Stopped>,
    /// What is to be said, of the first repetition.
    pub notes: Vec<String>,
    /// Blake3 of the variant's plan.
    pub plan_hash: String,
    /// The trace of every repetition.
    pub traces: Vec<Trace>,
    /// What was measured on the way, as far as all repetitions went.
    pub points: Vec<Point>,
}

/// A value over all repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// On average.
    #[serde(with = "real")]
    pub mean: f64,
    /// The least.
    #[serde(with = "real")]
    pub least: f64,
    /// The most.
    #[serde(with = "real")]
    pub most: f64,
    /// The standard deviation of one repetition; null if there is only one, or no number.
    pub deviation: Option<f64>,
}

impl Spread {
    /// Of one value for each repetition.
    pub fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let squares = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
        let deviation = match values.len() {
            0 | 1 => None,
            _ if !squares.is_finite() => None,
            // The mean of equal values may be another one by rounding.
            _ if least == most => Some(0.0),
            _ => Some((squares / (n - 1.0)).sqrt()),
        };
        // Of values that are no numbers the mean says it all, and rounding may put it outside.
        Self { mean, least: least.min(mean), most: most.max(mean), deviation }
    }
}

/// The mean, and in brackets the deviation.
impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", number(self.mean))?;
        self.deviation.map_or(Ok(()), |deviation| write!(f, " ({})", rough(deviation)))
    }
}

/// What was measured after so many rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// How many.
    pub round: u64,
    /// By which virtual time, in seconds, averaged; null in step.
    pub time: Option<f64>,
    /// What.
    pub metrics: BTreeMap<String, Spread>,
}

/// What the ledgers of some nodes promise, and what a paper claims for the same noise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Promise {
    /// Whose.
    pub nodes: Nodes,
    /// The complete statement, of the first of them.
    pub guarantee: Guarantee,
    /// The claim.
    pub claim: Option<Claim>,
}

/// What a paper claims.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Where.
    pub source: String,
    /// The epsilon.
    #[serde(with = "real")]
    pub epsilon: f64,
    /// At this delta.
    pub delta: f64,
}

/// What some nodes had spent, over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spending {
    /// Who.
    pub nodes: Nodes,
    /// How much by when.
    pub points: Vec<Spent>,
}

/// A bound on what had been released by then.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spent {
    /// After how many rounds.
    pub round: u64,
    /// By which virtual time, in seconds; null in step.
    pub time: Option<f64>,
    /// At the delta of the guarantee; null if there is none.
    pub epsilon: Option<f64>,
}

/// Nodes whose budgets were spent before the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stopped {
    /// Who.
    pub nodes: Nodes,
    /// After how many gradient steps.
    pub steps: u64,
}

/// The trace of one repetition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The seed of the repetition.
    pub seed: u64,
    /// Blake3 of its lines.
    pub hash: String,
}

/// Who heard whom, with the budgets of some variants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// The numbers of the variants it belongs to, from 0.
    pub variants: Vec<usize>,
    /// What is drawn, in words.
    pub what: String,
    /// How many nodes there are.
    pub nodes: u32,
    /// How many lines there are between them; directed ones, if they are.
    pub edges: usize,
    /// Whether lines have a direction.
    pub directed: bool,
    /// The nodes that are drawn: all of a small network.
    pub shown: Vec<ShownNode>,
    /// The lines that are drawn, by places in `shown`.
    pub lines: Vec<[u32; 2]>,
}

/// A node of a picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShownNode {
    /// Its number.
    pub node: u32,
    /// Where it is, in the unit square.
    pub place: [f64; 2],
    /// The epsilon that it allowed; null if it set no limit.
    pub budget: Option<f64>,
    /// The epsilon of its guarantee; null if there is none.
    pub epsilon: Option<f64>,
    /// The share of the budget, or of the planned releases, that is spent.
    pub spent: f64,
}

/// What a plan wants to have drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChartAsked {
    /// `round`, `time`, a varied key or a metric.
    pub x: String,
    /// A metric, or `rounds-run`.
    pub y: String,
    /// Whether the horizontal axis is logarithmic.
    pub log_x: bool,
    /// Whether the vertical one is.
    pub log_y: bool,
}

/// What became of one expectation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// What was looked at.
    pub what: String,
    /// Why it is expected.
    pub why: Option<String>,
    /// What was found; null if there is no such round.
    #[serde(with = "real::option")]
    pub found: Option<f64>,
    /// At least.
    pub min: Option<f64>,
    /// At most.
    pub max: Option<f64>,
    /// Whether it is so.
    pub passed: bool,
}

/// Why a text is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is not one of this version.
    #[error("this is no report ({0}); run the plan again to make one")]
    Json(#[from] serde_json::Error),
    /// It has another schema.
    #[error(
        "its schema is {found}, and this program reads {SCHEMA}; run the plan again, or read it \
         with the version that wrote it"
    )]
    Schema {
        /// What it says.
        found: Value,
    },
}

impl Report {
    /// Reads what [`Report::to_json`] wrote.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        // The version is looked at first: another one may have other fields.
        let value: Value = serde_json::from_str(text)?;
        match value.get("schema") {
            Some(found) if *found != SCHEMA => Err(ReadError::Schema { found: found.clone() }),
            _ => Ok(serde_json::from_str(text)?),
        }
    }

    /// JSON on one line: for programs, and small although it has every point.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a report is plain data")
    }

    /// What to call a variant: its label, or the plan's name if nothing varies.
    pub fn title_of<'a>(&'a self, variant: &'a Variant) -> &'a str {
        if variant.label.is_empty() { &self.name } else { &variant.label }
    }
}

impl Variant {
    /// The promise of the node that has the weakest.
    pub fn weakest(&self) -> Option<&Promise> {
        let epsilon = |promise: &&Promise| promise.guarantee.epsilon.get();
        self.guarantees.iter().max_by(|a, b| epsilon(a).total_cmp(&epsilon(b)))
    }
}

impl Verdict {
    /// In a line.
    pub fn sentence(&self) -> String {
        let word = if self.passed { "PASS" } else { "FAIL" };
        let found = self.found.map_or("no such round".into(), crate::number);
        let why = self.why.as_ref().map_or(String::new(), |why| format!(" ({why})"));
        format!("{word} {}: {found}, expected {}{why}", self.what, self.limits())
    }

    /// The band, in words.
    pub fn limits(&self) -> String {
        match (self.min, self.max) {
            (Some(min), Some(max)) => format!("between {min} and {max}"),
            (Some(min), None) => format!("at least {min}"),
            (None, Some(max)) => format!("at most {max}"),
            (None, None) => String::new(),
        }
    }
}
