//! The only door to a node's data.

use std::sync::Arc;

use undertone_model::solve::SolveError;
use undertone_privacy::event::Event;
use undertone_privacy::ledger::{
    Budget, DebitError, Entry, Filter, Guarantee, Header, Ledger, OpenError, Receipt, Store,
};
use undertone_privacy::mechanism::ReleaseError;
use undertone_privacy::noise::Key;
use undertone_privacy::release::Released;
use undertone_privacy::sampler::{Batch, Draw, DrawError, Sampler};
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

    /// Debits, computes, adds noise, releases; this is where secrets meet the outside.
    pub fn answer(&mut self, question: Question<R>) -> Result<Answer<R>, OracleError> {
        let mut exchange = Exchange::Asked(question);
        Self::answer_all(std::slice::from_mut(self), 0, std::slice::from_mut(&mut exchange))?;
        Ok(exchange.take_answer().expect("whatever is asked has an answer or an error"))
    }

    /// Answers what is asked of some oracles in a row, in order; `first` is the place of the first
    /// of them. Those of gradients pay and draw first, so that records come from memory while
    /// others are computed with, and each passes on to the next, asked or not, what it computes in,
    /// so that it is near. The answers are those that each would give alone; so is the error, which
    /// is that of the first that has no answer. After an error oracles behind it may have paid for
    /// nothing.
    pub fn answer_all(
        oracles: &mut [Self],
        first: usize,
        exchanges: &mut [Exchange<R>],
    ) -> Result<(), OracleError> {
        for (k, exchanges) in exchanges.chunks_mut(TOGETHER).enumerate() {
            Self::answer_some(oracles, first + k * TOGETHER, exchanges)?;
        }
        Ok(())
    }

    fn answer_some(
        oracles: &mut [Self],
        first: usize,
        exchanges: &mut [Exchange<R>],
    ) -> Result<(), OracleError> {
        let mut begun: [Option<Begun<R>>; TOGETHER] = [const { None }; TOGETHER];
        let mut outcome = Ok(());
        let asked = &mut oracles[first..first + exchanges.len()];
        for (begun, (oracle, exchange)) in
            begun.iter_mut().zip(asked.iter_mut().zip(&mut *exchanges))
        {
            match exchange.take_question().map(|question| oracle.begin(question)).transpose() {
                Ok(started) => *begun = started,
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        let mut batches = Self::draw(asked, &begun);
        for (idx, begun) in begun.iter_mut().enumerate() {
            let answer = match begun.take() {
                None => continue,
                Some(Begun::Refused) => Answer::Refused,
                Some(Begun::Question(question)) => oracles[first + idx].answer_at_once(question)?,
                Some(Begun::Gradient { round, at, receipt }) => {
                    let batch = batches[idx].take().transpose()?;
                    let answer = oracles[first + idx].answer_gradient(round, at, batch, receipt)?;
                    pass_on(oracles, first + idx);
                    answer
                }
            };
            exchanges[idx] = Exchange::Answered(answer);
        }
        outcome
    }

    /// Pays for a gradient. Other questions are left as they are.
    fn begin(&mut self, question: Question<R>) -> Result<Begun<R>, OracleError> {
        let Self { private: Private::Gradients(gradients), ledger, .. } = self else {
            return Ok(Begun::Question(question));
        };
        let asked = name(&question);
        let (Question::Gradient { round, at }
        | Question::Difference { round, at }
        | Question::Masked { round, at }) = question
        else {
            return Err(OracleError::OtherData { asked, kept: gradients.kept() });
        };
        if asked != gradients.kept() {
            return Err(OracleError::OtherData { asked, kept: gradients.kept() });
        }
        // A round without a batch reads nothing and costs nothing.
        let Some(event) = gradients.event_of(round).map(Arc::clone) else {
            return Ok(Begun::Refused);
        };
        Ok(match debit(ledger, event)? {
            Some(receipt) => Begun::Gradient { round, at, receipt },
            None => Begun::Refused,
        })
    }

    /// Draws the batches of what is paid for, and asks for their records.
    fn draw(oracles: &[Self], begun: &[Option<Begun<R>>; TOGETHER]) -> [Drawn; TOGETHER] {
        let mut batches = [const { None }; TOGETHER];
        let (mut draws, mut places) = (Vec::with_capacity(TOGETHER), [0; TOGETHER]);
        for (idx, (begun, oracle)) in begun.iter().zip(oracles).enumerate() {
            if let Some(Begun::Gradient { round, receipt, .. }) = begun
                && let Private::Gradients(gradients) = &oracle.private
                && let Some((sampler, records)) = gradients.law(*round)
            {
                places[draws.len()] = idx;
                draws.push(Draw { sampler, records, receipt, key: &oracle.key });
            }
        }
        let mut places = places.into_iter();
        Sampler::draw_each(&draws, |batch| {
            let idx = places.next().expect("as many as draws");
            if let (Ok(batch), Private::Gradients(gradients)) = (&batch, &oracles[idx].private) {
                gradients.fetch(batch);
            }
            batches[idx] = Some(batch);
        });
        batches
    }

    /// The noisy sum over a batch. The memory of the question is for the next answer.
    fn answer_gradient(
        &mut self,
        round: u64,
        at: Released<Vec<R>>,
        batch: Option<Batch>,
        receipt: Receipt,
    ) -> Result<Answer<R>, OracleError> {
        let Self { private: Private::Gradients(gradients), key, .. } = self else {
            unreachable!("only oracles of gradients begin one")
        };
        let answer = gradients.release(round, at.get(), batch, receipt, key)?;
        gradients.workspace().reuse(at.into_inner());
        Ok(answer)
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

/// How many oracles pay and draw before the first of them computes.
const TOGETHER: usize = 16;

/// A question after its first part.
enum Begun<R> {
    /// Paid for.
    Gradient { round: u64, at: Released<Vec<R>>, receipt: Receipt },
    /// Not begun: it is answered at once.
    Question(Question<R>),
    /// Not paid for.
    Refused,
}

/// The batch of a round, if there is one that is drawn before anything is computed.
type Drawn = Option<Result<Batch, DrawError>>;

/// Gives what an oracle computes in to the next one; the last gives it to the first.
fn pass_on<R: Real, S>(oracles: &mut [Oracle<R, S>], from: usize) {
    let to = (from + 1) % oracles.len();
    if let Ok([from, to]) = oracles.get_disjoint_mut([from, to])
        && let (Private::Gradients(from), Private::Gradients(to)) =
            (&mut from.private, &mut to.private)
    {
        std::mem::swap(from.workspace(), to.workspace());
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
