//! Minima of sums of losses plus a quadratic, with a certificate of how good they are.

mod cholesky;
mod dense;
mod descent;
mod kernel;
mod rows;
mod sparse;

use undertone_matrix::vector;

use crate::dataset::Dataset;
use crate::linear::Linear;
use descent::Curvature;
use kernel::Curve;
use rows::Rows;

/// Minimises `weight * sum of losses(x) + quadratic/2 |x|^2 + <linear, x>` over the records of one
/// node, again and again with other public terms.
///
/// Newton's method with a factor of the second derivatives that is kept from solve to solve (chord
/// steps) until it has cost more than a new one, and corrected by the differences of gradients that
/// were seen meanwhile (limited-memory BFGS); beyond [`Solver::FACTORED`] parameters without a
/// factor. It starts where it ended last time, and the gradient there follows from the last one
/// without a look at the data.
///
/// # Guarantee
///
/// A point comes with an upper bound of the norm of the gradient there, in real arithmetic: the
/// computed norm plus all roundings (sums of 256 records, which are added with compensation). If
/// that is not within the tolerance there is an error and no point: with heavy weights a hinge is
/// sometimes too steep for the evaluations that are allowed. Bits do not depend on the machine.
///
/// # References
///
/// Nocedal and Wright 2006, algorithms 3.1 and 7.4; Higham 2002, sections 3.1 and 4.3, for the
/// bounds on roundings; theory B10 for the contract.
pub struct Solver {
    rows: Rows,
    curve: Curve,
    weight: f64,
    curvature: Curvature,
    /// What is known where the last minimum was.
    last: Option<Evaluation>,
    /// Evaluations that newer second derivatives would have saved, about.
    wasted: u32,
    work: Work,
}

/// What bounds the gradient of every record; the solver makes sure of both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordBounds {
    /// Features are shortened to this norm.
    pub features: f64,
    /// Losses of numbers have at most this derivative: beyond it squares go on as straight lines
    /// (Huber's loss). Infinite for plain squares. Losses of signs have at most one anyway.
    pub slope: f64,
}

/// The public part of a problem.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// Times half of `|x|^2`; positive.
    pub quadratic: f64,
    /// Times `x`.
    pub linear: &'a [f64],
}

/// A point that is almost a minimum.
#[derive(Clone, Debug, PartialEq)]
pub struct Minimum {
    /// Where.
    pub point: Vec<f64>,
    /// The gradient there is at most so long.
    pub gradient: f64,
    /// How often the data was looked at.
    pub evaluations: u32,
}

/// Why there is no point.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SolveError {
    /// Without it there may be no minimum.
    #[error("the quadratic term must be positive and finite, got {0}")]
    Quadratic(f64),
    /// Too strict for the numbers, or too far away.
    #[error(
        "the gradient of a local problem is certified below {reached:e} only, not {tolerance:e}; \
         raise the tolerance"
    )]
    Tolerance {
        /// What was asked for.
        tolerance: f64,
        /// The best certificate.
        reached: f64,
    },
}

/// The derivative of the data's part at a point, and what bounds its roundings.
#[derive(Clone)]
struct Evaluation {
    x: Vec<f64>,
    gradient: Vec<f64>,
    /// Of the absolute derivatives of all records.
    slopes: f64,
}

/// Memory.
#[derive(Default)]
struct Work {
    margins: Vec<f64>,
    packing: undertone_matrix::Packing<f64>,
}

/// Evaluations before giving up.
const MOST_EVALUATIONS: u32 = 300;

impl Solver {
    /// Up to so many parameters the second derivatives are factored.
    pub const FACTORED: usize = 3000;

    /// For the records of one node, whose losses are weighted. Panics if the targets are not those
    /// of the model.
    pub fn new(model: &Linear, data: &Dataset<f64>, bounds: RecordBounds, weight: f64) -> Self {
        let rows = Rows::new(model, data, bounds.features);
        let curve = Curve::new(model.loss_function(), bounds.slope);
        let curvature = Curvature::new(rows.dimension());
        Self { rows, curve, weight, curvature, last: None, wasted: 0, work: Work::default() }
    }

    /// How many parameters there are.
    pub fn dimension(&self) -> usize {
        self.rows.dimension()
    }

    /// How many records there are.
    pub fn records(&self) -> usize {
        self.rows.records()
    }

