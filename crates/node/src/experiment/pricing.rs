//! Noise and ledger of nodes that learn: from what a plan says to what is proved.

use undertone_privacy::accountant::Accountant;
use undertone_privacy::calibrate::{CalibrateError, Target};
use undertone_privacy::claims::gaussian::classic_sigma;
use undertone_privacy::claims::privsgp::theorem_2_sigma;
use undertone_privacy::event::Event;
use undertone_privacy::ledger::{Budget, Filter, Header, Ledger, Tally};
use undertone_privacy::sampler::{FixedSizeSampler, PoissonSampler, Sampler};
use undertone_privacy::units::{
    Adjacency, ClipNorm, Delta, Epsilon, OutOfRange, Probability, Scale, Sensitivity, Unit,
};

use super::charge::Charge;
use super::protection::{Asked, Claim, at};
use crate::plan::{
    AlgorithmWord, ClipPlan, NodeBudget, NoisePlan, Plan, PlanError, PrivacyPlan, SamplingWord,
};
use crate::private::Noise;

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
    /// Whether differences from remembered gradients are answered.
    pub(super) reduced: bool,
    /// Open, of which others are made.
    pub(super) ledger: Ledger<Tally>,
    pub(super) claim: Option<Claim>,
}

/// The constant of 003 theorem 2, which the paper leaves open; from its equation 12 and the numbers
/// of its run on CIFAR-10 (theory, CE-2).
pub(super) const C2: f64 = 0.372_403;

/// Where nothing is hidden, nothing is clipped: longer than any gradient whose square is finite.
const UNCLIPPED: f64 = 1e150;

impl Priced {
    /// By the common budget, or that of one node, which is at `key` in the plan.
    pub(super) fn new(
        plan: &Plan,
        own: Option<(&NodeBudget, &str)>,
        records: usize,
    ) -> Result<Self, PlanError> {
        let rounds = plan.algorithm.rounds_of_gradients.unwrap_or(plan.run.rounds);
        let run = Run::new(plan, records, rounds)?;
        let Run { sampler, clip, reduced, .. } = run;
        let (noise, budget, claim) = match &plan.privacy {
            None => (Noise::Exposed, None, None),
            Some(privacy) => {
                let asked = run.asked(privacy, own)?;
                let noise = run.noise(privacy.noise, &asked)?;
                let kept = asked.epsilon.filter(|_| privacy.noise == NoisePlan::Sound);
                (noise, Some((kept, asked.delta)), run.claim(privacy, &asked))
            }
        };
        let ledger = run.ledger(noise, budget)?;
        Ok(Self { sampler, clip, noise, reduced, ledger, claim })
    }
}

/// What is to be priced: so many rounds of a node with so many records.
pub(super) struct Run<'a> {
    plan: &'a Plan,
    pub(super) sampler: Sampler,
    pub(super) clip: ClipNorm,
    /// Whether differences from remembered gradients are answered.
    reduced: bool,
    /// What a record adds to a sum at most.
    contribution: ClipNorm,
    rounds: u64,
    records: usize,
}

impl<'a> Run<'a> {
    pub(super) fn new(plan: &'a Plan, records: usize, rounds: u64) -> Result<Self, PlanError> {
        let reduced = plan.algorithm.name == AlgorithmWord::PrivSgpVr;
        let sampler = sampler(plan, records).map_err(at("algorithm.batch"))?;
        let clip = clip(plan)?;
        let contribution = ClipNorm::new(if reduced { 2.0 } else { 1.0 } * clip.get())
            .map_err(at("privacy.clip"))?;
        Ok(Self { plan, sampler, clip, reduced, contribution, rounds, records })
    }

    /// What may be spent on gradients: the budget, less what was spent on estimates.
    pub(super) fn asked(
        &self,
        privacy: &PrivacyPlan,
        own: Option<(&NodeBudget, &str)>,
    ) -> Result<Asked, PlanError> {
        let asked = Asked::new(privacy, own)?;
        match Charge::of(self.plan, &asked, self.adjacency())? {
            Some(charge) => charge.left(&asked),
            None => Ok(asked),
        }
    }

    /// Whether the public mean of remembered gradients is noisy.
    pub(super) fn remembers(&self) -> bool {
        self.reduced
    }

    /// What the noise of a mean gradient is, given that of the sum over a batch.
    pub(super) fn of_mean(&self, noise: Noise) -> f64 {
        match noise {
            Noise::Exposed => 0.0,
            Noise::Gaussian(sigma) => sigma.get() / self.divisor(),
        }
    }

    /// What sums are divided by: the expected size of a batch.
    pub(super) fn divisor(&self) -> f64 {
        self.sampler.expected_size(self.records)
    }

