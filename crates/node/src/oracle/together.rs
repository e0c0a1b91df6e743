//! Oracles of several nodes that answer at once.

use std::sync::Arc;

use undertone_model::{At, Tabled};
use undertone_privacy::ledger::{Receipt, Store};
use undertone_privacy::release::{Pending, Released};
use undertone_privacy::sampler::{Batch, Draw, DrawError, Sampler};
use undertone_privacy::units::ClipNorm;
use undertone_protocol::{Answer, Exchange, Question};
use undertone_real::Real;

use super::{Oracle, OracleError, debit, name};
use crate::private::{Private, Workspace};

/// How many oracles pay and draw before the first of them computes.
const TOGETHER: usize = 16;

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
        Self::answer_plain_sums(oracles, &mut begun, &batches, exchanges, workspace)?;
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
        let Self { private: Private::Gradients(gradients), ledger, .. } = self else {
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
        // A round without a batch reads nothing and costs nothing.
        let Some(event) = gradients.take_event(*round) else { return Ok(Begun::Refused) };
        Ok(match debit(ledger, event)? {
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

    /// Answers all, if what they are asked has something in [`common`].
    fn answer_plain_sums(
        oracles: &mut [Self],
        begun: &mut [Option<Begun>; TOGETHER],
        batches: &[Drawn; TOGETHER],
        exchanges: &mut [Exchange<R>],
        workspace: &mut Workspace<R>,
    ) -> Result<(), OracleError> {
        let Some((objective, clip)) = common(oracles, begun, batches) else { return Ok(()) };
        let (mut sums, mut places) = (Vec::with_capacity(TOGETHER), [0; TOGETHER]);
        for (idx, (oracle, batch)) in oracles.iter().zip(batches).enumerate() {
            if let (Some(Ok(batch)), Private::Gradients(gradients)) = (batch, &oracle.private)
                && let Some(point) = exchanges[idx].take_point()
            {
                places[sums.len()] = idx;
                sums.push(At { point: point.into_inner(), batch: gradients.chosen(batch) });
            }
        }
        let Workspace { scratch, sum } = workspace;
        objective.clipped_sums(&mut sums, clip.get(), scratch, sum);
        let sums: Vec<Vec<R>> = sums.into_iter().map(|At { point: sum, .. }| sum).collect();
        let mut sums = places.into_iter().zip(sums);
        while let Some((idx, sum)) = sums.next() {
            let mut one = oracles[idx].promise(sum, &mut begun[idx], &batches[idx])?;
            let next = sums
                .next()
                .map(|(idx, sum)| (idx, oracles[idx].promise(sum, &mut begun[idx], &batches[idx])));
            match next {
                None => exchanges[idx] = oracles[idx].settle_up(one),
                Some((next, Ok(mut other))) => {
                    Pending::prepare_both(&mut one.1, &mut other.1);
                    exchanges[idx] = oracles[idx].settle_up(one);
                    exchanges[next] = oracles[next].settle_up(other);
                }
                Some((_, Err(error))) => {
                    exchanges[idx] = oracles[idx].settle_up(one);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Releases a plain sum, whose noise is added later.
    #[inline(always)]
    fn promise(
        &self,
        sum: Vec<R>,
        begun: &mut Option<Begun>,
        batch: &Drawn,
    ) -> Result<(u64, Pending<R>), OracleError> {
        let (Private::Gradients(gradients), Some(Begun::Paid { round, receipt }), Some(Ok(batch))) =
            (&self.private, begun.take(), batch)
        else {
            unreachable!("a sum is of a batch that was paid for")
        };
        Ok((round, gradients.promise(round, sum, batch.drawn(), (receipt, &self.key))?))
    }

    /// The answer of a round, whose event is kept for the next.
    #[inline(always)]
    fn settle_up(&mut self, (round, mut pending): (u64, Pending<R>)) -> Exchange<R> {
        if let (Private::Gradients(gradients), Some(event)) =
            (&mut self.private, pending.take_event())
        {
            gradients.return_event(round, event);
        }
        Exchange::Answered(Answer::Released(pending.finish()))
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

/// The objective and the clip norm of all that was begun, if that is nothing but sums of gradients
/// of batches that were drawn.
fn common<'a, R: Real, S>(
    oracles: &'a [Oracle<R, S>],
    begun: &[Option<Begun>; TOGETHER],
    batches: &[Drawn; TOGETHER],
) -> Option<(&'a Arc<dyn Tabled<R>>, ClipNorm)> {
    let mut common = None;
    for (begun, (oracle, batch)) in begun.iter().zip(oracles.iter().zip(batches)) {
        let round = match (begun, batch) {
            (None, _) => continue,
            (Some(Begun::Paid { round, .. }), Some(Ok(_))) => *round,
            _ => return None,
        };
        let Private::Gradients(gradients) = &oracle.private else { return None };
        let (objective, clip) = gradients.plain_sum(round)?;
        let (known, same) = *common.get_or_insert((objective, clip));
        if !Arc::ptr_eq(known, objective) || same != clip {
            return None;
        }
    }
    common
}
