//! ADMM: what of a plan goes together, and nodes with their oracles.

mod condition;
mod facts;
mod noise;
mod paper;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use undertone_graph::NodeId;
use undertone_model::solve::{RecordBounds, Solver};
use undertone_model::{Dataset, Linear};
use undertone_privacy::ledger::{Ledger, Tally};
use undertone_privacy::noise::Key;
use undertone_protocol::{Admm, Penalty, PrAdmm, RAdmm, Topology};
use undertone_real::Real;

use super::protection::Claim;
use crate::oracle::Oracle;
use crate::plan::{
    AdmmPlan, AlgorithmWord, NodeBudget, PenaltyPlan, Plan, PlanError, ScheduleWord,
};
use crate::private::{MinimiserProtection, Private, PrivateMinimiser};
use facts::Facts;

pub use condition::recycling_converges;

/// A node that minimises, and what answers it.
pub type Minimiser<R> = (Admm<R>, Oracle<R, Tally>);

/// What was computed already; many nodes are alike.
#[derive(Default)]
pub(super) struct Prices(Mutex<BTreeMap<Terms, Arc<Priced>>>);

/// What the price of a node depends on, in bits.
type Terms = [u64; 5];

/// What nodes with the same terms have in common.
pub(super) struct Priced {
    protection: MinimiserProtection,
    /// Open, of which others are made.
    ledger: Ledger<Tally>,
    claim: Option<Claim>,
}

/// Minima are solved to this, unless the plan says otherwise.
const TOLERANCE: f64 = 1e-8;

/// The neighbours of every node, which stay. Checks that they are mutual.
pub(super) fn neighbours(plan: &Plan, topology: &Topology) -> Result<Vec<Vec<NodeId>>, PlanError> {
    if plan.network.schedule != ScheduleWord::Fixed {
        let message = "ADMM needs neighbours that stay; take \"fixed\"";
        return Err(PlanError::new("network.schedule", message));
    }
    let wiring = topology
        .wiring_at(0)
        .map_err(|error| PlanError::new("network.topology", error.to_string()))?;
    if plan.network.nodes < 2 || !wiring.graph.is_symmetric() {
        let message = "ADMM needs at least two nodes, and that whoever is heard hears; take an \
                       undirected topology such as { family = \"ring\" }";
        return Err(PlanError::new("network.topology", message));
    }
    let around = |node| wiring.around(NodeId(node)).heard.to_vec();
    Ok((0..plan.network.nodes).map(around).collect())
}

/// What goes together, whatever the records.
pub(super) fn check(plan: &Plan) -> Result<(), PlanError> {
    use AlgorithmWord as Word;
    let (name, admm) = (plan.algorithm.name, written(plan));
    let (recycled, ipp) = (is_recycled(name), name == Word::IppAdmm);
    let bare = matches!(name, Word::Admm | Word::MrAdmm | Word::RAdmm);
    let word = super::word(name);
    // Keys of relatives are passed over, so that one table serves plans that vary the name.
    for (key, given, needed) in [
        ("growth", admm.growth.is_some(), grows(name)),
        ("gamma", admm.gamma.is_some(), recycled),
        ("threshold", admm.threshold.is_some(), ipp),
        ("period", admm.period.is_some(), name == Word::PrAdmmPeriodic),
        ("ratio", admm.ratio.is_some(), name == Word::PrAdmmPeriodic),
        ("decay", admm.decay.is_some(), name == Word::PrAdmmIteration),
        ("cutoff", admm.cutoff.is_some(), ipp),
        ("loss-clip", admm.loss_clip.is_some(), ipp),
    ] {
        if needed && !given {
            let key = format!("algorithm.admm.{key}");
            return Err(PlanError::new(key, format!("{word} needs it")));
        }
    }
    if bare && plan.privacy.is_some() {
        let message = format!("{word} adds no noise; take private-r-admm or dvp, or no [privacy]");
        return Err(PlanError::new("algorithm.name", message));
    }
    if plan.run.stop_on_budget {
        let message = "iterations of ADMM differ in price; leave it out, noise = \"sound\" keeps \
                       the budget over all of them";
        return Err(PlanError::new("run.stop-on-budget", message));
    }
    if plan.plan.is_some() {
        let message = "is about gradient steps; leave it out for ADMM";
        return Err(PlanError::new("plan", message));
    }
    if ipp && plan.privacy.is_none() {
        let message = "ipp-admm compares with noise; add [privacy], or take admm";
        return Err(PlanError::new("privacy", message));
    }
    if ipp && admm.weight.is_some_and(|weight| weight != 1.0) {
        let message = "ipp-admm compares mean losses; leave it out";
        return Err(PlanError::new("algorithm.admm.weight", message));
    }
    check_numbers(plan, admm)
}

