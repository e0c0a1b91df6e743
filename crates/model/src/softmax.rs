//! Models of several scores that are linear in the features: softmax regression, and logistic
//! regression of many tags at once.

use undertone_matrix::{Mat, Packing, multiply, multiply_add, vector};
use undertone_real::Real;

use crate::clip::{clip_factor, narrow};
use crate::convex::{Constants, Convex};
use crate::dataset::Features;
use crate::loss::Loss;
use crate::objective::{Batch, Clipped, Objective, Scratch};
use crate::part::Part;
use crate::row::Row;
use crate::table::{Table, Tabled};

/// Records whose features are gathered for one product.
const BLOCK: usize = 64;

/// A loss of the scores `features^T weights + intercepts`, one for each class or tag. Parameters
/// are the weights, features by classes, and then the intercepts, if there are any.
///
/// A gradient is the outer product of the features with the derivative by the scores, so its norm
/// is the product of theirs, and a table keeps the derivative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Softmax {
    width: usize,
    classes: usize,
    intercept: bool,
    loss: Loss,
}

impl Softmax {
    /// For so many features and classes. Panics if the loss is of a single score.
    pub fn new(width: usize, classes: usize, intercept: bool, loss: Loss) -> Self {
        let several = matches!(loss, Loss::CrossEntropy | Loss::Tags);
        assert!(several, "{loss:?} is a loss of a single score");
        Self { width, classes, intercept, loss }
    }

    /// `weight`, and `bias` if there are intercepts.
    pub fn parts(&self) -> Vec<Part> {
        let bias = self.intercept.then(|| Part::new("bias", &[self.classes]));
        let weight = Part::new("weight", &[self.width, self.classes]);
        std::iter::once(weight).chain(bias).collect()
    }

    fn size(&self) -> usize {
        (self.width + usize::from(self.intercept)) * self.classes
    }

    fn with_one(&self, squared_norm: f64) -> f64 {
        squared_norm + if self.intercept { 1.0 } else { 0.0 }
    }

    fn sum<R: Real>(
        &self,
        x: &[R],
        batch: Batch<'_, R>,
        clip: f64,
        mut table: Option<&mut Table<R>>,
        scratch: &mut Scratch<R>,
        out: &mut [R],
    ) -> Clipped {
        out.fill(R::ZERO);
        let mut clipped = Clipped::default();
        self.blocks(batch, scratch, |block| {
            block.score(x);
            let target = |i| batch.target(block.first + i);
            self.loss.derivatives(block.scores, self.classes, target, block.deltas);
            for i in 0..block.count {
                let record = batch.record(block.first + i);
                let delta = &mut block.deltas[i * self.classes..][..self.classes];
                let norm = self.with_one(batch.data().squared_norms()[record]);
                self.clip(delta, norm, clip, &mut clipped);
                if let Some(table) = &mut table {
                    for (new, old) in delta.iter_mut().zip(table.entry_mut(record)) {
                        let kept = std::mem::replace(old, *new);
                        // Features that are not finite never made it into the table.
                        *new = if norm.is_finite() { *new - kept } else { R::ZERO };
                    }
                }
                if !norm.is_finite() && !block.rows.is_empty() {
                    block.rows[i * self.width..][..self.width].fill(R::ZERO);
                }
            }
            block.add(out);
        });
        clipped
    }

    /// Shortens a derivative by the scores; zero if the gradient is not finite.
    fn clip<R: Real>(&self, delta: &mut [R], norm: f64, clip: f64, clipped: &mut Clipped) {
        let allowance = 1.0 + (delta.len() as f64 + 4.0) * f64::EPSILON;
        let squared = vector::squared_norm(delta) * norm * allowance;
        match clip_factor::<R>(squared, clip, clipped) {
            Some(factor) => delta.iter_mut().for_each(|d| *d = narrow(factor, *d)),
            None => delta.fill(R::ZERO),
        }
    }

    /// Calls with one block of the batch after the other.
    fn blocks<R: Real>(
        &self,
        batch: Batch<'_, R>,
        scratch: &mut Scratch<R>,
        mut visit: impl FnMut(&mut Block<'_, R>),
    ) {
        assert_eq!(batch.data().width(), self.width, "features of a record");
        let dense = matches!(batch.data().features(), Features::Dense { .. });
        let row = if dense { self.width } else { 0 };
        let (memory, packing) = scratch.take(BLOCK.min(batch.len()) * (row + 2 * self.classes));
        for first in (0..batch.len()).step_by(BLOCK) {
            let count = BLOCK.min(batch.len() - first);
            let (rows, rest) = memory.split_at_mut(count * row);
            let (scores, rest) = rest.split_at_mut(count * self.classes);
            let deltas = &mut rest[..count * self.classes];
            if dense {
                for (i, row) in rows.chunks_exact_mut(self.width).enumerate() {
                    batch.data().write_row(batch.record(first + i), row);
                }
            }
            visit(&mut Block { model: self, batch, first, count, rows, scores, deltas, packing });
        }
    }
}

/// Some records that are worked on together.
struct Block<'a, R> {
    model: &'a Softmax,
    batch: Batch<'a, R>,
    first: usize,
    count: usize,
    /// Their features, if these are dense.
    rows: &'a mut [R],
    scores: &'a mut [R],
    /// As many as scores.
    deltas: &'a mut [R],
    packing: &'a mut Packing<R>,
}

