//! Gaussian differential privacy, exact: the profile of N(mu, 1) against N(0, 1) and its inverses.
//!
//! # Guarantee
//!
//! A composition of Gaussian events is exactly mu-GDP with `mu^2` the sum of the parts' squares,
//! adaptively chosen or not (theory E1; tight when every round can realise its sensitivity). Pure
//! parts shift epsilon by their sum. Epsilons round up, calibrated mus round down.
//!
//! # References
//!
//! Dong, Roth, Su 2019, corollary 2.1 and theorem 4; Balle and Wang 2018, theorem 8.

use crate::special::{bisect_down, ln_gaussian_delta};
use crate::units::{Delta, Epsilon, Mu};

/// Relative rounding allowance of the profile.
const ALLOWANCE: f64 = 1e-12;

/// The delta of a mu-GDP mechanism at `epsilon`.
///
/// ```
/// use undertone_privacy::accountant::gdp;
/// use undertone_privacy::units::{Epsilon, Mu};
/// let delta = gdp::delta(Epsilon::new(1.0)?, Mu::new(1.0)?);
/// assert!((delta.get() - 0.126936737507).abs() < 1e-12);
/// # Ok::<(), undertone_privacy::units::OutOfRange>(())
/// ```
pub fn delta(epsilon: Epsilon, mu: Mu) -> Delta {
    if epsilon.get().is_infinite() {
        return Delta::new(0.0).expect("zero is a delta");
    }
    let ln = ln_gaussian_delta(epsilon.get(), mu.get()) + ALLOWANCE;
    Delta::new(ln.exp().min(1.0)).expect("a capped exponential")
}

/// The least epsilon of a mu-GDP mechanism at `delta`, rounded up; infinite at delta = 0.
pub fn epsilon(delta: Delta, mu: Mu) -> Epsilon {
    let (goal, mu) = (delta.get().ln(), mu.get());
    let excess = |epsilon: f64| ln_gaussian_delta(epsilon, mu) + ALLOWANCE - goal;
    if mu == 0.0 || excess(0.0) <= 0.0 {
        return Epsilon::ZERO;
    }
    if delta.get() == 0.0 || mu.is_infinite() {
        return Epsilon::INFINITE;
    }
    let mut high = 1.0;
    while excess(high) > 0.0 {
        high *= 2.0;
    }
    Epsilon::new(bisect_down(0.0, high, 200, excess)).expect("between zero and a finite number")
}

/// The largest mu whose delta at `epsilon` is at most `delta`, rounded down.
///
/// ```
/// use undertone_privacy::accountant::gdp;
/// use undertone_privacy::units::{Delta, Epsilon};
/// let mu = gdp::mu(Epsilon::new(1.0)?, Delta::new(1e-5)?);
/// assert!((1.0 / mu.get() - 3.730631635).abs() < 1e-9);
/// # Ok::<(), undertone_privacy::units::OutOfRange>(())
/// ```
pub fn mu(epsilon: Epsilon, delta: Delta) -> Mu {
    let infinite = Mu::new(f64::INFINITY).expect("infinity is a mu");
    if epsilon.get().is_infinite() || delta.get() >= 1.0 {
        return infinite;
    }
    let (epsilon, goal) = (epsilon.get(), delta.get().ln());
    // Falls in 1/mu, so the upper end in 1/mu is the lower end in mu.
    let excess = |inverse: f64| ln_gaussian_delta(epsilon, 1.0 / inverse) + ALLOWANCE - goal;
    let mut high = 1.0;
    while excess(high) > 0.0 {
        high *= 2.0;
        if high > 1e300 {
            return Mu::new(0.0).expect("zero is a mu");
        }
    }
    let mut low = high;
    while excess(low) <= 0.0 {
        low *= 0.5;
        if low < 1e-300 {
            return infinite;
        }
    }
    Mu::new(1.0 / bisect_down(low, high, 200, excess)).expect("the inverse of a positive number")
}
