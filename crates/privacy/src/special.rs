//! Special functions in the log domain, accurate where privacy lives: far in the tails.

use libm::{erfc, expm1, lgamma, log1p};

const LN_SQRT_2PI: f64 = 0.918_938_533_204_672_8;
const SQRT_HALF_PI: f64 = 1.253_314_137_315_500_3;

/// Chance that a standard normal is at most `x`.
pub(crate) fn normal_cdf(x: f64) -> f64 {
    0.5 * erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// Log of the standard normal's distribution function.
pub(crate) fn ln_normal_cdf(x: f64) -> f64 {
    if x > 5.0 {
        log1p(-normal_cdf(-x))
    } else if x > -30.0 {
        normal_cdf(x).ln()
    } else {
        ln_normal_density(x) + mills(-x).ln()
    }
}

fn ln_normal_density(x: f64) -> f64 {
    -0.5 * x * x - LN_SQRT_2PI
}

/// Mills ratio: upper tail over density at `t`.
fn mills(t: f64) -> f64 {
    if t < 12.0 {
        return SQRT_HALF_PI * (0.5 * t * t).exp() * erfc(t * std::f64::consts::FRAC_1_SQRT_2);
    }
    // Continued fraction t + 1/(t + 2/(t + 3/(t + ...))): from 12 on, 20 levels are exact.
    let mut tail = t;
    for k in (1..=20).rev() {
        tail = t + f64::from(k) / tail;
    }
    1.0 / tail
}

/// Log of the hockey-stick divergence of N(mu, 1) from N(0, 1) at `e^epsilon`, for any real
/// epsilon; minus infinity where it is zero.
///
/// With `t = epsilon/mu - mu/2` it is the density at `t` times the fall of the Mills ratio from
/// `t` to `t + mu`: no subtraction of nearly equal tails.
pub(crate) fn ln_gaussian_delta(epsilon: f64, mu: f64) -> f64 {
    if mu <= 0.0 {
        return if epsilon < 0.0 { (-expm1(epsilon)).ln() } else { f64::NEG_INFINITY };
    }
    if mu.is_infinite() {
        return 0.0;
    }
    let t = epsilon / mu - 0.5 * mu;
    if t <= 0.0 {
        let ln_p = ln_normal_cdf(-t);
        let ln_q = epsilon + ln_normal_cdf(-t - mu);
        return if ln_q >= ln_p { f64::NEG_INFINITY } else { ln_p + log1p(-(ln_q - ln_p).exp()) };
    }
    ln_normal_density(t) + mills_fall(t, mu).ln()
}

/// `mills(t) - mills(t + width)` for `t > 0`.
fn mills_fall(t: f64, width: f64) -> f64 {
    if width > 0.25 {
        return mills(t) - mills(t + width);
    }
    // The slope of the Mills ratio is t * mills - 1. Five Gauss-Legendre nodes on it.
    const NODES: [(f64, f64); 5] = [
        (0.046_910_077_030_668, 0.118_463_442_528_094_54),
        (0.230_765_344_947_158_45, 0.239_314_335_249_683_23),
        (0.5, 0.284_444_444_444_444_44),
        (0.769_234_655_052_841_6, 0.239_314_335_249_683_23),
        (0.953_089_922_969_332, 0.118_463_442_528_094_54),
    ];
    let slope = |x: f64| {
        if x < 12.0 {
            1.0 - x * mills(x)
        } else {
            // 1 - x m with m = 1/(x + u): u/(x + u), and u = 1/(x + 2/(x + ...)).
            let mut u = x;
            for k in (2..=20).rev() {
                u = x + f64::from(k) / u;
            }
            let u = 1.0 / u;
            u / (x + u)
        }
    };
    width * NODES.iter().map(|(at, weight)| weight * slope(t + at * width)).sum::<f64>()
}

/// Log of the binomial coefficient, for real `n >= k >= 0`.
pub(crate) fn ln_binomial(n: f64, k: f64) -> f64 {
    lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0)
}

/// `ln(e^a + e^b)`.
pub(crate) fn ln_add(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + log1p((low - high).exp()) }
}

/// `ln(sum e^x)`.
pub(crate) fn ln_sum_exp(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let max = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    if max.is_infinite() {
        return max;
    }
    max + terms.map(|x| (x - max).exp()).sum::<f64>().ln()
}

/// `ln(1 + x)` of `x = e^ln_x`, also where `x` overflows.
pub(crate) fn ln_1p_exp(ln_x: f64) -> f64 {
    if ln_x > 50.0 { ln_x } else { log1p(ln_x.exp()) }
}

/// The upper end of an interval, halved `rounds` times, in which the falling function `excess`
/// ceases to be positive. The caller knows that `excess(high) <= 0`.
pub(crate) fn bisect_down(
    mut low: f64,
    mut high: f64,
    rounds: u32,
    excess: impl Fn(f64) -> f64,
) -> f64 {
    for _ in 0..rounds {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if excess(middle) <= 0.0 {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance * b.abs(), "{a} is not {b}");
    }

    #[test]
    fn normal_tails_match_known_values() {
        close(normal_cdf(-10.0), 7.619_853_024_160_527e-24, 1e-13);
        close(ln_normal_cdf(-40.0), -804.608_442_013_753_8, 1e-14);
        close(ln_normal_cdf(-30.0), -454.321_243_956_343_2, 1e-13);
        close(ln_normal_cdf(8.0), -6.220_960_574_271_786e-16, 1e-9);
    }

    #[test]
    fn mills_ratio_is_continuous_where_its_formula_changes() {
        close(mills(12.0 - 1e-9), mills(12.0 + 1e-9), 1e-9);
        close(mills_fall(11.999, 1e-3), mills(11.999) - mills(12.0), 1e-9);
        close(mills_fall(3.0, 0.25), mills(3.0) - mills(3.25), 1e-12);
    }

    #[test]
    fn gaussian_delta_agrees_on_both_sides_of_the_median() {
        for mu in [0.01, 0.3, 1.0, 4.0] {
            let at = 0.5 * mu * mu;
            let left = ln_gaussian_delta(at * (1.0 - 1e-9), mu);
            let right = ln_gaussian_delta(at * (1.0 + 1e-9), mu);
            close(left, right, 1e-7);
        }
    }
}
