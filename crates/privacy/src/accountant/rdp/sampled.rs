//! Renyi curves of sampled mechanisms at integer orders.

use std::sync::LazyLock;

use crate::accountant::pair::sampled_loss;
use crate::special::{ln_binomial, ln_sum_exp};

/// Largest integer order of a sampled curve.
pub(super) const LARGEST: usize = 512;

/// `LN_FACTORIAL[k]` is ln k!.
static LN_FACTORIAL: LazyLock<Vec<f64>> =
    LazyLock::new(|| (0..=LARGEST).map(|k| libm::lgamma(k as f64 + 1.0)).collect());

/// Theory E4 prepared for one (q, mu): Poisson-sampled Gaussian, add-remove, both directions.
pub(super) struct SampledGaussian {
    /// Log odds of the k-th power: `k ln(q/(1-q)) + (k^2-k) mu^2/2`, minus its value without noise.
    terms: Vec<f64>,
    ln_absent: f64,
    /// Losses of the removal and log masses of the absent record's law, for fractional orders.
    nodes: Vec<(f64, f64)>,
}

impl SampledGaussian {
    pub fn new(q: f64, mu: f64) -> Self {
        let ln_absent = (-q).ln_1p();
        let odds = q.ln() - ln_absent;
        let half = 0.5 * mu * mu;
        let terms = (0..=LARGEST)
            .map(|k| {
                let k = k as f64;
                // ln(e^x - 1) keeps the sum exact when it is far below one.
                let gain = (k * k - k) * half;
                k * odds
                    + if gain > 1.0 { gain + (-(-gain).exp()).ln_1p() } else { gain.exp_m1().ln() }
            })
            .collect();
        Self { terms, ln_absent, nodes: nodes(q, mu) }
    }

    /// `(a-1) r(a)` for an integer order `2 <= a <= LARGEST`.
    pub fn ln_moment(&self, order: usize) -> f64 {
        let table = &*LN_FACTORIAL;
        let base = table[order] + order as f64 * self.ln_absent;
        let term = |k: usize| base - table[k] - table[order - k] + self.terms[k];
        // Terms rise and then may rise again; only those near the largest matter.
        let mut top = f64::NEG_INFINITY;
        for k in 2..=order {
            top = top.max(term(k));
        }
        let mut sum = 0.0;
        for k in 2..=order {
            let below = term(k) - top;
            if below > -40.0 {
                sum += below.exp();
            }
        }
        // What was left out is below order * e^-40 of the sum.
        crate::special::ln_1p_exp(top + sum.ln() + 1e-14)
    }
}

impl SampledGaussian {
    /// The curve at any order: the exact sum at integers, quadrature at small fractions, and the
    /// chord of neighbouring integers elsewhere.
    pub fn at_order(&self, order: f64) -> f64 {
        if order.fract() == 0.0 || order > LARGEST_FRACTION || self.nodes.is_empty() {
            return at_order(order, |k| self.ln_moment(k));
        }
        // The mean of e^loss - 1 under Q is zero: taking it off leaves no large terms to cancel.
        let (mut excess, mut rounding) = (0.0, 0.0);
        for (loss, ln_mass) in &self.nodes {
            let mass = ln_mass.exp();
            excess += mass * ((order * loss).exp_m1() - order * loss.exp_m1());
            rounding += mass * (order * loss).exp_m1().abs();
        }
        let bound = excess * (1.0 + 1e-12) + 4.0 * f64::EPSILON * rounding;
        bound.max(0.0).ln_1p() / (order - 1.0)
    }
}

/// Fractional orders up to this one are integrated.
const LARGEST_FRACTION: f64 = 5.0;

/// Trapezoid nodes for `E_Q (P/Q)^a`. The integrand is analytic up to a distance of pi/mu from
/// the real line, so that the rule's error is below `exp(-2 pi^2 / (mu h))`, and negligible.
/// No nodes where the moments could overflow.
fn nodes(q: f64, mu: f64) -> Vec<(f64, f64)> {
    if mu > 4.0 {
        return Vec::new();
    }
    let step = f64::min(0.25, 0.5 / mu);
    let last = ((LARGEST_FRACTION * mu + 10.0) / step).ceil() as i32;
    let first = (-10.0 / step).floor() as i32;
    (first..=last)
        .map(|k| {
            let x = f64::from(k) * step;
            (sampled_loss(x, q, mu), step.ln() - 0.5 * x * x - 0.918_938_533_204_672_8)
        })
        .collect()
}

