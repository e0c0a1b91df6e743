//! Paper 002: recycled ADMM, its private versions, and the baselines DVP and M-ADMM.
//!
//! A node minimises `(C/B) sum L + (rho/N) R` plus public ADMM terms and a random linear term `b`
//! with density proportional to `exp(-alpha ||b||)`; the exact minimiser is sent.

use super::{Claim, Comparison, Verdict, guarantee, priced, scale, unprotected};
use crate::event::{Event, KNorm, ObjectiveNoise, ObjectivePerturbation};
use crate::units::{Adjacency, Epsilon, OutOfRange, Scale, Sensitivity};

pub(super) const CLAIMS: [Claim; 6] = [
    Claim {
        algorithm: "r-admm",
        paper: "002 Algorithm 1",
        verdict: Verdict::NoClaim,
        reason: "what is sent is a function of the data",
        shipped: "refused without noise: no privacy",
        counterexample: None,
        example: unprotected,
    },
    Claim {
        algorithm: "mr-admm",
        paper: "002 Algorithm 2",
        verdict: Verdict::NoClaim,
        reason: "what is sent is a function of the data",
        shipped: "refused without noise: no privacy",
        counterexample: None,
        example: unprotected,
    },
    Claim {
        algorithm: "private-r-admm",
        paper: "002 Theorem V.1, constant eta",
        verdict: Verdict::SoundAndLoose,
        reason: "holds for exact minimisers only; an inexact solver breaks it without limit",
        shipped: "noise for the solver's tolerance; tight pure sum or the K-norm profile (rdp)",
        counterexample: Some("CE-13"),
        example: || recycled_example(1.0),
    },
    Claim {
        algorithm: "private-mr-admm",
        paper: "002 Theorem V.1",
        verdict: Verdict::SoundAndLoose,
        reason: "holds for exact minimisers only; an inexact solver breaks it without limit",
        shipped: "noise for the solver's tolerance; tight pure sum or the K-norm profile (rdp)",
        counterexample: Some("CE-13"),
        example: || recycled_example(1.04),
    },
    Claim {
        algorithm: "dvp",
        paper: "baseline of 002 (Zhang and Zhu 2017, reconstructed)",
        verdict: Verdict::SoundAndLoose,
        reason: "true for one iteration and an exact minimiser; a total for the run is not given",
        shipped: "all iterations counted, as for private R-ADMM",
        counterexample: None,
        example: dvp_example,
    },
    Claim {
        algorithm: "m-admm",
        paper: "baseline of 002 (Zhang, Khalili, Liu 2018, reconstructed)",
        verdict: Verdict::SoundAndLoose,
        reason: "holds for exact minimisers; 1.4 c1/m bounds what ln(1 + kappa) is",
        shipped: "noise for the solver's tolerance; tight pure sum or the K-norm profile (rdp)",
        counterexample: None,
        example: m_admm_example,
    },
];

/// A node of paper 002.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// Number of records, `B`.
    pub records: u64,
    /// Weight of the loss, `C`.
    pub weight: Scale,
    /// Regularisation of one node, `rho/N`.
    pub ridge: f64,
    /// Number of neighbours, `V`.
    pub neighbours: u64,
    /// Bound on the loss' second derivative, `c1`.
    pub smoothness: f64,
}

/// One perturbed iteration: its penalty `eta` and the rate `alpha` of its noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iteration {
    /// `eta`.
    pub eta: Scale,
    /// `alpha`.
    pub rate: Scale,
}

impl Node {
    /// Strong convexity of the local problem: `m = rho/N + 2 eta V`.
    pub fn convexity(&self, eta: Scale) -> f64 {
        self.ridge + 2.0 * eta.get() * self.neighbours as f64
    }

    /// Relative change of curvature by one record: `kappa = c1 C/(B m)`.
    pub fn curvature(&self, eta: Scale) -> f64 {
        self.smoothness * self.gradient() / self.convexity(eta)
    }

    /// Norm bound of one record's gradient: `C/B`.
    fn gradient(&self) -> f64 {
        self.weight.get() / self.records as f64
    }
}

/// Theorem V.1: the sum of `(2C/B)(1.4 c1/m + alpha)` over odd iterations.
pub fn theorem_v1_epsilon(node: &Node, odd: &[Iteration]) -> Result<Epsilon, OutOfRange> {
    let one = |i: &Iteration| {
        2.0 * node.gradient() * (1.4 * node.smoothness / node.convexity(i.eta) + i.rate.get())
    };
    Epsilon::new(odd.iter().map(one).sum())
}

/// M-ADMM's total: the sum of `C (1.4 c1 + alpha)/(eta V B)` over iterations.
pub fn m_admm_epsilon(node: &Node, iterations: &[Iteration]) -> Result<Epsilon, OutOfRange> {
    let one = |i: &Iteration| {
        let penalty = i.eta.get() * node.neighbours as f64;
        node.gradient() * (1.4 * node.smoothness + i.rate.get()) / penalty
    };
    Epsilon::new(iterations.iter().map(one).sum())
}

