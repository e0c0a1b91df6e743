//! Zero-concentrated differential privacy: one number, easy to add, a little loose.
//!
//! # Guarantee
//!
//! Gaussian events are `mu^2/2`-zCDP, discrete Gaussian ones the same in their lattice shift, pure
//! ones `epsilon^2/2`-zCDP; rho adds under adaptive composition. The conversion minimises
//! theory E2 over all real orders of the line `rho * order`, which is never worse than E3.
//!
//! # References
//!
//! Bun and Steinke 2016, propositions 1.3 and 1.4; Canonne, Kamath, Steinke 2020, corollary 13.

use super::rdp;
use crate::special::bisect_down;
use crate::units::{Delta, Epsilon, Order, Rho};

/// Epsilon of a rho-zCDP mechanism at `delta`.
pub fn epsilon(rho: Rho, delta: Delta) -> Epsilon {
    let rho = rho.get();
    if rho == 0.0 {
        return Epsilon::ZERO;
    }
    if delta.get() == 0.0 || rho.is_infinite() {
        return Epsilon::INFINITE;
    }
    // Derivative of E2 along the line: rho - (ln(1/delta) - ln a)/(a-1)^2, in ln(a-1).
    let goal = -delta.get().ln();
    let slope = |x: f64| {
        let less = x.exp();
        (goal - less.ln_1p()) / (less * less) - rho
    };
    let x = bisect_down(-60.0, 80.0, 100, slope);
    let order = Order::new(1.0 + x.exp()).expect("above one");
    let best = rdp::to_epsilon(order, rho * order.get(), delta);
    Epsilon::new(best.get().min(classic(rho, goal))).expect("the lesser of two epsilons")
}

/// The rho that is `(epsilon, delta)`-private by the classic conversion, theory E3's exact inverse.
pub fn rho(epsilon: Epsilon, delta: Delta) -> Rho {
    let goal = -delta.get().ln();
    let root = (goal + epsilon.get()).sqrt() - goal.sqrt();
    Rho::new(if root.is_finite() { root * root } else { 0.0 }).expect("a square")
}

fn classic(rho: f64, ln_inverse_delta: f64) -> f64 {
    rho + 2.0 * (rho * ln_inverse_delta).sqrt()
}
