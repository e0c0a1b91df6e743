//! PR-ADMM (paper 000, algorithm 1): neighbours that are too far away are not listened to.

use undertone_real::Real;

use super::local::Local;
use crate::carried::Carried;

/// The rule by which a node of PR-ADMM ignores neighbours: their distances, summed over all rounds,
/// have exceeded a threshold. It uses its own value in place of theirs then, in the primal step
/// only. That noise decays from round to round is the oracle's affair.
///
/// # Guarantee
///
/// Distances are those of values that were sent, so the rule costs nothing.
///
/// # References
///
/// Paper 000, algorithm 1, line 6; theory 2.1, step 3.
#[derive(Clone, Debug, PartialEq)]
pub struct PrAdmm<R> {
    /// `U`.
    threshold: f64,
    /// Of each neighbour.
    distances: Vec<f64>,
    numbers: std::marker::PhantomData<R>,
}

impl<R: Real> PrAdmm<R> {
    /// With a threshold.
    pub fn new(threshold: f64) -> Self {
        Self { threshold, distances: Vec::new(), numbers: std::marker::PhantomData }
    }

    pub(super) fn carry(&mut self, carried: &mut Carried<'_>) {
        carried.values(&mut self.distances);
    }

    pub(super) fn ignores(&self, index: usize) -> bool {
        self.distances.get(index).is_some_and(|distance| *distance > self.threshold)
    }

    pub(super) fn measure(&mut self, local: &Local<R>) {
        self.distances.resize(local.neighbours(), 0.0);
        for (sum, other) in self.distances.iter_mut().zip(local.heard()) {
            let pairs = local.point.get().iter().zip(other);
            *sum += pairs.map(|(a, b)| (*a - *b).to_f64().powi(2)).sum::<f64>().sqrt();
        }
    }
}
