//! Laplace noise in floating point.

use undertone_real::Real;

use super::{ReleaseError, admit};
use crate::event::{Event, Laplace};
use crate::ledger::Receipt;
use crate::noise::{Key, add_laplace};
use crate::release::{Norm, Released, Secret};
use crate::units::{Scale, Sensitivity};

/// Adds Laplace noise to every coordinate.
///
/// # Guarantee
///
/// The release is [`Event::Laplace`] with this sensitivity (L1) and scale: pure privacy with
/// epsilon = sensitivity / scale, in real arithmetic. Floating point, hence for the simulator.
///
/// # References
///
/// Dwork, McSherry, Nissim, Smith 2006, "Calibrating noise to sensitivity in private data
/// analysis", proposition 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaplaceMechanism {
    /// L1 sensitivity of what is released.
    pub sensitivity: Sensitivity,
    /// Scale of the noise.
    pub scale: Scale,
}

impl LaplaceMechanism {
    /// What to debit.
    pub fn event(&self) -> Event {
        Event::Laplace(Laplace { sensitivity: self.sensitivity, scale: self.scale })
    }

    /// Adds the noise of the receipt's stream.
    pub fn release<R: Real>(
        &self,
        secret: impl Into<Secret<Vec<R>>>,
        receipt: Receipt,
        key: &Key,
    ) -> Result<Released<Vec<R>>, ReleaseError> {
        let (mut values, id) =
            admit(secret.into(), &receipt, self.event(), Norm::L1, &self.sensitivity)?;
        add_laplace(key, id, self.scale.get(), &mut values);
        Ok(Released::by_mechanism(values))
    }
}
