//! Objective perturbation: the noise is a linear term of the objective that is minimised.

use super::{ReleaseError, check_dimension, check_event, erase, noise_stream};
use crate::event::{Event, ObjectiveNoise, ObjectivePerturbation};
use crate::ledger::Receipt;
use crate::noise::{Key, fill_gaussian, fill_knorm, fill_knorm_pair};
use crate::release::Released;

/// Draws the random linear term, then lets the minimiser out.
///
/// # Guarantee
///
/// With `output` unset the release is [`Event::ObjectivePerturbation`], and the caller vouches that
/// it is the exact unconstrained minimiser of the objective that the event describes. A solver that
/// only brings the gradient below `beta` is within `beta / m` of it; set `output` to noise for a
/// sensitivity of `2 beta / m` and both parts are charged (theory A3), which holds for every solver
/// that keeps its tolerance. K-norm noise in both places is pure privacy.
///
/// # References
///
/// Chaudhuri, Monteleoni, Sarwate 2011; Kifer, Smith, Thakurta 2012; Redberg, Koskela, Wang 2023;
/// theory 2.2, A2 and A3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObjectivePerturbationMechanism {
    /// The objective and its linear term.
    pub objective: ObjectivePerturbation,
    /// Noise on the minimiser, for a solver with a tolerance.
    pub output: Option<ObjectiveNoise>,
    /// Number of coordinates.
    pub dimension: u64,
}

impl ObjectivePerturbationMechanism {
    /// What to debit.
    pub fn event(&self) -> Event {
        let objective = Event::ObjectivePerturbation(self.objective);
        match self.output {
            None => objective,
            Some(noise) => Event::Composed(vec![
                objective,
                match noise {
                    ObjectiveNoise::Gaussian(noise) => Event::Gaussian(noise),
                    ObjectiveNoise::KNorm(noise) => Event::KNorm(noise),
                },
            ]),
        }
    }

    /// Draws the linear term that the receipt pays for, from its noise stream.
    pub fn perturb(&self, receipt: Receipt, key: &Key) -> Result<Perturbation, ReleaseError> {
        check_event(&receipt, self.event())?;
        for noise in std::iter::once(&self.objective.noise).chain(&self.output) {
            if let ObjectiveNoise::KNorm(noise) = noise {
                check_dimension(noise.dimension, self.dimension as usize)?;
            }
        }
        let (id, d) = (noise_stream(&receipt), self.dimension as usize);
        let mut term = vec![0.0; d];
        let output = match (&self.objective.noise, &self.output) {
            (ObjectiveNoise::Gaussian(noise), None) => {
                fill_gaussian(key, id, noise.sigma.get(), &mut term);
                None
            }
            (ObjectiveNoise::KNorm(noise), None) => {
                fill_knorm(key, id, noise.rate.get(), &mut term);
                None
            }
            (ObjectiveNoise::KNorm(first), Some(ObjectiveNoise::KNorm(second))) => {
                let mut output = vec![0.0; d];
                let rates = [first.rate.get(), second.rate.get()];
                fill_knorm_pair(key, id, rates, [&mut term, &mut output]);
                Some(output)
            }
            (noise, Some(ObjectiveNoise::Gaussian(second))) => {
                match noise {
                    ObjectiveNoise::Gaussian(noise) => {
                        fill_gaussian(key, id, noise.sigma.get(), &mut term);
                    }
                    ObjectiveNoise::KNorm(noise) => {
                        fill_knorm(key, id, noise.rate.get(), &mut term);
                    }
                }
                // Of the same stream beyond what the linear term read.
                let mut both = vec![0.0; 2 * d];
                fill_gaussian(key, id, second.sigma.get(), &mut both);
                Some(both.split_off(d))
            }
            (ObjectiveNoise::Gaussian(noise), Some(ObjectiveNoise::KNorm(second))) => {
                let mut output = vec![0.0; d];
                let rates = [1.0, second.rate.get()];
                fill_knorm_pair(key, id, rates, [&mut term, &mut output]);
                fill_gaussian(key, id, noise.sigma.get(), &mut term);
                Some(output)
            }
        };
        Ok(Perturbation { term, output })
    }
}

/// A linear term waiting for its minimiser. Whoever knows the term can undo the perturbation, so it
/// cannot be printed or encoded, and it is overwritten when dropped.
pub struct Perturbation {
    term: Vec<f64>,
    output: Option<Vec<f64>>,
}

impl Perturbation {
    /// The linear term `b`; the solver adds `<b, x>` to the objective.
    pub fn term(&self) -> &[f64] {
        &self.term
    }

    /// Releases the minimiser of the perturbed objective, once.
    pub fn release(self, mut minimiser: Vec<f64>) -> Result<Released<Vec<f64>>, ReleaseError> {
        check_dimension(self.term.len() as u64, minimiser.len())?;
        if let Some(noise) = &self.output {
            minimiser.iter_mut().zip(noise).for_each(|(x, n)| *x += n);
        }
        Ok(Released::by_mechanism(minimiser))
    }
}

impl Drop for Perturbation {
    fn drop(&mut self) {
        erase(&mut self.term);
        self.output.iter_mut().for_each(|noise| erase(noise));
    }
}
