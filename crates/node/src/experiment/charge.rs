//! Estimates from the nodes' own records, and what they cost.

use undertone_model::{Batch, Dataset, Scratch, Tabled};
use undertone_privacy::accountant::Accountant;
use undertone_privacy::event::Event;
use undertone_privacy::ledger::{Budget, Filter, Guarantee, Header, Ledger};
use undertone_privacy::mechanism::GaussianMechanism;
use undertone_privacy::noise::Key;
use undertone_privacy::release::ClippedSum;
use undertone_privacy::units::{
    Adjacency, ClipNorm, Delta, Epsilon, OutOfRange, Scale, Sensitivity, Unit,
};
use undertone_real::Real;

use super::protection::{Asked, at};
use crate::plan::{EstimatePlan, Plan, PlanError};

/// What one node says, once, about the start of a run: the sums of its records' clipped gradients,
/// of their clipped losses and of the squares of the gradients' norms, each in units of its bound,
/// with Gaussian noise. A record adds a vector of norm at most the root of three.
///
/// # Guarantee
///
/// One [`Event::Gaussian`] over all records. How many rounds are run, and with what noise, is
/// chosen in view of it, so that the rest of the run is not a list fixed in advance: both are put
/// together by basic composition, which allows that. A tenth of delta, and the epsilon that the
/// event costs at it, are taken off the budget before the noise of gradients is calibrated.
///
/// # References
///
/// Dwork, Roth 2014, theorem 3.16 and its remark on adaptive choices (basic composition).
pub(super) struct Charge {
    mechanism: GaussianMechanism,
    adjacency: Adjacency,
    /// What losses are clipped to.
    loss: f64,
    /// What the event costs.
    spent: Budget,
}

/// What a node's statement comes to.
pub(super) struct Statement {
    /// Of the mean of the clipped gradients, and the mean squared error in it.
    pub gradient: Vec<f64>,
    pub error: f64,
    pub loss: f64,
    pub square: f64,
    pub guarantee: Guarantee,
}

/// The share of delta that estimates are priced at.
const SHARE: f64 = 0.1;

const KEY: &str = "plan.estimate.private";

impl Charge {
    /// Nothing if the plan estimates nothing from the nodes' own records.
    pub(super) fn of(
        plan: &Plan,
        asked: &Asked,
        adjacency: Adjacency,
    ) -> Result<Option<Self>, PlanError> {
        let estimate = plan.plan.as_ref().and_then(|table| table.estimate.as_ref());
        let Some(&EstimatePlan::Private { noise, loss }) = estimate else { return Ok(None) };
        let error = |key: &str, value: f64| {
            let message = format!("must be positive and finite, got {value}");
            PlanError::new(format!("{KEY}.{key}"), message)
        };
        if !(loss > 0.0 && loss.is_finite()) {
            return Err(error("loss", loss));
        }
        let noise = Scale::new(noise).map_err(|_| error("noise", noise))?;
        let mechanism = mechanism(noise).map_err(at(KEY))?;
        let delta = Delta::new(SHARE * asked.delta.get()).map_err(at(KEY))?;
        let price = Accountant::Best.epsilon_upper(&mechanism.event(), adjacency, delta);
        let epsilon = price.map_err(|e| PlanError::new(KEY, e.to_string()))?.epsilon;
        Ok(Some(Self { mechanism, adjacency, loss, spent: Budget { epsilon, delta } }))
    }

    /// What it costs.
    pub(super) fn spent(&self) -> Budget {
        self.spent
    }

    /// The event.
    pub(super) fn event(&self) -> Event {
        self.mechanism.event()
    }

