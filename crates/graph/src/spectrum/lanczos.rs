//! Extreme eigenvalues of a symmetric matrix known by its products only.
//!
//! # References
//! C. Lanczos, "An iteration method for the solution of the eigenvalue problem", 1950. Without
//! reorthogonalisation, which costs memory, inner eigenvalues appear in copies; the extremes
//! stay right (C. Paige, 1971).

use super::SpectrumError;
use crate::draw::{Stream, generator, unit};

pub(super) struct Extremes {
    pub lowest: f64,
    pub highest: f64,
    steps: usize,
    converged: bool,
}

impl Extremes {
    /// The value that was made of the extremes, if they are to be trusted.
    pub(super) fn converged_to(&self, value: f64) -> Result<f64, SpectrumError> {
        if self.converged {
            return Ok(value);
        }
        Err(SpectrumError::Slow { steps: self.steps, estimate: value })
    }
}

const MAX_STEPS: usize = 10_000;
/// Up to this size all digits are had quickly.
pub(super) const SMALL: usize = 4096;

/// Which extremes are asked for.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Ends {
    Both,
    /// The lowest, of little use here, would often be the last to settle.
    Highest,
}

/// The extreme eigenvalues on vectors without mean. `norm` bounds the size of the matrix. If both
/// ends are asked for it says what is small; a highest one alone is had to its own digits, down to
/// 1e-30 of that size.
pub(super) fn extremes<F>(n: usize, ends: Ends, norm: f64, mut product: F) -> Extremes
where
    F: FnMut(&[f64], &mut [f64]),
{
    let mut found = Extremes { lowest: 0.0, highest: 0.0, steps: 0, converged: true };
    if n <= 1 {
        return found;
    }
    found.converged = false;
    let mut rng = generator(0, Stream::Family);
    let mut current: Vec<f64> = (0..n).map(|_| unit(&mut rng) - 0.5).collect();
    remove_mean(&mut current);
    let start_length = length(&current);
    scale(&mut current, 1.0 / start_length);
    let (mut previous, mut next) = (vec![0.0; n], vec![0.0; n]);
    let (mut diagonal, mut beside) = (Vec::new(), Vec::new());
    let mut beta = 0.0;
    let (mut n_settled, mut next_check) = (0, 4);
    let mut size = if ends == Ends::Both { norm } else { 0.0 };
    let max_steps = (4 * n + 50).min(MAX_STEPS);
    while found.steps < max_steps {
        found.steps += 1;
        product(&current, &mut next);
        remove_mean(&mut next);
        let alpha = dot(&next, &current);
        for ((x, c), p) in next.iter_mut().zip(&current).zip(&previous) {
            *x -= alpha * c + beta * p;
        }
        // Rounding brings the mean back, and the mean has the largest eigenvalue.
        remove_mean(&mut next);
        beta = length(&next);
        diagonal.push(alpha);
        size = alpha.abs().max(beta).max(size);
        let exhausted = beta <= 1e-14 * size + 1e-30 * norm;
        if exhausted || found.steps >= next_check {
            let (low, high) = tridiagonal_extremes(&diagonal, &beside);
            let change = match ends {
                Ends::Both => (low - found.lowest).abs().max((high - found.highest).abs()),
                Ends::Highest => (high - found.highest).abs(),
            };
            // The ends of a large random graph's spectrum are crowded: the last digits would cost
            // thousands of products. What matters there is the distance from `norm`.
            let gap = (norm - low.abs().max(high.abs())).max(0.0);
            let digits = if ends == Ends::Both { norm } else { high.max(0.0) };
            let tolerance =
                if n <= SMALL { 1e-13 * digits } else { 1e-12 * digits + 1e-6 * gap.min(digits) };
            n_settled = if change <= tolerance { n_settled + 1 } else { 0 };
            (found.lowest, found.highest) = (low, high);
            if exhausted || n_settled == 2 {
                found.converged = true;
                return found;
            }
            next_check = found.steps + 4 + found.steps / 8;
        }
        beside.push(beta);
        scale(&mut next, 1.0 / beta);
        (previous, current, next) = (current, next, previous);
    }
    found
}

pub(super) fn remove_mean(x: &mut [f64]) {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    x.iter_mut().for_each(|v| *v -= mean);
}

pub(super) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| a * b).sum()
}

pub(super) fn length(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

pub(super) fn scale(x: &mut [f64], factor: f64) {
    x.iter_mut().for_each(|v| *v *= factor);
}

/// The lowest and the highest eigenvalue of a tridiagonal matrix, by bisection.
fn tridiagonal_extremes(diagonal: &[f64], beside: &[f64]) -> (f64, f64) {
    let n = diagonal.len();
    let (mut floor, mut ceiling) = (f64::INFINITY, f64::NEG_INFINITY);
    for (i, &centre) in diagonal.iter().enumerate() {
        let left = if i > 0 { beside[i - 1] } else { 0.0 };
        let right = beside.get(i).copied().unwrap_or(0.0);
        floor = floor.min(centre - left - right);
        ceiling = ceiling.max(centre + left + right);
    }
    // The least x with at least so many eigenvalues below it.
    let search = |wanted: usize| {
        let (mut low, mut high) = (floor, ceiling);
        for _ in 0..200 {
            let middle = low + (high - low) / 2.0;
            if middle <= low || middle >= high {
                break;
            }
            if n_below(diagonal, beside, middle) >= wanted {
                high = middle;
            } else {
                low = middle;
            }
        }
        high
    };
    (search(1), search(n))
}

/// How many eigenvalues are below `x`: the negative pivots of the shifted matrix (Sylvester).
fn n_below(diagonal: &[f64], beside: &[f64], x: f64) -> usize {
    let mut count = 0;
    let mut pivot = 1.0;
    for (i, &centre) in diagonal.iter().enumerate() {
        let coupling = if i > 0 { beside[i - 1] * beside[i - 1] / pivot } else { 0.0 };
        pivot = centre - x - coupling;
        if pivot == 0.0 {
            pivot = -f64::MIN_POSITIVE;
        }
        count += usize::from(pivot < 0.0);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bisection_finds_the_ends_of_a_known_matrix() {
        // Eigenvalues 2 - 2 cos(k pi / 11).
        let (low, high) = tridiagonal_extremes(&[2.0; 10], &[-1.0; 9].map(f64::abs));
        let end = 2.0 * (std::f64::consts::PI / 11.0).cos();
        assert!((low - (2.0 - end)).abs() < 1e-14 && (high - (2.0 + end)).abs() < 1e-14);
        assert_eq!(tridiagonal_extremes(&[3.0], &[]), (3.0, 3.0));
    }
}
