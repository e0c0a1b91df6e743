//! Gaussian noise of several sizes.

use undertone_real::Real;

use super::{ReleaseError, check_event, check_sensitivity, erase, noise_stream};
use crate::event::{Event, Gaussian};
use crate::ledger::Receipt;
use crate::noise::{Key, fill_gaussian};
use crate::release::{Norm, Released, Secret};

/// Adds Gaussian noise to groups of coordinates, each with its own sensitivity and sigma.
///
/// # Guarantee
///
/// The release is [`Event::HeterogeneousGaussian`]: one record may load all groups at once.
/// Floating point, hence for the simulator.
///
/// # References
///
/// Theory E1 (heterogeneous noise); Dong, Roth, Su 2019.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupedGaussian {
    /// L2 sensitivity and noise of every group.
    pub groups: Vec<Gaussian>,
}

impl GroupedGaussian {
    /// What to debit.
    pub fn event(&self) -> Event {
        Event::HeterogeneousGaussian(self.groups.clone())
    }

    /// Adds the noise of the receipt's stream, one group after the other.
    pub fn release<R: Real>(
        &self,
        secrets: Vec<Secret<Vec<R>>>,
        receipt: Receipt,
        key: &Key,
    ) -> Result<Released<Vec<Vec<R>>>, ReleaseError> {
        if secrets.len() != self.groups.len() {
            let (expected, found) = (self.groups.len(), secrets.len());
            return Err(ReleaseError::Groups { expected, found });
        }
        for (secret, group) in secrets.iter().zip(&self.groups) {
            check_event(&receipt, secret.drawn().event(self.event()))?;
            if !secret.drawn().is_for(&receipt) {
                let (node, serial) = (receipt.node(), receipt.serial());
                return Err(ReleaseError::OtherBatch { node, serial });
            }
            check_sensitivity(secret, Norm::L2, &group.sensitivity)?;
        }
        let total = secrets.iter().map(|secret| secret.dimension()).sum();
        let mut noise = vec![R::ZERO; total];
        fill_gaussian(key, noise_stream(&receipt), 1.0, &mut noise);
        let (mut released, mut first) = (Vec::with_capacity(secrets.len()), 0);
        for (secret, group) in secrets.into_iter().zip(&self.groups) {
            let mut values = secret.take();
            for (value, unit) in values.iter_mut().zip(&noise[first..]) {
                *value = R::from_f64(value.to_f64() + group.sigma.get() * unit.to_f64());
            }
            first += values.len();
            released.push(values);
        }
        erase(&mut noise);
        Ok(Released::by_mechanism(released))
    }
}
