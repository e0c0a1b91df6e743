//! Gaussian noise on a clipped sum, and on a count of those that were not clipped.

use undertone_real::Real;

use super::{ReleaseError, check_event, check_sensitivity, erase, noise_stream};
use crate::event::{Event, Gaussian};
use crate::ledger::Receipt;
use crate::noise::{Key, fill_gaussian};
use crate::release::{ClippedSum, Norm, Released, Secret};
use crate::units::{ClipNorm, NoiseMultiplier, OutOfRange, Scale, Sensitivity};

/// Releases a sum of vectors that are clipped to `C`, and of how many of them were no longer than
/// `C`, less half of all: by that, `C` can follow a quantile of their lengths.
///
/// # Guarantee
///
/// One release is [`Event::HeterogeneousGaussian`] with two groups, in the units of what a record
/// adds: the sum over `C`, to which a record adds at most 1, with noise `z`; and the count, to
/// which it adds 1/2 or -1/2, with noise `s`. The event does not depend on `C`, which may differ
/// from release to release: dividing by it is post-processing if it is a function of values that
/// were released before.
///
/// - Add-remove: one record moves both groups at once, by at most `(1, 1/2)`. In units of the noise
///   that is a vector of length `sqrt(1/z^2 + 1/(2s)^2)`, so the release is a Gaussian mechanism
///   with effective multiplier `(z^-2 + (2s)^-2)^(-1/2)`. On a Poisson sample the vector is there
///   or not, which is the pair of a sampled Gaussian of that size: it depends on the length only.
/// - Replace: two records add `u` and `u'`, each of at most that length, so they differ by at most
///   twice it (the sum by `2C`, the count by 1). On a Poisson sample the pair is
///   `(1-q) N(0) + q N(u)` against `(1-q) N(0) + q N(u')`; the path through the data without the
///   record bounds it by the lengths of `u` and `u'` alone (theory E6). With a sample of fixed size
///   the one drawn record is exchanged, which moves the sample's query by at most `u - u'` (E7).
///
/// Floating point, hence for the simulator.
///
/// # References
///
/// Andrew, Thakkar, McMahan, Ramaswamy 2021, "Differentially private learning with adaptive
/// clipping", theorem 1, for add-remove; theory E1, E6 and E7.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantileGaussian {
    /// Noise of the sum over the clip norm.
    pub sum: NoiseMultiplier,
    /// Noise of the count.
    pub count: Scale,
}

impl QuantileGaussian {
    /// What to debit.
    pub fn event(&self) -> Event {
        let group = |one: f64, sigma: f64| Gaussian {
            sensitivity: half_or_one(one),
            sigma: Scale::new(sigma).expect("a noise multiplier is positive and finite"),
        };
        Event::HeterogeneousGaussian(vec![group(1.0, self.sum.get()), group(0.5, self.count.get())])
    }

    /// The multiplier of a single Gaussian that is as private.
    pub fn effective(&self) -> Result<NoiseMultiplier, OutOfRange> {
        let (z, s) = (self.sum.get(), self.count.get());
        NoiseMultiplier::new((z.powi(-2) + (2.0 * s).powi(-2)).powf(-0.5))
    }

    /// A count as a secret: how many of the batch were no longer than the clip norm, less half of
    /// the batch. The caller vouches that every record adds 1/2 or -1/2.
    pub fn count_of(within: u64, batch: u64, drawn: crate::sampler::Drawn) -> Secret<Vec<f64>> {
        let value = within as f64 - 0.5 * batch as f64;
        Secret::declare_drawn(vec![value], Norm::L2, half_or_one(0.5), drawn)
    }

    /// Adds the noise of the receipt's stream to both.
    pub fn release<R: Real>(
        &self,
        sum: ClippedSum<R>,
        count: Secret<Vec<f64>>,
        receipt: Receipt,
        key: &Key,
    ) -> Result<Released<(Vec<R>, f64)>, ReleaseError> {
        let clip = sum.clip();
        let sum = Secret::from(sum);
        let needed = sum.drawn().event(self.event());
        check_event(&receipt, needed)?;
        if sum.drawn() != count.drawn() || !sum.drawn().is_for(&receipt) {
            let (node, serial) = (receipt.node(), receipt.serial());
            return Err(ReleaseError::OtherBatch { node, serial });
        }
        check_sensitivity(&sum, Norm::L2, &Sensitivity::contribution(clip))?;
        check_sensitivity(&count, Norm::L2, &half_or_one(0.5))?;
        let (mut values, count) = (sum.take(), count.take());
        let mut noise = vec![R::ZERO; values.len() + 1];
        fill_gaussian(key, noise_stream(&receipt), 1.0, &mut noise);
        let sigma = self.sum.get() * clip.get();
        for (value, unit) in values.iter_mut().zip(&noise) {
            *value = R::from_f64(value.to_f64() + sigma * unit.to_f64());
        }
        let last = noise[values.len()].to_f64();
        let count = count.first().copied().unwrap_or(0.0) + self.count.get() * last;
        erase(&mut noise);
        Ok(Released::by_mechanism((values, count)))
    }
}

fn half_or_one(value: f64) -> Sensitivity {
    Sensitivity::contribution(ClipNorm::new(value).expect("a literal in range"))
}
