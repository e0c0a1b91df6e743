//! K-norm (gamma) noise.

use undertone_real::Real;

use super::{ReleaseError, admit, check_dimension, erase};
use crate::event::{Event, KNorm};
use crate::ledger::Receipt;
use crate::noise::{Key, fill_knorm};
use crate::release::{Norm, Released, Secret};
use crate::units::{Scale, Sensitivity};

/// Adds a vector of density proportional to exp(-rate * L2 norm).
///
/// # Guarantee
///
/// The release is [`Event::KNorm`]: pure privacy with epsilon = rate * sensitivity (L2), and far
/// better at delta > 0 in many dimensions (theory E10), in real arithmetic. Floating point, hence
/// for the simulator.
///
/// # References
///
/// Hardt and Talwar 2010, "On the geometry of differential privacy", section 4.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KNormMechanism {
    /// L2 sensitivity of what is released.
    pub sensitivity: Sensitivity,
    /// Rate of the density's decay.
    pub rate: Scale,
    /// Number of coordinates.
    pub dimension: u64,
}

impl KNormMechanism {
    /// What to debit.
    pub fn event(&self) -> Event {
        let Self { sensitivity, rate, dimension } = *self;
        Event::KNorm(KNorm { sensitivity, rate, dimension })
    }

    /// Adds the noise of the receipt's stream.
    pub fn release<R: Real>(
        &self,
        secret: impl Into<Secret<Vec<R>>>,
        receipt: Receipt,
        key: &Key,
    ) -> Result<Released<Vec<R>>, ReleaseError> {
        let secret = secret.into();
        check_dimension(self.dimension, secret.dimension())?;
        let (mut values, id) = admit(secret, &receipt, self.event(), Norm::L2, &self.sensitivity)?;
        let mut noise = vec![0.0; values.len()];
        fill_knorm(key, id, self.rate.get(), &mut noise);
        for (value, noise) in values.iter_mut().zip(&noise) {
            *value = R::from_f64(value.to_f64() + noise);
        }
        erase(&mut noise);
        Ok(Released::by_mechanism(values))
    }
}
