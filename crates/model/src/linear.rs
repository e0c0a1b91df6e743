//! Models of one score that is linear in the features: regression, logistic regression, and
//! support vector machines.

mod kernel;

use undertone_matrix::{Mat, multiply_add};
use undertone_real::Real;

use crate::clip::{clip_factor, narrow};
use crate::convex::{Constants, Convex};
use crate::dataset::{Features, Targets};
use crate::loss::Loss;
use crate::objective::{At, Batch, Clipped, Objective, Scratch, one_by_one};
use crate::part::Part;
use crate::row::Row;
use crate::table::{Table, Tabled};

/// A loss of the score `<weights, features> + intercept`. Parameters are the weights and then the
/// intercept, if there is one.
///
/// A gradient is a number, the coefficient, times the features and one; that is what is clipped,
/// and what a table keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear {
    width: usize,
    intercept: bool,
    loss: Loss,
}

impl Linear {
    /// For so many features. Panics if the loss is not of a single score.
    pub fn new(width: usize, intercept: bool, loss: Loss) -> Self {
        let single = matches!(loss, Loss::Squared | Loss::Logistic | Loss::SmoothedHinge { .. });
        assert!(single, "{loss:?} is a loss of several scores");
        Self { width, intercept, loss }
    }

    /// `weight`, and `bias` if there is an intercept.
    pub fn parts(&self) -> Vec<Part> {
        let bias = self.intercept.then(|| Part::new("bias", &[1]));
        std::iter::once(Part::new("weight", &[self.width])).chain(bias).collect()
    }

    /// The loss.
    pub fn loss_function(&self) -> Loss {
        self.loss
    }

    /// How many features a record has.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Whether a constant is learned as well.
    pub fn has_intercept(&self) -> bool {
        self.intercept
    }

    /// Whether it predicts signs, not numbers.
    pub fn signs(&self) -> bool {
        self.loss != Loss::Squared
    }

    fn offset<R: Real>(&self, x: &[R]) -> f64 {
        if self.intercept { x[self.width].to_f64() } else { 0.0 }
    }

    /// What a record's features and the one beside them have as squared norm.
    #[inline(always)]
    fn with_one(&self, squared_norm: f64) -> f64 {
        squared_norm + if self.intercept { 1.0 } else { 0.0 }
    }

    fn sum<R: Real>(
        &self,
        x: &[R],
        batch: Batch<'_, R>,
        clip: f64,
        table: Option<&mut Table<R>>,
        out: &mut [R],
    ) -> Clipped {
        assert_eq!((x.len(), out.len()), (self.size(), self.size()), "numbers of parameters");
        assert_eq!(batch.data().width(), self.width, "features of a record");
        out.fill(R::ZERO);
        if batch.is_empty() {
            return Clipped::default();
        }
        let targets = self.targets(batch);
        match batch.data().features() {
            Features::Dense { values, .. } => {
                kernel::sum(self, x, batch, values, targets, clip, table, out)
            }
            Features::Sparse { .. } => self.sparse_sum(x, batch, clip, table, out),
        }
    }

    fn sparse_sum<R: Real>(
        &self,
        x: &[R],
        batch: Batch<'_, R>,
        clip: f64,
        mut table: Option<&mut Table<R>>,
        out: &mut [R],
    ) -> Clipped {
        let mut clipped = Clipped::default();
        for record in batch.iter() {
            let row = Row::of(batch.data(), record);
            let score = row.dot(x) + self.offset(x);
            let slope = R::from_f64(self.loss.scalar(score, batch.data().target(record)).1);
            let norm = self.with_one(batch.data().squared_norms()[record]);
            let c = coefficient(slope, norm, clip, &mut clipped);
            let c = exchange_entry(c, norm, record, table.as_deref_mut());
            if c != R::ZERO {
                row.add_scaled(c, out);
                if self.intercept {
                    out[self.width] += c;
                }
            }
        }
        clipped
    }

    fn size(&self) -> usize {
        self.width + usize::from(self.intercept)
    }

    /// Whether a sum is that of a single record whose numbers all are there.
    fn is_of_one<R: Real>(&self, at: &At<'_, R>) -> bool {
        let data = at.batch.data();
        let dense =
            matches!(data.features(), Features::Dense { width, .. } if *width == self.width);
        at.batch.len() == 1 && dense && at.point.len() == self.size()
    }

    /// What its loss predicts.
    fn targets<'a, R: Real>(&self, batch: Batch<'a, R>) -> &'a [R] {
        match (self.loss, batch.data().targets()) {
            (Loss::Squared, Targets::Real(targets)) => targets,
            (Loss::Logistic | Loss::SmoothedHinge { .. }, Targets::Sign(targets)) => targets,
            _ => panic!("a {:?} loss is not for targets of this kind", self.loss),
        }
    }
}

/// The clipped coefficient of a gradient, given an upper bound of the squared norm of the features
/// and the one beside them; zero if it is not finite.
#[inline(always)]
fn coefficient<R: Real>(slope: R, norm: f64, clip: f64, clipped: &mut Clipped) -> R {
    let squared = slope.to_f64() * slope.to_f64() * norm;
    clip_factor::<R>(squared, clip, clipped).map_or(R::ZERO, |factor| narrow(factor, slope))
}

