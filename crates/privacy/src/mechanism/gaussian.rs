//! Gaussian noise in floating point.

use undertone_real::Real;

use super::{ReleaseError, Several, admit};
use crate::event::Event;
use crate::ledger::Receipt;
use crate::noise::Key;
use crate::release::{Norm, Pending, Released, Secret};
use crate::units::{ClipNorm, Scale, Sensitivity};

/// Adds N(0, sigma^2) to every coordinate, fast: for the simulator.
///
/// # Guarantee
///
/// The release is [`Event::Gaussian`] with this sensitivity (L2) and sigma, under every adjacency
/// whose sensitivity is given, if real numbers were added. They are not: the low bits of
/// floating-point noise can betray a secret, so on a real network use
/// [`LatticeGaussian`](super::LatticeGaussian).
///
/// # References
///
/// Balle and Wang 2018, "Improving the Gaussian mechanism for differential privacy", theorem 8;
/// Mironov 2012, "On significance of the least significant bits for differential privacy".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianMechanism {
    /// L2 sensitivity of what is released.
    pub sensitivity: Sensitivity,
    /// Standard deviation of the noise, in the unit of what is released.
    pub sigma: Scale,
}

impl GaussianMechanism {
    /// What to debit.
    pub fn event(&self) -> Event {
        Event::gaussian(self.sensitivity, self.sigma)
    }

    /// Adds the noise of the receipt's stream.
    pub fn release<R: Real>(
        &self,
        secret: impl Into<Secret<Vec<R>>>,
        receipt: Receipt,
        key: &Key,
    ) -> Result<Released<Vec<R>>, ReleaseError> {
        self.promise(secret, receipt, key).map(Pending::finish)
    }

    /// The same release, whose noise is added when it is read.
    #[inline]
    pub fn promise<R: Real>(
        &self,
        secret: impl Into<Secret<Vec<R>>>,
        receipt: Receipt,
        key: &Key,
    ) -> Result<Pending<R>, ReleaseError> {
        let (values, id) =
            admit(secret.into(), &receipt, self.event(), Norm::L2, &self.sensitivity)?;
        Ok(Pending::new(values, key, id, self.sigma.get()))
    }

    /// For about so many sums, of contributions of at most a norm each, that are released at once.
    pub fn several<'a, R: Real>(
        &self,
        clip: ClipNorm,
        count: usize,
    ) -> Result<Several<'a, R>, ReleaseError> {
        let (supposed, found) = (self.sensitivity, Sensitivity::contribution(clip));
        if !found.within(&supposed) {
            return Err(ReleaseError::Sensitivity { supposed, found });
        }
        Ok(Several::new(self.event(), self.sigma.get(), count))
    }
}
