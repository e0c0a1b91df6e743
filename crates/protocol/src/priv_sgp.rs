//! Paper 003: stochastic gradient push with private gradients.

use undertone_graph::NodeId;
use undertone_privacy::release::{Pending, Released};
use undertone_real::Real;

use crate::blocks::Blockwise;
use crate::carried::Carried;
use crate::initial::{point, start};
use crate::mail::{Letter, Shape, Slot, fetch_from};
use crate::push_sum::{ratio, take_in};
use crate::question::{Answer, Question};
use crate::step::{Descent, Steps};
use crate::synchronous::{LinkNeeds, Synchronous};
use crate::topology::Neighbourhood;

/// PrivSGP and, with an oracle that answers differences, PrivSGP-VR: gradient descent over
/// directed, time-varying graphs. A node asks for a gradient at its de-biased point `x / w`, moves
/// `x` against it, and pushes `x` and `w` as push-sum does. A refused gradient counts as zero.
///
/// # Guarantee
///
/// That of the gradients, which the oracle pays for: points are functions of released values, and
/// so are all messages.
///
/// # References
///
/// Zhu and others (paper 003), algorithms 1 and 2; theory 7.1 and 7.2. Their theorem 2 does not
/// hold in the regime it is used in (`undertone claims`, CE-2 and CE-3).
#[derive(Clone, Debug, PartialEq)]
pub struct PrivSgp<R: Real> {
    /// The vector, then the weight.
    state: Released<Vec<R>>,
    /// The last answer, whose memory is for the next question.
    memory: Option<Released<Vec<R>>>,
    /// The last answer, if it is to be read a piece at a time by the pass that sends.
    pending: Option<Box<Pending<R>>>,
    /// How far the last answer moves the state, if that is left to the pass that sends. With
    /// variance reduction the mean moves then as well.
    step: Option<R>,
    descent: Descent<R>,
    reduction: Option<Reduction<R>>,
}

/// Variance reduction by a noisy mean of what the oracle remembers: an answer is the noisy sum of
/// the differences between gradients and remembered ones, and the public mean of the remembered
/// ones moves with it.
#[derive(Clone, Debug, PartialEq)]
struct Reduction<R> {
    mean: Released<Vec<R>>,
    /// One over the number of records.
    share: f64,
}

impl<R: Real> PrivSgp<R> {
    /// From a point that everybody knows.
    pub fn new(start_at: &[R], steps: Steps) -> Self {
        let mut state = start(start_at);
        state.update(|state| state.push(R::ONE));
        let descent = Descent::new(steps);
        Self { state, memory: None, pending: None, step: None, descent, reduction: None }
    }

    /// With variance reduction for a node of so many records, whose oracle answers
    /// [`Question::Difference`]: noisy-mean SAGA.
    pub fn with_reduction(mut self, records: usize) -> Self {
        let mean = start(&vec![R::ZERO; self.dimension()]);
        self.reduction = Some(Reduction { mean, share: 1.0 / records as f64 });
        self
    }
}

impl<R: Real> Reduction<R> {
    /// Moves the mean with a sum.
    fn take(&mut self, sum: &Released<Vec<R>>) {
        let one = R::from_f64(self.share);
        self.mean.update(|mean| {
            mean.iter_mut().zip(sum.get()).for_each(|(mean, sum)| *mean += one * *sum);
        });
    }
}

/// A step that is taken while the state is sent.
struct Step<'a, R> {
    /// How far against the sum, and against the mean of before.
    by_sum: R,
    by_mean: R,
    /// What is kept and sent.
    share: R,
    reduction: &'a mut Option<Reduction<R>>,
}

impl<R: Real> Step<'_, R> {
    /// Asks for what a later step needs.
    #[inline(always)]
    fn fetch(&self, first: usize, slot: &Slot<'_, R>) {
        slot.fetch(first);
        if let Some(Reduction { mean, .. }) = &*self.reduction {
            fetch_from(mean.get(), first);
        }
    }

    /// Of the numbers from a place on; the mean moves with the sum.
    #[inline(always)]
    fn take(
        &mut self,
        state: &mut Released<Vec<R>>,
        first: usize,
        sum: &[R],
        slot: &mut Slot<'_, R>,
    ) {
        let Self { by_sum, by_mean, share, reduction } = self;
        let (by_sum, by_mean, places) = (*by_sum, *by_mean, first..first + sum.len());
        let Some(Reduction { mean, share: part }) = reduction else {
            return slot.move_and_send(places, state, *share, &mut Against { first, sum, by_sum });
        };
        let one = R::from_f64(*part);
        mean.update(
            #[inline(always)]
            |mean| {
                let against = Against { first, sum, by_sum };
                let moves = &mut AgainstBoth { against, mean, by_mean, one };
                slot.move_and_send(places, state, *share, moves);
            },
        );
    }
}

/// Moves against a sum, whose first number is at a place.
struct Against<'a, R> {
    first: usize,
    sum: &'a [R],
    by_sum: R,
}

impl<R: Real> Against<'_, R> {
    #[inline(always)]
    fn sum<const N: usize>(&self, place: usize) -> &[R; N] {
        self.sum[place - self.first..].first_chunk().expect("a number for every place")
    }
}

