//! Decentralised stochastic gradient descent with symmetric weights: DSGD and DP2-SGD.

use undertone_graph::NodeId;
use undertone_privacy::release::Released;
use undertone_real::Real;

use crate::carried::Carried;
use crate::gossip::mix;
use crate::initial::{point, start};
use crate::mail::{Letter, Shape, Slot};
use crate::question::{Answer, Question};
use crate::step::{Descent, Steps};
use crate::synchronous::{LinkNeeds, Synchronous};
use crate::topology::Neighbourhood;

/// Decentralised stochastic gradient descent. In every round a node takes the weighted mean of what
/// it hears and of its own point, and moves it against a gradient that was computed at its own
/// point before.
///
/// With an oracle that adds no noise this is DSGD, which has no privacy; with one that does it is
/// DP2-SGD. A refused gradient counts as zero.
///
/// # Guarantee
///
/// That of the gradients, which the oracle pays for: points are functions of released values, and
/// so are all messages.
///
/// # References
///
/// Lian, Zhang, Zhang, Hsieh, Zhang, Liu 2017, "Can decentralized algorithms outperform centralized
/// algorithms?"; Yu and others 2021 as rebuilt in theory 7.3.
#[derive(Clone, Debug, PartialEq)]
pub struct Dsgd<R> {
    state: Released<Vec<R>>,
    /// The last answer; memory for the next question.
    gradient: Option<Released<Vec<R>>>,
    descent: Descent<R>,
    /// Memory for the value before mixing.
    own: Vec<R>,
}

impl<R: Real> Dsgd<R> {
    /// From a point that everybody knows.
    pub fn new(start_at: &[R], steps: Steps) -> Self {
        Self {
            state: start(start_at),
            gradient: None,
            descent: Descent::new(steps),
            own: Vec::new(),
        }
    }
}

impl<R: Real> Synchronous<R> for Dsgd<R> {
    const NEEDS: LinkNeeds = LinkNeeds::Nothing;

    fn asking_rounds(&self) -> u64 {
        self.descent.steps.rounds
    }

    fn shape(&self) -> Shape {
        Shape::dense(self.state.get().len())
    }

    fn ask(&mut self, round: u64) -> Option<Question<R>> {
        (round < self.descent.steps.rounds).then(|| {
            let at = point(self.gradient.take(), self.state.get(), |v| v);
            Question::Gradient { round, at }
        })
    }

    fn answer(&mut self, _round: u64, answer: Answer<R>) {
        self.gradient = answer.released();
    }

    fn send(&mut self, _round: u64, _around: &Neighbourhood<'_>, slot: &mut Slot<'_, R>) {
        slot.send(&self.state);
    }

    fn receive<'a, L>(&mut self, round: u64, around: &Neighbourhood<'_>, letters: L)
    where
        L: Iterator<Item = (NodeId, Letter<'a, R>)> + Clone,
    {
        let Self { state, gradient, descent, own } = self;
        state.update(|state| mix(state, own, around, letters));
        if round < descent.steps.rounds {
            let share = 1.0 / descent.steps.divisor;
            let term = gradient.as_ref().map(|gradient| (share, gradient));
            descent.take(round, state, term.as_slice());
        }
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

    /// Gradients come: nothing is conserved.
    fn add_conserved(&self, _sum: &mut [f64]) {}

    fn carry(&mut self, carried: &mut Carried<'_>) {
        carried.released(&mut self.state);
        carried.maybe(&mut self.gradient);
        self.descent.carry(carried);
    }
}
