//! Quadratic objectives with a penalty, and their minimisers.

use undertone_real::Real;

use super::eigen;
use crate::dataset::{Dataset, Target};
use crate::row::Row;

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

/// Logistic regression itself, without privacy: the minimiser of the mean loss and
/// `ridge |w|^2`, by Newton's steps. Panics if records have no signs.
pub fn logistic_regression<R: Real>(data: &Dataset<R>, ridge: f64) -> Vec<f64> {
    let (d, n) = (data.width(), data.records().max(1) as f64);
    let mut w = vec![0.0; d];
    for _ in 0..STEPS {
        let mut gradient: Vec<f64> = w.iter().map(|w| 2.0 * ridge * w).collect();
        let mut curvature = vec![0.0; d * d];
        for record in 0..data.records() {
            let Target::Sign(sign) = data.target(record) else { panic!("labels are signs") };
            let row: Vec<(usize, f64)> = Row::of(data, record)
                .stored()
                .map(|(k, v)| (k, v.to_f64()))
                .filter(|(_, v)| *v != 0.0)
                .collect();
            let score: f64 = row.iter().map(|(k, v)| w[*k] * v).sum();
            let chance = 1.0 / (1.0 + libm::exp(-score));
            let y = if sign > R::ZERO { 1.0 } else { 0.0 };
            for (i, u) in &row {
                gradient[*i] += (chance - y) * u / n;
                for (j, v) in &row {
                    // The minimiser below is of w'Mw, whose second derivative is twice M.
                    curvature[i * d + j] += 0.5 * chance * (1.0 - chance) * u * v / n;
                }
            }
        }
        let length = dot(&gradient, &gradient).sqrt();
        let step = Polynomial { linear: gradient, quadratic: curvature, covariance: None };
        let step = step.minimiser(0.0, 0.0, ridge);
        w.iter_mut().zip(&step).for_each(|(w, step)| *w += step);
        if length < 1e-9 {
            break;
        }
    }
    w
}

/// Newton's method needs fewer than ten here.
const STEPS: usize = 30;

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::census;

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

    #[test]
    fn logistic_regression_ends_where_the_gradient_is_zero() {
        let data = census::<f64>(3, 2000, 1.0);
        let w = logistic_regression(&data, 1e-3);
        let mut gradient: Vec<f64> = w.iter().map(|w| 2e-3 * w).collect();
        for record in 0..data.records() {
            let row = data.dense_row(record).unwrap();
            let Target::Sign(sign) = data.target(record) else { unreachable!() };
            let slope = -sign / (1.0 + (sign * dot(row, &w)).exp()) / 2000.0;
            gradient.iter_mut().zip(row).for_each(|(g, x)| *g += slope * x);
        }
        assert!(dot(&gradient, &gradient).sqrt() < 1e-9);
    }
}