/// Theory E8: Poisson amplification of any Renyi curve given at integer orders 2..; the result is
/// `(a-1) r(a)`.
pub(super) fn ln_moment_of_curve(q: f64, order: usize, inner: &dyn Fn(usize) -> f64) -> f64 {
    let a = order as f64;
    let ln_absent = (-q).ln_1p();
    let first = (a - 1.0) * ln_absent + (a * q - q).ln_1p();
    let term = |l: usize| {
        let factor = if l == 2 { 0.0 } else { 3.0_f64.ln() };
        let l = l as f64;
        factor
            + ln_binomial(a, l)
            + (a - l) * ln_absent
            + l * q.ln()
            + (l - 1.0) * inner(l as usize)
    };
    ln_sum_exp(std::iter::once(first).chain((2..=order).map(term))).max(0.0)
}

/// A curve at any order from `(a-1) r(a)` at integers: it is convex, zero at one, so the chord
/// between neighbouring integers lies above it.
pub(super) fn at_order(order: f64, ln_moment: impl Fn(usize) -> f64) -> f64 {
    if order > LARGEST as f64 {
        return f64::INFINITY;
    }
    let low = order.floor() as usize;
    let share = order - low as f64;
    let at = |k: usize| if k < 2 { 0.0 } else { ln_moment(k) };
    let moment = if share == 0.0 { at(low) } else { (1.0 - share) * at(low) + share * at(low + 1) };
    moment / (order - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampled_gaussian_matches_theory_e4() {
        for (q, z, a, expected) in [
            (0.01, 1.0, 2, 1.71813422075e-4),
            (0.01, 1.0, 8, 8.93643907606e-4),
            (0.02, 12.4, 32, 4.19202645035e-5),
            (0.001, 0.62, 4, 3.01821903452e-5),
        ] {
            let r = SampledGaussian::new(q, 1.0 / z).ln_moment(a) / (a as f64 - 1.0);
            assert!((r / expected - 1.0).abs() < 1e-11, "{r} is not {expected}");
        }
    }

    #[test]
    fn general_amplification_matches_theory_e8() {
        for (a, expected) in [(2, 1.136037135e-4), (5, 3.722947856e-4), (16, 2.100728105e-3)] {
            let r = ln_moment_of_curve(0.02, a, &|l| l as f64 / 8.0) / (a as f64 - 1.0);
            assert!((r / expected - 1.0).abs() < 1e-9, "{r} is not {expected}");
        }
    }

    #[test]
    fn fractional_orders_lie_on_chords() {
        let gaussian = SampledGaussian::new(0.1, 1.0);
        let at = |a: f64| at_order(a, |k| gaussian.ln_moment(k));
        assert!(at(1.5) <= at(2.0) * (1.0 + 1e-12));
        assert!(at(2.0) < at(2.5) && at(2.5) < at(3.0));
        assert_eq!(at(1000.0), f64::INFINITY);
    }

    #[test]
    fn fractions_join_the_integers_below_their_chords() {
        for (q, mu) in [(0.01, 1.0), (0.05, 0.3), (0.3, 3.9), (1e-4, 0.01)] {
            let gaussian = SampledGaussian::new(q, mu);
            for order in [2.0, 3.0, 4.0] {
                let (exact, close) = (gaussian.at_order(order), gaussian.at_order(order + 1e-9));
                assert!((close / exact - 1.0).abs() < 1e-6, "{q} {mu} {order}: {close} {exact}");
                let chord = at_order(order + 0.5, |k| gaussian.ln_moment(k));
                let real = gaussian.at_order(order + 0.5);
                assert!(real <= chord * (1.0 + 1e-9) && real >= exact, "{q} {mu} {order}");
            }
        }
    }
}
