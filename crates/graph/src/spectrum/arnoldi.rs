//! The largest modulus of the eigenvalues of a matrix known by its products only.
//!
//! # References
//! W. Arnoldi, "The principle of minimized iterations", 1951. Restarts filter out what is not
//! wanted by the values found for it, as D. Sorensen, "Implicit application of polynomial filters",
//! 1992, here by multiplying with the small matrix, which is plainer.

use super::SpectrumError;
use super::complex::Complex;
use super::hessenberg::eigenvalues;
use super::lanczos::{SMALL, dot, length, remove_mean, scale};
use crate::draw::{Stream, generator, unit};

/// Up to this many dimensions all of space is taken, and nothing needs to be started again.
const WHOLE: usize = 160;
/// How many dimensions are taken of a larger space, and how many of them are wanted.
const PART: usize = 60;
const WANTED: usize = 15;
const MAX_STEPS: usize = 10_000;
/// Numbers read and written until a large matrix is given up; a few seconds.
const MAX_WORK: usize = 4_000_000_000;

/// The largest modulus on vectors without mean; `product` has to keep them so but for rounding.
pub(super) fn largest_modulus<F>(n: usize, mut product: F) -> Result<f64, SpectrumError>
where
    F: FnMut(&[f64], &mut [f64]),
{
    if n <= 1 {
        return Ok(0.0);
    }
    let n_basis = if n <= WHOLE { n - 1 } else { PART };
    let max_steps = (MAX_WORK / (4 * n * n_basis)).clamp(5 * n_basis, MAX_STEPS);
    let mut rng = generator(0, Stream::Family);
    let mut start: Vec<f64> = (0..n).map(|_| unit(&mut rng) - 0.5).collect();
    let (mut steps, mut n_settled, mut estimate) = (0, 0, f64::INFINITY);
    while steps < max_steps {
        let space = Space::grow(&start, n_basis, &mut product);
        steps += space.basis.len();
        let slow = SpectrumError::Slow { steps, estimate };
        let mut values = eigenvalues(&space.small).ok_or(slow)?;
        values.sort_by(|a, b| b.modulus().total_cmp(&a.modulus()));
        let modulus = values[0].modulus();
        if space.is_whole || n <= WHOLE {
            return Ok(modulus);
        }
        let gap = (1.0 - modulus).max(0.0);
        let tolerance = if n <= SMALL { 1e-11 } else { 1e-12 + 1e-6 * gap };
        n_settled = if (modulus - estimate).abs() <= tolerance { n_settled + 1 } else { 0 };
        estimate = modulus;
        if n_settled == 3 {
            return Ok(modulus);
        }
        start = space.filtered(&values[whole_pairs(&values)..]);
    }
    Err(SpectrumError::Slow { steps, estimate })
}

/// How many are wanted; both of a conjugate pair or none.
fn whole_pairs(values: &[Complex]) -> usize {
    let splits = values[..WANTED].iter().map(|value| value.im).sum::<f64>().abs() > 1e-9;
    WANTED + usize::from(splits)
}

/// An orthonormal basis of what products make of a vector, and the matrix on it.
struct Space {
    basis: Vec<Vec<f64>>,
    small: Vec<Vec<f64>>,
    /// Products do not lead out of it.
    is_whole: bool,
}

impl Space {
    fn grow<F>(start: &[f64], n_basis: usize, product: &mut F) -> Self
    where
        F: FnMut(&[f64], &mut [f64]),
    {
        let mut first = start.to_vec();
        remove_mean(&mut first);
        let norm = length(&first);
        scale(&mut first, 1.0 / norm);
        let mut space =
            Self { basis: vec![first], small: vec![vec![0.0; n_basis]; n_basis], is_whole: false };
        loop {
            let k = space.basis.len() - 1;
            let mut next = vec![0.0; start.len()];
            product(&space.basis[k], &mut next);
            remove_mean(&mut next);
            // Twice is enough for the basis to be orthogonal to rounding (W. Kahan, B. Parlett).
            for _ in 0..2 {
                for (row, direction) in space.small.iter_mut().zip(&space.basis) {
                    let share = dot(direction, &next);
                    row[k] += share;
                    next.iter_mut().zip(direction).for_each(|(x, d)| *x -= share * d);
                }
            }
            remove_mean(&mut next);
            let norm = length(&next);
            space.is_whole = norm <= 1e-13;
            if space.is_whole || k + 1 == n_basis {
                space.small.truncate(k + 1);
                space.small.iter_mut().for_each(|row| row.truncate(k + 1));
                return space;
            }
            space.small[k + 1][k] = norm;
            scale(&mut next, 1.0 / norm);
            space.basis.push(next);
        }
    }

    /// The first vector of the basis less what belongs to the unwanted values.
    fn filtered(&self, unwanted: &[Complex]) -> Vec<f64> {
        let mut shares = vec![Complex::ZERO; self.basis.len()];
        shares[0] = Complex::real(1.0);
        for &value in unwanted {
            let product = |row: &Vec<f64>| {
                row.iter().zip(&shares).fold(Complex::ZERO, |sum, (&h, &v)| sum + v.scaled(h))
            };
            let next: Vec<Complex> = self.small.iter().map(product).collect();
            let next: Vec<Complex> =
                next.into_iter().zip(&shares).map(|(x, &v)| x - value * v).collect();
            let norm = next.iter().map(|v| v.modulus().powi(2)).sum::<f64>().sqrt();
            shares = next.into_iter().map(|v| v.scaled(1.0 / norm)).collect();
        }
        let mut start = vec![0.0; self.basis[0].len()];
        for (share, direction) in shares.iter().zip(&self.basis) {
            start.iter_mut().zip(direction).for_each(|(x, d)| *x += share.re * d);
        }
        start
    }
}
