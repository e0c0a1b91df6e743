//! Push-sum that survives lost messages.

use std::collections::BTreeMap;

use undertone_graph::NodeId;
use undertone_privacy::release::Released;
use undertone_real::Real;

use crate::carried::Carried;
use crate::initial::nothing;
use crate::mail::{Letter, Shape, Slot};
use crate::push_sum::{add, ratio};
use crate::question::{Answer, Question};
use crate::synchronous::{LinkNeeds, Synchronous};
use crate::topology::Neighbourhood;

/// Push-sum by running sums. A message holds everything its sender ever pushed to one hearer, so
/// that whatever arrives later makes good for what was lost; a hearer takes the difference from the
/// last sum it saw.
///
/// The hearers of a node must not change: take a fixed graph.
///
/// # Guarantee
///
/// As for [`PushSum`](crate::PushSum): the one release of each node's vector. What the nodes have
/// and what is on the way (sent less taken) sums to what was answered, whatever is lost, late or
/// doubled, up to the rounding of the running sums.
///
/// # References
///
/// Vaidya, Hadjicostis, Dominguez-Garcia 2011, "Distributed algorithms for consensus and
/// coordination in the presence of packet-dropping communication links"; Hadjicostis, Vaidya,
/// Dominguez-Garcia 2016, "Robust distributed average consensus via exchange of running sums".
#[derive(Clone, Debug, PartialEq)]
pub struct RunningSum<R> {
    /// The vector, then the weight.
    state: Released<Vec<R>>,
    /// All that was pushed to each hearer.
    pushed: Released<Vec<R>>,
    /// All that was taken from each that is heard.
    taken: BTreeMap<NodeId, Vec<R>>,
    /// How many hear this node.
    hearers: usize,
}

impl<R: Real> RunningSum<R> {
    /// For vectors of `dimension` coordinates.
    pub fn new(dimension: usize) -> Self {
        let (state, pushed) = (nothing(dimension + 1), nothing(dimension + 1));
        Self { state, pushed, taken: BTreeMap::new(), hearers: 0 }
    }
}

impl<R: Real> Synchronous<R> for RunningSum<R> {
    const NEEDS: LinkNeeds = LinkNeeds::Nothing;

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
                vector
            });
        }
    }

    fn send(&mut self, _round: u64, around: &Neighbourhood<'_>, slot: &mut Slot<'_, R>) {
        let Self { state, pushed, hearers, .. } = self;
        *hearers = around.n_hearers;
        let share = R::from_f64(around.share());
        state.update(|state| state.iter_mut().for_each(|v| *v *= share));
        pushed.update(|pushed| add(pushed, state.get()));
        slot.send(pushed);
    }

    fn receive<'a, L>(&mut self, _round: u64, _around: &Neighbourhood<'_>, letters: L)
    where
        L: Iterator<Item = (NodeId, Letter<'a, R>)> + Clone,
    {
        let Self { state, taken, .. } = self;
        state.update(|state| {
            for (from, letter) in letters {
                let taken = taken.entry(from).or_insert_with(|| vec![R::ZERO; state.len()]);
                for ((v, taken), sum) in state.iter_mut().zip(taken).zip(letter.values()) {
                    *v += *sum - *taken;
                    *taken = *sum;
                }
            }
        });
    }

    fn estimate(&self, out: &mut [R]) {
        let (vector, weight) = self.state.get().split_at(out.len());
        out.iter_mut().zip(vector).for_each(|(out, v)| *out = ratio(*v, weight[0]));
    }

    fn dimension(&self) -> usize {
        self.state.get().len() - 1
    }

    /// Its own, what it has pushed, less what it has taken: what is on the way counts at the
    /// sender, once for each hearer.
    fn add_conserved(&self, sum: &mut [f64]) {
        let hearers = self.hearers as f64;
        for ((sum, v), pushed) in sum.iter_mut().zip(self.state.get()).zip(self.pushed.get()) {
            *sum += v.to_f64() + hearers * pushed.to_f64();
        }
        for taken in self.taken.values() {
            sum.iter_mut().zip(taken).for_each(|(sum, taken)| *sum -= taken.to_f64());
        }
    }

    fn carry(&mut self, carried: &mut Carried<'_>) {
        let Self { state, pushed, taken, hearers } = self;
        carried.released(state);
        carried.released(pushed);
        let mut count = *hearers as u64;
        carried.count(&mut count);
        *hearers = count as usize;
        let mut peers: Vec<u64> = taken.keys().map(|node| u64::from(node.0)).collect();
        carried.words(&mut peers);
        for peer in peers {
            carried.values(taken.entry(NodeId(peer as u32)).or_default());
        }
    }
}
