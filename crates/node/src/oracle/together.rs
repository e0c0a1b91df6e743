//! Oracles of several nodes that answer at once.

use undertone_privacy::ledger::{Receipt, Store};
use undertone_privacy::release::Released;
use undertone_privacy::sampler::{Batch, Draw, DrawError, Sampler};
use undertone_protocol::{Answer, Exchange, Question};
use undertone_real::Real;

use super::plain::Plain;
use super::{Oracle, OracleError, name};
use crate::private::{Private, Workspace};

/// How many oracles pay and draw before the first of them computes.
pub(super) const TOGETHER: usize = 16;

/// A question after its first part.
enum Begun {
    /// A gradient, paid for; the question is where it was.
    Paid { round: u64, receipt: Receipt },
    /// Not paid for.
    Refused,
    /// Not begun: it is answered at once.
    Waiting,
}

/// The batch of a round, if there is one that is drawn before anything is computed.
type Drawn = Option<Result<Batch, DrawError>>;

impl<R: Real, S: Store> Oracle<R, S> {
    /// Answers what is asked of some oracles in a row, in order; `first` is the place of the first
    /// of them. Those of gradients pay and draw first, so that records come from memory while
    /// others are computed with; sums of one objective and their noise are made several at a time,
    /// and all compute in what the first oracle, asked or not, lends them. The answers are those
    /// that each would give alone; so is the error, which is that of the first that has no answer.
    /// After an error oracles behind it may have paid for nothing.
    pub fn answer_all(
        oracles: &mut [Self],
        first: usize,
        exchanges: &mut [Exchange<R>],
    ) -> Result<(), OracleError> {
        let mut workspace = lent(oracles).and_then(Option::take).unwrap_or_default();
        let mut answered = Ok(());
        for (k, exchanges) in exchanges.chunks_mut(TOGETHER).enumerate() {
            let first = first + k * TOGETHER;
            let oracles = &mut oracles[first..first + exchanges.len()];
            answered = Self::answer_some(oracles, exchanges, &mut workspace);
            if answered.is_err() {
                break;
            }
        }
        if let Some(place) = lent(oracles) {
            *place = Some(workspace);
        }
        answered
    }

    fn answer_some(
        oracles: &mut [Self],
        exchanges: &mut [Exchange<R>],
        workspace: &mut Workspace<R>,
    ) -> Result<(), OracleError> {
        if let Some(plain) = Plain::of(oracles, exchanges) {
            return plain.answer(oracles, exchanges, workspace);
        }
        let mut begun = [const { None }; TOGETHER];
        let mut outcome = Ok(());
        for (begun, (oracle, exchange)) in begun.iter_mut().zip(oracles.iter_mut().zip(&*exchanges))
        {
            let Some(question) = exchange.question() else { continue };
            match oracle.begin(question) {
                Ok(started) => *begun = Some(started),
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        let mut batches = [const { None }; TOGETHER];
        Self::draw(oracles, &begun, &mut batches);
        for (idx, (begun, exchange)) in begun.iter_mut().zip(exchanges).enumerate() {
            let answer = match begun.take() {
                None => continue,
                Some(Begun::Refused) => Answer::Refused,
                Some(Begun::Waiting) => {
                    let question = exchange.take_question().expect("asked, and not answered");
                    oracles[idx].answer_at_once(question)?
                }
                Some(Begun::Paid { round, receipt }) => {
                    let batch = batches[idx].take().transpose()?;
                    let at = exchange.take_point().expect("paid for a gradient at a point");
                    oracles[idx].answer_gradient(round, at, batch, receipt, workspace)?
                }
            };
            *exchange = Exchange::Answered(answer);
        }
        outcome
    }

    /// Pays for a gradient. Other questions are left as they are.
    fn begin(&mut self, question: &Question<R>) -> Result<Begun, OracleError> {
        let Self { private: Private::Gradients(gradients), .. } = self else {
            return Ok(Begun::Waiting);
        };
        let (Question::Gradient { round, .. }
        | Question::Difference { round, .. }
        | Question::Masked { round, .. }) = question
        else {
            return Err(OracleError::OtherData { asked: name(question), kept: gradients.kept() });
        };
        if !gradients.answers(question) {
            return Err(OracleError::OtherData { asked: name(question), kept: gradients.kept() });
        }
        Ok(match self.pay(*round)? {
            Some(receipt) => Begun::Paid { round: *round, receipt },
            None => Begun::Refused,
        })
    }

    /// Draws the batches of what is paid for, and asks for their records.
    fn draw(oracles: &[Self], begun: &[Option<Begun>; TOGETHER], batches: &mut [Drawn; TOGETHER]) {
        let (mut draws, mut places) = (Vec::with_capacity(TOGETHER), [0; TOGETHER]);
        for (idx, (begun, oracle)) in begun.iter().zip(oracles).enumerate() {
            if let Some(Begun::Paid { round, receipt }) = begun
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
            let batch = batches[idx].insert(batch);
            if let (Ok(batch), Private::Gradients(gradients)) = (batch, &oracles[idx].private) {
                gradients.chosen(batch).fetch();
            }
        });
    }

    /// The noisy sum over a batch. The memory of the question is for the next answer.
    fn answer_gradient(
        &mut self,
        round: u64,
        at: Released<Vec<R>>,
        batch: Option<Batch>,
        receipt: Receipt,
        workspace: &mut Workspace<R>,
    ) -> Result<Answer<R>, OracleError> {
        let Self { private: Private::Gradients(gradients), key, .. } = self else {
            unreachable!("only oracles of gradients begin one")
        };
        let answer = gradients.release(round, at.get(), batch, (receipt, key), workspace)?;
        workspace.reuse(at.into_inner());
        Ok(answer)
    }
}

/// Where the first of some oracles keeps what all of them compute in.
fn lent<R: Real, S>(oracles: &mut [Oracle<R, S>]) -> Option<&mut Option<Box<Workspace<R>>>> {
    match &mut oracles.first_mut()?.private {
        Private::Gradients(gradients) => Some(gradients.workspace()),
        _ => None,
    }
}
