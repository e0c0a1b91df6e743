//! All eigenvalues of a small matrix that has zeros below the first subdiagonal.
//!
//! # References
//! J. Francis, "The QR transformation", 1961: rotations from the left and, turned around, from the
//! right, shifted by what the last two rows suggest (J. Wilkinson), until a row comes loose.

use super::complex::Complex;

/// The eigenvalues of the square matrix with rows `matrix`; none if the iteration does not end.
pub(super) fn eigenvalues(matrix: &[Vec<f64>]) -> Option<Vec<Complex>> {
    let real = |row: &Vec<f64>| row.iter().map(|&v| Complex::real(v)).collect();
    let mut h: Vec<Vec<Complex>> = matrix.iter().map(real).collect();
    let size = h.iter().flatten().map(|v| v.modulus()).fold(0.0, f64::max);
    let mut found = Vec::with_capacity(h.len());
    let mut end = h.len();
    let mut n_turns = 0;
    while end > 0 {
        let last = end - 1;
        let start = loose_above(&mut h, last, size);
        if start == last {
            found.push(h[last][last]);
            end -= 1;
            n_turns = 0;
            continue;
        }
        n_turns += 1;
        if n_turns > MAX_TURNS {
            return None;
        }
        let mut shift = wilkinson(&h, last);
        if n_turns % 10 == 0 {
            // A matrix can be its own turn; any other shift breaks the circle.
            shift = shift + Complex::real(h[last][last - 1].modulus());
        }
        turn(&mut h, start, last, shift);
    }
    Some(found)
}

const MAX_TURNS: u32 = 300;

/// The first row of the block that ends with `last`, and is connected to nothing above.
fn loose_above(h: &mut [Vec<Complex>], last: usize, size: f64) -> usize {
    for i in (1..=last).rev() {
        let around = h[i][i].modulus() + h[i - 1][i - 1].modulus();
        let around = if around == 0.0 { size } else { around };
        if h[i][i - 1].modulus() <= f64::EPSILON * around {
            h[i][i - 1] = Complex::ZERO;
            return i;
        }
    }
    0
}

/// The eigenvalue of the last two rows that is nearer to the corner.
fn wilkinson(h: &[Vec<Complex>], last: usize) -> Complex {
    let (a, d) = (h[last - 1][last - 1], h[last][last]);
    let half = (a - d).scaled(0.5);
    let root = (half * half + h[last - 1][last] * h[last][last - 1]).sqrt();
    let (plus, minus) = (half + root, half - root);
    d + if plus.modulus() < minus.modulus() { plus } else { minus }
}

/// One step on the rows and columns from `start` to `last`, which nothing else touches.
fn turn(h: &mut [Vec<Complex>], start: usize, last: usize, shift: Complex) {
    (start..=last).for_each(|i| h[i][i] = h[i][i] - shift);
    let mut rotations = Vec::with_capacity(last - start);
    for k in start..last {
        let (a, b) = (h[k][k], h[k + 1][k]);
        let length = a.modulus().hypot(b.modulus());
        let (c, s) = if length == 0.0 {
            (Complex::real(1.0), Complex::ZERO)
        } else {
            (a.scaled(1.0 / length), b.scaled(1.0 / length))
        };
        let (upper, lower) = h.split_at_mut(k + 1);
        for (x, y) in upper[k][k..=last].iter_mut().zip(&mut lower[0][k..=last]) {
            (*x, *y) = (c.conjugate() * *x + s.conjugate() * *y, c * *y - s * *x);
        }
        rotations.push((c, s));
    }
    for (k, (c, s)) in (start..last).zip(rotations) {
        for row in &mut h[start..=k + 1] {
            let (x, y) = (row[k], row[k + 1]);
            (row[k], row[k + 1]) = (c * x + s * y, c.conjugate() * y - s.conjugate() * x);
        }
    }
    (start..=last).for_each(|i| h[i][i] = h[i][i] + shift);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_of_known_polynomials_are_found() {
        // The companion of (x - 1)(x - 2)(x^2 + 1) = x^4 - 3x^3 + 3x^2 - 3x + 2.
        let companion = [
            vec![3.0, -3.0, 3.0, -2.0],
            vec![1.0, 0.0, 0.0, 0.0],
            vec![0.0, 1.0, 0.0, 0.0],
            vec![0.0, 0.0, 1.0, 0.0],
        ];
        let found = eigenvalues(&companion).unwrap();
        assert_eq!(found.len(), 4);
        for (re, im) in [(0.0, -1.0), (0.0, 1.0), (1.0, 0.0), (2.0, 0.0)] {
            let root = Complex { re, im };
            assert!(found.iter().any(|&v| (v - root).modulus() < 1e-12), "{root:?}: {found:?}");
        }
        assert_eq!(eigenvalues(&[vec![7.0]]), Some(vec![Complex::real(7.0)]));
        assert_eq!(eigenvalues(&[]), Some(vec![]));
    }

    #[test]
    fn a_shift_of_a_circle_has_the_roots_of_one() {
        // A permutation is its own unshifted turn: only the exceptional shift ends this.
        let n = 30;
        let cycle: Vec<Vec<f64>> = (0..n)
            .map(|i| (0..n).map(|j| f64::from(u8::from(i == (j + 1) % n))).collect())
            .collect();
        let found = eigenvalues(&cycle).unwrap();
        assert_eq!(found.len(), n);
        let mut angles: Vec<f64> = found.iter().map(|v| v.im.atan2(v.re)).collect();
        angles.sort_by(f64::total_cmp);
        for (pair, value) in angles.windows(2).zip(&found) {
            assert!((pair[1] - pair[0] - std::f64::consts::TAU / n as f64).abs() < 1e-10);
            assert!((value.modulus() - 1.0).abs() < 1e-12);
        }
    }
}
