//! Renyi differential privacy: a curve of orders that adds under adaptive composition.
//!
//! # Guarantee
//!
//! Every curve is an upper bound on the Renyi divergence in both directions, at the orders where
//! it is finite. Sampled Gaussians use the exact integer-order sum (theory E4); other orders use
//! that `(a-1) r(a)` is convex in `a`. Mechanisms known by a profile are integrated (E5) over
//! chords that lie above every convex profile. Conversion by E2, rounded up.
//!
//! # References
//!
//! Mironov 2017; Mironov, Talwar, Zhang 2019 (E4); Zhu and Wang 2019 (E8); Balle, Gaboardi,
//! Zanella-Beguelin 2020 and Canonne, Kamath, Steinke 2020 (E2); Sason and Verdu 2016 (E5).

mod curve;
mod integral;
mod sampled;

pub(super) use curve::divergences;

use crate::units::{Delta, Epsilon, Order};

/// The orders at which curves are evaluated: all integers up to 128, so that the best order is
/// never far, fractions for large epsilons and, for closed forms, very large ones for tiny
/// epsilons.
pub(super) const ORDERS: [f64; 153] = {
    let mut orders = [0.0; 153];
    let head = [1.05, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0, 3.5, 4.0, 4.5];
    let tail = [
        160.0,
        192.0,
        256.0,
        384.0,
        512.0,
        1024.0,
        4096.0,
        16384.0,
        65536.0,
        262144.0,
        1048576.0,
        8388608.0,
        16777216.0,
        134217728.0,
        268435456.0,
    ];
    let mut k = 0;
    while k < orders.len() {
        orders[k] = match k {
            0..14 => head[k],
            14..138 => (k - 9) as f64,
            _ => tail[k - 138],
        };
        k += 1;
    }
    orders
};

/// Theory E2: epsilon at `delta` of a mechanism with the given Renyi divergence at one order.
///
/// ```
/// use undertone_privacy::accountant::rdp;
/// use undertone_privacy::units::{Delta, Order};
/// let epsilon = rdp::to_epsilon(Order::new(8.0)?, 0.5, Delta::new(1e-5)?);
/// assert!((epsilon.get() - 1.7141091678).abs() < 1e-10);
/// # Ok::<(), undertone_privacy::units::OutOfRange>(())
/// ```
pub fn to_epsilon(order: Order, divergence: f64, delta: Delta) -> Epsilon {
    let a = order.get();
    if divergence == 0.0 {
        return Epsilon::ZERO;
    }
    if delta.get() == 0.0 || !divergence.is_finite() {
        return Epsilon::INFINITE;
    }
    let epsilon = divergence + (-1.0 / a).ln_1p() - (delta.get().ln() + a.ln()) / (a - 1.0);
    Epsilon::new((epsilon * (1.0 + 1e-12)).max(0.0)).expect("floored at zero")
}

/// The delta at `epsilon` of a mechanism with the given Renyi divergence at one order: E2 solved
/// for delta.
pub fn to_delta(order: Order, divergence: f64, epsilon: Epsilon) -> Delta {
    let a = order.get();
    let ln = (a - 1.0) * (divergence - epsilon.get() + (-1.0 / a).ln_1p()) - a.ln();
    Delta::new((ln + 1e-12).exp().min(1.0)).unwrap_or_else(|_| Delta::new(1.0).expect("one"))
}

/// The best epsilon over all orders, and that order.
pub(super) fn best(curve: &[f64], delta: Delta) -> (Epsilon, Order) {
    let mut best = (Epsilon::INFINITE, Order::new(2.0).expect("above one"));
    for (order, divergence) in ORDERS.iter().zip(curve) {
        let order = Order::new(*order).expect("orders are above one");
        let epsilon = to_epsilon(order, *divergence, delta);
        if epsilon < best.0 {
            best = (epsilon, order);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_grow_and_hold_all_of_theory_b7() {
        assert!(ORDERS.windows(2).all(|w| w[0] < w[1]));
        for order in (2..=64).chain([72, 80, 96, 128, 192, 256, 384, 512]) {
            assert!(ORDERS.contains(&f64::from(order)), "{order}");
        }
    }

    #[test]
    fn delta_inverts_epsilon() {
        let order = Order::new(8.0).unwrap();
        let delta = Delta::new(1e-5).unwrap();
        let back = to_delta(order, 0.5, to_epsilon(order, 0.5, delta));
        assert!((back.get() / 1e-5 - 1.0).abs() < 1e-9);
    }
}