    /// What is left of a budget.
    pub(super) fn left(&self, asked: &Asked) -> Result<Asked, PlanError> {
        let delta = asked.delta.get() - self.spent.delta.get();
        let delta = Delta::new(delta).map_err(at(KEY))?;
        let Some(epsilon) = asked.epsilon else { return Ok(Asked { epsilon: None, delta }) };
        let left = epsilon.get() - self.spent.epsilon.get();
        if left <= 0.0 {
            let message = format!(
                "costs epsilon {}, all of the budget of {epsilon}; take more noise",
                self.spent.epsilon
            );
            return Err(PlanError::new(format!("{KEY}.noise"), message));
        }
        let left = Epsilon::new(left.next_down()).map_err(at(KEY))?;
        Ok(Asked { epsilon: Some(left), delta })
    }

    /// Debits, computes and releases what a node says about a public point. The ledger is not that
    /// of the run, so the key must not be either.
    pub(super) fn state<R: Real>(
        &self,
        node: u32,
        objective: &dyn Tabled<R>,
        data: &Dataset<R>,
        at: &[R],
        clip: ClipNorm,
        key: &Key,
    ) -> Result<Statement, PlanError> {
        let wrong = |message: String| PlanError::new(KEY, message);
        let (adjacency, filter) = (self.adjacency, Filter::Planned { event: self.event() });
        let header = Header { node, budget: self.spent, adjacency, unit: Unit::Record, filter };
        let mut ledger = Ledger::open(header, Vec::new()).map_err(|e| wrong(e.to_string()))?;
        let receipt = ledger.debit(self.event()).map_err(|e| wrong(e.to_string()))?;
        let d = objective.dimension();
        let root = ClipNorm::new(3f64.sqrt()).expect("a literal in range");
        let mut sum = ClippedSum::<f64>::new(d + 2, root);
        let (mut scratch, mut gradient) = (Scratch::default(), vec![R::ZERO; d]);
        let mut contribution = vec![0.0; d + 2];
        for record in 0..data.records() {
            let one = [record];
            let batch = Batch::of(data, &one);
            objective.clipped_sum(at, batch, clip.get(), &mut scratch, &mut gradient);
            let mut square = 0.0;
            for (out, g) in contribution.iter_mut().zip(&gradient) {
                *out = g.to_f64() / clip.get();
                square += *out * *out;
            }
            let loss = objective.loss(at, batch, &mut scratch);
            contribution[d] = if loss.is_finite() { loss.clamp(0.0, self.loss) } else { self.loss };
            contribution[d] /= self.loss;
            contribution[d + 1] = square.min(1.0);
            sum.add(&contribution);
        }
        let released = self.mechanism.release(sum, receipt, key);
        let said = released.map_err(|e| wrong(e.to_string()))?.into_inner();
        let (clip, records) = (clip.get(), data.records().max(1) as f64);
        let sigma = self.mechanism.sigma.get() * clip / records;
        Ok(Statement {
            gradient: said[..d].iter().map(|g| g * clip / records).collect(),
            error: d as f64 * sigma * sigma,
            loss: said[d] * self.loss / records,
            square: said[d + 1] * clip * clip / records,
            guarantee: ledger.guarantee(),
        })
    }
}

/// What a run says of estimates that were made before it.
pub(super) fn note(plan: &Plan) -> Option<String> {
    let estimate = plan.plan.as_ref()?.estimate.as_ref()?;
    let EstimatePlan::Private { .. } = estimate else { return None };
    let privacy = plan.privacy.as_ref()?;
    let text = format!(
        "the estimate of [plan] from the nodes' own records is charged beside this run: a tenth of \
         each delta, and what it costs at that; guarantees above are for the rest of each budget, \
         and together they are within it by basic composition (delta {} for the common budget)",
        privacy.delta
    );
    Some(text)
}

fn mechanism(noise: Scale) -> Result<GaussianMechanism, OutOfRange> {
    let root = ClipNorm::new(3f64.sqrt())?;
    let sigma = Scale::new(noise.get() * root.get())?;
    Ok(GaussianMechanism { sensitivity: Sensitivity::contribution(root), sigma })
}