    /// What so much noise costs in truth.
    pub(super) fn price(&self, noise: Noise, delta: Delta) -> Result<Epsilon, PlanError> {
        let price = Accountant::Best.epsilon_upper(&self.event(noise), self.adjacency(), delta);
        price.map(|bound| bound.epsilon).map_err(|e| PlanError::new("privacy", e.to_string()))
    }

    fn event(&self, noise: Noise) -> Event {
        let round = noise.event(Sensitivity::contribution(self.contribution));
        match noise {
            Noise::Gaussian(_) => self.sampler.event(round).repeated(self.rounds),
            // Nothing is hidden, by whatever batch.
            Noise::Exposed => round.repeated(self.rounds),
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
                let target = Target {
                    epsilon: asked.epsilon(),
                    delta: asked.delta,
                    adjacency: self.adjacency(),
                    accountant: Accountant::Best,
                };
                // The bracket of the search starts at the size of a contribution.
                let size = self.contribution.get();
                let scaled = |z: Scale| Scale::new(z.get() * size);
                let family = |z: Scale| match scaled(z) {
                    Ok(sigma) => self.event(Noise::Gaussian(sigma)),
                    Err(_) => Event::NonPrivate,
                };
                let found = target.noise(family).map_err(no_noise)?;
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

    /// Of the mean gradient, as the paper has it; nothing if it has none for such a run.
    fn paper(&self, asked: &Asked) -> Result<Option<Scale>, OutOfRange> {
        let (epsilon, delta) = (asked.epsilon(), asked.delta);
        let divisor = self.divisor();
        if self.plan.algorithm.name == AlgorithmWord::Dp2Sgd {
            // Basic composition of rounds that are as private as each other.
            let k = self.rounds as f64;
            let (epsilon, delta) = (Epsilon::new(epsilon.get() / k)?, Delta::new(delta.get() / k)?);
            return classic_sigma(epsilon, delta, 2.0 * self.clip.get() / divisor).map(Some);
        }
        if divisor.round() != 1.0 {
            return Ok(None);
        }
        let records = self.records as u64;
        theorem_2_sigma(C2, self.bound_of_paper(), epsilon, delta, self.rounds, records).map(Some)
    }

    /// What the paper takes for the sensitivity: `3G` with a table.
    fn bound_of_paper(&self) -> f64 {
        if self.reduced { 3.0 * self.clip.get() } else { self.clip.get() }
    }

    fn claim(&self, privacy: &PrivacyPlan, asked: &Asked) -> Option<Claim> {
        let dp2 = self.plan.algorithm.name == AlgorithmWord::Dp2Sgd;
        let source = if dp2 { "basic composition (baseline of 003)" } else { "003 Theorem 2" };
        let delta = asked.delta;
        match privacy.noise {
            NoisePlan::Sound => None,
            NoisePlan::Paper => Some(Claim { source, epsilon: asked.epsilon?, delta }),
            NoisePlan::Fixed { sigma } if sigma > 0.0 && !dp2 => {
                let one = Asked { epsilon: Epsilon::new(1.0).ok(), delta };
                // The theorem's noise is inverse to epsilon.
                let at_one = self.paper(&one).ok()??;
                let epsilon = Epsilon::new(at_one.get() / sigma).ok()?;
                Some(Claim { source, epsilon, delta })
            }
            NoisePlan::Fixed { .. } => None,
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

fn clip(plan: &Plan) -> Result<ClipNorm, PlanError> {
    let norm = match plan.privacy.as_ref().map(|privacy| privacy.clip) {
        None => UNCLIPPED,
        Some(ClipPlan::Norm(norm)) => norm,
        Some(ClipPlan::Within(_)) => {
            let message = "with a model it is the norm that gradients are clipped to, such as 1.0";
            return Err(PlanError::new("privacy.clip", message));
        }
    };
    ClipNorm::new(norm).map_err(at("privacy.clip"))
}

fn sampler(plan: &Plan, records: usize) -> Result<Sampler, OutOfRange> {
    let batch = plan.algorithm.batch.unwrap_or(1);
    Ok(match plan.algorithm.sampling.expect("checked") {
        SamplingWord::Full => Sampler::Full,
        SamplingWord::Single => Sampler::FixedSize(FixedSizeSampler::new(1, records)?),
        SamplingWord::FixedSize => {
            Sampler::FixedSize(FixedSizeSampler::new(batch as usize, records)?)
        }
        SamplingWord::Poisson => {
            let probability = Probability::new(batch as f64 / records as f64)?;
            Sampler::Poisson(PoissonSampler { probability })
        }
    })
}

fn no_noise(error: CalibrateError) -> PlanError {
    let key = match error {
        CalibrateError::Account(_) => "privacy.adjacency",
        _ => "privacy.epsilon",
    };
    PlanError::new(key, error.to_string())
}