fn check_numbers(plan: &Plan, admm: &AdmmPlan) -> Result<(), PlanError> {
    let positive = |v: f64| v > 0.0 && v.is_finite();
    let share = |v: f64| v > 0.0 && v < 1.0;
    let all = |test: fn(f64) -> bool, value: Option<f64>| value.is_none_or(test);
    if let PenaltyPlan::Each(each) = &admm.penalty
        && each.len() != plan.network.nodes as usize
    {
        let message = format!("has {} numbers for {} nodes", each.len(), plan.network.nodes);
        return Err(PlanError::new("algorithm.admm.penalty", message));
    }
    let penalties = (0..plan.network.nodes).all(|node| positive(admm.penalty.of(node)));
    for (key, fine, range) in [
        ("penalty", penalties, "positive and finite"),
        ("growth", all(|v| (1.0..=2.0).contains(&v), admm.growth), "between 1 and 2"),
        ("dual-step", admm.dual_step.is_none_or(positive), "positive and finite"),
        ("ridge", admm.ridge >= 0.0 && admm.ridge.is_finite(), "at least 0 and finite"),
        ("weight", admm.weight.is_none_or(positive), "positive and finite"),
        ("tolerance", admm.tolerance.is_none_or(positive), "positive and finite"),
        ("gamma", all(|v| v >= 0.0 && v.is_finite(), admm.gamma), "at least 0 and finite"),
        ("ignore-beyond", admm.ignore_beyond.is_none_or(positive), "positive and finite"),
        ("threshold", admm.threshold.is_none_or(positive), "positive and finite"),
        ("period", admm.period != Some(0), "at least 1"),
        ("ratio", admm.ratio.is_none_or(share), "above 0 and below 1"),
        ("decay", admm.decay.is_none_or(positive), "positive and finite"),
        ("cutoff", admm.cutoff != Some(0), "at least 1"),
        ("loss-clip", admm.loss_clip.is_none_or(positive), "positive and finite"),
        ("test-share", admm.test_share.is_none_or(share), "above 0 and below 1"),
        ("slope", admm.slope.is_none_or(positive), "positive and finite"),
    ] {
        if !fine {
            let key = format!("algorithm.admm.{key}");
            return Err(PlanError::new(key, format!("must be {range}")));
        }
    }
    Ok(())
}

/// The condition of paper 002, theorem IV.1, if the plan asks for it.
pub(super) fn check_condition(
    plan: &Plan,
    model: &Linear,
    sizes: &[(usize, usize)],
    topology: &Topology,
) -> Result<(), PlanError> {
    if written(plan).check_condition != Some(true) {
        return Ok(());
    }
    let wrong = |message: &str| Err(PlanError::new("algorithm.admm.check-condition", message));
    if !is_recycled(plan.algorithm.name) || dual_step(plan, written(plan)).is_some() {
        return wrong("theorem IV.1 is about R-ADMM and MR-ADMM with one penalty for all");
    }
    let wiring = topology
        .wiring_at(0)
        .map_err(|error| PlanError::new("network.topology", error.to_string()))?;
    let mut smoothness = Vec::new();
    for (node, (records, neighbours)) in (0..).zip(sizes) {
        let facts = Facts::new(plan, model, node, *records, *neighbours)?;
        smoothness.push(facts.smoothness + facts.admm.ridge);
    }
    let (admm, rounds) = (written(plan), plan.run.rounds.div_ceil(2));
    let (penalty, gamma) = (penalty(plan, 0), admm.gamma.unwrap_or(0.0));
    if recycling_converges(&wiring.graph, penalty, gamma, &smoothness, rounds) {
        return Ok(());
    }
    wrong(
        "the sufficient condition of paper 002, theorem IV.1, does not hold; raise gamma (which is \
         in vain if the graph is bipartite), declare features with a clip, or leave the check out",
    )
}

