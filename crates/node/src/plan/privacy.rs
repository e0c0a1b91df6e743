//! What nodes hide, as written.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use undertone_privacy::units::Adjacency;

use crate::private::Bound;

/// `[privacy]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PrivacyPlan {
    /// The budget; not given if the noise is, for then it follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// The budget.
    pub delta: f64,
    /// What records, or the gradients of a model, are clipped to.
    pub clip: ClipPlan,
    /// How the noise is chosen.
    pub noise: NoisePlan,
    /// Of models: which data sets are neighbours. If not given it follows from how batches are
    /// drawn: one record more or less if each is drawn by itself, one replaced otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adjacency: Option<Adjacency>,
    /// Nodes with budgets of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node: Vec<NodeBudget>,
}

impl PrivacyPlan {
    /// What records are clipped to. Panics for a norm: a checked plan has that with a model only.
    pub(crate) fn bound(&self) -> Bound {
        match self.clip {
            ClipPlan::Within(bound) => bound,
            ClipPlan::Adaptive(_) | ClipPlan::Norm(_) => {
                panic!("a checked plan without a model clips records")
            }
        }
    }
}

/// What is clipped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, try_from = "Value")]
pub enum ClipPlan {
    /// Gradients, to a norm that follows a quantile of theirs.
    Adaptive(AdaptivePlan),
    /// Gradients, to this Euclidean norm.
    Norm(f64),
    /// Records, to this set.
    Within(Bound),
}

/// A clip norm that follows a quantile of the gradients' norms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AdaptivePlan {
    /// The norm of the first round.
    pub start: f64,
    /// The share of gradients that are not to be clipped.
    pub quantile: f64,
    /// How fast it follows.
    pub rate: f64,
    /// The standard deviation of the noise in the count of short gradients, in records.
    pub noise: f64,
}

impl TryFrom<Value> for ClipPlan {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        if value.get("start").is_some() {
            let adaptive = serde_json::from_value(value).map(Self::Adaptive);
            return adaptive.map_err(|error| {
                format!(
                    "{error}; a clip norm that adapts is {{ start = 1.0, quantile = 0.5, rate = \
                     0.2, noise = 10.0 }}"
                )
            });
        }
        match value.as_f64() {
            Some(norm) => Ok(Self::Norm(norm)),
            None => {
                let bound = serde_json::from_value(value).map(Self::Within);
                bound.map_err(|error| {
                    format!(
                        "{error}; clip is {{ clip = \"box\", radius = 1.0 }} (or \"ball\") for \
                         records, a norm such as 1.0 for gradients"
                    )
                })
            }
        }
    }
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
    /// This standard deviation; zero is no noise and no guarantee. With a model it is that of the
    /// noise in a mean gradient: the noise in the sum over a batch, by the batch's expected size.
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
