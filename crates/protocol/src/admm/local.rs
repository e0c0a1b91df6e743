//! What a node knows: its own value, those of its neighbours, and its dual variable.

use undertone_graph::NodeId;
use undertone_privacy::release::Released;
use undertone_real::Real;

use crate::carried::Carried;
use crate::initial::{nothing, start};

/// All of it is public: what was sent, and what follows from it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Local<R> {
    /// As it was sent last.
    pub(super) point: Released<Vec<R>>,
    pub(super) dual: Released<Vec<R>>,
    /// Whose value is heard, in increasing order, and what it was last.
    heard: Vec<(NodeId, Released<Vec<R>>)>,
}

impl<R: Real> Local<R> {
    pub(super) fn new(at: &[R], neighbours: &[NodeId]) -> Self {
        let heard = neighbours.iter().map(|node| (*node, start(at))).collect();
        Self { point: start(at), dual: nothing(at.len()), heard }
    }

    pub(super) fn carry(&mut self, carried: &mut Carried<'_>) {
        carried.released(&mut self.point);
        carried.released(&mut self.dual);
        self.heard.iter_mut().for_each(|(_, value)| carried.released(value));
    }

    pub(super) fn neighbours(&self) -> usize {
        self.heard.len()
    }

    /// What neighbours said last.
    pub(super) fn heard(&self) -> impl Iterator<Item = &[R]> {
        self.heard.iter().map(|(_, value)| value.get().as_slice())
    }

    pub(super) fn hear(&mut self, from: NodeId, values: &[R]) {
        if let Ok(index) = self.heard.binary_search_by_key(&from, |(node, _)| *node) {
            self.heard[index].1.update(|last| last.copy_from_slice(values));
        }
    }

    /// `2 dual - eta sum_j (x_i + x_j)`; of an ignored neighbour the own value stands in.
    pub(super) fn linear(&self, eta: f64, ignored: impl Fn(usize) -> bool) -> Released<Vec<R>> {
        let (two, eta) = (R::from_f64(2.0), R::from_f64(eta));
        let mut linear = self.dual.clone();
        linear.update(|linear| linear.iter_mut().for_each(|v| *v *= two));
        let own = self.point.get();
        for (index, heard) in self.heard().enumerate() {
            let other = if ignored(index) { own } else { heard };
            linear.update(|linear| {
                for ((v, own), other) in linear.iter_mut().zip(own).zip(other) {
                    *v -= eta * (*own + *other);
                }
            });
        }
        linear
    }

    /// `dual += step/2 sum_j (x_i - x_j)`.
    pub(super) fn move_dual(&mut self, step: f64) {
        let Self { point, dual, heard } = self;
        let half = R::from_f64(0.5 * step);
        for (_, other) in heard {
            dual.update(|dual| {
                for ((v, own), other) in dual.iter_mut().zip(point.get()).zip(other.get()) {
                    *v += half * (*own - *other);
                }
            });
        }
    }
}
