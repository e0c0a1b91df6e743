//! Gaussian noise by integer arithmetic: for real releases.

use undertone_real::Real;

use super::{ReleaseError, admit, check_dimension, erase};
use crate::event::{DiscreteGaussian, Event, Imprecise, Rounding};
use crate::ledger::Receipt;
use crate::noise::{ExactGaussian, Key, SigmaOutOfRange, Stream};
use crate::release::{Norm, Released, Secret};
use crate::units::{Probability, Scale, Sensitivity};

/// How fine [`LatticeGaussian::fine`] makes its lattice: the step is the largest power of two that
/// is at most sigma / 2^24. Rounding a sum to it costs sqrt(dimension) / 2^24 of a sigma in
/// sensitivity, 6e-5 in a million dimensions; a sum that is on it already costs nothing.
pub const LATTICE_BITS: i32 = 24;

/// Puts a vector on a lattice and adds a discrete Gaussian, with integers.
///
/// # Guarantee
///
/// The release is [`Event::DiscreteGaussian`] carried out by a sampler whose distance from the
/// ideal one is charged ([`Event::Imprecise`]); the ledger needs a reserve for it. What leaves is a
/// function of integers on which the noise was drawn and added exactly, so no bit of a
/// floating-point number betrays the secret; conversion back to floating point is post-processing.
/// The time does not depend on the noise. [`Rounding::OnLattice`] takes only a
/// [`LatticeSum`](crate::release::LatticeSum) of this step: then not even the sum has rounded.
///
/// Coordinates beyond 2^62 steps are taken as 2^62 steps, which brings no two secrets apart.
///
/// # References
///
/// Canonne, Kamath, Steinke 2020, "The discrete Gaussian for differential privacy", theorem 4;
/// theory 3.2 and A6 (rounding); Mironov 2012 (why floating point does not do).
#[derive(Debug)]
pub struct LatticeGaussian {
    noise: DiscreteGaussian,
    sampler: ExactGaussian,
}

impl LatticeGaussian {
    /// A lattice so fine that the noise is as good as continuous; see [`LATTICE_BITS`].
    pub fn fine(
        sensitivity: Sensitivity,
        sigma: Scale,
        dimension: u64,
        rounding: Rounding,
    ) -> Result<Self, SigmaOutOfRange> {
        let step = libm::exp2(f64::from(libm::ilogb(sigma.get()) - LATTICE_BITS));
        let step = Scale::new(step).map_err(|_| SigmaOutOfRange(sigma.get()))?;
        Self::new(DiscreteGaussian { sensitivity, sigma, step, dimension, rounding })
    }

    /// Any lattice. With a step that is no power of two the noise may be larger than stated, by one
    /// unit in the last place of its sigma.
    pub fn new(noise: DiscreteGaussian) -> Result<Self, SigmaOutOfRange> {
        let (sigma, step) = (noise.sigma.get(), noise.step.get());
        let steps = sigma / step;
        let exact = libm::fma(steps, step, -sigma) >= 0.0;
        let sampler = ExactGaussian::new(if exact { steps } else { steps.next_up() })?;
        Ok(Self { noise, sampler })
    }

    /// Distance of neighbouring lattice points.
    pub fn step(&self) -> Scale {
        self.noise.step
    }

    /// What to debit.
    pub fn event(&self) -> Event {
        let tau = self.noise.dimension as f64 * self.sampler.total_variation();
        let total_variation = Probability::new(tau.min(1.0)).expect("capped at one");
        let event = Box::new(Event::DiscreteGaussian(self.noise));
        Event::Imprecise(Imprecise { total_variation, event })
    }

    /// Rounds and adds the noise of the receipt's stream.
    pub fn release<R: Real>(
        &self,
        secret: impl Into<Secret<Vec<R>>>,
        receipt: Receipt,
        key: &Key,
    ) -> Result<Released<Vec<R>>, ReleaseError> {
        let secret = secret.into();
        check_dimension(self.noise.dimension, secret.dimension())?;
        let step = self.noise.step;
        if self.noise.rounding == Rounding::OnLattice && secret.lattice() != Some(step) {
            return Err(ReleaseError::OffLattice { step });
        }
        let (mut values, id) =
            admit(secret, &receipt, self.event(), Norm::L2, &self.noise.sensitivity)?;
        let mut stream = Stream::new(key, id);
        let mut noise = vec![0; values.len()];
        self.sampler.fill(&mut stream, &mut noise);
        let step = step.get();
        for (value, noise) in values.iter_mut().zip(&noise) {
            let steps = value.to_f64() / step;
            let whole = match self.noise.rounding {
                Rounding::Nearest | Rounding::OnLattice => steps.round_ties_even(),
                Rounding::Stochastic => (steps + stream.uniform()).floor(),
            };
            let far = (1_i64 << 62) as f64;
            let point = whole.clamp(-far, far) as i64;
            *value = R::from_f64((point + noise) as f64 * step);
        }
        erase(&mut noise);
        Ok(Released::by_mechanism(values))
    }
}
