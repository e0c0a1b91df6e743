//! Mean estimation: half the squared distances to the records.

use undertone_real::Real;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
