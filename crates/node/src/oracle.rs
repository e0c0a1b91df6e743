//! The only door to a node's data.

mod plain;
mod together;

use std::sync::Arc;

use undertone_model::solve::SolveError;
use undertone_privacy::event::Event;
use undertone_privacy::ledger::{
    Budget, DebitError, Entry, Filter, Guarantee, Header, Ledger, OpenError, Receipt, Store,
};
use undertone_privacy::mechanism::ReleaseError;
use undertone_privacy::noise::Key;
use undertone_privacy::release::Released;
use undertone_privacy::sampler::DrawError;
use undertone_privacy::units::{Adjacency, Delta, OutOfRange};
use undertone_protocol::{Answer, Exchange, Question};
use undertone_real::Real;

use crate::private::{Asked, Minimisation, Private, PrivatePoints, TableError};

/// Answers a protocol's questions from private data, each answer paid for by the ledger.
///
/// # Guarantee
///
/// That of its ledger: see [`Oracle::guarantee`]. A refusal depends on public values only.
pub struct Oracle<R: Real, S = Vec<Entry>> {
    private: Private<R>,
    ledger: Ledger<S>,
    key: Key,
}

/// Why a question has no answer, not even a refusal. The node must stop.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OracleError {
    /// The ledger failed.
    #[error(transparent)]
    Debit(#[from] DebitError),
    /// The batch could not be drawn.
    #[error(transparent)]
    Draw(#[from] DrawError),
    /// The mechanism failed.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// Gradients cannot be remembered as they should.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The question's numbers make no sense.
    #[error(transparent)]
    Range(#[from] OutOfRange),
    /// A minimiser is not good enough to be released.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// The node has no data of the kind that is asked for.
    #[error("the protocol asks for {asked}, but the node was set up for {kept}")]
    OtherData {
        /// What it asks for.
        asked: &'static str,
        /// What the node has.
        kept: &'static str,
    },
}

impl<R: Real, S: Store> Oracle<R, S> {
    /// Opens a ledger for `plan`, the event of all that will be answered.
    pub fn open(
        node: u32,
        private: Private<R>,
        plan: Event,
        budget: Budget,
        key: Key,
        store: S,
    ) -> Result<Self, OpenError> {
        let filter = match is_gaussian(&plan) {
            true => Filter::Gaussian { reserve: Delta::new(0.0).expect("zero is a delta") },
            false => Filter::Planned { event: plan },
        };
        let (adjacency, unit) = (Adjacency::Replace, private.unit());
        let ledger = Ledger::open(Header { node, budget, adjacency, unit, filter }, store)?;
        Ok(Self::new(private, ledger, key))
    }

    /// With a ledger that was opened for what will be answered.
    pub fn new(private: Private<R>, ledger: Ledger<S>, key: Key) -> Self {
        Self { private, ledger, key }
    }

    /// The same data on the same terms before the first answer, with a key and an account of one's
    /// own: what an experiment opens has the key of its public seed and a ledger in memory.
    ///
    /// Panics if something was answered: the new account would not know of it.
    pub fn settle<T: Store>(self, key: Key, store: T) -> Result<Oracle<R, T>, OpenError> {
        assert!(self.ledger.is_empty(), "an oracle settles before its first answer");
        let ledger = self.ledger.open_alike(self.ledger.header().node, store)?;
        Ok(Oracle::new(self.private, ledger, key))
    }

    /// On so many threads of the pool in which it is asked, where an answer is worth them: for
    /// whoever has no other oracles to ask meanwhile. Answers are the same, in bits.
    #[must_use]
    pub fn on(mut self, threads: usize) -> Self {
        if let Private::Gradients(gradients) = &mut self.private {
            gradients.on(threads);
        }
        self
    }

    /// Debits, computes, adds noise, releases; this is where secrets meet the outside.
    pub fn answer(&mut self, question: Question<R>) -> Result<Answer<R>, OracleError> {
        let mut exchange = Exchange::Asked(question);
        Self::answer_all(std::slice::from_mut(self), 0, std::slice::from_mut(&mut exchange))?;
        Ok(exchange.take_answer().expect("whatever is asked has an answer or an error"))
    }

    /// Answers what is not a gradient.
    fn answer_at_once(&mut self, question: Question<R>) -> Result<Answer<R>, OracleError> {
        let Self { private, ledger, key } = self;
        let released = match (question, private) {
            (Question::Point { round, at, from, step, keep }, Private::Points(points)) => {
                let asked = Asked { round, at: at.get(), from: from.get(), step, keep };
                answer_point(points, &asked, ledger, key)?
            }
            (Question::Primal { round, at, linear, quadratic }, Private::Minimiser(minimiser)) => {
                let linear = linear.get();
                let asked = Minimisation { round, at: &at, linear, quadratic };
                return minimiser.answer(&asked, ledger, key);
            }
            (Question::Vector, Private::Vector(vector, noise)) => {
                let sensitivity = vector.sensitivity();
                debit(ledger, noise.event(sensitivity))?
                    .map(|receipt| noise.release(vector.secret(), sensitivity, receipt, key))
                    .transpose()?
                    .map(narrow)
            }
            (Question::Vector, Private::Statistics(sums)) => debit(ledger, sums.event())?
                .map(|receipt| sums.release(receipt, key))
                .transpose()?
                .map(narrow),
            (Question::Step { t, at, step }, Private::Steps(steps, noise)) => {
                let Some(noise) = noise.get(t.wrapping_sub(1) as usize) else {
                    return Ok(Answer::Refused);
                };
                let sensitivity = steps.sensitivity(step)?;
                match debit(ledger, noise.event(sensitivity))? {
                    None => None,
                    Some(receipt) => {
                        let secret = steps.secret(at.get(), step)?;
                        Some(narrow(noise.release(secret, sensitivity, receipt, key)?))
                    }
                }
            }
            (asked, kept) => return Err(other_data(&asked, kept)),
        };
        Ok(released.map_or(Answer::Refused, Answer::Released))
    }

    /// Pays again, without an answer, for what was answered before a checkpoint: a node that comes
    /// back to one has its ledger, but not the answers.
    pub fn repeat(&mut self, event: impl Into<Arc<Event>>) -> Result<(), DebitError> {
        self.ledger.debit(event).map(|_| ())
    }

    /// Whether answers depend on more than the question, the records and the number of the debit.
    /// Such memory may be secret, so it is not for a checkpoint.
    pub fn remembers(&self) -> bool {
        self.private.remembers()
    }

    /// What the ledger promises about this node's data, for the whole run.
    pub fn guarantee(&self) -> Guarantee {
        self.ledger.guarantee()
    }

    /// The account.
    pub fn ledger(&self) -> &Ledger<S> {
        &self.ledger
    }
}

/// A step that ends on a lattice.
fn answer_point<R: Real, S: Store>(
    points: &mut PrivatePoints<R>,
    asked: &Asked<'_, R>,
    ledger: &mut Ledger<S>,
    key: &Key,
) -> Result<Option<Released<Vec<R>>>, OracleError> {
    let Some(event) = points.event_of(asked.round, asked.step)? else { return Ok(None) };
    let Some(receipt) = debit(ledger, event)? else { return Ok(None) };
    let released = points.release(asked, receipt, key)?;
    Ok(released.map(narrow))
}

/// Pays for an event; `None` if the budget does not suffice.
pub(crate) fn debit<S: Store>(
    ledger: &mut Ledger<S>,
    event: impl Into<Arc<Event>>,
) -> Result<Option<Receipt>, DebitError> {
    match ledger.debit(event) {
        Ok(receipt) => Ok(Some(receipt)),
        Err(DebitError::Exhausted { .. } | DebitError::NotPlanned { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Post-processing: the protocol's numbers may be narrower.
pub(crate) fn narrow<R: Real>(released: Released<Vec<f64>>) -> Released<Vec<R>> {
    released.map(|values| values.into_iter().map(R::from_f64).collect())
}

fn other_data<R: Real>(asked: &Question<R>, kept: &Private<R>) -> OracleError {
    let kept = match kept {
        Private::Gradients(gradients) => gradients.kept(),
        Private::Minimiser(_) => "minimisers",
        Private::Points(_) => "points of a lattice",
        Private::Statistics(_) | Private::Vector(..) => "a vector",
        Private::Steps(..) => "gradient steps",
    };
    OracleError::OtherData { asked: name(asked), kept }
}

fn name<R: Real>(asked: &Question<R>) -> &'static str {
    match asked {
        Question::Difference { .. } => "differences of gradients",
        Question::Gradient { .. } => "gradients",
        Question::Masked { .. } => "masked gradients",
        Question::Point { .. } => "points of a lattice",
        Question::Primal { .. } => "minimisers",
        Question::Vector => "a vector",
        Question::Step { .. } => "gradient steps",
    }
}

/// Whether a Gaussian filter takes all of it.
fn is_gaussian(event: &Event) -> bool {
    match event {
        Event::Gaussian(_) => true,
        Event::Composed(parts) => parts.iter().all(is_gaussian),
        _ => false,
    }
}
