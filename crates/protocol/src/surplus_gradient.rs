//! Paper 001, algorithm 2.2: optimisation over directed, time-varying graphs with sparse messages.

use undertone_graph::NodeId;
use undertone_privacy::release::Released;
use undertone_real::Real;

use crate::carried::Carried;
use crate::initial::point;
use crate::mail::{Letter, Shape, Slot};
use crate::question::{Answer, Question};
use crate::sparsify::Sparsity;
use crate::step::{Descent, Steps};
use crate::surplus::Surplus;
use crate::synchronous::{LinkNeeds, Synchronous};
use crate::topology::Neighbourhood;

/// Gradient descent on top of [`Surplus`]: at the beginning of every window a node asks for a
/// gradient at its vector, and at the end of the window, after mixing, it moves the vector (not the
/// surplus) against it. Steps are counted by windows. A refused gradient counts as zero.
///
/// Convex objectives take a step of the order of one over the root of the number of windows
/// ([`StepSize::for_horizon`]), strongly convex ones `p / t` ([`StepSize::Decaying`]).
///
/// # Guarantee
///
/// That of the gradients, one a window, which the oracle pays for. Unsent coordinates stay in the
/// vector with their gradient and are sent later, so sparsity earns nothing: the paper's factor is
/// false (`undertone claims`, CE-7).
///
/// # References
///
/// Ribero, Chen, Vikalo (paper 001), algorithm 2.2; theory 5.2 and A8.
///
/// [`StepSize::for_horizon`]: crate::StepSize::for_horizon
/// [`StepSize::Decaying`]: crate::StepSize::Decaying
#[derive(Clone, Debug, PartialEq)]
pub struct SurplusGradient<R> {
    mixing: Surplus<R>,
    /// The gradient of the window.
    gradient: Option<Released<Vec<R>>>,
    descent: Descent<R>,
}

impl<R: Real> SurplusGradient<R> {
    /// From a point that everybody knows; sparsity, seed, window and gamma as for [`Surplus::new`].
    pub fn new(
        start_at: &[R],
        steps: Steps,
        sparsity: Sparsity,
        seed: u64,
        window: u64,
        gamma: f64,
    ) -> Self {
        let mixing = Surplus::new(start_at.len(), sparsity, seed, window, gamma);
        let descent = Descent::new(steps);
        Self { mixing: mixing.starting_at(start_at), gradient: None, descent }
    }

    /// The window of a round, if a gradient is asked for in it.
    fn window_of(&self, round: u64) -> Option<u64> {
        let window = round / self.mixing.window();
        (window < self.descent.steps.rounds).then_some(window)
    }
}

impl<R: Real> Synchronous<R> for SurplusGradient<R> {
    const NEEDS: LinkNeeds = LinkNeeds::Delivery;

    fn asking_rounds(&self) -> u64 {
        let before_last = self.descent.steps.rounds.saturating_sub(1);
        let asks = self.descent.steps.rounds > 0;
        before_last.saturating_mul(self.mixing.window()) + u64::from(asks)
    }

    fn shape(&self) -> Shape {
        self.mixing.shape()
    }

    fn ask(&mut self, round: u64) -> Option<Question<R>> {
        let window = self.window_of(round)?;
        round.is_multiple_of(self.mixing.window()).then(|| {
            let vector = &self.mixing.state.get()[..self.mixing.dimension()];
            let at = point(self.gradient.take(), vector, |v| v);
            Question::Gradient { round: window, at }
        })
    }

    fn answer(&mut self, _round: u64, answer: Answer<R>) {
        self.gradient = answer.released();
    }

    fn send(&mut self, round: u64, around: &Neighbourhood<'_>, slot: &mut Slot<'_, R>) {
        self.mixing.send(round, around, slot);
    }

    fn receive<'a, L>(&mut self, round: u64, around: &Neighbourhood<'_>, letters: L)
    where
        L: Iterator<Item = (NodeId, Letter<'a, R>)> + Clone,
    {
        self.mixing.receive(round, around, letters);
        let length = self.mixing.window();
        let Some(window) = self.window_of(round).filter(|_| round % length == length - 1) else {
            return;
        };
        let share = 1.0 / self.descent.steps.divisor;
        let term = self.gradient.as_ref().map(|gradient| (share, gradient));
        self.descent.take(window, &mut self.mixing.state, term.as_slice());
    }

    fn estimate(&self, out: &mut [R]) {
        self.mixing.estimate(out);
    }

    fn dimension(&self) -> usize {
        self.mixing.dimension()
    }

    /// Gradients come: nothing is conserved.
    fn add_conserved(&self, _sum: &mut [f64]) {}

    fn carry(&mut self, carried: &mut Carried<'_>) {
        self.mixing.carry(carried);
        carried.maybe(&mut self.gradient);
        self.descent.carry(carried);
    }
}