/// The coefficient less the one in the table, which takes the new one.
#[inline(always)]
fn exchange_entry<R: Real>(c: R, norm: f64, record: usize, table: Option<&mut Table<R>>) -> R {
    let Some(table) = table else { return c };
    let old = std::mem::replace(&mut table.entry_mut(record)[0], c);
    // Features that are not finite never made it into the table.
    if norm.is_finite() { c - old } else { R::ZERO }
}

impl<R: Real> Objective<R> for Linear {
    fn dimension(&self) -> usize {
        self.size()
    }

    fn loss(&self, x: &[R], batch: Batch<'_, R>, _: &mut Scratch<R>) -> f64 {
        let offset = self.offset(x);
        let value = |record| {
            let score = Row::of(batch.data(), record).dot(x) + offset;
            self.loss.scalar(score, batch.data().target(record)).0
        };
        batch.iter().map(value).sum()
    }

    fn clipped_sum(
        &self,
        x: &[R],
        batch: Batch<'_, R>,
        clip: f64,
        _: &mut Scratch<R>,
        out: &mut [R],
    ) -> Clipped {
        self.sum(x, batch, clip, None, out)
    }

    fn clipped_sums(
        &self,
        of: &mut [At<'_, R>],
        clip: f64,
        scratch: &mut Scratch<R>,
        spare: &mut Vec<R>,
    ) {
        for of in of.chunks_mut(kernel::BLOCK) {
            if of.iter().all(|at| self.is_of_one(at)) {
                kernel::sums(self, of, clip);
            } else {
                one_by_one(self, of, clip, scratch, spare);
            }
        }
    }

    fn outputs(&self) -> usize {
        1
    }

    fn scores(&self, x: &[R], batch: Batch<'_, R>, _: &mut Scratch<R>, out: &mut [R]) {
        let offset = self.offset(x);
        for (record, out) in batch.iter().zip(out) {
            *out = R::from_f64(Row::of(batch.data(), record).dot(x) + offset);
        }
    }
}

impl<R: Real> Tabled<R> for Linear {
    fn entry(&self) -> usize {
        1
    }

    fn exchange(
        &self,
        x: &[R],
        batch: Batch<'_, R>,
        clip: f64,
        table: &mut Table<R>,
        _: &mut Scratch<R>,
        out: &mut [R],
    ) -> Clipped {
        self.sum(x, batch, clip, Some(table), out)
    }
}

impl<R: Real> Convex<R> for Linear {
    fn constants(&self, feature_bound: f64) -> Constants {
        let squared = self.with_one(feature_bound * feature_bound);
        Constants {
            lipschitz: self.loss.lipschitz(1).map(|slope| slope * squared.sqrt()),
            smoothness: self.loss.smoothness().map(|curvature| curvature * squared),
            strong_convexity: None,
        }
    }

    fn hessian(&self, x: &[R], batch: Batch<'_, R>, scratch: &mut Scratch<R>, out: &mut [R]) {
        const BLOCK: usize = 64;
        let d = self.size();
        out.fill(R::ZERO);
        let offset = self.offset(x);
        let records: Vec<usize> = batch.iter().collect();
        let (memory, packing) = scratch.take(2 * BLOCK * d);
        let (rows, scaled) = memory.split_at_mut(BLOCK * d);
        for block in records.chunks(BLOCK) {
            for ((record, row), scaled) in
                block.iter().zip(rows.chunks_exact_mut(d)).zip(scaled.chunks_exact_mut(d))
            {
                batch.data().write_row(*record, &mut row[..self.width]);
                if self.intercept {
                    row[self.width] = R::ONE;
                }
                let score = Row::of(batch.data(), *record).dot(x) + offset;
                let bend = R::from_f64(self.loss.scalar(score, batch.data().target(*record)).2);
                scaled.iter_mut().zip(&*row).for_each(|(scaled, v)| *scaled = bend * *v);
            }
            let size = block.len() * d;
            let a = Mat::new(&rows[..size], block.len(), d);
            multiply_add(a.t(), Mat::new(&scaled[..size], block.len(), d), out, packing);
        }
    }

