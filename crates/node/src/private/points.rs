//! Gradient steps that end on a lattice.

use std::sync::Arc;

use undertone_model::{Batch, Dataset, Objective, Scratch};
use undertone_privacy::event::{DiscreteGaussian, Event, Rounding};
use undertone_privacy::ledger::Receipt;
use undertone_privacy::mechanism::{Exposure, LatticeGaussian, ReleaseError};
use undertone_privacy::noise::Key;
use undertone_privacy::release::{Norm, Released, Secret};
use undertone_privacy::sampler::{Drawn, Sampler};
use undertone_privacy::units::{ClipNorm, Scale, Sensitivity};
use undertone_real::Real;

use super::{Noise, exposed};
use crate::oracle::OracleError;

/// A node's records, of which only gradient steps leave, rounded to a lattice at random and with
/// discrete Gaussian noise.
///
/// # Guarantee
///
/// [`Event::DiscreteGaussian`] with [`Rounding::Stochastic`], sampled: the uniforms of the rounding
/// do not depend on data, so two runs round by the same ones. Given what was released before, only
/// the batch of the round matters, since a step begins at a released point. Priced under add-remove
/// when records are sampled.
///
/// # References
///
/// Theory 3.2 ("re-anchored") and A6, in place of paper 000, algorithm 5.
pub struct PrivatePoints<R: Real> {
    objective: Arc<dyn Objective<R>>,
    data: Dataset<R>,
    clip: ClipNorm,
    /// Round by round, over and over; rounds without a batch have none.
    samplers: Vec<Option<Sampler>>,
    noise: Noise,
    lattice: Scale,
    /// The mechanism of the last step size.
    last: Option<(f64, LatticeGaussian)>,
    scratch: Scratch<R>,
    sum: Vec<R>,
}

impl<R: Real> PrivatePoints<R> {
    /// Noise of a standard deviation that is meant for the point; `lattice` is the distance of
    /// neighbouring points. Without noise the point is not rounded either.
    pub fn new(
        objective: Arc<dyn Objective<R>>,
        data: Dataset<R>,
        samplers: Vec<Option<Sampler>>,
        clip: ClipNorm,
        noise: Noise,
        lattice: Scale,
    ) -> Self {
        let (scratch, sum) = (Scratch::default(), Vec::new());
        Self { objective, data, clip, samplers, noise, lattice, last: None, scratch, sum }
    }

    /// What to debit for a step of this size (divided by the batch) in a round; nothing if it has no
    /// batch.
    pub fn event_of(&mut self, round: u64, step: f64) -> Result<Option<Event>, OracleError> {
        let Some(sampler) = self.in_round(round) else { return Ok(None) };
        Ok(Some(match self.noise {
            // Whatever was drawn, all of it is exposed.
            Noise::Exposed => Exposure.event(),
            Noise::Gaussian(sigma) => sampler.event(self.mechanism(sigma, step)?.event()),
        }))
    }

    /// How many records there are; public.
    pub fn records(&self) -> usize {
        self.data.records()
    }

    /// Computes and releases the point of a round.
    pub(crate) fn release(
        &mut self,
        (round, step): (u64, f64),
        at: &[R],
        from: &[R],
        receipt: Receipt,
        key: &Key,
    ) -> Result<Option<Released<Vec<f64>>>, OracleError> {
        let Some(sampler) = self.in_round(round) else { return Ok(None) };
        Ok(Some(match self.noise {
            Noise::Exposed => {
                let batch = exposed::draw(&sampler, self.data.records(), &receipt, key);
                let secret = self.secret(step, at, from, &batch, Drawn::full())?;
                Exposure.release(secret, receipt)?
            }
            Noise::Gaussian(sigma) => {
                let batch = sampler.draw(self.data.records(), &receipt, key)?;
                let secret = self.secret(step, at, from, batch.indices(), batch.drawn())?;
                self.mechanism(sigma, step)?.release(secret, receipt, key)?
            }
        }))
    }

    /// The step of a batch, in double precision.
    fn secret(
        &mut self,
        step: f64,
        at: &[R],
        from: &[R],
        batch: &[usize],
        drawn: Drawn,
    ) -> Result<Secret<Vec<f64>>, OracleError> {
        self.sum.resize(self.objective.dimension(), R::ZERO);
        let (clip, chosen) = (self.clip.get(), Batch::of(&self.data, batch));
        self.objective.clipped_sum(at, chosen, clip, &mut self.scratch, &mut self.sum);
        let moved = from.iter().zip(&self.sum).map(|(from, g)| from.to_f64() - step * g.to_f64());
        let sensitivity = self.sensitivity(step)?;
        Ok(Secret::declare_drawn(moved.collect(), Norm::L2, sensitivity, drawn))
    }

    fn in_round(&self, round: u64) -> Option<Sampler> {
        let length = self.samplers.len().max(1) as u64;
        *self.samplers.get((round % length) as usize)?
    }

    /// Of a point, to a record of the batch.
    fn sensitivity(&self, step: f64) -> Result<Sensitivity, OracleError> {
        let moved = step * self.clip.get();
        Ok(Sensitivity::both(moved, 2.0 * moved)?)
    }

    fn mechanism(&mut self, sigma: Scale, step: f64) -> Result<&LatticeGaussian, OracleError> {
        let known = self.last.take().filter(|(size, _)| *size == step);
        let mechanism = match known {
            Some((_, mechanism)) => mechanism,
            None => LatticeGaussian::new(DiscreteGaussian {
                sensitivity: self.sensitivity(step)?,
                sigma,
                step: self.lattice,
                dimension: self.objective.dimension() as u64,
                rounding: Rounding::Stochastic,
            })
            .map_err(ReleaseError::from)?,
        };
        let (_, mechanism) = self.last.insert((step, mechanism));
        Ok(mechanism)
    }
}
