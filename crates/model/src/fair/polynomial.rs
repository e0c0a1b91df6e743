//! Quadratic objectives with a penalty, and their minimisers.

use super::eigen;

/// `linear . w + w' quadratic w`, and a covariance to be made small: means over records.
#[derive(Clone, Debug, PartialEq)]
pub struct Polynomial {
    /// `a`.
    pub linear: Vec<f64>,
    /// `M`, row by row; symmetric, not necessarily positive.
    pub quadratic: Vec<f64>,
    /// `g`, if it is known apart.
    pub covariance: Option<Vec<f64>>,
}

impl Polynomial {
    /// The minimiser of `a.w + w'(M+ + ridge)w + alpha |g.w - tau|`, where `M+` is `M` with
    /// eigenvalues below zero made zero. Where the curvature is zero, the weight is too.
    ///
    /// Exact: with `H = M+ + ridge` it is `-1/2 H^-1 (a + s alpha g)` for the `s` in `[-1, 1]`
    /// that is the sign of `g.w - tau`, or makes it zero.
    ///
    /// # References
    ///
    /// Theory 4.3; Zafar and others 2017 for the covariance.
    pub fn minimiser(&self, alpha: f64, tau: f64, ridge: f64) -> Vec<f64> {
        let d = self.linear.len();
        let (values, vectors) = eigen::symmetric(self.quadratic.clone(), d);
        let greatest = values.iter().copied().fold(0.0, f64::max);
        let least = 1e-12 * greatest;
        let half_inverse = |of: &[f64]| {
            let mut out = vec![0.0; d];
            for (value, vector) in values.iter().zip(vectors.chunks_exact(d)) {
                let curvature = value.max(0.0) + ridge;
                if curvature > least {
                    let share = dot(vector, of) / (2.0 * curvature);
                    out.iter_mut().zip(vector).for_each(|(out, v)| *out += share * v);
                }
            }
            out
        };
        let mut w = half_inverse(&self.linear);
        w.iter_mut().for_each(|w| *w = -*w);
        let Some(g) = self.covariance.as_ref().filter(|_| alpha > 0.0) else { return w };
        let along = half_inverse(g);
        let (off, reach) = (dot(g, &w) - tau, alpha * dot(g, &along));
        let share = if reach > 0.0 { (off / reach).clamp(-1.0, 1.0) } else { 0.0 };
        w.iter_mut().zip(&along).for_each(|(w, along)| *w -= share * alpha * along);
        w
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: &[f64], expected: &[f64]) {
        let close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-10);
        assert!(close && found.len() == expected.len(), "{found:?} {expected:?}");
    }

    /// Theory 4.1 and 4.4.
    fn vector() -> Polynomial {
        Polynomial {
            linear: vec![0.35, -0.2],
            quadratic: vec![0.18125, 0.075, 0.075, 0.1],
            covariance: Some(vec![-1.1 / 3.0, 0.4]),
        }
    }

    #[test]
    fn theory_4_1_minimiser() {
        near(&vector().minimiser(0.0, 0.0, 0.1), &[-0.839_506_172_84, 0.814_814_814_815]);
    }

    #[test]
    fn the_penalised_minimiser_beats_every_neighbour() {
        let p = vector();
        let value = |w: &[f64], alpha: f64, tau: f64| {
            let g = p.covariance.as_ref().unwrap();
            let curved: f64 = (0..4).map(|k| p.quadratic[k] * w[k / 2] * w[k % 2]).sum();
            let ridge = 0.1 * dot(w, w);
            dot(&p.linear, w) + curved + ridge + alpha * (dot(g, w) - tau).abs()
        };
        // Weak: it does not reach zero. Strong: it does, or reaches tau.
        for (alpha, tau) in [(0.1, 0.0), (1.0, 0.0), (10.0, 0.0), (10.0, -0.3), (0.2, 2.0)] {
            let w = p.minimiser(alpha, tau, 0.1);
            let best = value(&w, alpha, tau);
            for k in 0..64 {
                let angle = f64::from(k) / 64.0 * std::f64::consts::TAU;
                let other = [w[0] + 1e-4 * angle.cos(), w[1] + 1e-4 * angle.sin()];
                assert!(value(&other, alpha, tau) >= best - 1e-15, "{alpha} {tau} {angle}");
            }
            if alpha == 10.0 {
                assert!((dot(p.covariance.as_ref().unwrap(), &w) - tau).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_is_repaired() {
        let p = Polynomial {
            linear: vec![1.0, 1.0],
            quadratic: vec![2.0, 0.0, 0.0, -3.0],
            covariance: None,
        };
        near(&p.minimiser(0.0, 0.0, 0.5), &[-0.2, -1.0]);
        // Without a ridge there is no minimum along the second direction, so it is left alone.
        near(&p.minimiser(0.0, 0.0, 0.0), &[-0.25, 0.0]);
    }
}
