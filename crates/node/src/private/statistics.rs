//! Sums over all records, released once.

use undertone_model::Dataset;
use undertone_model::fair::{self, Groups, Statistics};
use undertone_privacy::event::Event;
use undertone_privacy::ledger::Receipt;
use undertone_privacy::mechanism::{Exposure, GaussianMechanism, LaplaceMechanism, ReleaseError};
use undertone_privacy::noise::Key;
use undertone_privacy::release::{Norm, Released, Secret};
use undertone_privacy::units::{Adjacency, Delta, Epsilon, OutOfRange, Scale, Sensitivity};
use undertone_real::Real;

use super::Noise;

/// Sums over a node's records, which leave it together, once, with noise.
///
/// # Guarantee
///
/// One [`Event::Gaussian`] or [`Event::Laplace`] of the sums' sensitivity, replace-one. Whatever is
/// computed from what was released costs nothing more.
///
/// # References
///
/// Theory section 4; paper 000 chapter 5.
pub struct PrivateStatistics {
    values: Vec<f64>,
    norm: Norm,
    sensitivity: Sensitivity,
    noise: SumNoise,
}

/// What is added to sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SumNoise {
    /// Nothing: no guarantee.
    Exposed,
    /// Normal noise of this standard deviation.
    Gaussian(Scale),
    /// Laplace noise of this scale.
    Laplace(Scale),
}

impl PrivateStatistics {
    /// What a fair classifier is made of.
    pub fn new<R: Real>(
        statistics: &Statistics,
        data: &Dataset<R>,
        noise: SumNoise,
    ) -> Result<Self, OutOfRange> {
        let norm = match statistics.norm() {
            fair::Norm::L1 => Norm::L1,
            fair::Norm::L2 => Norm::L2,
        };
        let sensitivity = sensitivity_of(statistics)?;
        Ok(Self { values: statistics.sum(data), norm, sensitivity, noise })
    }

    /// What fairness on private test records is measured by: a record is in one of eight counts, so
    /// that replacing it moves two by one.
    pub fn counts(groups: &Groups, noise: SumNoise) -> Result<Self, OutOfRange> {
        let (norm, moved) = match noise {
            SumNoise::Laplace(_) => (Norm::L1, 2.0),
            SumNoise::Exposed | SumNoise::Gaussian(_) => (Norm::L2, std::f64::consts::SQRT_2),
        };
        let sensitivity = Sensitivity::under_only(Adjacency::Replace, moved)?;
        Ok(Self { values: groups.to_vec(), norm, sensitivity, noise })
    }

    /// What to debit.
    pub fn event(&self) -> Event {
        self.noise.event(self.sensitivity)
    }

    pub(crate) fn release(
        &self,
        receipt: Receipt,
        key: &Key,
    ) -> Result<Released<Vec<f64>>, ReleaseError> {
        let sensitivity = self.sensitivity;
        let secret = Secret::declare(self.values.clone(), self.norm, sensitivity);
        match self.noise {
            SumNoise::Exposed => Exposure.release(secret, receipt),
            SumNoise::Gaussian(sigma) => {
                GaussianMechanism { sensitivity, sigma }.release(secret, receipt, key)
            }
            SumNoise::Laplace(scale) => {
                LaplaceMechanism { sensitivity, scale }.release(secret, receipt, key)
            }
        }
    }
}

impl SumNoise {
    /// The least noise that keeps the budget for sums that are released once: Laplace noise keeps
    /// it with a delta of zero.
    pub fn calibrated(
        statistics: &Statistics,
        epsilon: Epsilon,
        delta: Delta,
    ) -> Result<Self, OutOfRange> {
        let moved = sensitivity_of(statistics)?;
        match statistics.norm() {
            fair::Norm::L1 => {
                let scale = statistics.sensitivity() / epsilon.get() * (1.0 + 1e-12);
                Ok(Self::Laplace(Scale::new(scale)?))
            }
            fair::Norm::L2 => Ok(match Noise::calibrated(&moved, epsilon, delta)? {
                Noise::Exposed => Self::Exposed,
                Noise::Gaussian(sigma) => Self::Gaussian(sigma),
            }),
        }
    }

    /// The event of releasing sums of this sensitivity once.
    pub fn event(&self, sensitivity: Sensitivity) -> Event {
        match *self {
            Self::Exposed => Exposure.event(),
            Self::Gaussian(sigma) => GaussianMechanism { sensitivity, sigma }.event(),
            Self::Laplace(scale) => LaplaceMechanism { sensitivity, scale }.event(),
        }
    }

    /// The standard deviation.
    pub fn deviation(&self) -> f64 {
        match self {
            Self::Exposed => 0.0,
            Self::Gaussian(sigma) => sigma.get(),
            Self::Laplace(scale) => std::f64::consts::SQRT_2 * scale.get(),
        }
    }
}

pub(crate) fn sensitivity_of(statistics: &Statistics) -> Result<Sensitivity, OutOfRange> {
    Sensitivity::under_only(Adjacency::Replace, statistics.sensitivity())
}
