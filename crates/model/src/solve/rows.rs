//! Records as the solver reads them: shortened, with signs multiplied in and the intercept beside.

use undertone_matrix::{Mat, Packing, multiply_add};

use super::kernel::{Curve, LANES, Sum};
use super::sparse::{Sparse, SparseSum};
use crate::dataset::{Dataset, Features, Targets};
use crate::linear::Linear;
use crate::objective::factor;
use crate::row::Row;

/// Records of one node.
pub(super) struct Rows {
    dimension: usize,
    records: usize,
    store: Store,
    /// What is subtracted from scores; empty for signs, which are in the rows.
    targets: Vec<f64>,
    /// At least the norm of every row.
    longest: f64,
    /// How many additions follow each other in a score, at most.
    chain: usize,
}

enum Store {
    /// Rows of `stride` numbers, of which the last ones are zero.
    Dense { stride: usize, values: Vec<f64> },
    /// If most is zero and columns are few.
    Narrow(Sparse<u8>),
    /// If most is zero and columns are many.
    Wide(Sparse<u32>),
}

/// Rows of a block of second derivatives.
const BLOCK: usize = 256;

impl Rows {
    pub(super) fn new(model: &Linear, data: &Dataset<f64>, bound: f64) -> Self {
        let (width, intercept) = (data.width(), model.has_intercept());
        assert_eq!(width, model.width(), "features of a record");
        let dimension = width + usize::from(intercept);
        let records = data.records();
        let (signs, targets): (Option<&[f64]>, Vec<f64>) = match (data.targets(), model.signs()) {
            (Targets::Sign(signs), true) => (Some(signs), Vec::new()),
            (Targets::Real(numbers), false) => (None, numbers.clone()),
            _ => panic!("the targets are not those of the model"),
        };
        // A record that is not finite is zero; a sign changes no norm.
        let scale = |n: usize| {
            let norm = Row::of(data, n).squared_norm();
            factor::<f64>(norm, bound).unwrap_or(0.0)
        };
        let sign = |n: usize| signs.map_or(1.0, |signs| signs[n]);
        let times = |v: f64, scale: f64| if scale == 0.0 { 0.0 } else { v * scale };
        let store = match data.features() {
            Features::Dense { values, .. } if !is_sparse(values) => {
                let stride = dimension.next_multiple_of(LANES);
                let mut values = vec![0.0; records * stride];
                for (n, row) in values.chunks_exact_mut(stride).enumerate() {
                    let (scale, sign) = (scale(n), sign(n));
                    for (k, v) in Row::of(data, n).stored() {
                        row[k] = times(v, scale) * sign;
                    }
                    if intercept {
                        row[width] = sign;
                    }
                }
                Store::Dense { stride, values }
            }
            _ => {
                let row = |n: usize| {
                    let (scale, sign) = (scale(n), sign(n));
                    let stored = Row::of(data, n).stored().filter(|(_, v)| *v != 0.0);
                    let stored = stored.map(move |(k, v)| (k, times(v, scale) * sign));
                    stored.chain(intercept.then_some((width, sign)))
                };
                match dimension <= Sparse::<u8>::COLUMNS {
                    true => Store::Narrow(Sparse::new((0..records).map(row))),
                    false => Store::Wide(Sparse::new((0..records).map(row))),
                }
            }
        };
        let longest = (bound * bound + f64::from(u8::from(intercept))).sqrt() * (1.0 + 1e-12);
        let longest = if bound.is_finite() { longest } else { Self::measured(&store) };
        let chain = match &store {
            Store::Dense { stride, .. } => stride / LANES,
            Store::Narrow(rows) => rows.chain(),
            Store::Wide(rows) => rows.chain(),
        };
        Self { dimension, records, store, targets, longest, chain }
    }

    /// Where nothing is shortened.
    fn measured(store: &Store) -> f64 {
        let norm = |row: &[f64]| row.iter().map(|v| v * v).sum::<f64>().sqrt();
        let most = match store {
            Store::Dense { stride, values } => {
                values.chunks_exact(*stride).map(norm).fold(0.0, f64::max)
            }
            Store::Narrow(rows) => rows.values().map(norm).fold(0.0, f64::max),
            Store::Wide(rows) => rows.values().map(norm).fold(0.0, f64::max),
        };
        most * (1.0 + 1e-9)
    }