/// Private R-ADMM, MR-ADMM (their odd iterations) and DVP (all its iterations).
///
/// # Guarantee
///
/// Pure: `2 C alpha/B + ln(1 + kappa)` an iteration under replace-one, `C alpha/B + ln(1 + kappa)`
/// under add-remove; approximate by the profile of K-norm noise. It needs features clipped to 1, a
/// loss whose derivative keeps its sign, even steps computed from what was sent, and exact
/// minimisers: charge [`tolerance_event`] for a solver that stops early.
///
/// # References
///
/// Theory 6.2, 6.3 and A2; 002 Theorem V.1.
pub fn event(node: &Node, odd: &[Iteration], dimension: u64) -> Result<Event, OutOfRange> {
    let one = |i: &Iteration| perturbed(node, i, node.gradient(), dimension);
    Ok(Event::Composed(odd.iter().map(one).collect::<Result<_, _>>()?))
}

/// Private M-ADMM: the noise is in the penalty, so its linear term is `2 eta V b`.
///
/// # Guarantee
///
/// As [`event`] with shift `C/(2 eta V B)` in place of `C/B`.
///
/// # References
///
/// Theory 6.4; Zhang, Khalili, Liu 2018 (reconstructed).
pub fn m_admm_event(
    node: &Node,
    iterations: &[Iteration],
    dimension: u64,
) -> Result<Event, OutOfRange> {
    let one = |i: &Iteration| {
        let shift = node.gradient() / (2.0 * i.eta.get() * node.neighbours as f64);
        perturbed(node, i, shift, dimension)
    };
    Ok(Event::Composed(iterations.iter().map(one).collect::<Result<_, _>>()?))
}

/// Noise on a minimiser that was found up to a gradient of norm `tolerance`.
///
/// # Guarantee
///
/// Pure cost `2 a2 tolerance/m` under both adjacencies, on top of the exact minimiser's.
///
/// # References
///
/// Theory 6.2 and A3.
pub fn tolerance_event(
    convexity: Scale,
    tolerance: f64,
    rate: Scale,
    dimension: u64,
) -> Result<Event, OutOfRange> {
    let shift = 2.0 * tolerance / convexity.get();
    Ok(Event::KNorm(KNorm { sensitivity: Sensitivity::both(shift, shift)?, rate, dimension }))
}

/// The rate that spends `budget` on a tolerance: `budget m/(2 tolerance)`.
pub fn tolerance_rate(
    convexity: Scale,
    tolerance: f64,
    budget: Epsilon,
) -> Result<Scale, OutOfRange> {
    Scale::new(budget.get() * convexity.get() / (2.0 * tolerance))
}

fn perturbed(
    node: &Node,
    iteration: &Iteration,
    shift: f64,
    dimension: u64,
) -> Result<Event, OutOfRange> {
    Ok(Event::ObjectivePerturbation(ObjectivePerturbation {
        noise: ObjectiveNoise::KNorm(KNorm {
            sensitivity: Sensitivity::both(shift, 2.0 * shift)?,
            rate: iteration.rate,
            dimension,
        }),
        curvature: Scale::new(node.curvature(iteration.eta))?,
        sign_definite: true,
    }))
}

/// The paper's experiment on Adult with 5 nodes.
pub(super) fn adult() -> Node {
    Node { records: 8000, weight: scale(1750.0), ridge: 0.044, neighbours: 2, smoothness: 0.25 }
}

/// Odd iterations with `eta = growth^k`, k from 1.
pub(super) fn growing(growth: f64, rate: f64, count: i32) -> Vec<Iteration> {
    let one = |k| Iteration { eta: scale(growth.powi(k)), rate: scale(rate) };
    (1..=count).map(one).collect()
}

fn recycled_example(growth: f64) -> Comparison {
    let odd = growing(growth, 1.0, 25);
    let claimed = theorem_v1_epsilon(&adult(), &odd).expect("literals in range");
    let event = event(&adult(), &odd, 105).expect("literals in range");
    let instance = "Adult: B 8000, C 1750, rho 0.22, N 5, V 2, alpha 1, 25 odd iterations";
    priced(instance, Some(guarantee(claimed.get(), 0.0)), &event, Adjacency::Replace)
}

fn dvp_example() -> Comparison {
    let event = event(&adult(), &growing(1.0, 1.0, 50), 105).expect("literals in range");
    let instance = "Adult: B 8000, C 1750, rho 0.22, N 5, V 2, alpha 1, 50 iterations";
    priced(instance, None, &event, Adjacency::Replace)
}

fn m_admm_example() -> Comparison {
    let iterations = growing(1.0, 1.0, 25);
    let claimed = m_admm_epsilon(&adult(), &iterations).expect("literals in range");
    let event = m_admm_event(&adult(), &iterations, 105).expect("literals in range");
    let instance = "Adult: B 8000, C 1750, rho 0.22, N 5, V 2, alpha 1, 25 iterations";
    priced(instance, Some(guarantee(claimed.get(), 0.0)), &event, Adjacency::Replace)
}
