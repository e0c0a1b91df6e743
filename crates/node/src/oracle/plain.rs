//! Sums of gradients and nothing else, which oracles of one objective make at once.

use std::sync::Arc;

use arrayvec::ArrayVec;
use undertone_model::{At, Tabled};
use undertone_privacy::event::Event;
use undertone_privacy::ledger::{Receipt, Store};
use undertone_privacy::mechanism::GaussianMechanism;
use undertone_privacy::sampler::{Batch, Draw, Sampler};
use undertone_privacy::units::{ClipNorm, Scale, Sensitivity};
use undertone_protocol::{Answer, Exchange, Question};
use undertone_real::Real;

use super::together::TOGETHER;
use super::{Oracle, OracleError, debit};
use crate::private::{LONG, Private, PrivateGradients, Workspace};

/// What some oracles are asked, if that is nothing but noisy sums of gradients of one objective, at
/// one clip norm and with the same noise: many small answers take longer to hand over than to make,
/// so all of them go through each step together.
pub(super) struct Plain<R: Real> {
    objective: Arc<dyn Tabled<R>>,
    clip: ClipNorm,
    sigma: Scale,
}

/// An oracle's place, the round it is asked in, and what paid for the answer.
struct Paid {
    idx: usize,
    round: u64,
    receipt: Receipt,
}

impl<R: Real> Plain<R> {
    pub(super) fn of<S>(oracles: &[Oracle<R, S>], exchanges: &[Exchange<R>]) -> Option<Self> {
        let mut common: Option<(&Arc<dyn Tabled<R>>, ClipNorm, Scale)> = None;
        for (oracle, exchange) in oracles.iter().zip(exchanges) {
            let round = match exchange {
                Exchange::Asked(Question::Gradient { round, .. }) => *round,
                Exchange::Asked(_) => return None,
                _ => continue,
            };
            let Private::Gradients(gradients) = &oracle.private else { return None };
            let (objective, clip, sigma) = gradients.plain_sum(round)?;
            let (known, same_clip, same) = *common.get_or_insert((objective, clip, sigma));
            if !Arc::ptr_eq(known, objective) || (same_clip, same) != (clip, sigma) {
                return None;
            }
        }
        let (objective, clip, sigma) = common?;
        // Long answers get their noise when they are read.
        let short = objective.dimension() < LONG;
        short.then(|| Self { objective: Arc::clone(objective), clip, sigma })
    }

    /// Pays, draws, computes and releases for all of them in turn. After an error those before the
    /// one that failed have their answers.
    pub(super) fn answer<S: Store>(
        &self,
        oracles: &mut [Oracle<R, S>],
        exchanges: &mut [Exchange<R>],
        workspace: &mut Workspace<R>,
    ) -> Result<(), OracleError> {
        let mut outcome = Ok(());
        let mut paid = ArrayVec::<_, TOGETHER>::new();
        for (idx, (oracle, exchange)) in oracles.iter_mut().zip(&mut *exchanges).enumerate() {
            let Some(Question::Gradient { round, .. }) = exchange.question() else { continue };
            match oracle.pay(*round) {
                Ok(Some(receipt)) => paid.push(Paid { idx, round: *round, receipt }),
                Ok(None) => *exchange = Exchange::Answered(Answer::Refused),
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        let batches = draw(oracles, &paid, &mut outcome);
        let sensitivity = Sensitivity::contribution(self.clip);
        let mechanism = GaussianMechanism { sensitivity, sigma: self.sigma };
        let mut several = mechanism.several(self.clip, batches.len())?;
        let mut answered = ArrayVec::<_, TOGETHER>::new();
        {
            // Those behind an error have no batch.
            let mut sums = ArrayVec::<_, TOGETHER>::new();
            for (Paid { idx, .. }, batch) in paid.iter().zip(&batches) {
                let point = exchanges[*idx].take_point().expect("paid for a gradient at a point");
                let batch = gradients(&oracles[*idx]).chosen(batch);
                sums.push(At { point: point.into_inner(), batch });
            }
            let Workspace { scratch, sum } = workspace;
            self.objective.clipped_sums(&mut sums, self.clip.get(), scratch, sum);

            // Drained, one by one: a tuple of all of it would be put together in memory, and an
            // iterator of its own would be another copy of everything.
            let (mut paid, mut sums) = (paid.drain(..), sums.drain(..));
            for batch in &batches {
                let Some(Paid { idx, round, receipt }) = paid.next() else { break };
                let Some(At { point: sum, .. }) = sums.next() else { break };
                let key = &oracles[idx].key;
                // The objective clips every gradient.
                if let Err(error) = several.trust_each_clipped(sum, batch, receipt, key) {
                    outcome = Err(error.into());
                    break;
                }
                answered.push((idx, round));
            }
            // What was made behind an error is not freed as it is.
            sums.for_each(|At { point: sum, .. }| several.discard(sum));
        }
        let mut events = ArrayVec::<Arc<Event>, TOGETHER>::new();
        several.release(|released, event| {
            let (idx, _) = answered[events.len()];
            exchanges[idx].put(Exchange::Answered(Answer::Released(released)));
            events.push(event);
        });
        for ((idx, round), event) in answered.drain(..).zip(events.drain(..)) {
            if let Private::Gradients(gradients) = &mut oracles[idx].private {
                gradients.return_event(round, event);
            }
        }
        outcome
    }
}

impl<R: Real, S: Store> Oracle<R, S> {
    /// Pays for the gradient of a round. A round without a batch reads nothing and costs nothing.
    #[inline]
    pub(super) fn pay(&mut self, round: u64) -> Result<Option<Receipt>, OracleError> {
        let Private::Gradients(gradients) = &mut self.private else {
            unreachable!("only oracles of gradients are paid by round")
        };
        let Some(event) = gradients.take_event(round) else { return Ok(None) };
        Ok(debit(&mut self.ledger, event)?)
    }
}

/// The batches of what was paid for, whose records are asked for, as far as they can be drawn.
fn draw<R: Real, S>(
    oracles: &[Oracle<R, S>],
    paid: &[Paid],
    outcome: &mut Result<(), OracleError>,
) -> ArrayVec<Batch, TOGETHER> {
    let mut draws = ArrayVec::<_, TOGETHER>::new();
    for Paid { idx, round, receipt } in paid {
        let oracle = &oracles[*idx];
        let (sampler, records) = gradients(oracle).law(*round).expect("a plain sum has a batch");
        draws.push(Draw { sampler, records, receipt, key: &oracle.key });
    }
    let (mut batches, mut failed) = (ArrayVec::new(), false);
    Sampler::draw_each(
        &draws,
        #[inline(always)]
        |batch| match batch {
            Ok(batch) if !failed => {
                gradients(&oracles[paid[batches.len()].idx]).chosen(&batch).fetch();
                batches.push(batch);
            }
            Ok(_) => {}
            Err(error) => {
                if !failed {
                    *outcome = Err(error.into());
                }
                failed = true;
            }
        },
    );
    batches
}

fn gradients<R: Real, S>(oracle: &Oracle<R, S>) -> &PrivateGradients<R> {
    match &oracle.private {
        Private::Gradients(gradients) => gradients,
        _ => unreachable!("only oracles of gradients are asked for plain sums"),
    }
}
