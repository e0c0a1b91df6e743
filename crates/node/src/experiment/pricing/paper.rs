//! The noise that papers ask for, and what they claim for a noise.

use undertone_privacy::claims::gaussian::classic_sigma;
use undertone_privacy::claims::privsgp::theorem_2_sigma;
use undertone_privacy::claims::{consensus, dgd, quantised};
use undertone_privacy::sampler::Sampler;
use undertone_privacy::units::{Delta, Epsilon, NoiseMultiplier, OutOfRange, Probability, Scale};
use undertone_protocol::Sparsity;

use super::super::Algorithm;
use super::super::protection::{Asked, Claim, at};
use super::Run;
use crate::plan::{AlgorithmWord, NoisePlan, PlanError, PrivacyPlan};
use crate::private::{Answers, Noise};

/// The constant of 003 theorem 2, which the paper leaves open; from its equation 12 and the numbers
/// of its run on CIFAR-10 (theory, CE-2).
pub(in crate::experiment) const C2: f64 = 0.372_403;

/// The constant of 001 theorem 2.7, which the paper leaves open and gives no numbers for.
const C0: f64 = 1.0;

impl Run<'_> {
    /// The standard deviation that the paper asks for: of a mean gradient, or of a point.
    pub(super) fn paper(&self, asked: &Asked) -> Result<f64, PlanError> {
        if let Some(message) = self.out_of_scope() {
            return Err(PlanError::new("privacy.noise", message));
        }
        self.formula(asked).map_err(at("privacy.epsilon"))
    }

    /// What the paper claims for the noise of this run.
    pub(super) fn claim(
        &self,
        privacy: &PrivacyPlan,
        asked: &Asked,
        noise: Noise,
    ) -> Option<Claim> {
        let delta = asked.delta;
        let printed = self.plan.algorithm.printed == Some(true);
        let source = self.source(printed);
        match privacy.noise {
            // As printed paper 003 speaks of any noise, also of what is needed in truth.
            NoisePlan::Sound if self.answers == Answers::Printed => {
                let epsilon = self.claimed(self.of_mean(noise), delta).ok()??;
                self.out_of_scope().is_none().then_some(Claim { source, epsilon, delta })
            }
            // Only paper 004 claims this for whatever noise keeps the budget.
            NoisePlan::Sound if !(printed && self.answers == Answers::Steps) => None,
            NoisePlan::Sound | NoisePlan::Paper => {
                Some(Claim { source, epsilon: asked.epsilon?, delta })
            }
            NoisePlan::Fixed { sigma } if sigma > 0.0 && self.out_of_scope().is_none() => {
                let epsilon = self.claimed(sigma, delta).ok()??;
                Some(Claim { source, epsilon, delta })
            }
            NoisePlan::Fixed { .. } => None,
        }
    }

    fn source(&self, printed: bool) -> &'static str {
        match self.algorithm {
            Algorithm::Dsgd { .. } => "basic composition (baseline of 003)",
            Algorithm::QDpsgd1 { .. } => "000 Theorem 11",
            Algorithm::QDpsgd2 { .. } => "000 Theorem 15",
            Algorithm::Sdm { .. } => "linear rule (baseline of 000, recalled)",
            Algorithm::SurplusGradient { .. } => "001 Theorem 2.7 (constant 1)",
            Algorithm::TwoStage { .. } if printed => "004 Algorithm 1",
            Algorithm::TwoStage { .. } => "004 Theorem 1",
            _ => "003 Theorem 2",
        }
    }

    /// Why the paper has no noise for such a run, and what to do.
    fn out_of_scope(&self) -> Option<&'static str> {
        let sampler = self.sampler();
        match self.algorithm {
            Algorithm::PrivSgp { .. } if self.batch().round() != 1.0 => Some(
                "theorem 2 of paper 003 is about one record a round; take sampling = \"single\", \
                 or \"sound\"",
            ),
            Algorithm::Adp2Sgd { .. } => Some(
                "the published formula bounds gradients that nobody clips, so it is left out; take \
                 \"sound\"",
            ),
            Algorithm::SurplusGradient { .. } if sampler != Sampler::Full => Some(
                "theorem 2.7 of paper 001 is about all records; take sampling = \"full\", or \
                 \"sound\"",
            ),
            Algorithm::Sdm { .. } if !matches!(sampler, Sampler::Poisson(_)) => Some(
                "the rule for sdm is about records that are drawn by themselves; take sampling = \
                 \"poisson\", or \"sound\"",
            ),
            _ => None,
        }
    }

    fn formula(&self, asked: &Asked) -> Result<f64, OutOfRange> {
        let (epsilon, delta) = (asked.epsilon(), asked.delta);
        let (records, rounds) = (self.records as u64, self.total());
        match self.algorithm {
            Algorithm::Dsgd { .. } => {
                // Basic composition of rounds that are as private as each other.
                let k = rounds as f64;
                let part = (Epsilon::new(epsilon.get() / k)?, Delta::new(delta.get() / k)?);
                let moved = 2.0 * self.clip.get() / self.batch();
                classic_sigma(part.0, part.1, moved).map(Scale::get)
            }
            Algorithm::QDpsgd1 { .. } => {
                let z = quantised::remark_6_multiplier(epsilon, delta, records, rounds)?;
                Ok(z.get() * self.clip.get())
            }
            Algorithm::QDpsgd2 { .. } => {
                let z = quantised::remark_6_multiplier(epsilon, delta, records, rounds)?;
                Ok(z.get() * self.clip.get() * self.claimed_step()?)
            }
            Algorithm::Sdm { transmit, .. } => {
                let q = self.batch() / self.records as f64;
                let rule = quantised::LinearRule {
                    transmit: Probability::new(transmit)?,
                    probability: Probability::new(q)?,
                    rounds,
                };
                let z = rule.multiplier(epsilon, delta)?;
                Ok(z.get() * self.clip.get() / self.batch())
            }
            Algorithm::SurplusGradient { .. } => self.theorem_2_7(epsilon, delta).map(Scale::get),
            Algorithm::TwoStage { steps, first_step, .. } => {
                let step = Scale::new(first_step / self.records as f64)?;
                let kappa = dgd::kappa(epsilon, delta, self.clip)?;
                dgd::Schedule { step, kappa, rounds: steps }.sigma(1).map(Scale::get)
            }
            _ => {
                let bound = self.bound_of_paper();
                theorem_2_sigma(C2, bound, epsilon, delta, rounds, records).map(Scale::get)
            }
        }
    }

    /// The epsilon for which the paper asks for this noise; nothing where there is no way back.
    fn claimed(&self, sigma: f64, delta: Delta) -> Result<Option<Epsilon>, OutOfRange> {
        let (records, rounds) = (self.records as u64, self.total());
        let multiplier = sigma / self.clip.get();
        match self.algorithm {
            Algorithm::QDpsgd1 { .. } => {
                let z = NoiseMultiplier::new(multiplier)?;
                quantised::remark_6_epsilon(z, delta, records, rounds).map(Some)
            }
            Algorithm::QDpsgd2 { .. } => {
                let z = NoiseMultiplier::new(multiplier / self.claimed_step()?)?;
                quantised::remark_6_epsilon(z, delta, records, rounds).map(Some)
            }
            Algorithm::Sdm { transmit, .. } => {
                let rule = quantised::LinearRule {
                    transmit: Probability::new(transmit)?,
                    probability: Probability::new(self.batch() / self.records as f64)?,
                    rounds,
                };
                Ok(Some(rule.epsilon(NoiseMultiplier::new(multiplier * self.batch())?, delta)))
            }
            Algorithm::PrivSgp { .. } | Algorithm::SurplusGradient { .. } => {
                // The theorem's noise is inverse to epsilon.
                let one = Asked { epsilon: Some(Epsilon::new(1.0)?), delta };
                Epsilon::new(self.formula(&one)? / sigma).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The theorem with the scaling of its corollaries by the number of records.
    fn theorem_2_7(&self, epsilon: Epsilon, delta: Delta) -> Result<Scale, OutOfRange> {
        let unsent = match self.algorithm {
            Algorithm::SurplusGradient { sparsity: Sparsity::Exactly(sent), .. } => {
                1.0 - sent as f64 / self.dimension as f64
            }
            _ => 0.0,
        };
        let unsent = Probability::new(unsent)?;
        let (clip, rounds, d) = (self.clip, self.total(), self.dimension as u64);
        let sigma = consensus::theorem_2_7_sigma(C0, epsilon, delta, clip, rounds, unsent, d)?;
        Scale::new(sigma.get() / self.records as f64)
    }

    /// What theorem 15 multiplies the noise of theorem 11 by.
    fn claimed_step(&self) -> Result<f64, OutOfRange> {
        let Algorithm::QDpsgd2 { steps, pace, lattice, .. } = self.algorithm else {
            return Ok(1.0);
        };
        let total: u64 = self.rounds.iter().map(|round| round.times).sum();
        let drawn: u64 = self.rounds.iter().map(|round| round.times * round.size).sum();
        let batches = quantised::Batches {
            records: self.records as u64,
            size: Scale::new(drawn as f64 / total as f64)?,
            clip: self.clip,
            rounds: total,
        };
        let step = steps.size.at(0) * pace;
        let d = self.dimension as u64;
        Ok(quantised::claimed_step(&batches, step, Scale::new(lattice.step())?, d))
    }

    /// How many rounds are charged.
    fn total(&self) -> u64 {
        self.rounds.iter().map(|round| round.times).sum()
    }

    /// What paper 003 takes for the sensitivity: `3G` with a table.
    fn bound_of_paper(&self) -> f64 {
        let reduced = self.plan.algorithm.name == AlgorithmWord::PrivSgpVr;
        if reduced { 3.0 * self.clip.get() } else { self.clip.get() }
    }
}
