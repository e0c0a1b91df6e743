//! What results have to be.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{PlanError, Variant};

/// `[[expected]]`: a band that a result has to be in. Without `of` and `over` it holds for every
/// variant that `where` matches; with them it is about the ratio of two variants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Expected {
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// A metric, `epsilon` (the true one) or `claimed-epsilon`.
    pub metric: String,
    /// When; at the end if not given.
    #[serde(default)]
    pub at: At,
    /// Instead of a value: how the natural logarithm of the metric changes a round, between these
    /// two rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slope_of_log: Option<[u64; 2]>,
    /// Which variants; all if not given.
    #[serde(default, rename = "where", skip_serializing_if = "Map::is_empty")]
    pub matching: Map<String, Value>,
    /// The variant above the line of the ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<Map<String, Value>>,
    /// The variant below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<Map<String, Value>>,
    /// At least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// At most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

/// When a result is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "Value")]
pub enum At {
    /// At the end.
    #[default]
    Last,
    /// The number of rounds that were run, in place of the metric.
    RoundsRun,
    /// After so many rounds.
    #[serde(untagged)]
    Round(u64),
}

impl TryFrom<Value> for At {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match (value.as_str(), value.as_u64()) {
            (Some("last"), _) => Ok(Self::Last),
            (Some("rounds-run"), _) => Ok(Self::RoundsRun),
            (_, Some(round)) => Ok(Self::Round(round)),
            _ => Err(format!("at is \"last\", \"rounds-run\" or a round, not {value}")),
        }
    }
}

impl Expected {
    /// Finds bands that could never fail, or never hold.
    pub fn check(&self, index: usize, variants: &[Variant]) -> Result<(), PlanError> {
        let error = |message: String| Err(PlanError::new(format!("expected.{index}"), message));
        if self.min.is_none() && self.max.is_none() {
            return error("needs min, max or both".into());
        }
        if self.of.is_some() != self.over.is_some() {
            return error("a ratio needs both `of` and `over`".into());
        }
        if self.slope_of_log.is_some_and(|[from, to]| from >= to) {
            return error("slope-of-log = [from, to] needs from below to".into());
        }
        let known = ["epsilon", "claimed-epsilon"].contains(&self.metric.as_str());
        let measured = |variant: &Variant| {
            variant.plan.evaluate.metrics.iter().any(|metric| metric.name() == self.metric)
        };
        if !known && !variants.iter().all(measured) {
            return error(format!("metric {:?} is not in evaluate.metrics", self.metric));
        }
        for set in [Some(&self.matching), self.of.as_ref(), self.over.as_ref()] {
            let Some(set) = set else { continue };
            let count = variants.iter().filter(|variant| variant.matches(set)).count();
            if count == 0 {
                return error(format!("{} matches no variant", Value::Object(set.clone())));
            }
            if count > 1 && self.of.is_some() && !set.is_empty() {
                return error(format!(
                    "{} matches {count} variants; a ratio needs one, so name every varied key",
                    Value::Object(set.clone())
                ));
            }
        }
        Ok(())
    }
}
