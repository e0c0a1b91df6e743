//! Paper 001, algorithm 2.1: consensus over directed, time-varying graphs with sparse messages.

use undertone_graph::NodeId;
use undertone_privacy::release::Released;
use undertone_real::Real;

use crate::carried::Carried;
use crate::initial::nothing;
use crate::mail::{Letter, Shape, Slot};
use crate::question::{Answer, Question};
use crate::sparsify::{Mask, Sparsity};
use crate::synchronous::{LinkNeeds, Synchronous};
use crate::topology::Neighbourhood;

/// Private, communication-efficient consensus. Beside its vector `x` a node keeps a surplus `y`,
/// which remembers by how much `x` has moved, so that `x + y` keeps its sum though the weights that
/// mix `x` do not. Weights are renormalised for each coordinate over those who sent it.
///
/// At the end of every window of rounds the share `gamma` of the surplus of the window's beginning
/// is put back into the vector.
///
/// # Guarantee
///
/// That of the one release of each node's vector, which the oracle pays for: everything else is
/// post-processing, and sparsity earns nothing. Needs pull weights (rows sum to one) and push
/// weights (columns sum to one), links that deliver, and a schedule whose windows are strongly
/// connected.
///
/// # References
///
/// Ribero, Chen, Vikalo (paper 001), algorithm 2.1 and theorem 2.6; theory 5 and 5.1. Its theorem
/// 2.3 is false as stated (`undertone claims`, CE-6).
#[derive(Clone, Debug, PartialEq)]
pub struct Surplus<R> {
    /// The vector, then the surplus.
    pub(crate) state: Released<Vec<R>>,
    /// The surplus at the beginning of the window.
    kept: Released<Vec<R>>,
    parameters: Parameters,
    masks: [Mask; 2],
    /// Both masks one after the other, as sent.
    mask: Vec<u64>,
}

/// What all nodes have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Parameters {
    dimension: usize,
    sparsity: Sparsity,
    seed: u64,
    window: u64,
    gamma: f64,
}

impl<R: Real> Surplus<R> {
    /// For vectors of `dimension` coordinates. Sparsified messages have masks of whole words, so
    /// they pad the dimension to a multiple of 64 (nothing is sent for the padding).
    pub fn new(dimension: usize, sparsity: Sparsity, seed: u64, window: u64, gamma: f64) -> Self {
        let parameters = Parameters { dimension, sparsity, seed, window: window.max(1), gamma };
        let padded = parameters.padded();
        Self {
            state: nothing(2 * padded),
            kept: nothing(padded),
            parameters,
            masks: Default::default(),
            mask: Vec::new(),
        }
    }

    /// The same from a point that everybody knows.
    pub(crate) fn starting_at(mut self, point: &[R]) -> Self {
        self.state.update(|state| state[..point.len()].copy_from_slice(point));
        self
    }

    /// How many rounds a window has.
    pub(crate) fn window(&self) -> u64 {
        self.parameters.window
    }
}

impl Parameters {
    /// The length of a half of the state: whole words of the mask.
    fn padded(&self) -> usize {
        self.dimension.next_multiple_of(64)
    }
}

impl<R: Real> Synchronous<R> for Surplus<R> {
    const NEEDS: LinkNeeds = LinkNeeds::Delivery;

    fn asking_rounds(&self) -> u64 {
        1
    }

    fn shape(&self) -> Shape {
        Shape::masked(2 * self.parameters.padded(), 1)
    }

    fn ask(&mut self, round: u64) -> Option<Question<R>> {
        (round == 0).then_some(Question::Vector)
    }

    fn answer(&mut self, _round: u64, answer: Answer<R>) {
        let padded = self.parameters.padded();
        if let Some(vector) = answer.released() {
            self.state = vector.map(|mut vector| {
                vector.resize(2 * padded, R::ZERO);
                vector
            });
        }
    }

