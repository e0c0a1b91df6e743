//! Gradient steps that end on a lattice.

use std::sync::Arc;

use undertone_model::{Batch, Dataset, Objective, Scratch};
use undertone_privacy::event::Event;
use undertone_privacy::ledger::Receipt;
use undertone_privacy::mechanism::{Exposure, LatticeGaussian, ReleaseError};
use undertone_privacy::noise::{ExactGaussian, Key, Purpose, Stream, StreamId};
use undertone_privacy::release::{Norm, Released, Secret};
use undertone_privacy::sampler::{Drawn, Sampler};
use undertone_privacy::units::{Adjacency, ClipNorm, Scale, Sensitivity};
use undertone_real::Real;

use super::answers::point_mechanism;
use super::{Noise, exposed};
use crate::oracle::OracleError;

/// A node's records, of which only gradient steps leave, rounded to a lattice at random and with
/// discrete Gaussian noise.
///
/// # Guarantee
///
/// [`Event::DiscreteGaussian`] with stochastic rounding, sampled: the uniforms of the rounding do
/// not depend on data, so two runs round by the same ones. Given what was released before, only the
/// batch of the round matters, since a step begins at a released point. Priced under add-remove
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
    /// The node's own point without noise, as printed; empty before the first question.
    own: Option<Vec<f64>>,
    /// The mechanism of the last step size.
    last: Option<(f64, LatticeGaussian)>,
    scratch: Scratch<R>,
    sum: Vec<R>,
}

/// A question for a point, with the meaning of [`Question::Point`](undertone_protocol::Question).
pub(crate) struct Asked<'a, R> {
    pub(crate) round: u64,
    pub(crate) at: &'a [R],
    pub(crate) from: &'a [R],
    pub(crate) step: f64,
    pub(crate) keep: f64,
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
        let (own, last) = (None, None);
        Self { objective, data, clip, samplers, noise, lattice, own, last, scratch, sum }
    }

    /// As paper 000 prints it: a point of its own integrates all gradients without noise.
    ///
    /// # Guarantee
    ///
    /// None: the event is [`Event::NonPrivate`] though there is noise (theory 3.2, CE-4).
    pub fn printed(mut self) -> Self {
        self.own = Some(Vec::new());
        self
    }

    /// Whether there is a point of its own.
    pub(super) fn remembers(&self) -> bool {
        self.own.is_some()
    }

    /// What to debit for a step of this size (divided by the batch) in a round; nothing if it has
    /// no batch.
    pub fn event_of(&mut self, round: u64, step: f64) -> Result<Option<Event>, OracleError> {
        if self.own.is_some() {
            return Ok(Some(Exposure.event()));
        }
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
        asked: &Asked<'_, R>,
        receipt: Receipt,
        key: &Key,
    ) -> Result<Option<Released<Vec<f64>>>, OracleError> {
        if self.own.is_some() {
            return self.release_printed(asked, receipt, key).map(Some);
        }
        let Some(sampler) = self.in_round(asked.round) else { return Ok(None) };
        Ok(Some(match self.noise {
            Noise::Exposed => {
                let batch = exposed::draw(&sampler, self.data.records(), &receipt, key);
                let secret = self.secret(asked, &batch, Drawn::full())?;
                Exposure.release(secret, receipt)?
            }
            Noise::Gaussian(sigma) => {
                let batch = sampler.draw(self.data.records(), &receipt, key)?;
                let secret = self.secret(asked, batch.indices(), batch.drawn())?;
                self.mechanism(sigma, asked.step)?.release(secret, receipt, key)?
            }
        }))
    }

    /// `x <- from + keep (x - at) - step g(x)`, rounded and with noise that protects nothing.
    fn release_printed(
        &mut self,
        asked: &Asked<'_, R>,
        receipt: Receipt,
        key: &Key,
    ) -> Result<Released<Vec<f64>>, OracleError> {
        let at: Vec<f64> = asked.at.iter().map(|v| v.to_f64()).collect();
        let mut x = self.own.take().filter(|x| !x.is_empty()).unwrap_or_else(|| at.clone());
        let sampler = self.in_round(asked.round);
        let batch = sampler.map(|s| exposed::draw(&s, self.data.records(), &receipt, key));
        let here: Vec<R> = x.iter().map(|v| R::from_f64(*v)).collect();
        self.sum_at(&here, &batch.unwrap_or_default());
        for (((x, at), from), g) in x.iter_mut().zip(&at).zip(asked.from).zip(&self.sum) {
            *x = from.to_f64() + asked.keep * (*x - at) - asked.step * g.to_f64();
        }
        self.own = Some(x.clone());
        let mut bits = exposed::bits(&receipt, key);
        let id = StreamId::new(Purpose::Noise, receipt.node(), receipt.serial())
            .expect("a ledger numbers nodes and debits within a stream's name");
        let no_bound = Sensitivity::under_only(Adjacency::Replace, f64::MAX)?;
        let point = Exposure.release(Secret::declare(x, Norm::L2, no_bound), receipt)?;
        let Noise::Gaussian(sigma) = self.noise else { return Ok(point) };
        let step = self.lattice.get();
        let sampler = ExactGaussian::new(sigma.get() / step).map_err(ReleaseError::from)?;
        let mut noise = vec![0; at.len()];
        sampler.fill(&mut Stream::new(key, id), &mut noise);
        Ok(point.map(|mut point| {
            for (x, noise) in point.iter_mut().zip(&noise) {
                *x = ((*x / step + bits.uniform()).floor() + *noise as f64) * step;
            }
            point
        }))
    }

    /// The step of a batch, in double precision.
    fn secret(
        &mut self,
        asked: &Asked<'_, R>,
        batch: &[usize],
        drawn: Drawn,
    ) -> Result<Secret<Vec<f64>>, OracleError> {
        let &Asked { at, from, step, .. } = asked;
        self.sum_at(at, batch);
        let moved = from.iter().zip(&self.sum).map(|(from, g)| from.to_f64() - step * g.to_f64());
        let sensitivity = self.sensitivity(step)?;
        Ok(Secret::declare_drawn(moved.collect(), Norm::L2, sensitivity, drawn))
    }

    /// The sum of the clipped gradients of a batch, into memory.
    fn sum_at(&mut self, at: &[R], batch: &[usize]) {
        self.sum.resize(self.objective.dimension(), R::ZERO);
        let (clip, chosen) = (self.clip.get(), Batch::of(&self.data, batch));
        self.objective.clipped_sum(at, chosen, clip, &mut self.scratch, &mut self.sum);
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
            None => {
                let moved = step * self.clip.get();
                point_mechanism(moved, sigma, self.lattice, self.objective.dimension())?
            }
        };
        let (_, mechanism) = self.last.insert((step, mechanism));
        Ok(mechanism)
    }
}
