//! Paper 004: decentralised gradient descent in two stages, noisy steps first, then averaging.

use undertone_graph::NodeId;
use undertone_privacy::release::Released;
use undertone_real::Real;

use crate::carried::Carried;
use crate::domain::Domain;
use crate::gossip::mix;
use crate::initial::nothing;
use crate::mail::{Letter, Shape, Slot};
use crate::question::{Answer, Question};
use crate::synchronous::{LinkNeeds, Synchronous};
use crate::topology::Neighbourhood;

/// Two-stage DP-DGD. In the first `steps` rounds a node averages what it hears, projects, asks for
/// a noisy projected gradient step from there, and sends that; afterwards the nodes only average.
///
/// Whether the last step is noised like the others (as shipped) or sent as it is (as printed, CE-1)
/// is the oracle's affair: the protocol is the same. A refused step leaves the node where it was.
///
/// # Guarantee
///
/// That of the `steps` releases, which the oracle pays for; every point at which a gradient is
/// asked for is a function of released values, and so is all of stage two.
///
/// # References
///
/// Showkatbakhsh, Karakus, Diggavi (paper 004), algorithm 1; theory 8.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoStage<R> {
    /// `y` when sending, `z` when asking.
    state: Released<Vec<R>>,
    domain: Domain,
    steps: u64,
    /// `eta_t = first_step / t`.
    first_step: f64,
    /// Memory for the value before mixing.
    own: Vec<R>,
}

impl<R: Real> TwoStage<R> {
    /// `steps` noisy steps of size `first_step / t` in `dimension` dimensions.
    pub fn new(dimension: usize, domain: Domain, steps: u64, first_step: f64) -> Self {
        let mut state = nothing(dimension);
        // The point nearest to zero, where everybody starts.
        state.update(|state: &mut Vec<R>| domain.project(state));
        Self { state, domain, steps, first_step, own: Vec::new() }
    }

    /// The same from a point that everybody knows.
    pub fn starting_at(mut self, point: &[R]) -> Self {
        let Self { state, domain, .. } = &mut self;
        state.update(|state| {
            state.copy_from_slice(point);
            domain.project(state);
        });
        self
    }
}

impl<R: Real> Synchronous<R> for TwoStage<R> {
    const NEEDS: LinkNeeds = LinkNeeds::Nothing;

    fn asking_rounds(&self) -> u64 {
        self.steps
    }

    fn shape(&self) -> Shape {
        Shape::dense(self.state.get().len())
    }

    fn ask(&mut self, round: u64) -> Option<Question<R>> {
        let t = round + 1;
        let at = || self.state.clone();
        (t <= self.steps).then(|| Question::Step { t, at: at(), step: self.first_step / t as f64 })
    }

    fn answer(&mut self, _round: u64, answer: Answer<R>) {
        if let Some(step) = answer.released() {
            self.state = step;
        }
    }

    fn send(&mut self, _round: u64, _around: &Neighbourhood<'_>, slot: &mut Slot<'_, R>) {
        slot.send(&self.state);
    }

    fn receive<'a, L>(&mut self, round: u64, around: &Neighbourhood<'_>, letters: L)
    where
        L: Iterator<Item = (NodeId, Letter<'a, R>)> + Clone,
    {
        let Self { state, domain, steps, own, .. } = self;
        state.update(|state| {
            mix(state, own, around, letters);
            if round < *steps {
                domain.project(state);
            }
        });
    }

    fn estimate(&self, out: &mut [R]) {
        out.copy_from_slice(self.state.get());
    }

    fn dimension(&self) -> usize {
        self.state.get().len()
    }

    /// Gradients come and projections go: nothing is conserved.
    fn add_conserved(&self, _sum: &mut [f64]) {}

    fn carry(&mut self, carried: &mut Carried<'_>) {
        carried.released(&mut self.state);
    }
}
