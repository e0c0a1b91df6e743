//! Paper 003: stochastic gradient push with private gradients.

use undertone_graph::NodeId;
use undertone_privacy::release::Released;
use undertone_real::Real;

use crate::carried::Carried;
use crate::initial::{point, start};
use crate::mail::{Letter, Shape, Slot};
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
pub struct PrivSgp<R> {
    /// The vector, then the weight.
    state: Released<Vec<R>>,
    /// The last answer, whose memory is for the next question.
    memory: Option<Released<Vec<R>>>,
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
        Self { state, memory: None, step: None, descent: Descent::new(steps), reduction: None }
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
        let at = point(self.memory.take(), vector.iter().map(|v| *v * scale));
        Some(match self.reduction {
            None => Question::Gradient { round, at },
            Some(_) => Question::Difference { round, at },
        })
    }

    #[inline(always)]
    fn answer(&mut self, round: u64, answer: Answer<R>) {
        let Self { state, memory, step, descent, reduction } = self;
        let share = 1.0 / descent.steps.divisor;
        *memory = answer.released();
        match (&*memory, reduction) {
            (None, _) => descent.take(round, state, &[]),
            (Some(_), _) if descent.steps.momentum == 0.0 => {
                *step = Some(R::from_f64(descent.steps.size.at(round) * share));
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
        let Self { state, memory, step, descent, reduction } = self;
        let (Some(by_sum), Some(sum)) = (step.take(), &*memory) else {
            return slot.scale_and_send(state, share);
        };
        let Some(Reduction { mean, share: part }) = reduction else {
            let moves = sum.get().iter().map(|sum| move |x| x - by_sum * *sum);
            return slot.move_and_send(state, moves, share);
        };
        // Against the mean of before and the sum; the mean moves with the sum.
        let by_mean = R::from_f64(descent.steps.size.at(round));
        let one = R::from_f64(*part);
        mean.update(
            #[inline(always)]
            |mean| {
                let moves = mean.iter_mut().zip(sum.get()).map(|(mean, sum)| {
                    move |x| {
                        let moved = (x - by_mean * *mean) - by_sum * *sum;
                        *mean += one * *sum;
                        moved
                    }
                });
                slot.move_and_send(state, moves, share);
            },
        );
    }

    #[inline(always)]
    fn receive<'a, L>(&mut self, _round: u64, _around: &Neighbourhood<'_>, letters: L)
    where
        L: Iterator<Item = (NodeId, Letter<'a, R>)>,
    {
        take_in(&mut self.state, letters);
    }

    fn spare(&mut self) -> Option<&mut Option<Released<Vec<R>>>> {
        Some(&mut self.memory)
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
        let Self { state, memory, step, descent, reduction } = self;
        carried.released(state);
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
