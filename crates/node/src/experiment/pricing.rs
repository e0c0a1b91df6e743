//! Noise and ledger of nodes that learn: from what a plan says to what is proved.

mod written;

use undertone_privacy::accountant::Accountant;
use undertone_privacy::calibrate::{CalibrateError, Target};
use undertone_privacy::claims::gaussian::classic_sigma;
use undertone_privacy::claims::privsgp::theorem_2_sigma;
use undertone_privacy::event::Event;
use undertone_privacy::ledger::{Budget, Filter, Header, Ledger, Tally};
use undertone_privacy::sampler::Sampler;
use undertone_privacy::units::{
    Adjacency, ClipNorm, Delta, Epsilon, OutOfRange, Scale, Sensitivity, Unit,
};

use super::charge::Charge;
use super::protection::{Asked, Claim, at};
use crate::plan::{AlgorithmWord, NodeBudget, NoisePlan, Plan, PlanError, PrivacyPlan};
use crate::private::{Noise, TableError, printed};
use written::{answers, check_stop, clip, sampler};

pub(super) use written::Answers;

/// What the price of a node depends on: its number of records and its budget, in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Terms {
    records: usize,
    budget: [u64; 2],
}

impl Terms {
    pub(super) fn new(plan: &Plan, own: Option<&NodeBudget>, records: usize) -> Self {
        let budget = match (own, &plan.privacy) {
            (Some(own), _) => [own.epsilon, own.delta],
            (None, Some(privacy)) => [privacy.epsilon.unwrap_or(0.0), privacy.delta],
            (None, None) => [0.0, 0.0],
        };
        Self { records, budget: budget.map(f64::to_bits) }
    }
}

/// What nodes with the same terms have in common.
pub(super) struct Priced {
    pub(super) sampler: Sampler,
    pub(super) clip: ClipNorm,
    /// Of the sum over a batch.
    pub(super) noise: Noise,
    /// What is answered.
    pub(super) answers: Answers,
    /// What answers are divided by.
    pub(super) divisor: f64,
    /// Open, of which others are made.
    pub(super) ledger: Ledger<Tally>,
    pub(super) claim: Option<Claim>,
}

/// The constant of 003 theorem 2, which the paper leaves open; from its equation 12 and the numbers
/// of its run on CIFAR-10 (theory, CE-2).
pub(super) const C2: f64 = 0.372_403;

/// Where the noise of counts is in a plan.
pub(super) const COUNTS: &str = "privacy.clip.noise";

impl Priced {
    /// By the common budget, or that of one node, which is at `key` in the plan.
    pub(super) fn new(
        plan: &Plan,
        own: Option<(&NodeBudget, &str)>,
        records: usize,
    ) -> Result<Self, PlanError> {
        let rounds = plan.algorithm.rounds_of_gradients.unwrap_or(plan.run.rounds);
        let mut run = Run::new(plan, records, rounds)?;
        let stops = plan.run.stop_on_budget;
        check_stop(plan)?;
        let (noise, budget, claim) = match &plan.privacy {
            None => (Noise::Exposed, None, None),
            Some(privacy) => {
                let asked = run.asked(privacy, own)?;
                let noise = run.noise(privacy.noise, &asked)?;
                if stops {
                    run.rounds = run.rounds_within(noise, &asked)?;
                }
                let kept = asked.epsilon.filter(|_| stops || privacy.noise == NoisePlan::Sound);
                (noise, Some((kept, asked.delta)), run.claim(privacy, &asked, noise))
            }
        };
        let ledger = run.ledger(noise, budget)?;
        let Run { sampler, clip, answers, .. } = run;
        Ok(Self { sampler, clip, noise, answers, divisor: run.divisor(), ledger, claim })
    }
}

/// What is to be priced: so many rounds of a node with so many records.
pub(super) struct Run<'a> {
    plan: &'a Plan,
    pub(super) sampler: Sampler,
    pub(super) clip: ClipNorm,
    answers: Answers,
    /// What a record adds to a sum at most.
    contribution: ClipNorm,
    rounds: u64,
    records: usize,
}

impl<'a> Run<'a> {
    pub(super) fn new(plan: &'a Plan, records: usize, rounds: u64) -> Result<Self, PlanError> {
        let sampler = sampler(plan, records).map_err(at("algorithm.batch"))?;
        let (clip, answers) = (clip(plan)?, answers(plan)?);
        let times = if answers == Answers::Differences { 2.0 } else { 1.0 };
        let contribution = ClipNorm::new(times * clip.get()).map_err(at("privacy.clip"))?;
        if let (Answers::Printed, true) = (answers, plan.privacy.is_some()) {
            let one = Scale::new(1.0).map_err(at("privacy.noise"))?;
            let refused = |error: TableError| {
                let message = format!("{error}; take \"poisson\" or \"single\"");
                PlanError::new("algorithm.sampling", message)
            };
            printed::mechanism(&sampler, records, clip, one).map_err(refused)?;
        }
        Ok(Self { plan, sampler, clip, answers, contribution, rounds, records })
    }

