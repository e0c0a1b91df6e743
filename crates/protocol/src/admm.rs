//! Papers 000 and 002: decentralised ADMM and its private relatives.
//!
//! Every one of them is the same machine: a node asks for the minimiser of its local problem plus
//! public terms, sends it, and moves its dual variable by what it hears. What differs is what a
//! node takes for its neighbours' values ([`PrAdmm`]), whether every second minimum is replaced by
//! a step that costs nothing ([`RAdmm`]), and the penalties. Noise is the oracle's affair, so
//! conventional ADMM, DVP, M-ADMM, PP-ADMM and IPP-ADMM are one protocol.

mod local;
mod penalty;
mod pr_admm;
mod r_admm;

use undertone_graph::NodeId;
use undertone_real::Real;

use crate::carried::Carried;
use crate::mail::{Letter, Shape, Slot};
use crate::question::{Answer, Question};
use crate::synchronous::{LinkNeeds, Synchronous};
use crate::topology::Neighbourhood;
use local::Local;

pub use penalty::Penalty;
pub use pr_admm::PrAdmm;
pub use r_admm::RAdmm;

/// One node of decentralised consensus ADMM over a fixed undirected graph.
///
/// In every iteration it asks for `argmin f(x) + 2 <dual, x> + eta sum_j |(x_i + x_j)/2 - x|^2`,
/// sends the answer, and adds `eta/2 sum_j (x_i - x_j)` of what was sent to its dual variable.
///
/// Who has nothing new to say is silent, and its neighbours keep its last value: after a refusal,
/// and where an oracle says that a minimiser is not worth sending (IPP-ADMM). A message that is
/// lost counts as silence, so no quorum is needed; the two ends of a link then add different
/// amounts to their duals, by as much as the value had changed, and the duals no longer sum to
/// zero. Nodes still agree, on a point that is off by about as much. So links should deliver.
///
/// # Guarantee
///
/// That of the minimisers, which the oracle pays for: public terms are functions of released
/// values, and so is everything that is sent. An oracle without noise gives no privacy: that is
/// conventional ADMM, R-ADMM and MR-ADMM.
///
/// # References
///
/// Mateos, Bazerque, Giannakis 2010, "Distributed sparse linear regression", for the method; papers
/// 000 (algorithms 1 to 3) and 002 (algorithms 1 to 3); theory 2 and 6.
#[derive(Clone, Debug, PartialEq)]
pub struct Admm<R> {
    local: Local<R>,
    penalty: Penalty,
    /// In place of the penalty in the dual step.
    dual_step: Option<f64>,
    rounds: u64,
    variant: Variant<R>,
    /// Whether there is something new to send.
    fresh: bool,
}

/// What is done differently.
#[derive(Clone, Debug, PartialEq)]
enum Variant<R> {
    Conventional,
    Pr(PrAdmm<R>),
    Recycled(RAdmm<R>),
}

impl<R: Real> Admm<R> {
    /// From a point that everybody knows, among these neighbours, for so many rounds.
    pub fn new(start: &[R], neighbours: &[NodeId], penalty: Penalty, rounds: u64) -> Self {
        Self {
            local: Local::new(start, neighbours),
            penalty,
            dual_step: None,
            rounds,
            variant: Variant::Conventional,
            fresh: false,
        }
    }

    /// With the same dual step at all nodes and at all times, as M-ADMM has it. Nodes with
    /// penalties of their own need it: otherwise they agree on the minimum of the sum of their
    /// objectives *over their penalties* (see `tests/all/admm.rs`).
    pub fn with_dual_step(mut self, step: f64) -> Self {
        self.dual_step = Some(step);
        self
    }

    /// With neighbours that are ignored once they were too far away: PR-ADMM.
    pub fn ignoring(mut self, variant: PrAdmm<R>) -> Self {
        self.variant = Variant::Pr(variant);
        self
    }

