//! Push-sum that sends some coordinates only.

use undertone_graph::NodeId;
use undertone_privacy::release::Released;
use undertone_real::Real;

use crate::aligned::Aligned;
use crate::carried::Carried;
use crate::initial::nothing;
use crate::mail::{Letter, Shape, Slot};
use crate::push_sum::{ratio, take_in};
use crate::question::{Answer, Question};
use crate::sparsify::{PublicBits, Sparsity};
use crate::synchronous::{LinkNeeds, Synchronous};
use crate::topology::Neighbourhood;

/// Push-sum with sparsified messages. Every coordinate has a weight of its own; one that is not
/// sent keeps its value and its weight whole, so that the sums stay.
///
/// # Guarantee
///
/// As for [`PushSum`](crate::PushSum): the one release of each node's vector. What is not sent in a
/// round is sent later, so sparsity earns no privacy.
///
/// # References
///
/// Kempe, Dobra, Gehrke 2003; per-coordinate renormalisation as in paper 001.
#[derive(Clone, Debug, PartialEq)]
pub struct SparsePushSum<R> {
    /// The vector, then as many weights.
    state: Released<Aligned<R>>,
    sparsity: Sparsity,
    seed: u64,
}

impl<R: Real> SparsePushSum<R> {
    /// For vectors of `dimension` coordinates; `seed` is that of the public choice of coordinates.
    pub fn new(dimension: usize, sparsity: Sparsity, seed: u64) -> Self {
        Self { state: nothing(2 * dimension).map(Aligned::from), sparsity, seed }
    }
}

impl<R: Real> Synchronous<R> for SparsePushSum<R> {
    const NEEDS: LinkNeeds = LinkNeeds::Delivery;

    fn asking_rounds(&self) -> u64 {
        1
    }

    fn shape(&self) -> Shape {
        Shape::masked(self.dimension(), 2)
    }

    fn ask(&mut self, round: u64) -> Option<Question<R>> {
        (round == 0).then_some(Question::Vector)
    }

    fn answer(&mut self, _round: u64, answer: Answer<R>) {
        if let Some(vector) = answer.released() {
            self.state = vector.map(|mut vector| {
                vector.resize(2 * vector.len(), R::ONE);
                Aligned::from(vector)
            });
        }
    }

    #[inline(always)]
    fn send(&mut self, round: u64, around: &Neighbourhood<'_>, slot: &mut Slot<'_, R>) {
        let dimension = self.state.get().len() / 2;
        let Self { state, sparsity, seed } = self;
        let bits = PublicBits::new(*seed, around.node, round, 0);
        let share = R::from_f64(around.share());
        slot.deal(
            state,
            share,
            #[inline(always)]
            |mask| sparsity.mask_over(dimension, bits, mask),
        );
    }

    #[inline(always)]
    fn receive<'a, L>(&mut self, _round: u64, _around: &Neighbourhood<'_>, letters: L)
    where
        L: Iterator<Item = (NodeId, Letter<'a, R>)> + Clone,
    {
        // Unsent coordinates are zero in a letter.
        take_in(&mut self.state, letters);
    }

    fn estimate(&self, out: &mut [R]) {
        let (vector, weights) = self.state.get().split_at(out.len());
        for ((out, v), weight) in out.iter_mut().zip(vector).zip(weights) {
            *out = ratio(*v, *weight);
        }
    }

    fn dimension(&self) -> usize {
        self.state.get().len() / 2
    }

    fn add_conserved(&self, sum: &mut [f64]) {
        sum.iter_mut().zip(&**self.state.get()).for_each(|(sum, v)| *sum += v.to_f64());
    }

    fn carry(&mut self, carried: &mut Carried<'_>) {
        self.state.update(|state| carried.aligned(state));
    }
}
