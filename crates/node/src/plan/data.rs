//! What nodes have, as written.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use undertone_model::partition::Partition;

/// `[data]`: numbers to average, or records to learn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, try_from = "Map<String, Value>")]
pub enum DataPlan {
    /// For plans without a model.
    Numbers(NumbersPlan),
    /// For those with one: a recipe, which whoever reads files understands, or a [`DrawnPlan`].
    Records(Map<String, Value>),
}

impl DataPlan {
    /// The numbers. Panics if there are records: a checked plan without a model has none.
    pub(crate) fn numbers(&self) -> &NumbersPlan {
        match self {
            Self::Numbers(numbers) => numbers,
            Self::Records(_) => panic!("a checked plan without a model has numbers"),
        }
    }
}

impl TryFrom<Map<String, Value>> for DataPlan {
    type Error = serde_json::Error;

    fn try_from(table: Map<String, Value>) -> Result<Self, serde_json::Error> {
        let source = table.get("source").cloned();
        let numbers = table.contains_key("dimension") || table.contains_key("values");
        let drawn = source.is_some_and(|word| serde_json::from_value::<SourceWord>(word).is_ok());
        match numbers || drawn {
            true => serde_json::from_value(Value::Object(table)).map(Self::Numbers),
            false => Ok(Self::Records(table)),
        }
    }
}

/// Numbers to average: `[data]` of a plan without a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NumbersPlan {
    /// Where numbers are drawn from; nothing if there are `values`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceWord>,
    /// Numbers of a record.
    pub dimension: usize,
    /// Records of a node; one if not given.
    #[serde(default = "super::one", skip_serializing_if = "super::is_one")]
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

/// Where numbers are drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceWord {
    /// Normal with unit variance, redrawn until it is within the radius.
    TruncatedGaussian,
    /// Uniform between `low` and `high`.
    Uniform,
}

/// Records that are made up: `[data]` of a plan with a model, if it has a `source`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DrawnPlan {
    /// Of which kind.
    pub source: DrawnWord,
    /// How many there are in all, those that are held out included.
    pub records: usize,
    /// So many at the end are held out; none if not given.
    #[serde(default)]
    pub holdout: usize,
    /// Of `census`: how unjust incomes are; 0 if not given.
    pub bias: Option<f64>,
    /// Of `images`: channels, rows and columns; one, 28 and 28 if not given.
    pub image: Option<[usize; 3]>,
    /// Of `gaussian-mixture` and `linear-regression`: numbers of a record.
    pub features: Option<usize>,
    /// Of `gaussian-mixture`.
    pub classes: Option<u32>,
    /// Of `gaussian-mixture`: how far centres are from the origin.
    pub separation: Option<f64>,
    /// How records are dealt to nodes; evenly if not given.
    pub split: Option<Partition>,
}

/// Kinds of records that are made up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DrawnWord {
    /// People, 105 features, and whether they earn much.
    Census,
    /// A cloud of points for each class.
    GaussianMixture,
    /// Pictures of ten classes.
    Images,
    /// The measurements of paper 001.
    LinearRegression,
}
