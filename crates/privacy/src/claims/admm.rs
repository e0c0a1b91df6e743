//! Paper 000, the ADMM family: PR-ADMM, PP-ADMM and IPP-ADMM.

use super::Claim;
use crate::units::{Adjacency, ClipNorm, OutOfRange, Scale, Sensitivity};

pub mod ipp;
pub mod pp;
pub mod pr;

pub(super) const CLAIMS: [Claim; 4] =
    [pr::PERIODIC_CLAIM, pr::ITERATION_CLAIM, pp::CLAIM, ipp::CLAIM];

/// One node's local problem: a mean of convex losses plus public terms, minimised up to a
/// tolerance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Subproblem {
    /// Number of records, the public divisor `n`.
    pub records: u64,
    /// Norm bound of one record's loss gradient, `V`; 1 after features were clipped to 1.
    pub lipschitz: ClipNorm,
    /// Strong convexity of the whole objective, `m`; see [`convexity`].
    pub convexity: Scale,
    /// Bound on the gradient's norm at the returned point, `beta`, at least 0; it must have been
    /// checked.
    pub tolerance: f64,
}

/// Strong convexity of a local ADMM problem: `(lam/N) r + 2 eta v` for `v` neighbours, where the
/// regulariser is `r`-strongly convex (1 for half the squared norm, 2 for the squared norm).
pub fn convexity(
    ridge: f64,
    strength: f64,
    eta: f64,
    neighbours: u64,
) -> Result<Scale, OutOfRange> {
    Scale::new(ridge * strength + 2.0 * eta * neighbours as f64)
}

impl Subproblem {
    /// How far one record moves the returned point: `(2V/n + 2 beta)/m` when it is replaced,
    /// `(V/n + 2 beta)/m` when it is added or removed (theory A1).
    pub fn sensitivity(&self) -> Result<Sensitivity, OutOfRange> {
        Sensitivity::both(self.shift(Adjacency::AddRemove)?, self.shift(Adjacency::Replace)?)
    }

    /// How far the solver's tolerance alone can move the returned point: `2 beta/m`.
    pub fn tolerance_sensitivity(&self) -> Result<Sensitivity, OutOfRange> {
        let shift = 2.0 * self.checked_tolerance()? / self.convexity.get();
        Sensitivity::both(shift, shift)
    }

    fn shift(&self, adjacency: Adjacency) -> Result<f64, OutOfRange> {
        let moved = match adjacency {
            Adjacency::AddRemove => 1.0,
            Adjacency::Replace => 2.0,
        };
        let gradient = moved * self.lipschitz.get() / self.records as f64;
        Ok((gradient + 2.0 * self.checked_tolerance()?) / self.convexity.get())
    }

    /// A negative tolerance would lower the price.
    fn checked_tolerance(&self) -> Result<f64, OutOfRange> {
        let value = self.tolerance;
        if value >= 0.0 && value.is_finite() {
            return Ok(value);
        }
        Err(OutOfRange { unit: "tolerance", range: "at least 0 and finite", value })
    }
}
