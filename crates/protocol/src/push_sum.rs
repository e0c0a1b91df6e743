//! Push-sum: averaging over directed, time-varying graphs.

use std::ops::DerefMut;

use undertone_graph::NodeId;
use undertone_privacy::release::Released;
use undertone_real::Real;

use crate::aligned::Aligned;
use crate::blocks::update;
use crate::carried::Carried;
use crate::initial::nothing;
use crate::mail::{Letter, Shape, Slot};
use crate::question::{Answer, Question};
use crate::synchronous::{LinkNeeds, Synchronous};
use crate::topology::Neighbourhood;

/// Push-sum averaging. Everybody splits its vector and its weight evenly among its hearers and
/// itself; the ratio of the two tends to the mean.
///
/// A node whose budget is refused takes part with weight zero: the others agree on the mean of
/// those that answered.
///
/// # Guarantee
///
/// That of the one release of each node's vector, which the oracle pays for. All messages are
/// functions of those releases. Sums are conserved if every message arrives; see
/// [`RunningSum`](crate::RunningSum) for links that lose some.
///
/// # References
///
/// Kempe, Dobra, Gehrke 2003, "Gossip-based computation of aggregate information"; theory 5.1 for
/// the accounting.
#[derive(Clone, Debug, PartialEq)]
pub struct PushSum<R> {
    /// The vector, then the weight.
    state: Released<Aligned<R>>,
}

impl<R: Real> PushSum<R> {
    /// For vectors of `dimension` coordinates.
    pub fn new(dimension: usize) -> Self {
        Self { state: nothing(dimension + 1).map(Aligned::from) }
    }
}

impl<R: Real> Synchronous<R> for PushSum<R> {
    const NEEDS: LinkNeeds = LinkNeeds::Delivery;

    fn asking_rounds(&self) -> u64 {
        1
    }

    fn shape(&self) -> Shape {
        Shape::dense(self.state.get().len())
    }

    fn ask(&mut self, round: u64) -> Option<Question<R>> {
        (round == 0).then_some(Question::Vector)
    }

    fn answer(&mut self, _round: u64, answer: Answer<R>) {
        if let Some(vector) = answer.released() {
            self.state = vector.map(|mut vector| {
                vector.push(R::ONE);
                Aligned::from(vector)
            });
        }
    }

    #[inline(always)]
    fn send(&mut self, _round: u64, around: &Neighbourhood<'_>, slot: &mut Slot<'_, R>) {
        slot.scale_and_send(&mut self.state, R::from_f64(around.share()));
    }

    #[inline(always)]
    fn receive<'a, L>(&mut self, _round: u64, _around: &Neighbourhood<'_>, letters: L)
    where
        L: Iterator<Item = (NodeId, Letter<'a, R>)> + Clone,
    {
        take_in(&mut self.state, letters);
    }

    fn estimate(&self, out: &mut [R]) {
        let (vector, weight) = self.state.get().split_at(out.len());
        out.iter_mut().zip(vector).for_each(|(out, v)| *out = ratio(*v, weight[0]));
    }

    fn dimension(&self) -> usize {
        self.state.get().len() - 1
    }

    fn add_conserved(&self, sum: &mut [f64]) {
        sum.iter_mut().zip(&**self.state.get()).for_each(|(sum, v)| *sum += v.to_f64());
    }

    fn carry(&mut self, carried: &mut Carried<'_>) {
        self.state.update(|state| carried.aligned(state));
    }
}

/// Adds all letters in their order.
#[inline(always)]
pub(crate) fn take_in<'a, R: Real, V, L>(state: &mut Released<V>, letters: L)
where
    V: DerefMut<Target = [R]>,
    L: Iterator<Item = (NodeId, Letter<'a, R>)> + Clone,
{
    state.update(
        #[inline(always)]
        |state| {
            let wide = add_held::<R, 128, L>(state, &letters, 0);
            if wide == state.len() {
                return;
            }
            let middle = add_held::<R, 32, L>(state, &letters, wide);
            let line = add_held::<R, 16, L>(state, &letters, middle);
            let narrow = add_held::<R, 8, L>(state, &letters, line);
            add_held::<R, 1, L>(state, &letters, narrow);
        },
    );
}

/// From a place on, as long as there are `HELD` numbers, which stay in registers while all letters
/// are added to them. Returns where that ended.
#[inline(always)]
fn add_held<'a, R: Real, const HELD: usize, L>(sum: &mut [R], letters: &L, first: usize) -> usize
where
    L: Iterator<Item = (NodeId, Letter<'a, R>)> + Clone,
{
    let (held, _) = sum[first..].as_chunks_mut::<HELD>();
    let last = first + held.len() * HELD;
    for (k, held) in held.iter_mut().enumerate() {
        let mut sum = *held;
        for (_, letter) in letters.clone() {
            let row = &letter.values()[first + k * HELD..][..HELD];
            for l in 0..HELD {
                sum[l] += row[l];
            }
        }
        *held = sum;
    }
    last
}

#[inline(always)]
pub(crate) fn add<R: Real>(sum: &mut [R], values: &[R]) {
    update(sum, values, |sum, value| sum + value);
}

/// Before any weight has come there is no estimate; zero then.
#[inline(always)]
pub(crate) fn ratio<R: Real>(value: R, weight: R) -> R {
    if weight == R::ZERO { R::ZERO } else { value / weight }
}