impl Prices {
    /// What nodes with so many records and neighbours do, and what it costs.
    pub(super) fn of(
        &self,
        plan: &Plan,
        model: &Linear,
        node: u32,
        (records, neighbours): (usize, usize),
        own: Option<(&NodeBudget, &str)>,
    ) -> Result<Arc<Priced>, PlanError> {
        let budget = own.map_or([0; 2], |(own, _)| [own.epsilon.to_bits(), own.delta.to_bits()]);
        let penalty = written(plan).penalty.of(node).to_bits();
        let terms = [records as u64, neighbours as u64, penalty, budget[0], budget[1]];
        if let Some(known) = self.0.lock().expect("nobody panics with it").get(&terms) {
            return Ok(Arc::clone(known));
        }
        let facts = Facts::new(plan, model, node, records, neighbours)?;
        let priced = Arc::new(noise::priced(&facts, own)?);
        let mut known = self.0.lock().expect("nobody panics with it");
        Ok(Arc::clone(known.entry(terms).or_insert(priced)))
    }
}

impl Priced {
    pub(super) fn claim(&self) -> Option<Claim> {
        self.claim
    }

    /// A node and its oracle.
    pub(super) fn open<R: Real>(
        &self,
        plan: &Plan,
        node: u32,
        (start, around): (&[R], &[NodeId]),
        (model, data): (&Linear, &Dataset<R>),
        seed: u64,
    ) -> Result<Minimiser<R>, PlanError> {
        let admm = written(plan);
        let (clip, slope) = (facts::clip(plan)?, facts::slope(plan));
        let bounds = RecordBounds { features: clip, slope };
        let weight = admm.weight.unwrap_or(1.0) / data.records().max(1) as f64;
        let solver = Solver::new(model, &data.widened(), bounds, weight);
        let tolerance = admm.tolerance.unwrap_or(TOLERANCE);
        let protection = self.protection.clone();
        let private = PrivateMinimiser::new(solver, admm.ridge, tolerance, protection);
        let ledger = self.ledger.open_alike(node, Tally::default());
        let ledger = ledger.map_err(|e| PlanError::new("network.nodes", e.to_string()))?;
        let private = Private::Minimiser(Box::new(private));
        Ok((
            protocol(plan, node, start, around),
            Oracle::new(private, ledger, Key::from_seed(seed)),
        ))
    }
}

fn protocol<R: Real>(plan: &Plan, node: u32, start: &[R], around: &[NodeId]) -> Admm<R> {
    let (name, admm) = (plan.algorithm.name, written(plan));
    let one = Admm::new(start, around, penalty(plan, node), plan.run.rounds);
    let one = match dual_step(plan, admm) {
        Some(step) => one.with_dual_step(step),
        None => one,
    };
    if is_recycled(name) {
        return one.recycling(RAdmm::new(admm.gamma.unwrap_or(0.0)));
    }
    match (is_pr(name), admm.ignore_beyond) {
        (true, Some(threshold)) => one.ignoring(PrAdmm::new(threshold)),
        _ => one,
    }
}

/// Nodes with penalties of their own share a dual step: the least of them if none is given.
/// M-ADMM's stays at the first penalty.
fn dual_step(plan: &Plan, admm: &AdmmPlan) -> Option<f64> {
    let least = match &admm.penalty {
        PenaltyPlan::Each(each) => Some(each.iter().copied().fold(f64::INFINITY, f64::min)),
        PenaltyPlan::Common(penalty) if plan.algorithm.name == AlgorithmWord::MAdmm => {
            Some(*penalty)
        }
        PenaltyPlan::Common(_) => None,
    };
    admm.dual_step.or(least)
}

fn written(plan: &Plan) -> &AdmmPlan {
    plan.algorithm.admm.as_ref().expect("checked with the name of the algorithm")
}

fn penalty(plan: &Plan, node: u32) -> Penalty {
    let admm = written(plan);
    let growth = admm.growth.filter(|_| grows(plan.algorithm.name));
    Penalty { first: admm.penalty.of(node), growth: growth.unwrap_or(1.0) }
}

/// Whether its penalty grows.
fn grows(name: AlgorithmWord) -> bool {
    use AlgorithmWord as Word;
    matches!(name, Word::MAdmm | Word::MrAdmm | Word::PrivateMrAdmm)
}

fn is_recycled(name: AlgorithmWord) -> bool {
    use AlgorithmWord as Word;
    matches!(name, Word::MrAdmm | Word::PrivateMrAdmm | Word::PrivateRAdmm | Word::RAdmm)
}

fn is_pr(name: AlgorithmWord) -> bool {
    matches!(name, AlgorithmWord::PrAdmmIteration | AlgorithmWord::PrAdmmPeriodic)
}
