//! What a node is charged for, round by round.

use undertone_privacy::claims::dgd;
use undertone_privacy::sampler::Sampler;
use undertone_privacy::units::{OutOfRange, Scale};
use undertone_protocol::Steps;

use super::super::batches::{Batches, sampler};
use super::super::protection::at;
use super::super::{Algorithm, is_fixed};
use super::Run;
use crate::plan::PlanError;
use crate::private::{Answers, Noise};

/// Rounds that cost the same.
pub(super) struct Round {
    pub(super) size: u64,
    pub(super) sampler: Sampler,
    /// How far a step goes, with what a sum is divided by; of answers that are points.
    pub(super) step: f64,
    /// The noise over that of the first.
    pub(super) share: f64,
    pub(super) times: u64,
    /// Whether it is released without noise.
    pub(super) bare: bool,
}

impl Round {
    pub(super) fn noise(&self, first: Noise) -> Result<Noise, OutOfRange> {
        match first {
            Noise::Gaussian(sigma) if !self.bare => {
                Ok(Noise::Gaussian(Scale::new(sigma.get() * self.share)?))
            }
            _ => Ok(Noise::Exposed),
        }
    }
}

impl Run<'_> {
    pub(super) fn rounds(&self, batches: &Batches) -> Result<Vec<Round>, PlanError> {
        let counts = batches.counts();
        let whole = Round {
            size: self.records as u64,
            sampler: Sampler::Full,
            step: 0.0,
            share: 1.0,
            times: 1,
            bare: false,
        };
        if let Algorithm::TwoStage { steps, first_step, .. } = self.algorithm {
            let first = first_step / self.records as f64;
            let schedule = dgd::Schedule {
                step: Scale::new(first).map_err(at("algorithm.step"))?,
                kappa: Scale::new(1.0).map_err(at("algorithm.step"))?,
                rounds: steps,
            };
            let sigma = |t| schedule.sigma(t).map(Scale::get).map_err(at("algorithm.step"));
            let fixed = self.plan.privacy.as_ref().is_some_and(|p| is_fixed(p.noise));
            let one = |t: u64| {
                let share = if fixed { 1.0 } else { sigma(t)? / sigma(1)? };
                Ok(Round { step: first / t as f64, share, ..whole })
            };
            return (1..=steps).map(one).collect();
        }
        let drawn = |(size, times): (u64, u64)| {
            let sampler = sampler(self.plan, size, self.records).map_err(at("algorithm.batch"))?;
            let share = match self.answers {
                Answers::Points { .. } => 1.0,
                _ => size as f64 / counts[0].0 as f64,
            };
            Ok(Round { size, sampler, times, share, ..whole })
        };
        let mut rounds =
            counts.iter().copied().map(drawn).collect::<Result<Vec<_>, PlanError>>()?;
        if let Algorithm::QDpsgd2 { steps, pace, .. } = self.algorithm {
            rounds = self.points(&rounds, steps, pace);
        }
        Ok(rounds)
    }

    /// The same with the steps that end on the lattice, each of which has its own sensitivity.
    fn points(&self, rounds: &[Round], steps: Steps, pace: f64) -> Vec<Round> {
        let step = |round: &Round, t: u64| {
            steps.size.at(t) * pace / round.sampler.expected_size(self.records)
        };
        let constant = steps.size.at(0) == steps.size.at(1);
        let with = |round: &Round, t, times| Round { step: step(round, t), times, ..*round };
        match rounds {
            [one] if !constant => (0..one.times).map(|t| with(one, t, 1)).collect(),
            // A checked plan whose batches change has steps of one size.
            _ => rounds.iter().map(|round| with(round, 0, round.times)).collect(),
        }
    }
}
