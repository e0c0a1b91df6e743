//! SDM: decentralised descent that sends a random part of every change.

use undertone_graph::NodeId;
use undertone_privacy::release::Released;
use undertone_real::Real;

use crate::carried::Carried;
use crate::initial::{nothing, point, start};
use crate::mail::{Letter, Shape, Slot};
use crate::question::{Answer, Question};
use crate::sparsify::PublicBits;
use crate::step::{Descent, Steps};
use crate::synchronous::{LinkNeeds, Synchronous};
use crate::topology::Neighbourhood;

/// Sparse differential Gaussian-masked descent. All points are public copies: with
/// `d = pace (sum_j w_ij (x_j - x_i) - alpha g)` a node sends `d / transmit` for some coordinates,
/// chosen at random, and everybody who hears moves its copy; unsent coordinates of `d` are
/// forgotten.
///
/// The oracle chooses the coordinates with its noise, since what is not sent must never have left
/// it. A node without a gradient chooses by public randomness and goes on mixing.
///
/// Nodes follow each other by changes, so the graph has to stay the same and every message has to
/// arrive. Instead of a copy of every neighbour a node keeps the weighted sum of all.
///
/// # Guarantee
///
/// That of the masked gradients, which the oracle pays for. The price is not proportional to the
/// share of coordinates, as was claimed, but there is a discount (theory 3.3).
///
/// # References
///
/// Zhang, Fang, Liu, Zhu, Lu 2020, "Private and communication-efficient edge learning: a sparse
/// differential Gaussian-masking distributed SGD approach", as rebuilt in theory 3.3 and A7.
#[derive(Clone, Debug, PartialEq)]
pub struct Sdm<R> {
    state: Released<Vec<R>>,
    /// `sum_j w_ij (x_j - x_i)`: zero at first, as everybody starts at the same point.
    pull: Released<Vec<R>>,
    /// The answer of the round, zero where it is masked.
    gradient: Option<Released<Vec<R>>>,
    /// What is sent.
    change: Released<Vec<R>>,
    mask: Vec<u64>,
    descent: Descent<R>,
    parameters: Parameters,
}

/// What all nodes have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Parameters {
    pace: f64,
    transmit: f64,
    seed: u64,
}

impl<R: Real> Sdm<R> {
    /// From a point that everybody knows. `pace` is the paper's theta; `transmit` is the chance of
    /// a coordinate, the same as the oracle's; `seed` is that of the masks of nodes without
    /// gradients.
    pub fn new(start_at: &[R], steps: Steps, pace: f64, transmit: f64, seed: u64) -> Self {
        let dimension = start_at.len();
        Self {
            state: start(start_at),
            pull: nothing(dimension),
            gradient: None,
            change: nothing(dimension),
            mask: vec![0; dimension.div_ceil(64)],
            descent: Descent::new(steps),
            parameters: Parameters { pace, transmit, seed },
        }
    }
}

impl<R: Real> Synchronous<R> for Sdm<R> {
    const NEEDS: LinkNeeds = LinkNeeds::Delivery;

    fn asking_rounds(&self) -> u64 {
        self.descent.steps.rounds
    }

    fn shape(&self) -> Shape {
        Shape::masked(self.dimension(), 1)
    }

    fn ask(&mut self, round: u64) -> Option<Question<R>> {
        let memory = self.gradient.take();
        (round < self.descent.steps.rounds).then(|| {
            let at = point(memory, self.state.get(), |v| v);
            Question::Masked { round, at }
        })
    }

    fn answer(&mut self, _round: u64, answer: Answer<R>) {
        let Answer::Masked(masked) = answer else { return };
        let mask = &mut self.mask;
        mask.fill(0);
        self.gradient = Some(masked.map(|masked| {
            let mut dense = vec![R::ZERO; masked.dimension];
            for (index, value) in masked.indices.into_iter().zip(masked.values) {
                dense[index] = value;
                mask[index / 64] |= 1 << (index % 64);
            }
            dense
        }));
    }

    fn send(&mut self, round: u64, around: &Neighbourhood<'_>, slot: &mut Slot<'_, R>) {
        let Parameters { pace, transmit, seed } = self.parameters;
        let Self { pull, gradient, change, mask, descent, .. } = self;
        if gradient.is_none() {
            draw(mask, pull.get().len(), transmit, PublicBits::new(seed, around.node, round, 0));
        }
        change.update(|change| change.copy_from_slice(pull.get()));
        if round < descent.steps.rounds {
            let share = 1.0 / descent.steps.divisor;
            let term = gradient.as_ref().map(|gradient| (share, gradient));
            descent.take(round, change, term.as_slice());
        }
        let scale = R::from_f64(pace / transmit);
        change.update(|change| {
            for (k, change) in change.iter_mut().enumerate() {
                let sent = mask[k / 64] >> (k % 64) & 1 == 1;
                *change = if sent { *change * scale } else { R::ZERO };
            }
        });
        slot.send_masked(change, mask);
    }