    /// A point with a gradient of norm at most `tolerance`.
    pub fn minimise(&mut self, terms: &Terms<'_>, tolerance: f64) -> Result<Minimum, SolveError> {
        if !(terms.quadratic > 0.0 && terms.quadratic.is_finite()) {
            return Err(SolveError::Quadratic(terms.quadratic));
        }
        let mut evaluations = 0;
        let mut here = match self.last.take() {
            Some(last) => last,
            None => {
                evaluations += 1;
                self.evaluate(vec![0.0; self.dimension()])
            }
        };
        let mut best = self.certify(&here, terms);
        let mut disappointments = 0;
        while best > tolerance && evaluations < MOST_EVALUATIONS {
            let gradient = total(&here, terms);
            let stale = evaluations == 0 && self.wasted > self.rows.hessian_cost();
            if self.curvature.is_missing() || disappointments > 1 || stale {
                self.renew_curvature();
                (disappointments, self.wasted) = (0, 0);
            }
            let quadratic = terms.quadratic;
            let step = self.curvature.newton_step(&gradient, quadratic, &mut self.work.packing);
            let before = vector::dot(&gradient, &step);
            let mut length = 1.0;
            let next = loop {
                let x = here.x.iter().zip(&step).map(|(x, p)| x + length * p).collect();
                evaluations += 1;
                let next = self.evaluate(x);
                let after = vector::dot(&total(&next, terms), &step);
                // The slope along the step rises; far beyond its zero the step was too long.
                if after <= 0.5 * before.abs() || evaluations >= MOST_EVALUATIONS {
                    break next;
                }
                length *= (before.abs() / (before.abs() + after)).clamp(0.05, 0.7);
            };
            self.curvature.learn(&here.x, &here.gradient, &next.x, &next.gradient);
            let bound = self.certify(&next, terms);
            disappointments = if bound > 0.2 * best { disappointments + 1 } else { 0 };
            // A gradient may grow on the way to a minimum, so only what is no number ends the way.
            if !bound.is_finite() {
                break;
            }
            (here, best) = (next, bound);
        }
        // With exact second derivatives two are enough, nearby.
        self.wasted += evaluations.saturating_sub(2);
        let point = here.x.clone();
        self.last = Some(here);
        if best <= tolerance {
            return Ok(Minimum { point, gradient: best, evaluations });
        }
        Err(SolveError::Tolerance { tolerance, reached: best })
    }

    /// The mean of the losses, each cut to `[0, limit]`, at one point less that at another.
    pub fn improvement(&self, from: &[f64], to: &[f64], limit: f64) -> f64 {
        let cut = |x: &[f64]| -> f64 {
            let loss = |n| self.rows.loss(n, x, &self.curve).clamp(0.0, limit);
            (0..self.records()).map(loss).sum()
        };
        (cut(from) - cut(to)) / self.records().max(1) as f64
    }

    /// The weighted sum of the losses.
    pub fn loss(&self, x: &[f64]) -> f64 {
        let sum: f64 = (0..self.records()).map(|n| self.rows.loss(n, x, &self.curve)).sum();
        self.weight * sum
    }

    fn evaluate(&mut self, x: Vec<f64>) -> Evaluation {
        let mut gradient = vec![0.0; x.len()];
        let margins = &mut self.work.margins;
        let slopes = self.rows.gradient(&x, &self.curve, margins, &mut gradient);
        gradient.iter_mut().for_each(|g| *g *= self.weight);
        Evaluation { x, gradient, slopes }
    }

    fn renew_curvature(&mut self) {
        let Work { margins, packing } = &mut self.work;
        let (rows, curve, weight) = (&self.rows, &self.curve, self.weight);
        self.curvature.renew(|out| rows.hessian(curve, weight, margins, packing, out));
    }

    /// At least the norm of the gradient.
    fn certify(&self, at: &Evaluation, terms: &Terms<'_>) -> f64 {
        const UNIT: f64 = f64::EPSILON / 2.0;
        let norm = |v: &[f64]| vector::squared_norm(v).sqrt() * (1.0 + 1e-9);
        let length = self.rows.longest();
        let (d, n) = (at.x.len() as f64, self.records() as f64);
        // A score is a chain of products in sixteen parts and a tree of four; sparse ones are one
        // chain.
        let score = (self.rows.chain() as f64 + 8.0) * UNIT * length * norm(&at.x);
        let slope = self.curve.smoothness() * score;
        // Derivatives are right to sixteen units; 256 records are a chain of products and sums.
        let data = self.weight * length * (n * slope + (512.0 + 24.0) * UNIT * at.slopes);
        let public = terms.quadratic * norm(&at.x) + norm(terms.linear) + norm(&at.gradient);
        let gradient = total(at, terms);
        let rounded = (1.01 * data + 5.0 * UNIT * public).max(f64::MIN_POSITIVE);
        norm(&gradient) * (1.0 + (d + 8.0) * UNIT) + rounded
    }
}

/// The gradient of the whole problem.
fn total(at: &Evaluation, terms: &Terms<'_>) -> Vec<f64> {
    let parts = at.gradient.iter().zip(&at.x).zip(terms.linear);
    parts.map(|((g, x), l)| g + terms.quadratic * x + l).collect()
}

#[cfg(test)]
mod tests;
