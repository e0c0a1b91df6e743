//! Gaussian noise on a random part of the coordinates.

use undertone_real::Real;

use super::{GaussianMechanism, ReleaseError, admit_as};
use crate::event::{Event, SdmMask};
use crate::ledger::Receipt;
use crate::noise::{Key, Stream, add_gaussian};
use crate::release::{Norm, Released, Secret};
use crate::units::Probability;

/// Sends every coordinate, with noise, with one probability, and forgets the others.
///
/// # Guarantee
///
/// The release is [`Event::SdmMask`] around the (sampled) Gaussian: the mask is visible and does
/// not depend on data. What is not sent must not be kept (theory A7; keeping it is what breaks the
/// printed algorithm). Floating point, hence for the simulator.
///
/// # References
///
/// Theory 3.3 and A7.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaskedGaussian {
    /// The noise.
    pub gaussian: GaussianMechanism,
    /// The chance of a coordinate.
    pub transmit: Probability,
}

/// The coordinates that were sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Masked<R> {
    /// Number of coordinates of the whole vector.
    pub dimension: usize,
    /// Which were sent, increasing.
    pub indices: Vec<usize>,
    /// Their values.
    pub values: Vec<R>,
}

impl MaskedGaussian {
    /// What to debit for all records.
    pub fn event(&self) -> Event {
        self.event_of(self.gaussian.event())
    }

    /// What to debit for a batch: `inner` is the sampler's event of the Gaussian's.
    pub fn event_of(&self, inner: Event) -> Event {
        Event::SdmMask(SdmMask { transmit: self.transmit, event: Box::new(inner) })
    }

    /// Adds the noise of the receipt's stream and draws the mask from it.
    pub fn release<R: Real>(
        &self,
        secret: impl Into<Secret<Vec<R>>>,
        receipt: Receipt,
        key: &Key,
    ) -> Result<Released<Masked<R>>, ReleaseError> {
        let secret = secret.into();
        let needed = self.event_of(secret.drawn().event(self.gaussian.event()));
        let sensitivity = &self.gaussian.sensitivity;
        let (mut values, id) = admit_as(secret, &receipt, needed, Norm::L2, sensitivity)?;
        add_gaussian(key, id, self.gaussian.sigma.get(), &mut values);
        // The noise reads the ChaCha8 keystream of this name, the mask its ChaCha20 keystream.
        let (mut stream, transmit) = (Stream::new(key, id), self.transmit.get());
        let dimension = values.len();
        let indices: Vec<usize> = (0..dimension).filter(|_| stream.bernoulli(transmit)).collect();
        let sent = indices.iter().map(|i| values[*i]).collect();
        Ok(Released::by_mechanism(Masked { dimension, indices, values: sent }))
    }
}
