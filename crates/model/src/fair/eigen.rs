//! Eigenvalues of symmetric matrices.

/// Eigenvalues, and eigenvectors one after the other, of a symmetric matrix given row by row. By
/// rotations after Jacobi, in a fixed order, so that the same matrix gives the same bits.
pub(super) fn symmetric(mut matrix: Vec<f64>, n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut vectors = vec![0.0; n * n];
    (0..n).for_each(|k| vectors[k * n + k] = 1.0);
    for _ in 0..SWEEPS {
        let mut off = 0.0;
        for p in 0..n {
            for q in p + 1..n {
                off += matrix[p * n + q].powi(2);
                rotate(&mut matrix, &mut vectors, n, p, q);
            }
        }
        let size: f64 = (0..n).map(|k| matrix[k * n + k].powi(2)).sum();
        if off <= 1e-30 * size {
            break;
        }
    }
    ((0..n).map(|k| matrix[k * n + k]).collect(), vectors)
}

/// It converges quadratically; this many were never needed.
const SWEEPS: usize = 40;

/// Makes the entry at `(p, q)` zero.
fn rotate(matrix: &mut [f64], vectors: &mut [f64], n: usize, p: usize, q: usize) {
    let entry = matrix[p * n + q];
    if entry == 0.0 {
        return;
    }
    let theta = (matrix[q * n + q] - matrix[p * n + p]) / (2.0 * entry);
    let tangent = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
    let sine = tangent * cosine;
    for k in 0..n {
        let (a, b) = (matrix[k * n + p], matrix[k * n + q]);
        matrix[k * n + p] = cosine * a - sine * b;
        matrix[k * n + q] = sine * a + cosine * b;
    }
    for rows in [matrix, vectors] {
        for k in 0..n {
            let (a, b) = (rows[p * n + k], rows[q * n + k]);
            rows[p * n + k] = cosine * a - sine * b;
            rows[q * n + k] = sine * a + cosine * b;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_is_put_together_again() {
        let n = 7;
        // Any symmetric matrix with eigenvalues of both signs, one of them double.
        let entry = |i: usize, j: usize| ((i * j + i + j) % 5) as f64 - 2.0;
        let matrix: Vec<f64> = (0..n * n).map(|k| entry(k / n, k % n)).collect();
        let (values, vectors) = symmetric(matrix.clone(), n);
        let trace: f64 = (0..n).map(|k| matrix[k * n + k]).sum();
        assert!((values.iter().sum::<f64>() - trace).abs() < 1e-12);
        for i in 0..n {
            for j in 0..n {
                let sum = |weight: &dyn Fn(usize) -> f64| -> f64 {
                    (0..n).map(|k| weight(k) * vectors[k * n + i] * vectors[k * n + j]).sum()
                };
                assert!((sum(&|k| values[k]) - matrix[i * n + j]).abs() < 1e-12, "{i} {j}");
                let unit = f64::from(u8::from(i == j));
                assert!((sum(&|_| 1.0) - unit).abs() < 1e-12, "{i} {j}");
            }
        }
        assert_eq!(symmetric(vec![3.0, 0.0, 0.0, -1.0], 2).0, [3.0, -1.0]);
    }
}
