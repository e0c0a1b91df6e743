//! Cholesky's factor of a symmetric matrix, in blocks.

use undertone_matrix::{Mat, Packing, multiply, vector};

/// `L` with `L L^t = A + shift I`, of which the lower half is used.
pub(super) struct Cholesky {
    size: usize,
    lower: Vec<f64>,
}

/// Columns that are factored together.
const BLOCK: usize = 64;

impl Cholesky {
    /// None if the matrix is not positive definite, up to roundings.
    pub(super) fn new(
        matrix: &[f64],
        size: usize,
        shift: f64,
        packing: &mut Packing<f64>,
    ) -> Option<Self> {
        let mut lower = matrix.to_vec();
        for k in 0..size {
            lower[k * size + k] += shift;
        }
        let (mut panel, mut product) = (Vec::new(), Vec::new());
        for first in (0..size).step_by(BLOCK) {
            let block = BLOCK.min(size - first);
            if first > 0 {
                // What the columns to the left contribute to these.
                panel.clear();
                for row in lower[first * size..].chunks_exact(size) {
                    panel.extend_from_slice(&row[..first]);
                }
                let rows = size - first;
                product.resize(rows * block, 0.0);
                let left = Mat::new(&panel, rows, first);
                let top = Mat::new(&panel[..block * first], block, first);
                multiply(left, top.t(), &mut product, packing);
                let rows = lower[first * size..].chunks_exact_mut(size);
                for (row, product) in rows.zip(product.chunks_exact(block)) {
                    let row = &mut row[first..][..block];
                    row.iter_mut().zip(product).for_each(|(a, p)| *a -= p);
                }
            }
            for i in first..size {
                let (above, rest) = lower.split_at_mut(i * size);
                let row = &mut rest[first..size];
                for j in first..(first + block).min(i + 1) {
                    let k = j - first;
                    if j == i {
                        let square = row[k] - vector::squared_norm(&row[..k]);
                        if !(square > 0.0 && square.is_finite()) {
                            return None;
                        }
                        row[k] = square.sqrt();
                    } else {
                        let other = &above[j * size + first..][..k + 1];
                        row[k] = (row[k] - vector::dot(&row[..k], &other[..k])) / other[k];
                    }
                }
            }
        }
        Some(Self { size, lower })
    }

    /// Replaces `b` by `(L L^t)^-1 b`.
    pub(super) fn solve(&self, b: &mut [f64]) {
        let row = |i: usize| &self.lower[i * self.size..][..i + 1];
        for i in 0..self.size {
            let row = row(i);
            b[i] = (b[i] - vector::dot(&row[..i], &b[..i])) / row[i];
        }
        for i in (0..self.size).rev() {
            let row = row(i);
            let value = b[i] / row[i];
            b[i] = value;
            vector::add_scaled(-value, &row[..i], &mut b[..i]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_solves_what_it_was_made_of() {
        for size in [1, 3, 64, 65, 150] {
            let entry = |i: usize, j: usize| 1.0 / (1.0 + (i as f64 - j as f64).abs());
            let matrix: Vec<f64> = (0..size * size).map(|k| entry(k / size, k % size)).collect();
            let factor = Cholesky::new(&matrix, size, 0.5, &mut Packing::default()).unwrap();
            let x: Vec<f64> = (0..size).map(|k| (k as f64).sin()).collect();
            let mut b: Vec<f64> = (0..size)
                .map(|i| vector::dot(&matrix[i * size..][..size], &x) + 0.5 * x[i])
                .collect();
            factor.solve(&mut b);
            assert!(b.iter().zip(&x).all(|(b, x)| (b - x).abs() < 1e-12), "{size}");
        }
    }

    #[test]
    fn what_is_not_positive_has_no_factor() {
        let packing = &mut Packing::default();
        assert!(Cholesky::new(&[1.0, 2.0, 2.0, 1.0], 2, 0.0, packing).is_none());
        assert!(Cholesky::new(&[f64::NAN], 1, 0.0, packing).is_none());
    }
}