    pub(super) fn dimension(&self) -> usize {
        self.dimension
    }

    pub(super) fn records(&self) -> usize {
        self.records
    }

    pub(super) fn longest(&self) -> f64 {
        self.longest
    }

    /// How many additions follow each other in a score, at most.
    pub(super) fn chain(&self) -> usize {
        self.chain
    }

    /// About how many gradients second derivatives are worth.
    pub(super) fn hessian_cost(&self) -> u32 {
        match &self.store {
            Store::Dense { stride, .. } => *stride as u32 / 8,
            Store::Narrow(rows) => rows.stored() as u32 / 2,
            Store::Wide(rows) => rows.stored() as u32 / 2,
        }
    }

    pub(super) fn loss(&self, record: usize, x: &[f64], curve: &Curve) -> f64 {
        let score = self.score(record, x);
        curve.value(score - self.targets.get(record).copied().unwrap_or(0.0))
    }

    fn score(&self, record: usize, x: &[f64]) -> f64 {
        match &self.store {
            Store::Dense { stride, values } => {
                let row = &values[record * stride..][..self.dimension];
                row.iter().zip(x).map(|(v, x)| v * x).sum()
            }
            Store::Narrow(rows) => rows.score(record, x),
            Store::Wide(rows) => rows.score(record, x),
        }
    }

    /// Writes the sum of the derivatives and all margins; gives the sum of the absolute slopes.
    pub(super) fn gradient(
        &self,
        x: &[f64],
        curve: &Curve,
        margins: &mut Vec<f64>,
        out: &mut [f64],
    ) -> f64 {
        margins.resize(self.records, 0.0);
        match &self.store {
            Store::Dense { stride, values } => {
                let mut padded = vec![0.0; 2 * stride];
                let (wide, sum) = padded.split_at_mut(*stride);
                wide[..x.len()].copy_from_slice(x);
                let (curve, targets) = (*curve, &self.targets);
                let pass = Sum { curve, values, targets, x: wide, margins, out: sum };
                let slopes = pass.run();
                out.copy_from_slice(&sum[..x.len()]);
                slopes
            }
            Store::Narrow(rows) => {
                let pass =
                    SparseSum { curve: *curve, rows, targets: &self.targets, x, margins, out };
                pass.run()
            }
            Store::Wide(rows) => {
                let pass =
                    SparseSum { curve: *curve, rows, targets: &self.targets, x, margins, out };
                pass.run()
            }
        }
    }

    /// Writes the second derivatives at the point of the margins, times a weight, row by row; at
    /// least the lower half.
    pub(super) fn hessian(
        &self,
        curve: &Curve,
        weight: f64,
        margins: &[f64],
        packing: &mut Packing<f64>,
        out: &mut [f64],
    ) {
        let d = self.dimension;
        out.fill(0.0);
        match &self.store {
            Store::Dense { stride, values } => {
                let (mut scaled, mut sum) = (Vec::new(), vec![0.0; stride * stride]);
                for (rows, margins) in values.chunks(BLOCK * stride).zip(margins.chunks(BLOCK)) {
                    scaled.clear();
                    for (row, margin) in rows.chunks_exact(*stride).zip(margins) {
                        let bend = weight * curve.bend(*margin);
                        scaled.extend(row.iter().map(|v| bend * v));
                    }
                    let [left, right] =
                        [rows, &scaled].map(|rows| Mat::new(rows, margins.len(), *stride));
                    multiply_add(left.t(), right, &mut sum, packing);
                }
                for (out, sum) in out.chunks_exact_mut(d).zip(sum.chunks_exact(*stride)) {
                    out.copy_from_slice(&sum[..d]);
                }
            }
            Store::Narrow(rows) => rows.hessian(margins, |m| weight * curve.bend(m), out),
            Store::Wide(rows) => rows.hessian(margins, |m| weight * curve.bend(m), out),
        }
    }
}

/// Whether rows are better kept as lists: most of what is read would be zeros.
fn is_sparse(values: &[f64]) -> bool {
    4 * values.iter().filter(|v| **v != 0.0).count() < values.len()
}
