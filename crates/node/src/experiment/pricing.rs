//! Noise and ledger of nodes that learn: from what a plan says to what is proved.

mod paper;
mod rounds;
mod written;

use undertone_privacy::accountant::Accountant;
use undertone_privacy::calibrate::{CalibrateError, Target};
use undertone_privacy::event::Event;
use undertone_privacy::ledger::{Budget, Filter, Header, Ledger, Tally};
use undertone_privacy::sampler::Sampler;
use undertone_privacy::units::{Adjacency, ClipNorm, Delta, Epsilon, OutOfRange, Scale, Unit};

use super::Algorithm;
use super::batches::Batches;
use super::charge::Charge;
use super::protection::{Asked, Claim, at};
use crate::plan::{NodeBudget, NoisePlan, Plan, PlanError, PrivacyPlan};
use crate::private::{AnswerOf, Answers, Noise, TableError, printed};
use rounds::Round;
use written::{answers, check_stop, clip};

pub(super) use paper::C2;

/// What the price of a node depends on: its number of records, its budget, in bits, and its
/// batches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Terms {
    records: usize,
    budget: [u64; 2],
    batches: Vec<(u64, u64)>,
}

impl Terms {
    pub(super) fn new(
        plan: &Plan,
        own: Option<&NodeBudget>,
        records: usize,
        batches: &Batches,
    ) -> Self {
        let budget = match (own, &plan.privacy) {
            (Some(own), _) => [own.epsilon, own.delta],
            (None, Some(privacy)) => [privacy.epsilon.unwrap_or(0.0), privacy.delta],
            (None, None) => [0.0, 0.0],
        };
        Self { records, budget: budget.map(f64::to_bits), batches: batches.counts() }
    }
}

/// What nodes with the same terms have in common.
pub(super) struct Priced {
    pub(super) clip: ClipNorm,
    /// What is answered.
    pub(super) answers: Answers,
    /// How batches of a size are drawn, and the noise of what is answered.
    rounds: Vec<(u64, Sampler, Noise)>,
    /// Open, of which others are made.
    pub(super) ledger: Ledger<Tally>,
    pub(super) claim: Option<Claim>,
}

/// Where the noise of counts is in a plan.
pub(super) const COUNTS: &str = "privacy.clip.noise";

impl Priced {
    /// By the common budget, or that of one node, which is at `key` in the plan.
    pub(super) fn new(
        plan: &Plan,
        algorithm: Algorithm,
        dimension: usize,
        own: Option<(&NodeBudget, &str)>,
        records: usize,
        batches: &Batches,
    ) -> Result<Self, PlanError> {
        check_stop(plan)?;
        let mut run = Run::new(plan, algorithm, dimension, records, batches)?;
        let stops = plan.run.stop_on_budget;
        let (noise, budget, claim) = match &plan.privacy {
            None => (Noise::Exposed, None, None),
            Some(privacy) => {
                let asked = run.asked(privacy, own)?;
                let noise = run.noise(privacy.noise, &asked)?;
                if stops {
                    run.stop_within(noise, &asked)?;
                }
                let kept = asked.epsilon.filter(|_| stops || privacy.noise == NoisePlan::Sound);
                (noise, Some((kept, asked.delta)), run.claim(privacy, &asked, noise))
            }
        };
        run.print();
        let ledger = run.ledger(noise, budget)?;
        let one = |round: &Round| Ok((round.size, round.sampler, round.noise(noise)?));
        let rounds = run.rounds.iter().map(one).collect::<Result<_, OutOfRange>>();
        let rounds = rounds.map_err(at("privacy.noise"))?;
        Ok(Self { clip: run.clip, answers: run.answers, rounds, ledger, claim })
    }

    /// The sampler and the noise of every round, as the batches are.
    pub(super) fn schedule(&self, batches: &Batches) -> Vec<Option<(Sampler, Noise)>> {
        let find = |size: &u64| self.rounds.iter().find(|(known, ..)| known == size);
        let drawing = |size| find(size).map(|(_, sampler, noise)| (*sampler, *noise));
        batches.sizes().iter().map(drawing).collect()
    }

    /// The noise of one release after the other, where every one has its own.
    pub(super) fn noises(&self) -> Vec<Noise> {
        self.rounds.iter().map(|(.., noise)| *noise).collect()
    }

