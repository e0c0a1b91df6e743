//! The rejection samplers of Canonne, Kamath and Steinke: simple, exact, slow.
//!
//! They are what the fast sampler is tested against. Their running time depends on what is drawn.
//!
//! # References
//! C. Canonne, G. Kamath, T. Steinke, "The discrete Gaussian for differential privacy", NeurIPS
//! 2020, Algorithms 1 to 3.

use rand::Rng;

/// Largest numerator and denominator of a [`Ratio`]: the square of a draw must fit into 128 bits.
const LIMIT: u64 = 1 << 40;

/// A positive fraction with numerator and denominator of at most 2^40.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    numerator: u64,
    denominator: u64,
}

/// A fraction that is not positive or does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("numerator and denominator must be between 1 and 2^40, got {numerator}/{denominator}")]
pub struct RatioOutOfRange {
    /// What was given above the line.
    pub numerator: u64,
    /// What was given below the line.
    pub denominator: u64,
}

impl Ratio {
    /// Checks that both numbers are in range.
    pub fn new(numerator: u64, denominator: u64) -> Result<Self, RatioOutOfRange> {
        if (1..=LIMIT).contains(&numerator) && (1..=LIMIT).contains(&denominator) {
            Ok(Self { numerator, denominator })
        } else {
            Err(RatioOutOfRange { numerator, denominator })
        }
    }
}

/// One discrete Gaussian: x with probability proportional to exp(-x^2 / (2 variance)).
///
/// # Guarantee
/// Exact, given uniform random words.
///
/// # References
/// Canonne, Kamath, Steinke 2020, Algorithm 3.
pub fn discrete_gaussian(rng: &mut impl Rng, variance: Ratio) -> i64 {
    let (n, d) = (u128::from(variance.numerator), u128::from(variance.denominator));
    let t = (n / d).isqrt() + 1;
    let scale = Ratio { numerator: t as u64, denominator: 1 };
    loop {
        let y = discrete_laplace(rng, scale);
        // Accept with probability exp(-(|y| - variance / t)^2 / (2 variance)).
        let distance = (u128::from(y.unsigned_abs()) * d * t).abs_diff(n);
        let square = distance.checked_pow(2).expect("a Laplace draw of 2^20 scales has P < e^-1e6");
        if bernoulli_exp(rng, square, 2 * n * d * t * t) {
            return y;
        }
    }
}

/// One discrete Laplace: x with probability proportional to exp(-|x| / scale).
///
/// # Guarantee
/// Exact, given uniform random words.
///
/// # References
/// Canonne, Kamath, Steinke 2020, Algorithm 2.
pub fn discrete_laplace(rng: &mut impl Rng, scale: Ratio) -> i64 {
    let (t, s) = (u128::from(scale.numerator), u128::from(scale.denominator));
    loop {
        let u = below(rng, t);
        if !bernoulli_exp(rng, u, t) {
            continue;
        }
        let mut v = 0;
        while bernoulli_exp(rng, 1, 1) {
            v += 1;
        }
        let magnitude = i64::try_from((u + t * v) / s).expect("2^23 scales has P < e^-8e6");
        let negative = rng.next_u32() & 1 == 1;
        match (magnitude, negative) {
            // Otherwise zero would be counted twice.
            (0, true) => {}
            (_, true) => return -magnitude,
            (_, false) => return magnitude,
        }
    }
}

/// True with probability exp(-n / d). Algorithm 1.
fn bernoulli_exp(rng: &mut impl Rng, n: u128, d: u128) -> bool {
    for _ in 0..n / d {
        if !bernoulli_exp_small(rng, 1, 1) {
            return false;
        }
    }
    bernoulli_exp_small(rng, n % d, d)
}

/// As [`bernoulli_exp`], for n <= d: the number of successes in a row, of probabilities
/// n / d, n / (2 d), n / (3 d) and so on, is even with probability exp(-n / d).
fn bernoulli_exp_small(rng: &mut impl Rng, n: u128, d: u128) -> bool {
    let mut k = 1;
    while below(rng, d * k) < n {
        k += 1;
    }
    k % 2 == 1
}

/// A uniform integer below a positive bound, by rejection.
fn below(rng: &mut impl Rng, bound: u128) -> u128 {
    let mask = u128::MAX.checked_shr((bound - 1).leading_zeros()).unwrap_or(0);
    loop {
        let low = u128::from(rng.next_u64());
        let high = if mask >> 64 == 0 { 0 } else { u128::from(rng.next_u64()) };
        let draw = (high << 64 | low) & mask;
        if draw < bound {
            return draw;
        }
    }
}
