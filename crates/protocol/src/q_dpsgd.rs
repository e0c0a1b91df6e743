//! Paper 000, algorithm 4: decentralised descent with quantised messages.

use std::sync::Arc;

use undertone_graph::NodeId;
use undertone_privacy::release::Released;
use undertone_real::Real;

use crate::carried::Carried;
use crate::gossip::mix_slowly;
use crate::initial::{point, start};
use crate::lattice::Lattice;
use crate::mail::{Letter, Shape, Slot};
use crate::question::{Answer, Question};
use crate::step::{Descent, StepSize, Steps};
use crate::synchronous::{LinkNeeds, Synchronous};
use crate::topology::Neighbourhood;

/// Q-DPSGD-1. A node sends its point quantised to a few bits a number, mixes slowly with what it
/// hears, and moves against a gradient at its own point:
/// `x <- x + e sum_j w_ij (Q(x_j) - x) - alpha e g`.
///
/// How many records a batch has may change from round to round by a schedule that does not depend
/// on data; a round with none asks nothing. A refused gradient counts as zero.
///
/// # Guarantee
///
/// That of the gradients, which the oracle pays for: noise is in the point, so quantising and
/// sending it is post-processing, by uniforms that are public. The paper's own accounting is not
/// sound (`undertone claims`, CE-5).
///
/// # References
///
/// Ding (paper 000), algorithm 4; theory 3.1. Reisizadeh, Taheri, Mokhtari, Hassani, Pedarsani
/// 2019, "Robust and communication-efficient collaborative learning" (without privacy).
#[derive(Clone, Debug, PartialEq)]
pub struct QDpsgd<R> {
    state: Released<Vec<R>>,
    /// The last answer; memory for the next question.
    gradient: Option<Released<Vec<R>>>,
    descent: Descent<R>,
    quantised: Quantised,
    /// What is sent.
    message: Released<Vec<R>>,
    /// Memory for the value before mixing.
    own: Vec<R>,
}

/// What all nodes have in common.
#[derive(Clone, Debug, PartialEq)]
struct Quantised {
    /// `e`.
    pace: f64,
    lattice: Lattice,
    seed: u64,
    /// Expected sizes of the batches, over and over; if there are none, the divisor of the steps.
    batches: Arc<[f64]>,
}

impl<R: Real> QDpsgd<R> {
    /// From a point that everybody knows. `pace` is the paper's `e`, at most one; `seed` is that of
    /// the public uniforms of the quantiser.
    pub fn new(start_at: &[R], steps: Steps, pace: f64, lattice: Lattice, seed: u64) -> Self {
        let quantised = Quantised { pace: pace.min(1.0), lattice, seed, batches: Arc::new([]) };
        Self {
            state: start(start_at),
            gradient: None,
            descent: Descent::new(steps),
            quantised,
            message: start(&[]),
            own: Vec::new(),
        }
    }

    /// With expected batch sizes that change from round to round, over and over. They are what a
    /// sum is divided by; zero is a round without a gradient.
    pub fn with_batches(mut self, sizes: Arc<[f64]>) -> Self {
        self.quantised.batches = sizes;
        self
    }

    /// The paper's `alpha = .3 / T^(1/6)` and `e = 11 / T^(1/2)` for `T` rounds; `e` is at most
    /// one.
    pub fn rates(rounds: u64) -> (StepSize, f64) {
        let pace = 11.0 / (rounds.max(1) as f64).sqrt();
        (StepSize::for_horizon(0.3, 1.0 / 6.0, rounds), pace.min(1.0))
    }

    /// What the sum of a round is divided by; zero if there is none.
    fn divisor(&self, round: u64) -> f64 {
        let sizes = &self.quantised.batches;
        match sizes.len() as u64 {
            0 => self.descent.steps.divisor,
            length => sizes[(round % length) as usize],
        }
    }
}

impl<R: Real> Synchronous<R> for QDpsgd<R> {
    const NEEDS: LinkNeeds = LinkNeeds::Nothing;

    fn asking_rounds(&self) -> u64 {
        self.descent.steps.rounds
    }

    fn shape(&self) -> Shape {
        Shape::quantised(self.state.get().len(), self.quantised.lattice)
    }

    fn ask(&mut self, round: u64) -> Option<Question<R>> {
        let memory = self.gradient.take();
        let asks = round < self.descent.steps.rounds && self.divisor(round) > 0.0;
        asks.then(|| {
            let at = point(memory, self.state.get(), |v| v);
            Question::Gradient { round, at }
        })
    }

    fn answer(&mut self, _round: u64, answer: Answer<R>) {
        self.gradient = answer.released();
    }

    fn send(&mut self, round: u64, around: &Neighbourhood<'_>, slot: &mut Slot<'_, R>) {
        let Quantised { lattice, seed, .. } = self.quantised;
        let state = self.state.get();
        self.message.update(|message| {
            message.clear();
            message.extend_from_slice(state);
            lattice.quantise(message, seed, around.node, round);
        });
        slot.send(&self.message);
    }

    fn receive<'a, L>(&mut self, round: u64, around: &Neighbourhood<'_>, letters: L)
    where
        L: Iterator<Item = (NodeId, Letter<'a, R>)> + Clone,
    {
        let (pace, divisor) = (self.quantised.pace, self.divisor(round));
        let Self { state, gradient, descent, own, .. } = self;
        state.update(|state| mix_slowly(pace, state, own, around, letters));
        if round < descent.steps.rounds {
            let term = gradient.as_ref().map(|gradient| (pace / divisor, gradient));
            descent.take(round, state, term.as_slice());
        }
    }

    fn estimate(&self, out: &mut [R]) {
        out.copy_from_slice(self.state.get());
    }

    fn dimension(&self) -> usize {
        self.state.get().len()
    }

    /// Gradients come and messages are rounded: nothing is conserved.
    fn add_conserved(&self, _sum: &mut [f64]) {}

    fn carry(&mut self, carried: &mut Carried<'_>) {
        carried.released(&mut self.state);
        carried.maybe(&mut self.gradient);
        self.descent.carry(carried);
    }
}
