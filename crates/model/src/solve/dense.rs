//! Rows of which every number is kept.

use undertone_matrix::{Mat, Packing, multiply_add, vector};

use super::kernel::{Curve, LANES, Sum};
use super::rows::Store;

/// Rows of `stride` numbers, of which those from `dimension` on are zero.
pub(super) struct Dense {
    dimension: usize,
    stride: usize,
    values: Vec<f64>,
}

/// Rows of a block of second derivatives.
const BLOCK: usize = 256;

impl Dense {
    pub(super) fn new<R>(dimension: usize, rows: impl ExactSizeIterator<Item = R>) -> Self
    where
        R: Iterator<Item = (usize, f64)>,
    {
        let stride = dimension.next_multiple_of(LANES);
        let mut values = vec![0.0; rows.len() * stride];
        for (out, row) in values.chunks_exact_mut(stride).zip(rows) {
            row.for_each(|(column, value)| out[column] = value);
        }
        Self { dimension, stride, values }
    }
}

impl Store for Dense {
    fn longest(&self) -> f64 {
        self.values.chunks_exact(self.stride).map(vector::squared_norm).fold(0.0, f64::max).sqrt()
    }

    fn chain(&self) -> usize {
        self.stride / LANES
    }

    fn hessian_cost(&self) -> u32 {
        self.stride as u32 / 8
    }

    fn score(&self, record: usize, x: &[f64]) -> f64 {
        let row = &self.values[record * self.stride..][..self.dimension];
        row.iter().zip(x).map(|(v, x)| v * x).sum()
    }

    fn gradient(
        &self,
        curve: Curve,
        targets: &[f64],
        x: &[f64],
        margins: &mut [f64],
        out: &mut [f64],
    ) -> f64 {
        let mut padded = vec![0.0; 2 * self.stride];
        let (wide, sum) = padded.split_at_mut(self.stride);
        wide[..x.len()].copy_from_slice(x);
        let pass = Sum { curve, values: &self.values, targets, x: wide, margins, out: sum };
        let slopes = pass.run();
        out.copy_from_slice(&sum[..x.len()]);
        slopes
    }

    fn add_hessian(
        &self,
        curve: Curve,
        weight: f64,
        margins: &[f64],
        packing: &mut Packing<f64>,
        out: &mut [f64],
    ) {
        let (stride, d) = (self.stride, self.dimension);
        let (mut scaled, mut sum) = (Vec::new(), vec![0.0; stride * stride]);
        for (rows, margins) in self.values.chunks(BLOCK * stride).zip(margins.chunks(BLOCK)) {
            scaled.clear();
            for (row, margin) in rows.chunks_exact(stride).zip(margins) {
                let bend = weight * curve.bend(*margin);
                scaled.extend(row.iter().map(|v| bend * v));
            }
            let [left, right] = [rows, &scaled].map(|rows| Mat::new(rows, margins.len(), stride));
            multiply_add(left.t(), right, &mut sum, packing);
        }
        for (out, sum) in out.chunks_exact_mut(d).zip(sum.chunks_exact(stride)) {
            out.iter_mut().zip(sum).for_each(|(out, sum)| *out += sum);
        }
    }
}