    fn receive<'a, L>(&mut self, _round: u64, around: &Neighbourhood<'_>, letters: L)
    where
        L: Iterator<Item = (NodeId, Letter<'a, R>)> + Clone,
    {
        let Self { state, pull, change, .. } = self;
        let own = change.get();
        state.update(|state| state.iter_mut().zip(own).for_each(|(x, own)| *x += *own));
        pull.update(|pull| {
            for (from, letter) in letters {
                let weight = R::from_f64(around.pull(from));
                for ((pull, own), heard) in pull.iter_mut().zip(own).zip(letter.values()) {
                    *pull += weight * (*heard - *own);
                }
            }
        });
    }

    fn estimate(&self, out: &mut [R]) {
        out.copy_from_slice(self.state.get());
    }

    fn dimension(&self) -> usize {
        self.state.get().len()
    }

    /// Gradients come and changes are forgotten: nothing is conserved.
    fn add_conserved(&self, _sum: &mut [f64]) {}

    fn carry(&mut self, carried: &mut Carried<'_>) {
        let Self { state, pull, gradient, change, mask, descent, .. } = self;
        carried.released(state);
        carried.released(pull);
        carried.maybe(gradient);
        carried.released(change);
        carried.words(mask);
        descent.carry(carried);
    }
}

/// Each of the first `dimension` bits with a chance.
fn draw(mask: &mut [u64], dimension: usize, chance: f64, mut bits: PublicBits) {
    mask.fill(0);
    for k in 0..dimension {
        mask[k / 64] |= u64::from(bits.uniform() < chance) << (k % 64);
    }
}

#[cfg(test)]
mod tests {
    use undertone_graph::{Family, Mixing};
    use undertone_privacy::mechanism::Masked;

    use super::*;
    use crate::mail::Mail;
    use crate::step::StepSize;
    use crate::topology::Wiring;

    /// Theory 3.3: x = (.1, -.2), theta = .6, alpha = .2, neighbours (0, 0) and (.3, .1) with
    /// weights .25, g = (.2, -.1), noise (.01, .02); only coordinate 0 is sent, c = .3.
    #[test]
    fn a_masked_change_has_the_value_of_the_theory() {
        let steps = Steps::new(9, StepSize::Constant(0.2), 2.0);
        let mut node = Sdm::<f64>::new(&[0.1, -0.2], steps, 0.6, 0.3, 1);
        let others = [[0.0, 0.0], [0.3, 0.1]];
        let pulled = |k: usize| others.iter().map(|x| 0.25 * (x[k] - [0.1, -0.2][k])).sum::<f64>();
        node.pull = start(&[pulled(0), pulled(1)]);
        // The sum over a batch of two.
        let indices_and_values = [(vec![0, 1], vec![0.42, -0.16]), (vec![0], vec![0.42])];
        let pull =
            (0..9).map(|k| (NodeId(k / 3), NodeId(k % 3), if k % 4 == 0 { 0.5 } else { 0.25 }));
        let wiring = Wiring {
            graph: Family::Complete { nodes: 3 }.build(0).unwrap(),
            pull: Some(Mixing::custom(3, pull).unwrap()),
            push: None,
        };
        for ((indices, values), expected) in
            indices_and_values.into_iter().zip([[-0.034, 0.282], [-0.034, 0.0]])
        {
            let mut node = node.clone();
            assert!(matches!(node.ask(0), Some(Question::Masked { round: 0, .. })));
            let masked = Masked { dimension: 2, indices, values };
            node.answer(0, Answer::Masked(start(&[0.0; 2]).map(|_| masked)));
            let mut mail = Mail::new(3, node.shape());
            let around = wiring.around(NodeId(0));
            node.send(0, &around, &mut mail.slot(NodeId(0)));
            let sent = mail.letter(NodeId(0)).values();
            assert!(sent.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14), "{sent:?}");
            node.receive(0, &around, std::iter::empty());
            let mut x = [0.0; 2];
            node.estimate(&mut x);
            assert!((x[0] - 0.066).abs() < 1e-14, "{x:?}");
            assert!((x[1] - (-0.2 + expected[1])).abs() < 1e-14, "{x:?}");
        }
    }
}
