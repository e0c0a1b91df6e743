//! What ADMM does, as written.

use serde::{Deserialize, Serialize};

/// `[algorithm.admm]`: for the whole family, so that the name of the algorithm can vary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AdmmPlan {
    /// `eta` of the first iteration: a number, or one for each node.
    pub penalty: PenaltyPlan,
    /// Times so much from one iteration to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth: Option<f64>,
    /// In place of the penalty in the dual step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dual_step: Option<f64>,
    /// Every node adds this times half of `|x|^2`: `rho/N` of paper 002, `lam/N` of paper 000 with
    /// half the squared norm, twice that with the squared norm.
    pub ridge: f64,
    /// The losses of a node are weighted by this over their number: `C` of paper 002. One if not
    /// given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Minima are solved to gradients of this norm; 1e-8 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// Added to the divisor of a recycled step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gamma: Option<f64>,
    /// Whether to refuse the plan unless recycled steps are known to converge without noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_condition: Option<bool>,
    /// Of PR-ADMM, `U`: neighbours whose distances sum to more are ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore_beyond: Option<f64>,
    /// Of IPP-ADMM, `alpha`: by how much losses have to fall for a minimiser to be sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// Of PR-ADMM: the variance of the noise falls after so many rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<u64>,
    /// Of PR-ADMM: `R_P`, what the variance is multiplied by after every period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Of PR-ADMM: `R_T`; the variance of round `t` is divided by it and by `t (t + 1)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decay: Option<f64>,
    /// Of PP-ADMM: where the noise is; on the output if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ModeWord>,
    /// Of IPP-ADMM: how often a node may send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cutoff: Option<u64>,
    /// Of IPP-ADMM: losses are cut to this before they are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_clip: Option<f64>,
    /// Of IPP-ADMM: the share of epsilon that is for comparisons; a quarter if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_share: Option<f64>,
    /// Of linear regression: the largest derivative of one record's loss. Beyond it squares go on
    /// as straight lines, which is Huber's loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slope: Option<f64>,
}

/// One penalty, or one for each node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PenaltyPlan {
    /// The same for all.
    Common(f64),
    /// In order of nodes.
    Each(Vec<f64>),
}

impl PenaltyPlan {
    /// That of one node; not a number if there is none.
    pub fn of(&self, node: u32) -> f64 {
        match self {
            Self::Common(penalty) => *penalty,
            Self::Each(penalties) => penalties.get(node as usize).copied().unwrap_or(f64::NAN),
        }
    }
}

/// Where PP-ADMM's noise is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModeWord {
    /// In the objective; on the output only for the solver's tolerance.
    Objective,
    /// On the output.
    Output,
}
