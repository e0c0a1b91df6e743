//! What kinds of answers about a model there are, and what each costs.

use undertone_privacy::event::{DiscreteGaussian, Event, Rounding};
use undertone_privacy::mechanism::{Exposure, GaussianMechanism, LatticeGaussian, MaskedGaussian};
use undertone_privacy::sampler::Sampler;
use undertone_privacy::units::{Adjacency, ClipNorm, OutOfRange, Probability, Scale, Sensitivity};

use super::adaptive::AdaptiveClip;
use super::{Noise, printed};

/// What an oracle answers from the gradients of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Answers {
    /// Sums of gradients, clipped to a norm that adapts.
    Adaptive(AdaptiveClip),
    /// Sums of differences from gradients that were asked for before.
    Differences,
    /// Sums of gradients.
    Gradients,
    /// Sums of gradients, of which every coordinate is answered with a chance.
    Masked(Probability),
    /// Steps that end on a lattice; with a point of its own, as printed.
    Points { lattice: Scale, printed: bool },
    /// The estimator of SAGA as printed, which is a mean.
    Printed,
    /// Projected steps of all records.
    Steps,
}

/// What the price of an answer depends on, beside its noise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerOf {
    /// How many numbers it has.
    pub(crate) dimension: usize,
    /// How many records the node has.
    pub(crate) records: usize,
    /// Of points and steps.
    pub(crate) step: f64,
}

impl Answers {
    /// How far a record moves an answer by being there; `step` is that of points and steps.
    pub(crate) fn contribution(&self, clip: ClipNorm, step: f64) -> Result<f64, OutOfRange> {
        let moved = match self {
            Self::Differences => 2.0 * clip.get(),
            Self::Adaptive(_) | Self::Gradients | Self::Masked(_) | Self::Printed => clip.get(),
            Self::Points { .. } | Self::Steps => step * clip.get(),
        };
        ClipNorm::new(moved).map(ClipNorm::get)
    }

    /// What is debited for one answer with this noise: the event that the oracle will debit, part
    /// by part.
    pub(crate) fn event(
        &self,
        clip: ClipNorm,
        sampler: Sampler,
        noise: Noise,
        AnswerOf { dimension, records, step }: AnswerOf,
    ) -> Result<Event, OutOfRange> {
        let moved = self.contribution(clip, step)?;
        let mask = match self {
            Self::Masked(transmit) => Some(*transmit),
            _ => None,
        };
        match (*self, noise) {
            (Self::Points { printed: true, .. }, _) | (_, Noise::Exposed) => Ok(Exposure.event()),
            (Self::Adaptive(clip), Noise::Gaussian(sigma)) => {
                Ok(sampler.event(clip.mechanism(sigma)?.event()))
            }
            // Batches without a proved price are refused elsewhere, and cost everything here.
            (Self::Printed, Noise::Gaussian(sigma)) => {
                let mechanism = printed::mechanism(&sampler, records, clip, sigma);
                Ok(mechanism.map_or(Event::NonPrivate, |mechanism| mechanism.event()))
            }
            (Self::Points { lattice, .. }, Noise::Gaussian(sigma)) => {
                let mechanism = point_mechanism(moved, sigma, lattice, dimension)?;
                Ok(sampler.event(mechanism.event()))
            }
            (Self::Steps, _) => {
                Ok(noise.event(Sensitivity::under_only(Adjacency::Replace, 2.0 * moved)?))
            }
            (Self::Differences | Self::Gradients | Self::Masked(_), _) => {
                let sensitivity = Sensitivity::contribution(ClipNorm::new(moved)?);
                Ok(sum_event(&sampler, noise, sensitivity, mask))
            }
        }
    }
}

/// What is debited for the noisy sum over a batch, of which only some coordinates may be sent.
pub(super) fn sum_event(
    sampler: &Sampler,
    noise: Noise,
    sensitivity: Sensitivity,
    transmit: Option<Probability>,
) -> Event {
    let released = noise.event(sensitivity);
    match (noise, transmit) {
        // Whatever was drawn, all of it is exposed.
        (Noise::Exposed, _) => released,
        (Noise::Gaussian(_), None) => sampler.event(released),
        (Noise::Gaussian(sigma), Some(transmit)) => {
            let gaussian = GaussianMechanism { sensitivity, sigma };
            MaskedGaussian { gaussian, transmit }.event_of(sampler.event(released))
        }
    }
}

/// The noise of a point that a record moves by `moved`, before it is rounded to the lattice.
pub(super) fn point_mechanism(
    moved: f64,
    sigma: Scale,
    lattice: Scale,
    dimension: usize,
) -> Result<LatticeGaussian, OutOfRange> {
    LatticeGaussian::new(DiscreteGaussian {
        sensitivity: Sensitivity::both(moved, 2.0 * moved)?,
        sigma,
        step: lattice,
        dimension: dimension as u64,
        rounding: Rounding::Stochastic,
    })
    .map_err(|error| OutOfRange {
        unit: "noise over the lattice's step",
        range: "between 2^-10 and 2^40; take another lattice",
        value: error.0,
    })
}
