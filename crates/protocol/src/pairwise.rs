//! Asynchronous descent by meetings of two: A(DP)2SGD.

use undertone_privacy::release::Released;
use undertone_real::Real;

use crate::initial::{point, start};
use crate::question::{Answer, Question};
use crate::step::{Descent, Steps};

/// One node's part of A(DP)2SGD, which has no rounds: whenever it is active, a node reads its
/// point, asks for a gradient there, and, when that has come (others may have moved the point by
/// then), meets a random neighbour, both take the mean of their points, and it moves its own
/// against the gradient.
///
/// How often a node is active is fixed in advance: `steps.rounds` times. A refused gradient counts
/// as zero.
///
/// # Guarantee
///
/// That of the gradients, which the oracle pays for, one an activation. Stale points and random
/// meetings are post-processing; that activation is random earns nothing, since it is seen.
///
/// # References
///
/// Xu, Zhang, Wang 2021, "A(DP)2SGD: asynchronous decentralized parallel stochastic gradient
/// descent with differential privacy", as rebuilt in theory 7.4; Lian, Zhang, Zhang, Liu 2018
/// (AD-PSGD).
#[derive(Clone, Debug, PartialEq)]
pub struct PairwiseSgd<R> {
    state: Released<Vec<R>>,
    /// Memory for the next question.
    memory: Option<Released<Vec<R>>>,
    descent: Descent<R>,
}

impl<R: Real> PairwiseSgd<R> {
    /// From a point that everybody knows.
    pub fn new(start_at: &[R], steps: Steps) -> Self {
        Self { state: start(start_at), memory: None, descent: Descent::new(steps) }
    }

    /// How often the node is active at most.
    pub fn activations(&self) -> u64 {
        self.descent.steps.rounds
    }

    /// What is asked when an activation begins; nothing after the last one.
    pub fn ask(&mut self, activation: u64) -> Option<Question<R>> {
        (activation < self.activations()).then(|| {
            let at = point(self.memory.take(), self.state.get(), |v| v);
            Question::Gradient { round: activation, at }
        })
    }

    /// Both take the mean of their points.
    pub fn meet(&mut self, other: &mut Self) {
        let half = R::from_f64(0.5);
        self.state.update(|own| {
            other.state.update(|other| {
                for (own, other) in own.iter_mut().zip(other) {
                    let mean = half * (*own + *other);
                    (*own, *other) = (mean, mean);
                }
            });
        });
    }

    /// The node's point, which is made of what was released.
    pub fn point(&self) -> Released<Vec<R>> {
        self.state.clone()
    }

    /// Moves half of the way towards another point, and returns the change: the first half of a
    /// meeting by letters.
    pub fn approach(&mut self, other: &[R]) -> Released<Vec<R>> {
        let half = R::from_f64(0.5);
        let mut change = self.state.clone();
        change.update(|change| {
            change.iter_mut().zip(other).for_each(|(own, other)| *own = half * (*other - *own));
        });
        let by = change.get();
        self.state.update(|own| own.iter_mut().zip(by).for_each(|(own, by)| *own += *by));
        change
    }

    /// Moves against the change of the other: the second half.
    pub fn retreat(&mut self, change: &[R]) {
        self.state.update(|own| own.iter_mut().zip(change).for_each(|(own, by)| *own -= *by));
    }

    /// The step at the end of an activation, from where the point is by now.
    pub fn step(&mut self, activation: u64, answer: Answer<R>) {
        self.memory = answer.released();
        let share = 1.0 / self.descent.steps.divisor;
        let term = self.memory.as_ref().map(|gradient| (share, gradient));
        self.descent.take(activation, &mut self.state, term.as_slice());
    }

    /// The node's point.
    pub fn estimate(&self, out: &mut [R]) {
        out.copy_from_slice(self.state.get());
    }

    /// The number of coordinates.
    pub fn dimension(&self) -> usize {
        self.state.get().len()
    }
}
