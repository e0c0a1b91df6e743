//! What is known of convex objectives beyond their gradients.

use undertone_real::Real;

use crate::objective::{Batch, Objective, Scratch};

/// An objective that is convex in its parameters.
pub trait Convex<R: Real>: Objective<R> {
    /// Of the loss of one record whose features have an L2 norm of at most `feature_bound`.
    ///
    /// # Guarantee
    ///
    /// Holds for all parameters and targets. In real arithmetic: the caller rounds.
    fn constants(&self, feature_bound: f64) -> Constants;

    /// Writes the sum of the second derivatives, row by row: dimension squared numbers.
    fn hessian(&self, x: &[R], batch: Batch<'_, R>, scratch: &mut Scratch<R>, out: &mut [R]) {
        let dimension = self.dimension();
        let mut unit = vec![R::ZERO; dimension];
        for (k, row) in out.chunks_exact_mut(dimension).enumerate() {
            unit[k] = R::ONE;
            self.hessian_vector(x, batch, &unit, scratch, row);
            unit[k] = R::ZERO;
        }
    }

    /// Writes the sum of the second derivatives times a vector.
    fn hessian_vector(
        &self,
        x: &[R],
        batch: Batch<'_, R>,
        vector: &[R],
        scratch: &mut Scratch<R>,
        out: &mut [R],
    );
}

/// Bounds on the derivatives of one record's loss; `None` where there is no bound, or none that is
/// positive for strong convexity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constants {
    /// Of the norm of the gradient.
    pub lipschitz: Option<f64>,
    /// Of the largest eigenvalue of the second derivative.
    pub smoothness: Option<f64>,
    /// Of the smallest, from below.
    pub strong_convexity: Option<f64>,
}