impl<R: Real> Block<'_, R> {
    /// Writes the scores at `x`.
    fn score(&mut self, x: &[R]) {
        let (rows, out) = (&*self.rows, &mut *self.scores);
        apply(self.model, x, self.batch, self.first, rows, out, self.packing);
    }

    /// Writes what the scores would be at `x` to the deltas.
    fn score_to_deltas(&mut self, x: &[R]) {
        let (rows, out) = (&*self.rows, &mut *self.deltas);
        apply(self.model, x, self.batch, self.first, rows, out, self.packing);
    }

    /// `out += features^T deltas`, and the sum of the deltas to the intercepts.
    fn add(&mut self, out: &mut [R]) {
        let Softmax { width, classes, .. } = *self.model;
        let (weights, intercepts) = out.split_at_mut(width * classes);
        if self.rows.is_empty() {
            for (i, delta) in self.deltas.chunks_exact(classes).enumerate() {
                if delta.iter().all(|d| *d == R::ZERO) {
                    continue;
                }
                let record = self.batch.record(self.first + i);
                for (k, v) in Row::of(self.batch.data(), record).stored() {
                    vector::add_scaled(v, delta, &mut weights[k * classes..][..classes]);
                }
            }
        } else {
            let rows = Mat::new(self.rows, self.count, width);
            multiply_add(
                rows.t(),
                Mat::new(self.deltas, self.count, classes),
                weights,
                self.packing,
            );
        }
        if !intercepts.is_empty() {
            for delta in self.deltas.chunks_exact(classes) {
                intercepts.iter_mut().zip(delta).for_each(|(sum, d)| *sum += *d);
            }
        }
    }
}

/// Writes weights and intercepts applied to the records from `first` on, whose features are `rows`
/// if they are dense.
fn apply<R: Real>(
    model: &Softmax,
    x: &[R],
    batch: Batch<'_, R>,
    first: usize,
    rows: &[R],
    out: &mut [R],
    packing: &mut Packing<R>,
) {
    let Softmax { width, classes, .. } = *model;
    let (weights, intercepts) = x.split_at(width * classes);
    if rows.is_empty() {
        out.fill(R::ZERO);
        for (i, out) in out.chunks_exact_mut(classes).enumerate() {
            for (k, v) in Row::of(batch.data(), batch.record(first + i)).stored() {
                vector::add_scaled(v, &weights[k * classes..][..classes], out);
            }
        }
    } else {
        let rows = Mat::new(rows, out.len() / classes, width);
        multiply(rows, Mat::new(weights, width, classes), out, packing);
    }
    if !intercepts.is_empty() {
        for out in out.chunks_exact_mut(classes) {
            out.iter_mut().zip(intercepts).for_each(|(out, b)| *out += *b);
        }
    }
}

impl<R: Real> Objective<R> for Softmax {
    fn dimension(&self) -> usize {
        self.size()
    }

    fn loss(&self, x: &[R], batch: Batch<'_, R>, scratch: &mut Scratch<R>) -> f64 {
        let mut sum = 0.0;
        self.blocks(batch, scratch, |block| {
            block.score(x);
            for (i, scores) in block.scores.chunks_exact(self.classes).enumerate() {
                sum += self.loss.value(scores, batch.target(block.first + i));
            }
        });
        sum
    }

    fn clipped_sum(
        &self,
        x: &[R],
        batch: Batch<'_, R>,
        clip: f64,
        scratch: &mut Scratch<R>,
        out: &mut [R],
    ) -> Clipped {
        self.sum(x, batch, clip, None, scratch, out)
    }

    fn outputs(&self) -> usize {
        self.classes
    }

    fn scores(&self, x: &[R], batch: Batch<'_, R>, scratch: &mut Scratch<R>, out: &mut [R]) {
        self.blocks(batch, scratch, |block| {
            block.score(x);
            let range = block.first * self.classes..(block.first + block.count) * self.classes;
            out[range].copy_from_slice(block.scores);
        });
    }
}

impl<R: Real> Tabled<R> for Softmax {
    fn entry(&self) -> usize {
        self.classes
    }

