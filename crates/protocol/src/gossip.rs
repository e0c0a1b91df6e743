//! Gossip: averaging with symmetric weights.

use undertone_graph::NodeId;
use undertone_privacy::release::Released;
use undertone_real::Real;

use crate::carried::Carried;
use crate::initial::nothing;
use crate::mail::{Letter, Shape, Slot};
use crate::question::{Answer, Question};
use crate::synchronous::{LinkNeeds, Synchronous};
use crate::topology::Neighbourhood;

/// Gossip averaging: everybody takes a weighted mean of what it hears and of its own value. With
/// doubly stochastic weights (Metropolis and Hastings, say) all tend to the mean.
///
/// A node whose budget is refused starts from zero, which moves the result; push-sum leaves such a
/// node out instead. The weight of a message that is lost goes to the node's own value.
///
/// # Guarantee
///
/// That of the one release of each node's vector, which the oracle pays for.
///
/// # References
///
/// Xiao and Boyd 2004, "Fast linear iterations for distributed averaging"; theory 5.1 for the
/// accounting.
#[derive(Clone, Debug, PartialEq)]
pub struct Gossip<R> {
    state: Released<Vec<R>>,
    /// Memory for the value before mixing.
    own: Vec<R>,
}

impl<R: Real> Gossip<R> {
    /// For vectors of `dimension` coordinates.
    pub fn new(dimension: usize) -> Self {
        Self { state: nothing(dimension), own: Vec::new() }
    }
}

impl<R: Real> Synchronous<R> for Gossip<R> {
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
            self.state = vector;
        }
    }

    fn send(&mut self, _round: u64, _around: &Neighbourhood<'_>, slot: &mut Slot<'_, R>) {
        slot.send(&self.state);
    }

    #[inline(always)]
    fn receive<'a, L>(&mut self, _round: u64, around: &Neighbourhood<'_>, letters: L)
    where
        L: Iterator<Item = (NodeId, Letter<'a, R>)> + Clone,
    {
        let Self { state, own } = self;
        state.update(|state| mix(state, own, around, letters));
    }

    fn sent(&mut self) -> Option<&mut Released<Vec<R>>> {
        Some(&mut self.state)
    }

    fn estimate(&self, out: &mut [R]) {
        out.copy_from_slice(self.state.get());
    }

    fn dimension(&self) -> usize {
        self.state.get().len()
    }

    fn add_conserved(&self, sum: &mut [f64]) {
        sum.iter_mut().zip(self.state.get()).for_each(|(sum, v)| *sum += v.to_f64());
    }

    fn carry(&mut self, carried: &mut Carried<'_>) {
        carried.released(&mut self.state);
    }
}

/// `x_i <- x_i + sum_j w_ij (x_j - x_i)`, in order of the senders: what is not heard has no term,
/// so that rows still sum to one. `own` is memory for the old value.
#[inline(always)]
pub(crate) fn mix<'a, R: Real, L>(
    state: &mut [R],
    own: &mut Vec<R>,
    around: &Neighbourhood<'_>,
    letters: L,
) where
    L: Iterator<Item = (NodeId, Letter<'a, R>)> + Clone,
{
    mix_slowly(1.0, state, own, around, letters);
}

/// The same with all weights times a pace, which is at most one.
#[inline(always)]
pub(crate) fn mix_slowly<'a, R: Real, L>(
    pace: f64,
    state: &mut [R],
    own: &mut Vec<R>,
    around: &Neighbourhood<'_>,
    letters: L,
) where
    L: Iterator<Item = (NodeId, Letter<'a, R>)> + Clone,
{
    own.clear();
    own.extend_from_slice(state);
    for (from, letter) in letters {
        let weight = R::from_f64(pace * around.pull(from));
        for ((v, own), heard) in state.iter_mut().zip(&*own).zip(letter.values()) {
            *v += weight * (*heard - *own);
        }
    }
}