impl<R: Real> Blockwise<R> for Against<'_, R> {
    #[inline(always)]
    fn block<const N: usize>(&mut self, place: usize, mut x: [R; N]) -> [R; N] {
        let sum = self.sum::<N>(place);
        for l in 0..N {
            x[l] -= self.by_sum * sum[l];
        }
        x
    }
}

/// Moves against the mean of before and the sum; the mean moves with the sum.
struct AgainstBoth<'a, R> {
    against: Against<'a, R>,
    mean: &'a mut [R],
    by_mean: R,
    one: R,
}

impl<R: Real> Blockwise<R> for AgainstBoth<'_, R> {
    #[inline(always)]
    fn block<const N: usize>(&mut self, place: usize, mut x: [R; N]) -> [R; N] {
        let sum = self.against.sum::<N>(place);
        let kept = self.mean[place..].first_chunk_mut::<N>().expect("a number for every place");
        let mut mean = *kept;
        for l in 0..N {
            x[l] = (x[l] - self.by_mean * mean[l]) - self.against.by_sum * sum[l];
            mean[l] += self.one * sum[l];
        }
        *kept = mean;
        x
    }
}

impl<R: Real> Synchronous<R> for PrivSgp<R> {
    const NEEDS: LinkNeeds = LinkNeeds::Delivery;

    fn asking_rounds(&self) -> u64 {
        self.descent.steps.rounds
    }

    fn shape(&self) -> Shape {
        Shape::dense(self.state.get().len())
    }

    #[inline(always)]
    fn ask(&mut self, round: u64) -> Option<Question<R>> {
        if round >= self.descent.steps.rounds {
            return None;
        }
        let (vector, weight) = self.state.get().split_at(self.dimension());
        let scale = ratio(R::ONE, weight[0]);
        let at = point(self.memory.take(), vector, |v| v * scale);
        Some(match self.reduction {
            None => Question::Gradient { round, at },
            Some(_) => Question::Difference { round, at },
        })
    }

    #[inline(always)]
    fn answer(&mut self, round: u64, answer: Answer<R>) {
        let Self { state, memory, pending, step, descent, reduction } = self;
        let share = 1.0 / descent.steps.divisor;
        let by_sum = R::from_f64(descent.steps.size.at(round) * share);
        *memory = match answer {
            Answer::Pending(sum) if descent.steps.momentum == 0.0 => {
                (*pending, *step) = (Some(sum), Some(by_sum));
                return;
            }
            answer => answer.released(),
        };
        match (&*memory, reduction) {
            (None, _) => descent.take(round, state, &[]),
            (Some(_), _) if descent.steps.momentum == 0.0 => {
                *step = Some(by_sum);
            }
            (Some(sum), None) => descent.take(round, state, &[(share, sum)]),
            (Some(sum), Some(reduction)) => {
                // The step uses the mean of before.
                descent.take(round, state, &[(1.0, &reduction.mean), (share, sum)]);
                reduction.take(sum);
            }
        }
    }

    #[inline(always)]
    fn send(&mut self, round: u64, around: &Neighbourhood<'_>, slot: &mut Slot<'_, R>) {
        let share = R::from_f64(around.share());
        let Some(by_sum) = self.step.take() else {
            return slot.scale_and_send(&mut self.state, share);
        };
        let Self { state, memory, pending, descent, reduction, .. } = self;
        let by_mean = R::from_f64(descent.steps.size.at(round));
        let mut step = Step { by_sum, by_mean, share, reduction };
        if let Some(mut sum) = pending.take() {
            // While noise is made, what comes next is on its way.
            step.fetch(0, slot);
            while let Some((first, piece)) = sum.next_piece() {
                step.fetch(first + piece.get().len(), slot);
                step.take(state, first, piece.get(), slot);
            }
            *memory = Some(sum.finish());
        } else if let Some(sum) = &*memory {
            step.take(state, 0, sum.get(), slot);
        }
        slot.scale_and_send_from(self.dimension(), &mut self.state, share);
    }

    #[inline(always)]
    fn receive<'a, L>(&mut self, _round: u64, _around: &Neighbourhood<'_>, letters: L)
    where
        L: Iterator<Item = (NodeId, Letter<'a, R>)> + Clone,
    {
        take_in(&mut self.state, letters);
    }

    fn spare(&mut self) -> Option<&mut Option<Released<Vec<R>>>> {
        Some(&mut self.memory)
    }

    fn sent(&mut self) -> Option<&mut Released<Vec<R>>> {
        Some(&mut self.state)
    }

    fn estimate(&self, out: &mut [R]) {
        let (vector, weight) = self.state.get().split_at(out.len());
        out.iter_mut().zip(vector).for_each(|(out, v)| *out = ratio(*v, weight[0]));
    }

    fn dimension(&self) -> usize {
        self.state.get().len() - 1
    }

    /// Gradients come: nothing is conserved.
    fn add_conserved(&self, _sum: &mut [f64]) {}

    fn carry(&mut self, carried: &mut Carried<'_>) {
        let Self { state, memory, pending, step, descent, reduction } = self;
        carried.released(state);
        if let Some(sum) = pending.take() {
            *memory = Some(sum.finish());
        }
        carried.maybe(memory);
        let mut pending: Vec<R> = step.iter().copied().collect();
        carried.values(&mut pending);
        *step = pending.first().copied();
        descent.carry(carried);
        if let Some(reduction) = reduction {
            carried.released(&mut reduction.mean);
        }
    }
}
