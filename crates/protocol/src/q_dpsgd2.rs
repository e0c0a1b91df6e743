//! Paper 000, algorithm 5, re-anchored: quantised descent with noise on the lattice.

use std::sync::Arc;

use undertone_graph::NodeId;
use undertone_privacy::release::Released;
use undertone_real::Real;

use crate::carried::Carried;
use crate::gossip::mix_slowly;
use crate::initial::start;
use crate::lattice::Lattice;
use crate::mail::{Letter, Shape, Slot};
use crate::question::{Answer, Question};
use crate::step::Steps;
use crate::synchronous::{LinkNeeds, Synchronous};
use crate::topology::Neighbourhood;

/// Q-DPSGD-2 with its state replaced by what was sent: from a point `z` on the lattice a node mixes
/// slowly, `x = z + e sum_j w_ij (z_j - z)`, and asks for `Q(x - alpha e g(z)) + noise` on the
/// lattice, which is the next `z`. The noise comes before the cut to so many bits.
///
/// The printed algorithm ([`printed`](Self::printed)) goes on from its own point without
/// noise, which integrates all gradients of the past and is released again and again
/// (`undertone claims`, CE-4). Only the oracle knows that point.
///
/// A refused step, or a round without a batch, quantises `x` by public uniforms. There is no
/// momentum: gradients never leave by themselves.
///
/// # Guarantee
///
/// That of the points, which the oracle pays for; given those of before only the batch of the round
/// matters. As printed there is none.
///
/// # References
///
/// Theory 3.2 ("re-anchored") in place of Ding (paper 000), algorithm 5, which is the printed one.
#[derive(Clone, Debug, PartialEq)]
pub struct QDpsgd2<R> {
    /// `z`: what was sent last.
    sent: Released<Vec<R>>,
    /// `x`: what was made of it and of what was heard.
    mixed: Released<Vec<R>>,
    /// Whether `sent` is an answer that has not been sent yet.
    answered: bool,
    /// As printed: the weight of a node's own point, `1 - e + e w_ii`; zero if re-anchored.
    keep: Option<f64>,
    steps: Steps,
    /// `e`.
    pace: f64,
    lattice: Lattice,
    seed: u64,
    /// Expected sizes of the batches, over and over; if there are none, the divisor of the steps.
    batches: Arc<[f64]>,
    /// Memory for the value before mixing.
    own: Vec<R>,
}

impl<R: Real> QDpsgd2<R> {
    /// From a point that everybody knows; as for [`QDpsgd::new`](crate::QDpsgd::new). The lattice
    /// has the step of the oracle's.
    pub fn new(start_at: &[R], steps: Steps, pace: f64, lattice: Lattice, seed: u64) -> Self {
        Self {
            sent: start(start_at),
            mixed: start(start_at),
            answered: false,
            keep: None,
            steps,
            pace: pace.min(1.0),
            lattice,
            seed,
            batches: Arc::new([]),
            own: Vec::new(),
        }
    }

    /// As for [`QDpsgd::with_batches`](crate::QDpsgd::with_batches).
    pub fn with_batches(mut self, sizes: Arc<[f64]>) -> Self {
        self.batches = sizes;
        self
    }

    /// As printed, for an oracle that keeps a point of its own: no guarantee.
    pub fn printed(mut self) -> Self {
        // In the first round the two points are the same.
        self.keep = Some(0.0);
        self
    }
}

impl<R: Real> Synchronous<R> for QDpsgd2<R> {
    const NEEDS: LinkNeeds = LinkNeeds::Nothing;

    fn asking_rounds(&self) -> u64 {
        self.steps.rounds
    }

    fn shape(&self) -> Shape {
        Shape::quantised(self.sent.get().len(), self.lattice)
    }

    fn ask(&mut self, round: u64) -> Option<Question<R>> {
        let divisor = match self.batches.len() as u64 {
            0 => self.steps.divisor,
            length => self.batches[(round % length) as usize],
        };
        // A point of its own moves on without a batch, too.
        let moves = divisor > 0.0 || self.keep.is_some();
        let size = self.steps.size.at(round) * self.pace;
        (round < self.steps.rounds && moves).then(|| Question::Point {
            round,
            at: self.sent.clone(),
            from: self.mixed.clone(),
            step: if divisor > 0.0 { size / divisor } else { 0.0 },
            keep: self.keep.unwrap_or(0.0),
        })
    }

    fn answer(&mut self, _round: u64, answer: Answer<R>) {
        if let Some(mut point) = answer.released() {
            // The cut to the lattice's range; within it the answer is on the lattice already.
            point.update(|point| self.lattice.round(point));
            self.sent = point;
            self.answered = true;
        }
    }

    fn send(&mut self, round: u64, around: &Neighbourhood<'_>, slot: &mut Slot<'_, R>) {
        let Self { sent, mixed, lattice, seed, .. } = self;
        if !std::mem::take(&mut self.answered) {
            sent.update(|sent| {
                sent.copy_from_slice(mixed.get());
                lattice.quantise(sent, *seed, around.node, round);
            });
        }
        slot.send(&self.sent);
    }

    fn receive<'a, L>(&mut self, _round: u64, around: &Neighbourhood<'_>, letters: L)
    where
        L: Iterator<Item = (NodeId, Letter<'a, R>)> + Clone,
    {
        let Self { sent, mixed, own, pace, keep, .. } = self;
        if let Some(keep) = keep {
            *keep = 1.0 - *pace + *pace * around.pull(around.node);
        }
        mixed.update(|mixed| {
            mixed.copy_from_slice(sent.get());
            mix_slowly(*pace, mixed, own, around, letters);
        });
    }

    fn estimate(&self, out: &mut [R]) {
        out.copy_from_slice(self.mixed.get());
    }

    fn dimension(&self) -> usize {
        self.mixed.get().len()
    }

    /// Gradients come and messages are rounded: nothing is conserved.
    fn add_conserved(&self, _sum: &mut [f64]) {}

    fn carry(&mut self, carried: &mut Carried<'_>) {
        let Self { sent, mixed, answered, keep, .. } = self;
        carried.released(sent);
        carried.released(mixed);
        carried.flag(answered);
        if let Some(keep) = keep {
            carried.number(keep);
        }
    }
}