    /// With a free step after every minimum: R-ADMM, and MR-ADMM with a growing penalty.
    pub fn recycling(mut self, variant: RAdmm<R>) -> Self {
        self.variant = Variant::Recycled(variant);
        self
    }

    /// The dual variable; public, as it follows from what was sent.
    pub fn dual(&self) -> &[R] {
        self.local.dual.get()
    }

    /// Which minimum a round belongs to, and whether it is the round that asks for it.
    fn iteration(&self, round: u64) -> (u64, bool) {
        match self.variant {
            Variant::Recycled(_) => (round / 2, round.is_multiple_of(2)),
            _ => (round, true),
        }
    }
}

impl<R: Real> Synchronous<R> for Admm<R> {
    const NEEDS: LinkNeeds = LinkNeeds::Delivery;
    const MAY_BE_SILENT: bool = true;

    fn asking_rounds(&self) -> u64 {
        self.rounds
    }

    fn shape(&self) -> Shape {
        Shape::dense(self.dimension())
    }

    fn ask(&mut self, round: u64) -> Option<Question<R>> {
        self.fresh = false;
        let (iteration, asks) = self.iteration(round);
        if !asks || round >= self.rounds {
            return None;
        }
        let eta = self.penalty.at(iteration);
        let ignored = |index: usize| match &self.variant {
            Variant::Pr(pr) => pr.ignores(index),
            _ => false,
        };
        let linear = self.local.linear(eta, ignored);
        let quadratic = self.penalty.quadratic(iteration, self.local.neighbours());
        if let Variant::Recycled(recycled) = &mut self.variant {
            recycled.remember(&linear, quadratic);
        }
        Some(Question::Primal { round, at: self.local.point.clone(), linear, quadratic })
    }

    fn answer(&mut self, _round: u64, answer: Answer<R>) {
        let Some(point) = answer.released() else { return };
        self.local.point = point;
        self.fresh = true;
        if let Variant::Recycled(recycled) = &mut self.variant {
            recycled.settle(&self.local.point);
        }
    }

    fn send(&mut self, round: u64, _around: &Neighbourhood<'_>, slot: &mut Slot<'_, R>) {
        let (iteration, asks) = self.iteration(round);
        if let (Variant::Recycled(recycled), false) = (&mut self.variant, asks) {
            self.fresh = recycled.step(&mut self.local, self.penalty.at(iteration));
        }
        if self.fresh {
            slot.send(&self.local.point);
        } else {
            slot.stay_silent();
        }
    }

    fn receive<'a, L>(&mut self, round: u64, _around: &Neighbourhood<'_>, letters: L)
    where
        L: Iterator<Item = (NodeId, Letter<'a, R>)> + Clone,
    {
        for (from, letter) in letters.filter(|(_, letter)| !letter.is_silent()) {
            self.local.hear(from, letter.values());
        }
        let (iteration, asks) = self.iteration(round);
        if let Variant::Pr(pr) = &mut self.variant {
            pr.measure(&self.local);
        }
        if asks && round < self.rounds {
            self.local.move_dual(self.dual_step.unwrap_or_else(|| self.penalty.at(iteration)));
        }
    }

    fn estimate(&self, out: &mut [R]) {
        out.copy_from_slice(self.local.point.get());
    }

    fn dimension(&self) -> usize {
        self.local.point.get().len()
    }

    /// Duals sum to zero if all steps are the same.
    fn add_conserved(&self, sum: &mut [f64]) {
        sum.iter_mut().zip(self.dual()).for_each(|(sum, v)| *sum += v.to_f64());
    }

    fn carry(&mut self, carried: &mut Carried<'_>) {
        self.local.carry(carried);
        carried.flag(&mut self.fresh);
        match &mut self.variant {
            Variant::Conventional => {}
            Variant::Pr(pr) => pr.carry(carried),
            Variant::Recycled(recycled) => recycled.carry(carried),
        }
    }
}