    /// What may be spent on gradients: the budget, less what was spent on estimates.
    pub(super) fn asked(
        &self,
        privacy: &PrivacyPlan,
        own: Option<(&NodeBudget, &str)>,
    ) -> Result<Asked, PlanError> {
        // Noise that is fixed has a budget if nodes stop on it.
        let chosen = match self.plan.run.stop_on_budget {
            true => PrivacyPlan { noise: NoisePlan::Sound, ..privacy.clone() },
            false => privacy.clone(),
        };
        let asked = Asked::new(&chosen, own)?;
        match Charge::of(self.plan, &asked, self.adjacency())? {
            Some(charge) => charge.left(&asked),
            None => Ok(asked),
        }
    }

    /// Whether the public mean of remembered gradients is noisy.
    pub(super) fn remembers(&self) -> bool {
        self.answers == Answers::Differences
    }

    /// What the noise of a mean gradient is, given that of the sum over a batch.
    pub(super) fn of_mean(&self, noise: Noise) -> f64 {
        match noise {
            Noise::Exposed => 0.0,
            Noise::Gaussian(sigma) => sigma.get() / self.divisor(),
        }
    }

    /// What answers are divided by: sums by the expected size of a batch.
    pub(super) fn divisor(&self) -> f64 {
        if self.answers == Answers::Printed { 1.0 } else { self.batch() }
    }

    /// The expected size of a batch.
    pub(super) fn batch(&self) -> f64 {
        self.sampler.expected_size(self.records)
    }

    /// What so much noise costs in truth.
    pub(super) fn price(&self, noise: Noise, delta: Delta) -> Result<Epsilon, PlanError> {
        let price = Accountant::Best.epsilon_upper(&self.event(noise), self.adjacency(), delta);
        price.map(|bound| bound.epsilon).map_err(|e| PlanError::new("privacy", e.to_string()))
    }

    fn event(&self, noise: Noise) -> Event {
        self.event_of(noise, self.rounds)
    }

    fn event_of(&self, noise: Noise, rounds: u64) -> Event {
        let Noise::Gaussian(sigma) = noise else {
            // Nothing is hidden, by whatever batch.
            return Event::NonPrivate.repeated(rounds);
        };
        let round = match self.answers {
            Answers::Differences | Answers::Gradients => {
                let moved = Sensitivity::contribution(self.contribution);
                self.sampler.event(Event::gaussian(moved, sigma))
            }
            Answers::Adaptive(clip) => match clip.mechanism(sigma) {
                Ok(mechanism) => self.sampler.event(mechanism.event()),
                Err(_) => Event::NonPrivate,
            },
            Answers::Printed => {
                let round = printed::mechanism(&self.sampler, self.records, self.clip, sigma);
                round.map_or(Event::NonPrivate, |mechanism| mechanism.event())
            }
        };
        round.repeated(rounds)
    }

    /// How many rounds the budget lasts with so much noise.
    fn rounds_within(&self, noise: Noise, asked: &Asked) -> Result<u64, PlanError> {
        if self.price(noise, asked.delta)? <= asked.epsilon() {
            return Ok(self.rounds);
        }
        let found = self.target(asked).rounds(|rounds| self.event_of(noise, rounds));
        let found = found.map_err(|_| {
            let message = "does not last for a single round; take more noise, or a larger budget";
            PlanError::new("privacy.epsilon", message)
        })?;
        Ok(found.min(self.rounds))
    }

    fn target(&self, asked: &Asked) -> Target {
        Target {
            epsilon: asked.epsilon(),
            delta: asked.delta,
            adjacency: self.adjacency(),
            accountant: Accountant::Best,
        }
    }

    pub(super) fn adjacency(&self) -> Adjacency {
        let chosen = self.plan.privacy.as_ref().and_then(|privacy| privacy.adjacency);
        chosen.unwrap_or(match self.sampler {
            Sampler::Poisson(_) => Adjacency::AddRemove,
            Sampler::FixedSize(_) | Sampler::Full => Adjacency::Replace,
        })
    }

