//! The formulas for Gaussian noise that the papers build on, as printed.

use super::{Claim, Verdict, counterexample};
use crate::units::{Adjacency, Delta, Epsilon, Order, OutOfRange, Rho, Scale};

pub(super) const CLAIMS: [Claim; 2] = [
    Claim {
        algorithm: "classic-gaussian",
        paper: "000 Definition 3, 001 Theorem 2.3",
        verdict: Verdict::Unsound,
        reason: "the formula is proved for epsilon up to 1 and used beyond",
        shipped: "noise by the exact Gaussian profile (gdp)",
        counterexample: Some("CE-14"),
        example: || counterexample::compare("CE-14", Adjacency::Replace),
    },
    Claim {
        algorithm: "zcdp-budget-split",
        paper: "000 Lemma 3",
        verdict: Verdict::Unsound,
        reason: "rho = epsilon^2/(4 ln(1/delta)) drops a term that matters for large epsilon",
        shipped: "the exact inverse of the zCDP conversion, or no conversion at all (gdp)",
        counterexample: Some("CE-11"),
        example: || counterexample::compare("CE-11", Adjacency::Replace),
    },
];

/// The classic formula: `sensitivity * sqrt(2 ln(1.25/delta)) / epsilon` (000 Definition 3).
///
/// As claimed: it is proved for epsilon up to 1 and false for large ones (CE-14).
pub fn classic_sigma(
    epsilon: Epsilon,
    delta: Delta,
    sensitivity: f64,
) -> Result<Scale, OutOfRange> {
    Scale::new(sensitivity * (2.0 * (1.25 / delta.get()).ln()).sqrt() / epsilon.get())
}

/// The tail formula of 000 Definition 4, with `u = ln(sqrt(2/pi)/delta)`: sound and loose.
pub fn tail_sigma(epsilon: Epsilon, delta: Delta, sensitivity: f64) -> Result<Scale, OutOfRange> {
    let u = (std::f64::consts::FRAC_2_PI.sqrt() / delta.get()).ln();
    Scale::new(sensitivity * tail(u, epsilon))
}

/// The tail formula with its radical read over all of the fraction (CE-15): too little noise.
pub fn misread_tail_sigma(
    epsilon: Epsilon,
    delta: Delta,
    sensitivity: f64,
) -> Result<Scale, OutOfRange> {
    let u = (std::f64::consts::FRAC_2_PI / delta.get()).sqrt().ln();
    Scale::new(sensitivity * tail(u, epsilon))
}

/// The budget that 000 Lemma 3 allots to `(epsilon, delta)`: `epsilon^2/(4 ln(1/delta))` (CE-11).
pub fn lemma_3_rho(epsilon: Epsilon, delta: Delta) -> Result<Rho, OutOfRange> {
    Rho::new(epsilon.get().powi(2) / (4.0 * -delta.get().ln()))
}

/// The classic zCDP conversion: `rho + 2 sqrt(rho ln(1/delta))`.
pub fn zcdp_epsilon(rho: Rho, delta: Delta) -> Result<Epsilon, OutOfRange> {
    Epsilon::new(rho.get() + 2.0 * (rho.get() * -delta.get().ln()).sqrt())
}

/// The Renyi conversion of 000 Lemma 7: `divergence + ln(1/delta)/(order - 1)`.
pub fn lemma_7_epsilon(order: Order, divergence: f64, delta: Delta) -> Result<Epsilon, OutOfRange> {
    Epsilon::new(divergence - delta.get().ln() / (order.get() - 1.0))
}

fn tail(u: f64, epsilon: Epsilon) -> f64 {
    (u.sqrt() + (u + epsilon.get()).sqrt()) / (epsilon.get() * std::f64::consts::SQRT_2)
}
