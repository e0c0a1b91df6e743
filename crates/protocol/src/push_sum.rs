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

/// Numbers at the end of a row, which are added together with others before them.
const LAST: usize = 16;

/// Adds all letters in their order, in as few passes over them as registers allow: each pass looks
/// up where every letter is.
#[inline(always)]
pub(crate) fn take_in<'a, R: Real, V, L>(state: &mut Released<V>, letters: L)
where
    V: DerefMut<Target = [R]>,
    L: Iterator<Item = (NodeId, Letter<'a, R>)> + Clone,
{
    state.update(
        #[inline(always)]
        |state| {
            if state.len() < LAST {
                return add_held::<R, 1, L>(state, &letters, 0);
            }
            let wide = state.len() / 128 * 128;
            let middle = wide + (state.len() - wide).saturating_sub(32 + LAST).next_multiple_of(32);
            // The last numbers reach back to some of the others: they are read before those are
            // written, and written, with the same sums, after them.
            let own = *state.last_chunk().expect("longer than its end");
            add_held::<R, 128, L>(&mut state[..wide], &letters, 0);
            add_held::<R, 32, L>(&mut state[wide..middle], &letters, wide);
            let weight = [own[LAST - 1]];
            match state.len() - middle {
                0 => {}
                // A vector of whole lines and a weight: a second vector of each row would lie
                // across two lines.
                17 => add_last::<R, 16, 1, L>(state, weight, &letters, middle),
                33 => add_last::<R, 32, 1, L>(state, weight, &letters, middle),
                1..=LAST => add_last::<R, 0, LAST, L>(state, own, &letters, middle),
                18..=32 => add_last::<R, 16, LAST, L>(state, own, &letters, middle),
                _ => add_last::<R, 32, LAST, L>(state, own, &letters, middle),
            }
        },
    );
}

/// What the letters have from a place on is added to `sum`, as wide as some times `HELD` numbers,
/// which stay in registers while all letters are added to them.
#[inline(always)]
fn add_held<'a, R: Real, const HELD: usize, L>(sum: &mut [R], letters: &L, first: usize)
where
    L: Iterator<Item = (NodeId, Letter<'a, R>)> + Clone,
{
    for (k, held) in sum.as_chunks_mut::<HELD>().0.iter_mut().enumerate() {
        let mut sum = *held;
        for (_, letter) in letters.clone() {
            add_block(&mut sum, &letter.values()[first + k * HELD..]);
        }
        *held = sum;
    }
}

/// Adds the last numbers, of which the state had `last` before, and `HELD` from a place on, which
/// leave nothing out between them and the last.
#[inline(always)]
fn add_last<'a, R: Real, const HELD: usize, const N: usize, L>(
    sum: &mut [R],
    mut last: [R; N],
    letters: &L,
    first: usize,
) where
    L: Iterator<Item = (NodeId, Letter<'a, R>)> + Clone,
{
    let mut held = *sum[first..].first_chunk::<HELD>().expect("as many as there are left");
    for (_, letter) in letters.clone() {
        let row = letter.values();
        add_block(&mut held, &row[first..]);
        add_block(&mut last, &row[row.len() - N..]);
    }
    *sum[first..].first_chunk_mut().expect("as many as there are left") = held;
    *sum.last_chunk_mut().expect("longer than its end") = last;
}

#[inline(always)]
fn add_block<R: Real, const N: usize>(sum: &mut [R; N], row: &[R]) {
    let row = &row[..N];
    for l in 0..N {
        sum[l] += row[l];
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mail::Mail;

    /// However wide a row is and however it is cut, each number is added once, in order of letters.
    #[test]
    fn every_number_of_every_letter_is_added_once() {
        fn check<R: Real>() {
            const SENDERS: u32 = 3;
            let number = |i: usize| R::from_f64(((i * 37 + 11) % 101) as f64 / 7.0 - 6.0);
            for width in 0..=300 {
                let mut mail = Mail::new(SENDERS as usize, Shape::dense(width));
                let row = |from: u32| (0..width).map(move |k| number(k * 5 + from as usize));
                for from in 0..SENDERS {
                    mail.slot(NodeId(from)).send(&Released::public(row(from).collect()));
                }
                let mut state = Released::public((0..width).map(number).collect::<Vec<R>>());
                let mut expected = state.get().clone();
                for from in 0..SENDERS {
                    expected.iter_mut().zip(row(from)).for_each(|(sum, value)| *sum += value);
                }
                let letters = (0..SENDERS).map(|from| (NodeId(from), mail.letter(NodeId(from))));
                take_in(&mut state, letters);
                assert!(*state.get() == expected, "{width}");
            }
        }
        check::<f32>();
        check::<f64>();
    }
}
