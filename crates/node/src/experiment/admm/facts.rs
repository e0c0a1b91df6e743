//! What is public about a node's local problems.

use undertone_model::{Convex, Linear};
use undertone_privacy::claims::admm::Subproblem;
use undertone_privacy::units::{Adjacency, ClipNorm, OutOfRange, Scale};
use undertone_protocol::Penalty;

use super::{TOLERANCE, is_recycled, penalty, written};
use crate::experiment::protection::at;
use crate::plan::{AdmmPlan, ClipPlan, Plan, PlanError};

/// Public facts about one node: bounds on what a record can do, and how convex its problems are.
pub(super) struct Facts<'a> {
    pub(super) plan: &'a Plan,
    pub(super) admm: &'a AdmmPlan,
    pub(super) records: usize,
    pub(super) neighbours: usize,
    pub(super) dimension: u64,
    pub(super) penalty: Penalty,
    pub(super) tolerance: f64,
    /// Of minima that are asked for.
    pub(super) iterations: u64,
    /// Rounds from one to the next.
    pub(super) every: u64,
    /// At least the norm of the gradient of one record's weighted loss, times the number of
    /// records.
    pub(super) lipschitz: f64,
    /// The same for its second derivative.
    pub(super) smoothness: f64,
    /// Whether the derivative of a loss keeps its sign.
    pub(super) sign_definite: bool,
}

/// Constants are products of a few numbers; this is more than they round.
const ROUNDED: f64 = 1.0 + 1e-12;

impl<'a> Facts<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        model: &Linear,
        node: u32,
        records: usize,
        neighbours: usize,
    ) -> Result<Self, PlanError> {
        let admm = written(plan);
        let weight = admm.weight.unwrap_or(1.0);
        let (clip, slope) = (clip(plan)?, slope(plan));
        let constants = Convex::<f64>::constants(model, clip);
        let lipschitz = match constants.lipschitz {
            Some(lipschitz) => lipschitz,
            None if plan.privacy.is_none() => f64::INFINITY,
            None if slope.is_finite() => {
                let length = clip * clip + f64::from(u8::from(model.has_intercept()));
                slope * length.sqrt()
            }
            None => {
                let message = "squares have no largest derivative, so that one record could move \
                               the minimum anywhere; say where they go on as straight lines, such \
                               as slope = 1.0";
                return Err(PlanError::new("algorithm.admm.slope", message));
            }
        };
        let every = if is_recycled(plan.algorithm.name) { 2 } else { 1 };
        Ok(Self {
            plan,
            admm,
            records,
            neighbours,
            dimension: model.width() as u64 + u64::from(model.has_intercept()),
            penalty: penalty(plan, node),
            tolerance: admm.tolerance.unwrap_or(TOLERANCE),
            iterations: plan.run.rounds.div_ceil(every),
            every,
            lipschitz: weight * lipschitz * ROUNDED,
            smoothness: weight * constants.smoothness.unwrap_or(f64::INFINITY) * ROUNDED,
            sign_definite: model.signs(),
        })
    }

    /// Strong convexity in one iteration.
    pub(super) fn convexity(&self, iteration: u64) -> f64 {
        self.admm.ridge + self.penalty.quadratic(iteration, self.neighbours)
    }

    /// The local problem of one iteration.
    pub(super) fn problem(&self, iteration: u64) -> Result<Subproblem, OutOfRange> {
        Ok(Subproblem {
            records: self.records as u64,
            lipschitz: ClipNorm::new(self.lipschitz)?,
            convexity: Scale::new(self.convexity(iteration))?,
            tolerance: self.tolerance,
        })
    }

    /// What one record's weighted gradient is at most: `C/B`.
    pub(super) fn gradient(&self) -> f64 {
        self.lipschitz / self.records.max(1) as f64
    }

    /// The relative change of curvature by one record: `kappa`.
    pub(super) fn curvature(&self, iteration: u64) -> f64 {
        self.smoothness / (self.records.max(1) as f64 * self.convexity(iteration)) * ROUNDED
    }

    pub(super) fn adjacency(&self) -> Adjacency {
        let chosen = self.plan.privacy.as_ref().and_then(|privacy| privacy.adjacency);
        chosen.unwrap_or(Adjacency::Replace)
    }
}

/// The norm that features are shortened to; infinite without privacy.
pub(super) fn clip(plan: &Plan) -> Result<f64, PlanError> {
    match plan.privacy.as_ref().map(|privacy| privacy.clip) {
        None => Ok(f64::INFINITY),
        Some(ClipPlan::Norm(norm)) => {
            ClipNorm::new(norm).map(ClipNorm::get).map_err(at("privacy.clip"))
        }
        Some(ClipPlan::Adaptive(_) | ClipPlan::Within(_)) => {
            let message = "for ADMM it is the norm that features are shortened to, such as 1.0";
            Err(PlanError::new("privacy.clip", message))
        }
    }
}

/// Where squares become straight lines.
pub(super) fn slope(plan: &Plan) -> f64 {
    written(plan).slope.unwrap_or(f64::INFINITY)
}