    fn exchange(
        &self,
        x: &[R],
        batch: Batch<'_, R>,
        clip: f64,
        table: &mut Table<R>,
        scratch: &mut Scratch<R>,
        out: &mut [R],
    ) -> Clipped {
        self.sum(x, batch, clip, Some(table), scratch, out)
    }
}

impl<R: Real> Convex<R> for Softmax {
    fn constants(&self, feature_bound: f64) -> Constants {
        let squared = self.with_one(feature_bound * feature_bound);
        Constants {
            lipschitz: self.loss.lipschitz(self.classes).map(|slope| slope * squared.sqrt()),
            smoothness: self.loss.smoothness().map(|curvature| curvature * squared),
            strong_convexity: None,
        }
    }

    fn hessian_vector(
        &self,
        x: &[R],
        batch: Batch<'_, R>,
        vector: &[R],
        scratch: &mut Scratch<R>,
        out: &mut [R],
    ) {
        out.fill(R::ZERO);
        let mut along = vec![R::ZERO; self.classes];
        self.blocks(batch, scratch, |block| {
            block.score(x);
            block.score_to_deltas(vector);
            for i in 0..block.count {
                let scores = &block.scores[i * self.classes..][..self.classes];
                let delta = &mut block.deltas[i * self.classes..][..self.classes];
                along.copy_from_slice(delta);
                self.loss.curvature(scores, batch.target(block.first + i), &along, delta);
            }
            block.add(out);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Dataset;
    use crate::laws;

    fn data<R: Real>(loss: Loss, features: Features<R>, records: usize) -> Dataset<R> {
        let targets = match loss {
            Loss::CrossEntropy => laws::classes(records, 4, 5),
            _ => laws::tags(records, 4, 5),
        };
        Dataset::new(features, targets).unwrap()
    }

    fn check<R: Real>() {
        for (width, records) in [(1, 5), (7, 70), (33, 20)] {
            for (k, loss) in [Loss::CrossEntropy, Loss::Tags].into_iter().enumerate() {
                for intercept in [false, true] {
                    let model = Softmax::new(width, 4, intercept, loss);
                    let seed = (width + k) as u64;
                    let dense = laws::features(records, width, seed);
                    let sparse = laws::sparse_features(records, width, seed);
                    for features in [dense, sparse] {
                        let data = data::<R>(loss, features, records);
                        laws::check(&model, &data, seed);
                        laws::check_table(&model, &data, seed);
                    }
                }
            }
        }
    }

    /// Invariant I8 and the other laws.
    #[test]
    fn the_laws_hold_in_single_precision() {
        check::<f32>();
    }

    /// Invariant I8 and the other laws.
    #[test]
    fn the_laws_hold_in_double_precision() {
        check::<f64>();
    }

    #[test]
    fn second_derivatives_are_those_of_the_gradient() {
        let (width, n, h) = (3, 30, 1e-5);
        for loss in [Loss::CrossEntropy, Loss::Tags] {
            let model = Softmax::new(width, 4, true, loss);
            let data = data::<f64>(loss, laws::features(n, width, 8), n);
            let (batch, scratch) = (Batch::all(&data), &mut Scratch::default());
            let x = laws::point(&model, 8);
            let d = x.len();
            let mut hessian = vec![0.0; d * d];
            model.hessian(&x, batch, scratch, &mut hessian);
            for k in 0..d {
                let [mut more, mut less] = [x.clone(), x.clone()];
                more[k] += h;
                less[k] -= h;
                let [mut up, mut down] = [(); 2].map(|()| vec![0.0; d]);
                model.gradient(&more, batch, scratch, &mut up);
                model.gradient(&less, batch, scratch, &mut down);
                for j in 0..d {
                    let bend = (up[j] - down[j]) / (2.0 * h);
                    assert!((bend - hessian[k * d + j]).abs() < 1e-7, "{loss:?}");
                    assert!((hessian[j * d + k] - hessian[k * d + j]).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn two_classes_are_a_logistic_regression() {
        let n = 20;
        let signs = laws::signs::<f64>(n, 5);
        let crate::dataset::Targets::Sign(values) = &signs else { unreachable!() };
        let of = values.iter().map(|y| u32::from(*y > 0.0)).collect();
        let classes = crate::dataset::Targets::Class { classes: 2, of };
        let two = Dataset::new(laws::features(n, 3, 1), classes).unwrap();
        let one = Dataset::new(laws::features(n, 3, 1), signs).unwrap();
        let scratch = &mut Scratch::default();
        let logistic = crate::linear::Linear::new(3, false, Loss::Logistic);
        let softmax = Softmax::new(3, 2, false, Loss::CrossEntropy);
        let a = logistic.loss(&[1.0, -0.4, 0.3], Batch::all(&one), scratch);
        let b = softmax.loss(&[0.5, 1.5, 0.2, -0.2, 0.0, 0.3], Batch::all(&two), scratch);
        assert!((a - b).abs() < 1e-12);
    }
}