    /// Of the sum over a batch.
    pub(super) fn noise(&self, chosen: NoisePlan, asked: &Asked) -> Result<Noise, PlanError> {
        if let (Sampler::FixedSize(_), Adjacency::AddRemove) = (self.sampler, self.adjacency()) {
            let message = "batches of a fixed size need a public number of records; take \
                           \"replace\", or sampling = \"poisson\"";
            return Err(PlanError::new("privacy.adjacency", message));
        }
        let divisor = self.divisor();
        match chosen {
            NoisePlan::Sound => {
                // The bracket of the search starts at the size of a contribution.
                let size = self.contribution.get();
                let scaled = |z: Scale| Scale::new(z.get() * size);
                let family = |z: Scale| match scaled(z) {
                    Ok(sigma) => self.event(Noise::Gaussian(sigma)),
                    Err(_) => Event::NonPrivate,
                };
                let found = self.target(asked).noise(family).map_err(|e| self.no_noise(e))?;
                Ok(Noise::Gaussian(scaled(found).map_err(at("privacy.clip"))?))
            }
            NoisePlan::Paper => {
                let sigma = self.paper(asked).map_err(at("privacy.epsilon"))?;
                let sigma = match sigma {
                    Some(sigma) => sigma.get() * divisor,
                    None => {
                        let message = "theorem 2 of paper 003 is about one record a round; take \
                                       sampling = \"single\", or \"sound\"";
                        return Err(PlanError::new("privacy.noise", message));
                    }
                };
                Scale::new(sigma).map(Noise::Gaussian).map_err(at("privacy.noise"))
            }
            NoisePlan::Fixed { sigma } => super::protection::fixed(sigma * divisor),
        }
    }

    fn no_noise(&self, error: CalibrateError) -> PlanError {
        let key = match (&error, self.answers) {
            (CalibrateError::Account(_), _) => "privacy.adjacency",
            (CalibrateError::Unreachable { .. }, Answers::Adaptive(_)) => {
                let message = "the noisy counts alone cost more than the budget; raise it";
                return PlanError::new(COUNTS, message);
            }
            _ => "privacy.epsilon",
        };
        PlanError::new(key, error.to_string())
    }

    /// Of the mean gradient, as the paper has it; nothing if it has none for such a run.
    fn paper(&self, asked: &Asked) -> Result<Option<Scale>, OutOfRange> {
        let (epsilon, delta) = (asked.epsilon(), asked.delta);
        if self.plan.algorithm.name == AlgorithmWord::Dp2Sgd {
            // Basic composition of rounds that are as private as each other.
            let k = self.rounds as f64;
            let (epsilon, delta) = (Epsilon::new(epsilon.get() / k)?, Delta::new(delta.get() / k)?);
            return classic_sigma(epsilon, delta, 2.0 * self.clip.get() / self.batch()).map(Some);
        }
        if self.batch().round() != 1.0 {
            return Ok(None);
        }
        let records = self.records as u64;
        theorem_2_sigma(C2, self.bound_of_paper(), epsilon, delta, self.rounds, records).map(Some)
    }

    /// What the paper takes for the sensitivity: `3G` with a table.
    fn bound_of_paper(&self) -> f64 {
        let reduced = self.plan.algorithm.name == AlgorithmWord::PrivSgpVr;
        if reduced { 3.0 * self.clip.get() } else { self.clip.get() }
    }

    fn claim(&self, privacy: &PrivacyPlan, asked: &Asked, noise: Noise) -> Option<Claim> {
        let dp2 = self.plan.algorithm.name == AlgorithmWord::Dp2Sgd;
        let source = if dp2 { "basic composition (baseline of 003)" } else { "003 Theorem 2" };
        let delta = asked.delta;
        match privacy.noise {
            // As printed the paper speaks of any noise, also of what is needed in truth.
            NoisePlan::Sound if self.answers != Answers::Printed => None,
            NoisePlan::Paper => Some(Claim { source, epsilon: asked.epsilon?, delta }),
            NoisePlan::Fixed { sigma } if sigma == 0.0 || dp2 => None,
            NoisePlan::Fixed { .. } | NoisePlan::Sound => {
                let one = Asked { epsilon: Epsilon::new(1.0).ok(), delta };
                // The theorem's noise is inverse to epsilon.
                let at_one = self.paper(&one).ok()??;
                let epsilon = Epsilon::new(at_one.get() / self.of_mean(noise)).ok()?;
                Some(Claim { source, epsilon, delta })
            }
        }
    }

    /// With the budget that is asked for, or one that just holds what the noise costs.
    fn ledger(
        &self,
        noise: Noise,
        budget: Option<(Option<Epsilon>, Delta)>,
    ) -> Result<Ledger<Tally>, PlanError> {
        let (event, adjacency) = (self.event(noise), self.adjacency());
        let wrong = |message: String| PlanError::new("privacy", message);
        let budget = match budget {
            Some((Some(epsilon), delta)) => Budget { epsilon, delta },
            Some((None, delta)) => Budget { epsilon: self.price(noise, delta)?, delta },
            None => Budget {
                epsilon: Epsilon::INFINITE,
                delta: Delta::new(0.0).map_err(at("privacy"))?,
            },
        };
        let filter = Filter::Planned { event };
        let header = Header { node: 0, budget, adjacency, unit: Unit::Record, filter };
        Ledger::open(header, Tally::default()).map_err(|e| wrong(e.to_string()))
    }
}
