//! What choosing noise and rounds needs to know, as written.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// `[plan]`: constants of the problem, and which numbers of rounds are tried. All of it is public;
/// what is not given is estimated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PlanningPlan {
    /// `L`: how fast the gradient of the loss changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smoothness: Option<f64>,
    /// `f(x0) - f*`: what there is to gain at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<f64>,
    /// `b^2`: the squared distance of a node's gradient from that of all, at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heterogeneity: Option<f64>,
    /// The mean squared norm of one record's gradient.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variance: Option<f64>,
    /// `c2` of 003 theorem 2, which the paper leaves open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant: Option<f64>,
    /// Where those come from that are not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<EstimatePlan>,
    /// The fewest rounds that are tried; a thirtieth of `run.rounds` if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_rounds: Option<u64>,
    /// The most; thirty times `run.rounds` if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_rounds: Option<u64>,
    /// How many numbers of rounds are tried between them; 13 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<u64>,
}

/// What constants are estimated from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum EstimatePlan {
    /// Other records of the generator that draws those of `[data]`. Costs nothing.
    Generator,
    /// The nodes' own records. It is charged: the noise of the run is calibrated to what is left.
    Private {
        /// Noise over what one record adds.
        noise: f64,
        /// What losses are clipped to.
        loss: f64,
    },
    /// A `[data]` table of records that everybody may see. Costs nothing.
    Public(Map<String, Value>),
}