    /// The noise of every answer, where all have the same.
    pub(super) fn noise(&self) -> Noise {
        self.rounds.first().map_or(Noise::Exposed, |(.., noise)| *noise)
    }
}

/// What is to be priced: rounds of a node with so many records.
pub(super) struct Run<'a> {
    plan: &'a Plan,
    algorithm: Algorithm,
    answers: Answers,
    pub(super) clip: ClipNorm,
    dimension: usize,
    records: usize,
    rounds: Vec<Round>,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        algorithm: Algorithm,
        dimension: usize,
        records: usize,
        batches: &Batches,
    ) -> Result<Self, PlanError> {
        let (clip, answers) = (clip(plan)?, answers(plan, algorithm)?);
        let rounds = Vec::new();
        let mut run = Self { plan, algorithm, answers, clip, dimension, records, rounds };
        run.rounds = run.rounds(batches)?;
        if let (Answers::Printed, true) = (answers, plan.privacy.is_some()) {
            let one = Scale::new(1.0).map_err(at("privacy.noise"))?;
            let refused = |error: TableError| {
                let message = format!("{error}; take \"poisson\" or \"single\"");
                PlanError::new("algorithm.sampling", message)
            };
            printed::mechanism(&run.sampler(), records, clip, one).map_err(refused)?;
        }
        Ok(run)
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

    /// From what is calibrated to what is printed: paper 004's last step has no noise, and paper
    /// 000's points go on from one without.
    fn print(&mut self) {
        match (self.algorithm, &mut self.answers) {
            (Algorithm::QDpsgd2 { printed: true, .. }, Answers::Points { printed, .. }) => {
                *printed = true;
            }
            (Algorithm::TwoStage { .. }, _) if self.plan.algorithm.printed == Some(true) => {
                self.rounds.iter_mut().next_back().into_iter().for_each(|last| last.bare = true);
            }
            _ => {}
        }
    }

    /// That of the first round.
    pub(super) fn sampler(&self) -> Sampler {
        self.rounds[0].sampler
    }

    /// The expected size of the first batch.
    pub(super) fn batch(&self) -> f64 {
        self.sampler().expected_size(self.records)
    }

    /// Whether the public mean of remembered gradients is noisy.
    pub(super) fn remembers(&self) -> bool {
        self.answers == Answers::Differences
    }

    /// What the noise of a mean gradient, or of a point, is, given that of an answer.
    pub(super) fn of_mean(&self, noise: Noise) -> f64 {
        match noise {
            Noise::Exposed => 0.0,
            Noise::Gaussian(sigma) => sigma.get() / self.unit(),
        }
    }

    /// What so much noise costs in truth.
    pub(super) fn price(&self, noise: Noise, delta: Delta) -> Result<Epsilon, PlanError> {
        let event = self.event(noise).map_err(at("privacy.noise"))?;
        let price = Accountant::Best.epsilon_upper(&event, self.adjacency(), delta);
        price.map(|bound| bound.epsilon).map_err(|e| PlanError::new("privacy", e.to_string()))
    }

    /// Leaves as many rounds as the budget lasts for with so much noise.
    fn stop_within(&mut self, noise: Noise, asked: &Asked) -> Result<(), PlanError> {
        let [round] = &self.rounds[..] else {
            let message = "needs rounds that all cost the same; leave it out, or take batches and \
                           steps of one size";
            return Err(PlanError::new("run.stop-on-budget", message));
        };
        if self.price(noise, asked.delta)? <= asked.epsilon() {
            return Ok(());
        }
        let one = self.event_of(round, noise).map_err(at("privacy.noise"))?;
        let found = self.target(asked).rounds(|times| one.clone().repeated(times));
        let found = found.map_err(|_| {
            let message = "does not last for a single round; take more noise, or a larger budget";
            PlanError::new("privacy.epsilon", message)
        })?;
        self.rounds[0].times = found.min(self.rounds[0].times);
        Ok(())
    }

    fn target(&self, asked: &Asked) -> Target {
        Target {
            epsilon: asked.epsilon(),
            delta: asked.delta,
            adjacency: self.adjacency(),
            accountant: Accountant::Best,
        }
    }

    /// Of all rounds, with this noise in the first.
    fn event(&self, noise: Noise) -> Result<Event, OutOfRange> {
        if let (Answers::Points { printed: true, .. }, Algorithm::QDpsgd2 { steps, .. }) =
            (self.answers, self.algorithm)
        {
            // A point of its own moves on in rounds without a batch, too.
            return Ok(Event::NonPrivate.repeated(steps.rounds));
        }
        let one = |round: &Round| Ok(self.event_of(round, noise)?.repeated(round.times));
        let mut events = self.rounds.iter().map(one).collect::<Result<Vec<_>, OutOfRange>>()?;
        Ok(if events.len() == 1 { events.remove(0) } else { Event::Composed(events) })
    }

    /// Of one round.
    fn event_of(&self, round: &Round, first: Noise) -> Result<Event, OutOfRange> {
        let noise = round.noise(first)?;
        let of = AnswerOf { dimension: self.dimension, records: self.records, step: round.step };
        self.answers.event(self.clip, round.sampler, noise, of)
    }

    pub(super) fn adjacency(&self) -> Adjacency {
        let chosen = self.plan.privacy.as_ref().and_then(|privacy| privacy.adjacency);
        chosen.unwrap_or(match self.sampler() {
            Sampler::Poisson(_) => Adjacency::AddRemove,
            Sampler::FixedSize(_) | Sampler::Full => Adjacency::Replace,
        })
    }

    /// What `{ sigma = S }` is multiplied by: it is that of a mean, or of a point.
    fn unit(&self) -> f64 {
        match self.answers {
            Answers::Points { .. } | Answers::Printed | Answers::Steps => 1.0,
            _ => self.batch(),
        }
    }

    /// Of the first round.
    pub(super) fn noise(&self, chosen: NoisePlan, asked: &Asked) -> Result<Noise, PlanError> {
        self.check_adjacency()?;
        match chosen {
            NoisePlan::Sound => self.calibrated(asked),
            NoisePlan::Paper => {
                let sigma = self.paper(asked)? * self.unit();
                Scale::new(sigma).map(Noise::Gaussian).map_err(at("privacy.noise"))
            }
            NoisePlan::Fixed { sigma } => super::protection::fixed(sigma * self.unit()),
        }
    }

    /// The least that keeps the budget.
    fn calibrated(&self, asked: &Asked) -> Result<Noise, PlanError> {
        // The bracket of the search starts at the size of a contribution.
        let contribution = self.answers.contribution(self.clip, self.rounds[0].step);
        let size = contribution.map_err(at("privacy.clip"))?;
        let scaled = |z: Scale| Scale::new(z.get() * size);
        let family = |z: Scale| {
            let event = scaled(z).and_then(|sigma| self.event(Noise::Gaussian(sigma)));
            event.unwrap_or(Event::NonPrivate)
        };
        let found = self.target(asked).noise(family).map_err(|e| self.no_noise(e))?;
        Ok(Noise::Gaussian(scaled(found).map_err(at("privacy.clip"))?))
    }

    fn check_adjacency(&self) -> Result<(), PlanError> {
        let message = match (self.sampler(), self.adjacency()) {
            (Sampler::FixedSize(_), Adjacency::AddRemove) => {
                "batches of a fixed size need a public number of records; take \"replace\", or \
                 sampling = \"poisson\""
            }
            (_, Adjacency::AddRemove) if self.answers == Answers::Steps => {
                "steps of all records hide replacement; take \"replace\", or leave it out"
            }
            _ => return Ok(()),
        };
        Err(PlanError::new("privacy.adjacency", message))
    }

    /// With the budget that is asked for, or one that just holds what the noise costs.
    fn ledger(
        &self,
        noise: Noise,
        budget: Option<(Option<Epsilon>, Delta)>,
    ) -> Result<Ledger<Tally>, PlanError> {
        let (event, adjacency) =
            (self.event(noise).map_err(at("privacy.noise"))?, self.adjacency());
        let wrong = |message: String| PlanError::new("privacy", message);
        let budget = match budget {
            // Something is bare, as printed.
            Some((Some(_), delta)) if self.is_bare() => {
                Budget { epsilon: Epsilon::INFINITE, delta }
            }
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

    fn is_bare(&self) -> bool {
        let own_point = matches!(self.answers, Answers::Points { printed: true, .. });
        own_point || self.rounds.iter().any(|round| round.bare)
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
}