    fn send(&mut self, round: u64, around: &Neighbourhood<'_>, slot: &mut Slot<'_, R>) {
        let Parameters { dimension, sparsity, seed, window, .. } = self.parameters;
        if round.is_multiple_of(window) {
            let surplus = &self.state.get()[self.parameters.padded()..];
            self.kept.update(|kept| kept.copy_from_slice(surplus));
        }
        self.mask.clear();
        for (lane, mask) in self.masks.iter_mut().enumerate() {
            sparsity.mask_into(dimension, seed, around.node, round, lane as u64, mask);
            self.mask.extend_from_slice(mask.words());
        }
        slot.send_masked(&self.state, &self.mask);
    }

    fn receive<'a, L>(&mut self, round: u64, around: &Neighbourhood<'_>, letters: L)
    where
        L: Iterator<Item = (NodeId, Letter<'a, R>)> + Clone,
    {
        let Parameters { window, gamma, .. } = self.parameters;
        let ends = round % window == window - 1;
        let gamma = R::from_f64(if ends { gamma } else { 0.0 });
        let Self { state, kept, masks, .. } = self;
        let kept = kept.get();
        state.update(|state| {
            let mut sums = Sums::of_own(state, masks, around);
            letters.for_each(|(from, letter)| sums.add(from, &letter, around));
            let (x, y) = state.split_at_mut(kept.len());
            for (k, (x, y)) in x.iter_mut().zip(y).enumerate() {
                let mixed = sums.pulled[k] / sums.weight[k];
                *y = *x - mixed + sums.pushed[k] - gamma * kept[k];
                *x = mixed + gamma * kept[k];
            }
        });
    }

    fn estimate(&self, out: &mut [R]) {
        out.copy_from_slice(&self.state.get()[..out.len()]);
    }

    fn dimension(&self) -> usize {
        self.parameters.dimension
    }

    fn add_conserved(&self, sum: &mut [f64]) {
        let (x, y) = self.state.get().split_at(self.parameters.padded());
        for ((sum, x), y) in sum.iter_mut().zip(x).zip(y) {
            *sum += x.to_f64() + y.to_f64();
        }
    }

    fn carry(&mut self, carried: &mut Carried<'_>) {
        carried.released(&mut self.state);
        carried.released(&mut self.kept);
    }
}

/// One row of the mixing, for all coordinates at once: never a matrix for each.
struct Sums<R> {
    /// `sum_j A_ij x_j` before it is divided by `weight`.
    pulled: Vec<R>,
    /// The pull weights of those who sent the coordinate.
    weight: Vec<R>,
    /// `sum_j B_ij y_j`.
    pushed: Vec<R>,
}

impl<R: Real> Sums<R> {
    /// A node uses its own value whether it sent it or not, and keeps the whole of a surplus that
    /// it did not send.
    fn of_own(state: &[R], masks: &[Mask; 2], around: &Neighbourhood<'_>) -> Self {
        let (x, y) = state.split_at(state.len() / 2);
        let pull = R::from_f64(around.pull(around.node));
        let push = R::from_f64(around.push(around.node));
        let mut pushed = y.to_vec();
        for (values, word) in pushed.chunks_mut(64).zip(masks[1].words()) {
            for (k, v) in values.iter_mut().enumerate() {
                *v *= if word >> k & 1 == 1 { push } else { R::ONE };
            }
        }
        let pulled = x.iter().map(|v| *v * pull).collect();
        Self { pulled, weight: vec![pull; x.len()], pushed }
    }

    fn add(&mut self, from: NodeId, letter: &Letter<'_, R>, around: &Neighbourhood<'_>) {
        let pull = R::from_f64(around.pull(from));
        let push = R::from_f64(around.push(from));
        let (x, y) = letter.values().split_at(self.pulled.len());
        // What was not sent is zero, so only the sum of the weights has to look at the mask.
        self.pulled.iter_mut().zip(x).for_each(|(sum, v)| *sum += pull * *v);
        self.pushed.iter_mut().zip(y).for_each(|(sum, v)| *sum += push * *v);
        let words = letter.mask().unwrap_or_default();
        for (weights, word) in self.weight.chunks_mut(64).zip(words) {
            for (k, weight) in weights.iter_mut().enumerate() {
                *weight += if word >> k & 1 == 1 { pull } else { R::ZERO };
            }
        }
    }
}
