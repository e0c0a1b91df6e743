//! Sums of clipped contributions in integers.

use undertone_real::Real;

use super::clipped::factor;
use super::{Norm, Secret};
use crate::sampler::Drawn;
use crate::units::{ClipNorm, Scale, Sensitivity};

/// A sum of vectors, each clipped to an L2 norm and cut to a lattice, added as integers: the secret
/// for releases by [`LatticeGaussian`](crate::mechanism::LatticeGaussian) with
/// [`Rounding::OnLattice`](crate::event::Rounding::OnLattice).
///
/// # Guarantee
///
/// Adding or removing a contribution moves the sum by at most the clip norm, replacing one by twice
/// that: exactly, not up to roundings, and whatever the order of the sum. Coordinates are cut
/// towards zero, which makes no vector longer. A coordinate stops at 2^53 steps, which brings no
/// two sums apart. With a step far below the clip norm the cut is far below the noise.
///
/// # References
///
/// Casacuberta, Shoemate, Vadhan, Wagaman 2022, "Widespread underestimation of sensitivity in
/// differentially private libraries and how to fix it".
///
/// ```compile_fail,E0277
/// # use undertone_privacy::{release::LatticeSum, sampler::Drawn, units::*};
/// let (clip, step) = (ClipNorm::new(1.0).unwrap(), Scale::new(0.125).unwrap());
/// let sum = LatticeSum::new(2, clip, step, Drawn::full());
/// let text = format!("{sum:?}");
/// ```
///
/// ```
/// # use undertone_privacy::{release::LatticeSum, sampler::Drawn, units::*};
/// let (clip, step) = (ClipNorm::new(1.0).unwrap(), Scale::new(0.125).unwrap());
/// let mut sum = LatticeSum::new(2, clip, step, Drawn::full());
/// sum.add(&[3.0, 4.0]);
/// assert_eq!((sum.dimension(), sum.dropped()), (2, 0));
/// ```
pub struct LatticeSum {
    points: Vec<i64>,
    clip: ClipNorm,
    step: Scale,
    drawn: Drawn,
    dropped: u64,
}

/// The farthest lattice point: up to here a number of steps is exact in `f64`.
const FARTHEST: i64 = 1 << 53;

impl LatticeSum {
    /// An empty sum over the records that `drawn` stands for.
    pub fn new(dimension: usize, clip: ClipNorm, step: Scale, drawn: Drawn) -> Self {
        Self { points: vec![0; dimension], clip, step, drawn, dropped: 0 }
    }

    /// Adds one record's contribution, shortened to the clip norm if it is longer. One that is not
    /// finite, or has the wrong dimension, adds nothing and is counted.
    pub fn add<R: Real>(&mut self, contribution: &[R]) {
        let fits = contribution.len() == self.points.len();
        let Some(factor) = factor(contribution, self.clip).filter(|_| fits) else {
            self.dropped += 1;
            return;
        };
        let step = self.step.get();
        for (sum, x) in self.points.iter_mut().zip(contribution) {
            // The conversion cuts towards zero and saturates.
            let steps = (x.to_f64() * factor / step) as i64;
            *sum = sum.saturating_add(steps).clamp(-FARTHEST, FARTHEST);
        }
    }

    /// How many contributions were dropped. It depends on data: for the node's own eyes.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The number of coordinates.
    pub fn dimension(&self) -> usize {
        self.points.len()
    }
}

impl From<LatticeSum> for Secret<Vec<f64>> {
    fn from(sum: LatticeSum) -> Self {
        let step = sum.step.get();
        let values = sum.points.iter().map(|point| *point as f64 * step).collect();
        let sensitivity = Sensitivity::contribution(sum.clip);
        Secret::declare_drawn(values, Norm::L2, sensitivity, sum.drawn.clone()).on_lattice(sum.step)
    }
}

impl Drop for LatticeSum {
    fn drop(&mut self) {
        self.points.fill(0);
        std::hint::black_box(&self.points);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sum(contributions: &[Vec<f64>], clip: f64) -> Vec<f64> {
        let (clip, step) = (ClipNorm::new(clip).unwrap(), Scale::new(1.0 / 64.0).unwrap());
        let mut sum = LatticeSum::new(3, clip, step, Drawn::full());
        contributions.iter().for_each(|c| sum.add(c));
        Secret::from(sum).take()
    }

    #[test]
    fn far_sums_stop_and_bad_ones_are_counted() {
        let (clip, step) = (ClipNorm::new(1e300).unwrap(), Scale::new(1.0).unwrap());
        let mut sum = LatticeSum::new(1, clip, step, Drawn::full());
        for value in [1e299, f64::NAN, 1e299] {
            sum.add(&[value]);
        }
        assert_eq!(sum.dropped(), 1);
        assert_eq!(Secret::from(sum).take(), vec![FARTHEST as f64]);
    }

    proptest! {
        #[test]
        fn one_record_moves_the_sum_by_at_most_the_clip_norm_in_any_order(
            records in proptest::collection::vec(
                proptest::collection::vec(-10_f64..10.0, 3..=3), 1..20,
            ),
            clip in 0.1_f64..10.0,
        ) {
            let (with, without) = (sum(&records, clip), sum(&records[1..], clip));
            let square: f64 = with.iter().zip(&without).map(|(a, b)| (a - b).powi(2)).sum();
            prop_assert!(square.sqrt() <= clip);
            let backwards: Vec<Vec<f64>> = records.iter().rev().cloned().collect();
            prop_assert_eq!(with, sum(&backwards, clip));
        }
    }
}
