//! Counterexamples about one release.

use super::Outcome;
use crate::claims::admm::pr;
use crate::claims::fair::{adfc_claimed_sigma, theorem_20};
use crate::claims::gaussian::{classic_sigma, lemma_3_rho, misread_tail_sigma};
use crate::claims::recycled::{Iteration, Node, theorem_v1_epsilon};
use crate::claims::{Guarantee, clip, consensus, delta, epsilon, guarantee, probability, scale};
use crate::units::Epsilon;

/// Two data sets that differ in one record, one round of stage I, then the printed message.
pub(super) fn ce_1() -> Vec<Outcome> {
    let message = |data: [f64; 2]| {
        let (z, eta) = (0.0, 0.5);
        let gradient: f64 = data.iter().map(|d| z - d).sum();
        (z - eta * gradient).clamp(-1.0, 1.0)
    };
    // Without noise the two laws are points: apart, everything is known.
    let apart = message([0.1, 0.3]) != message([0.1, 0.2]);
    let (known, sure) = if apart { (1.0, Epsilon::INFINITE) } else { (0.0, Epsilon::ZERO) };
    let claimed = guarantee(4.0, 1e-3);
    let case = "y(T+1) = x(T)";
    vec![Outcome { case, claimed, delta: delta(known), epsilon: sure, exact: true, mu: None }]
}

pub(super) fn ce_6() -> Vec<Outcome> {
    let (claimed, d, c) = (guarantee(0.9, 1e-5), 64, 5.0);
    let sigma = consensus::theorem_2_3_sigma(claimed.epsilon, claimed.delta, d, clip(c))
        .expect("literals in range");
    // The two vectors differ by 2C in each coordinate.
    let apart = (0..d).map(|_| (c - -c) * (c - -c)).sum::<f64>().sqrt();
    vec![Outcome::gaussian("d 64", claimed, apart / sigma.get())]
}

pub(super) fn ce_8() -> Vec<Outcome> {
    let case = |case, d, special: (f64, f64), others: (f64, f64), loaded: (f64, f64)| {
        let typed = |(e, d): (f64, f64)| (epsilon(e), delta(d));
        let (e, d_total) = theorem_20(typed(special), typed(others), d).expect("literals in range");
        let (e_loaded, d_loaded) = typed(loaded);
        let sigma = adfc_claimed_sigma(e_loaded, d_loaded, d).expect("literals in range");
        let claimed = Guarantee { epsilon: e, delta: d_total };
        Outcome::gaussian(case, claimed, one_attribute_shift(1000) / sigma.get())
    };
    let (strong, weak) = ((1.0, 1e-5), (0.01, 1e-9));
    let (tight, wide) = ((0.1, 1e-9), (10.0, 1e-5));
    vec![
        case("d 13, all records on attribute s", 13, strong, weak, strong),
        case("d 2, no record on attribute s", 2, tight, wide, wide),
    ]
}

/// How far the printed linear coefficient of an attribute moves when all records are its unit
/// vector, z is 0 for all but one, and that one turns from (y, z) = (1, 0) to (0, 1).
pub(in crate::claims) fn one_attribute_shift(n: u32) -> f64 {
    let coefficient = |y: f64, z: f64| {
        let mean = z / f64::from(n);
        let own = 0.5 - y + (z - mean).abs();
        let others = f64::from(n - 1) * (0.5 - 0.0 + mean.abs());
        own + others
    };
    coefficient(0.0, 1.0) - coefficient(1.0, 0.0)
}

pub(super) fn ce_9() -> Vec<Outcome> {
    let schedule = pr::Schedule::Periodic { period: 1, ratio: probability(0.925) };
    let rho = pr::claimed_rho(1.0, 1.0, scale(1.0), &schedule, 1).expect("literals in range");
    let claimed = Guarantee { epsilon: epsilon(rho.get()), delta: delta(0.0) };
    // The minimiser of g x + eta v x^2 is -g/(2 eta v).
    let minimiser = |g: f64| -g / 2.0;
    vec![Outcome::gaussian("one round", claimed, minimiser(-1.0) - minimiser(1.0))]
}

pub(super) fn ce_11() -> Vec<Outcome> {
    let claimed = guarantee(10.0, 1e-4);
    let rho = lemma_3_rho(claimed.epsilon, claimed.delta).expect("literals in range");
    // A Gaussian of size mu has a Renyi divergence of mu^2/2 times the order.
    vec![Outcome::gaussian("one Gaussian", claimed, (2.0 * rho.get()).sqrt())]
}

/// Densities of the Newton step: with the record (1, +1) and with (0, +1).
pub(super) fn ce_13() -> Vec<Outcome> {
    let node = Node { records: 1, weight: scale(1.0), ridge: 0.0, neighbours: 1, smoothness: 0.25 };
    let odd = [Iteration { eta: scale(0.3), rate: scale(1.0) }];
    let beta = theorem_v1_epsilon(&node, &odd).expect("literals in range");
    let claimed = Guarantee { epsilon: beta, delta: delta(0.0) };
    // Both densities are exponential in the tails: a log-ratio that grows there has no bound.
    let unbounded = newton_ln_ratio(-2e6) > newton_ln_ratio(-1e6) + 1e5;
    vec![Outcome {
        case: "one Newton step",
        claimed,
        delta: delta(newton_delta(beta.get())),
        epsilon: if unbounded { Epsilon::INFINITE } else { Epsilon::ZERO },
        exact: true,
        mu: None,
    }]
}

/// Curvature and gradient at 0 of the objective without noise: `0.3 x^2 + ln(1 + e^(-v x))`.
fn newton(v: f64) -> (f64, f64) {
    (0.6 + 0.25 * v * v, -0.5 * v)
}

/// Log of the density at `x` of the Newton step, which solves `H x + g + b = 0`.
fn ln_newton(x: f64, v: f64) -> f64 {
    let (h, g) = newton(v);
    (0.5 * h).ln() - (h * x + g).abs()
}

/// Log-ratio of the two densities, the flatter one first.
pub(in crate::claims) fn newton_ln_ratio(x: f64) -> f64 {
    ln_newton(x, 0.0) - ln_newton(x, 1.0)
}

/// Hockey-stick divergence of the flatter density from the steeper one, both tails in closed form.
fn newton_delta(at: f64) -> f64 {
    let ((flat, _), (steep, g)) = (newton(0.0), newton(1.0));
    let start = (steep / flat).ln() + at;
    let tail = |offset: f64| {
        // On this side |H x + g| = H |x| + offset, and the ratio passes e^at at |x| = from.
        let from = (start - offset) / (steep - flat);
        0.5 * (-flat * from).exp() - 0.5 * (at - steep * from - offset).exp()
    };
    tail(g) + tail(-g)
}

pub(super) fn ce_14() -> Vec<Outcome> {
    let claimed = guarantee(10.0, 1e-5);
    let sigma = classic_sigma(claimed.epsilon, claimed.delta, 1.0).expect("literals in range");
    vec![Outcome::gaussian("one Gaussian", claimed, 1.0 / sigma.get())]
}

pub(super) fn ce_15() -> Vec<Outcome> {
    let claimed = guarantee(1.0, 1e-5);
    let sigma = misread_tail_sigma(claimed.epsilon, claimed.delta, 1.0).expect("literals in range");
    vec![Outcome::gaussian("one Gaussian", claimed, 1.0 / sigma.get())]
}
