//! Sums of clipped contributions.

use undertone_real::Real;

use super::{Guarded, Norm, Secret};
use crate::sampler::Drawn;
use crate::units::{ClipNorm, Sensitivity};

/// A sum of vectors, each clipped to an L2 norm: the secret that most mechanisms take.
///
/// # Guarantee
///
/// Adding or removing a contribution moves the sum by at most the clip norm, replacing one by twice
/// that, in real arithmetic: factors are rounded so that a clipped vector is never too long. The
/// additions round, so a contribution may move later roundings by some units in the last place of
/// the sum; keep the noise far above that (it is for any useful sigma), or use a
/// [`LatticeSum`](super::LatticeSum), which has no such roundings.
///
/// # References
///
/// Casacuberta, Shoemate, Vadhan, Wagaman 2022, "Widespread underestimation of sensitivity in
/// differentially private libraries and how to fix it" (on the roundings of sums).
///
/// ```compile_fail,E0277
/// # use undertone_privacy::{release::ClippedSum, units::ClipNorm};
/// let mut sum = ClippedSum::<f64>::new(2, ClipNorm::new(1.0).unwrap());
/// sum.add(&[3.0, 4.0]);
/// let text = format!("{sum:?}");
/// ```
///
/// ```compile_fail,E0616
/// # use undertone_privacy::{release::ClippedSum, units::ClipNorm};
/// let mut sum = ClippedSum::<f64>::new(2, ClipNorm::new(1.0).unwrap());
/// sum.add(&[3.0, 4.0]);
/// let read = sum.values[0];
/// ```
///
/// ```
/// # use undertone_privacy::{release::ClippedSum, units::ClipNorm};
/// let mut sum = ClippedSum::<f64>::new(2, ClipNorm::new(1.0).unwrap());
/// sum.add(&[3.0, 4.0]);
/// assert_eq!((sum.dimension(), sum.clip().get()), (2, 1.0));
/// ```
pub struct ClippedSum<R: Real> {
    values: Vec<R>,
    clip: ClipNorm,
    drawn: Drawn,
    dropped: u64,
}

impl<R: Real> ClippedSum<R> {
    /// An empty sum over all records.
    pub fn new(dimension: usize, clip: ClipNorm) -> Self {
        Self::drawn(dimension, clip, Drawn::full())
    }

    /// An empty sum over the records of one batch.
    pub fn drawn(dimension: usize, clip: ClipNorm, drawn: Drawn) -> Self {
        Self { values: vec![R::ZERO; dimension], clip, drawn, dropped: 0 }
    }

    /// The trusted door of fast paths: the caller vouches that `values` is a sum of contributions,
    /// one a record, each of L2 norm at most `clip`. `xtask tidy` lists who may call.
    #[inline]
    pub fn trust_clipped(values: Vec<R>, clip: ClipNorm, drawn: Drawn) -> Self {
        Self { values, clip, drawn, dropped: 0 }
    }

    /// Adds one record's contribution, shortened to the clip norm if it is longer. One that is not
    /// finite, or has the wrong dimension, adds nothing and is counted.
    pub fn add(&mut self, contribution: &[R]) {
        let factor = if contribution.len() == self.values.len() {
            factor(contribution, self.clip)
        } else {
            None
        };
        match factor {
            None => self.dropped += 1,
            Some(1.0) => self.values.iter_mut().zip(contribution).for_each(|(sum, x)| *sum += *x),
            Some(factor) => {
                for (sum, x) in self.values.iter_mut().zip(contribution) {
                    *sum += R::from_f64(x.to_f64() * factor);
                }
            }
        }
    }

    /// How many contributions were dropped. It depends on data: for the node's own eyes.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The number of coordinates.
    pub fn dimension(&self) -> usize {
        self.values.len()
    }

    /// The norm bound.
    pub fn clip(&self) -> ClipNorm {
        self.clip
    }
}

impl<R: Real> From<ClippedSum<R>> for Secret<Vec<R>> {
    #[inline]
    fn from(mut sum: ClippedSum<R>) -> Self {
        let values = std::mem::take(&mut sum.values);
        let sensitivity = Sensitivity::contribution(sum.clip);
        Secret::declare_drawn(values, Norm::L2, sensitivity, sum.drawn.clone())
    }
}

impl<R: Real> Drop for ClippedSum<R> {
    #[inline]
    fn drop(&mut self) {
        if !self.values.is_empty() {
            self.values.wipe();
            std::hint::black_box(&self.values);
        }
    }
}

/// What shortens a vector to the clip norm: 1 if it is short enough, `None` if it is not finite.
/// Smaller by more than the roundings of the norm, of the products and of their conversion.
pub(super) fn factor<R: Real>(contribution: &[R], clip: ClipNorm) -> Option<f64> {
    let largest = contribution
        .iter()
        .fold(0.0, |m: f64, x| if x.is_finite() { m.max(x.to_f64().abs()) } else { f64::INFINITY });
    if !largest.is_finite() {
        return None;
    }
    if largest == 0.0 {
        return Some(1.0);
    }
    // By the largest coordinate first, so that no square over- or underflows.
    let squares: f64 = contribution.iter().map(|x| (x.to_f64() / largest).powi(2)).sum();
    let slack = 1.0 - (contribution.len() as f64 + 8.0) * f64::EPSILON;
    if largest * squares.sqrt() <= clip.get() * slack {
        return Some(1.0);
    }
    let unit = if size_of::<R>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    Some(clip.get() / largest / squares.sqrt() * slack * (1.0 - unit))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn clip(value: f64) -> ClipNorm {
        ClipNorm::new(value).unwrap()
    }

    fn one<R: Real>(contribution: &[R], norm: f64) -> Vec<R> {
        let mut sum = ClippedSum::new(contribution.len(), clip(norm));
        sum.add(contribution);
        Secret::from(sum).take()
    }

    fn norm<R: Real>(values: &[R]) -> f64 {
        values.iter().map(|x| x.to_f64().powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn short_contributions_are_left_alone() {
        assert_eq!(one(&[0.3, -0.4], 1.0), vec![0.3, -0.4]);
        let long = one(&[3.0_f64, 4.0], 1.0);
        assert!((long[0] - 0.6).abs() < 1e-14 && (long[1] - 0.8).abs() < 1e-14);
    }

    #[test]
    fn contributions_that_are_not_finite_add_nothing_and_are_counted() {
        let mut sum = ClippedSum::<f32>::new(2, clip(1.0));
        for bad in [[f32::NAN, 0.0], [0.0, f32::INFINITY], [f32::NEG_INFINITY, f32::NAN]] {
            sum.add(&bad);
        }
        sum.add(&[1.0]);
        assert_eq!(sum.dropped(), 4);
        assert_eq!(Secret::from(sum).take(), vec![0.0, 0.0]);
    }

    #[test]
    fn enormous_and_tiny_contributions_are_clipped_without_overflow() {
        assert!(norm(&one(&[1e300, 1e300], 1.0)) > 0.999);
        assert!(norm(&one(&[1e-310, 1e-310], 1e-312)) <= 1e-312);
        assert!(norm(&one(&[f32::MAX; 3], 2.0)) > 1.999);
    }

    proptest! {
        #[test]
        fn nothing_clipped_is_longer_than_the_clip_norm(
            v in proptest::collection::vec(-1e3_f64..1e3, 1..40), c in 1e-3_f64..1e3,
        ) {
            prop_assert!(norm(&one(&v, c)) <= c);
            let narrow: Vec<f32> = v.iter().map(|x| *x as f32).collect();
            prop_assert!(norm(&one(&narrow, c)) <= c);
        }
    }
}
