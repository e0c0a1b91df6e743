//! Mean estimation: half the squared distances to the records.

use undertone_real::Real;

use crate::convex::{Constants, Convex};
use crate::objective::{Batch, Clipped, Objective, Scratch};
use crate::part::Part;
use crate::per_record::sum_of_clipped;
use crate::table::{Table, Tabled};

/// `f(x) = 1/2 sum_d |x - d|^2` over some records `d`. Strongly convex and smooth with constant
/// equal to the number of records; its minimiser is their mean.
#[derive(Clone, PartialEq)]
pub struct Mean {
    sum: Vec<f64>,
    records: u64,
}

impl Mean {
    /// Of records given one after the other. Panics if there is a part of a record left over.
    pub fn new(dimension: usize, records: &[f64]) -> Self {
        assert!(records.len().is_multiple_of(dimension), "whole records of {dimension} numbers");
        let mut sum = vec![0.0; dimension];
        for record in records.chunks_exact(dimension) {
            sum.iter_mut().zip(record).for_each(|(sum, v)| *sum += v);
        }
        Self { sum, records: (records.len() / dimension) as u64 }
    }

    /// `sum_d (x - d)`.
    pub fn gradient<R: Real>(&self, x: &[R], out: &mut [R]) {
        let n = self.records as f64;
        for ((out, x), sum) in out.iter_mut().zip(x).zip(&self.sum) {
            *out = R::from_f64(n * x.to_f64() - sum);
        }
    }

    /// How many records there are.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// How many coordinates a record has.
    pub fn dimension(&self) -> usize {
        self.sum.len()
    }

    /// The sum of the records.
    pub fn sum(&self) -> &[f64] {
        &self.sum
    }
}

/// The same as an [`Objective`], record by record: half the squared distances of `x` to the
/// features. A gradient is `x` less the record, and that is what is clipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeanEstimation {
    dimension: usize,
}

impl MeanEstimation {
    /// Of records with so many numbers.
    pub fn new(dimension: usize) -> Self {
        Self { dimension }
    }

    /// `mean`.
    pub fn parts(&self) -> Vec<Part> {
        vec![Part::new("mean", &[self.dimension])]
    }
}

impl MeanEstimation {
    fn sum<R: Real>(
        &self,
        x: &[R],
        batch: Batch<'_, R>,
        clip: f64,
        table: Option<&mut Table<R>>,
        scratch: &mut Scratch<R>,
        out: &mut [R],
    ) -> Clipped {
        let (row, _) = scratch.take(self.dimension);
        sum_of_clipped(batch, clip, table, row, out, |record, row| {
            batch.data().write_row(record, row);
            row.iter_mut().zip(x).for_each(|(d, x)| *d = *x - *d);
        })
    }
}

impl<R: Real> Tabled<R> for MeanEstimation {
    /// A gradient has no smaller form, once the point where it was taken is gone.
    fn entry(&self) -> usize {
        self.dimension
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

impl<R: Real> Objective<R> for MeanEstimation {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn loss(&self, x: &[R], batch: Batch<'_, R>, scratch: &mut Scratch<R>) -> f64 {
        let (row, _) = scratch.take(self.dimension);
        let mut sum = 0.0;
        for record in batch.iter() {
            batch.data().write_row(record, row);
            sum += row.iter().zip(x).map(|(d, x)| (x.to_f64() - d.to_f64()).powi(2)).sum::<f64>();
        }
        sum / 2.0
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

    /// The mean itself is what is said of every record.
    fn outputs(&self) -> usize {
        self.dimension
    }

    fn scores(&self, x: &[R], _: Batch<'_, R>, _: &mut Scratch<R>, out: &mut [R]) {
        out.chunks_exact_mut(self.dimension).for_each(|out| out.copy_from_slice(x));
    }
}

impl<R: Real> Convex<R> for MeanEstimation {
    fn constants(&self, _: f64) -> Constants {
        Constants { lipschitz: None, smoothness: Some(1.0), strong_convexity: Some(1.0) }
    }

    fn hessian_vector(
        &self,
        _: &[R],
        batch: Batch<'_, R>,
        vector: &[R],
        _: &mut Scratch<R>,
        out: &mut [R],
    ) {
        let n = R::from_f64(batch.len() as f64);
        out.iter_mut().zip(vector).for_each(|(out, v)| *out = n * *v);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Dataset, Features, Targets};
    use crate::laws;

    #[test]
    fn the_gradient_is_that_of_the_squared_distances() {
        let records = [1.0, -2.0, 0.5, 4.0, 3.0, 3.0];
        let loss = |x: &[f64; 2]| {
            let distance = |d: &[f64]| (x[0] - d[0]).powi(2) + (x[1] - d[1]).powi(2);
            records.chunks(2).map(distance).sum::<f64>() / 2.0
        };
        let (x, h) = ([0.3, -0.7], 1e-4);
        let mut gradient = [0.0; 2];
        Mean::new(2, &records).gradient(&x, &mut gradient);
        for k in 0..2 {
            let (mut more, mut less) = (x, x);
            more[k] += h;
            less[k] -= h;
            assert!((gradient[k] - (loss(&more) - loss(&less)) / (2.0 * h)).abs() < 1e-8);
        }
    }

    /// Invariant I8 and the other laws.
    #[test]
    fn the_laws_hold() {
        fn check<R: Real>() {
            for features in [laws::features(20, 5, 1), laws::sparse_features(20, 5, 1)] {
                let data = Dataset::<R>::new(features, Targets::None).unwrap();
                laws::check(&MeanEstimation::new(5), &data, 3);
                laws::check_table(&MeanEstimation::new(5), &data, 3);
            }
        }
        check::<f32>();
        check::<f64>();
    }

    #[test]
    fn both_forms_agree() {
        let Features::Dense { values, .. } = laws::features(20, 5, 1) else { unreachable!() };
        let mean = Mean::new(5, &values);
        let data = Dataset::new(Features::Dense { width: 5, values }, Targets::None).unwrap();
        let objective = MeanEstimation::new(5);
        let x = laws::point(&objective, 1);
        let (mut a, mut b) = ([0.0; 5], [0.0; 5]);
        mean.gradient(&x, &mut a);
        objective.gradient(&x, Batch::all(&data), &mut Scratch::default(), &mut b);
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}