    fn hessian_vector(
        &self,
        x: &[R],
        batch: Batch<'_, R>,
        vector: &[R],
        _: &mut Scratch<R>,
        out: &mut [R],
    ) {
        out.fill(R::ZERO);
        let (offset, along) = (self.offset(x), self.offset(vector));
        for record in batch.iter() {
            let row = Row::of(batch.data(), record);
            let bend = self.loss.scalar(row.dot(x) + offset, batch.data().target(record)).2;
            let c = R::from_f64(bend * (row.dot(vector) + along));
            row.add_scaled(c, out);
            if self.intercept {
                out[self.width] += c;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Dataset;
    use crate::laws;

    const LOSSES: [Loss; 3] = [Loss::Squared, Loss::Logistic, Loss::SmoothedHinge { width: 0.5 }];

    fn data<R: Real>(loss: Loss, features: Features<R>, records: usize) -> Dataset<R> {
        let targets = match loss {
            Loss::Squared => laws::numbers(records, 5),
            _ => laws::signs(records, 5),
        };
        Dataset::new(features, targets).unwrap()
    }

    fn check<R: Real>() {
        for (width, records) in [(1, 5), (5, 40), (16, 17), (33, 50), (105, 33)] {
            for (k, loss) in LOSSES.into_iter().enumerate() {
                let model = Linear::new(width, k > 0, loss);
                let seed = (width + k) as u64;
                let dense = data::<R>(loss, laws::features(records, width, seed), records);
                let sparse = data::<R>(loss, laws::sparse_features(records, width, seed), records);
                for data in [dense, sparse] {
                    laws::check(&model, &data, seed);
                    laws::check_table(&model, &data, seed);
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
    fn a_sum_is_that_of_its_records_in_their_order() {
        let (model, n) = (Linear::new(37, true, Loss::Logistic), 23);
        let mut features = laws::features(n, 37, 4);
        // Two records that ask for double precision do not change what the others give.
        if let Features::Dense { values, .. } = &mut features {
            values[3 * 37..4 * 37].iter_mut().for_each(|v| *v *= 1e25);
            values[9 * 37..10 * 37].iter_mut().for_each(|v| *v *= 1e-20);
        }
        let data = data::<f32>(Loss::Logistic, features, n);
        let x = laws::point(&model, 4);
        let scratch = &mut Scratch::default();
        let (mut one, mut sum, mut all) = ([0.0; 38], [0.0; 38], [0.0; 38]);
        for record in 0..n {
            model.clipped_sum(&x, Batch::of(&data, &[record]), 0.5, scratch, &mut one);
            // The slope of the intercept is what the features are multiplied by.
            let (row, c) = (data.dense_row(record).unwrap(), one[37]);
            sum.iter_mut().zip(row).for_each(|(sum, v)| *sum = v.mul_add(c, *sum));
            sum[37] += c;
        }
        model.clipped_sum(&x, Batch::all(&data), 0.5, scratch, &mut all);
        assert_eq!(sum, all);
    }

    #[test]
    fn second_derivatives_are_those_of_the_gradient() {
        let (width, n, h) = (6, 30, 1e-5);
        for loss in LOSSES {
            let model = Linear::new(width, true, loss);
            let data = data::<f64>(loss, laws::features(n, width, 8), n);
            let (batch, scratch) = (Batch::all(&data), &mut Scratch::default());
            let x = laws::point(&model, 8);
            let d = width + 1;
            let (mut hessian, mut row) = (vec![0.0; d * d], vec![0.0; d]);
            model.hessian(&x, batch, scratch, &mut hessian);
            for k in 0..d {
                let [mut more, mut less] = [x.clone(), x.clone()];
                more[k] += h;
                less[k] -= h;
                let [mut up, mut down, mut unit] = [(); 3].map(|()| vec![0.0; d]);
                model.gradient(&more, batch, scratch, &mut up);
                model.gradient(&less, batch, scratch, &mut down);
                unit[k] = 1.0;
                model.hessian_vector(&x, batch, &unit, scratch, &mut row);
                for j in 0..d {
                    let bend = (up[j] - down[j]) / (2.0 * h);
                    assert!((bend - hessian[k * d + j]).abs() < 1e-7, "{loss:?}");
                    assert!((row[j] - hessian[k * d + j]).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn constants_bound_what_they_say() {
        let of = |loss| Convex::<f64>::constants(&Linear::new(3, true, loss), 2.0);
        let logistic = of(Loss::Logistic);
        assert_eq!(logistic.lipschitz, Some(5_f64.sqrt()));
        assert_eq!(logistic.smoothness, Some(1.25));
        assert_eq!(of(Loss::Squared).lipschitz, None);
        assert_eq!(of(Loss::Squared).smoothness, Some(5.0));
        assert_eq!(of(Loss::SmoothedHinge { width: 0.5 }).smoothness, Some(5.0));
    }

    #[test]
    fn numbers_beyond_single_precision_are_clipped_all_the_same() {
        for size in [1e-40_f32, 1e-25, 1e25, 3e38] {
            let features = Features::Dense { width: 2, values: vec![size, -size] };
            let data = Dataset::new(features, Targets::Sign(vec![1.0])).unwrap();
            let model = Linear::new(2, false, Loss::Logistic);
            let mut out = [0.0; 2];
            let (batch, scratch) = (Batch::all(&data), &mut Scratch::default());
            let clipped = model.clipped_sum(&[1.0, 1.0], batch, 1e-3, scratch, &mut out);
            assert_eq!(clipped.dropped, 0);
            let norm = f64::hypot(f64::from(out[0]), f64::from(out[1]));
            // Coefficients without all their digits are zero instead.
            assert!(norm <= 1e-3 && (norm > 0.0 || size > 1e30), "{size}: {norm}");
        }
    }
}
