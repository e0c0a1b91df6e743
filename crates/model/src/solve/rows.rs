//! Records as the solver reads them: shortened, with signs multiplied in and the intercept beside.

use undertone_matrix::Packing;

use super::dense::Dense;
use super::kernel::Curve;
use super::sparse::Sparse;
use crate::dataset::{Dataset, Features, Targets};
use crate::linear::Linear;
use crate::objective::factor;
use crate::row::Row;

/// Records of one node.
pub(super) struct Rows {
    dimension: usize,
    records: usize,
    store: Box<dyn Store>,
    /// What is subtracted from scores; empty for signs, which are in the rows.
    targets: Vec<f64>,
    /// At least the norm of every row.
    longest: f64,
    /// How many additions follow each other in a score, at most.
    chain: usize,
}

/// How rows are kept.
pub(super) trait Store: Send + Sync {
    /// The norm of the longest row.
    fn longest(&self) -> f64;

    /// How many additions follow each other in a score, at most.
    fn chain(&self) -> usize;

    /// About how many gradients second derivatives are worth.
    fn hessian_cost(&self) -> u32;

    fn score(&self, record: usize, x: &[f64]) -> f64;

    /// Writes all margins and the sum of `slope(margin) row`; gives the sum of the absolute slopes.
    fn gradient(
        &self,
        curve: Curve,
        targets: &[f64],
        x: &[f64],
        margins: &mut [f64],
        out: &mut [f64],
    ) -> f64;

    /// Adds `weight bend(margin) row row'` for all rows; at least the lower half.
    fn add_hessian(
        &self,
        curve: Curve,
        weight: f64,
        margins: &[f64],
        packing: &mut Packing<f64>,
        out: &mut [f64],
    );
}

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
        let row = |n: usize| {
            let (scale, sign) = (scale(n), sign(n));
            let stored = Row::of(data, n).stored().filter(|(_, v)| *v != 0.0);
            let stored = stored.map(move |(k, v)| (k, times(v, scale) * sign));
            stored.chain(intercept.then_some((width, sign)))
        };
        let rows = (0..records).map(row);
        let store: Box<dyn Store> = match data.features() {
            Features::Dense { values, .. } if !is_sparse(values) => {
                Box::new(Dense::new(dimension, rows))
            }
            _ if dimension <= Sparse::<u8>::COLUMNS => Box::new(Sparse::<u8>::new(rows)),
            _ => Box::new(Sparse::<u32>::new(rows)),
        };
        let longest = match bound.is_finite() {
            true => (bound * bound + f64::from(u8::from(intercept))).sqrt() * (1.0 + 1e-12),
            // Where nothing is shortened.
            false => store.longest() * (1.0 + 1e-9),
        };
        let chain = store.chain();
        Self { dimension, records, store, targets, longest, chain }
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
        self.store.hessian_cost()
    }

    pub(super) fn loss(&self, record: usize, x: &[f64], curve: &Curve) -> f64 {
        let score = self.store.score(record, x);
        curve.value(score - self.targets.get(record).copied().unwrap_or(0.0))
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
        self.store.gradient(*curve, &self.targets, x, margins, out)
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
        out.fill(0.0);
        self.store.add_hessian(*curve, weight, margins, packing, out);
    }
}

/// Whether rows are better kept as lists: most of what is read would be zeros.
fn is_sparse(values: &[f64]) -> bool {
    4 * values.iter().filter(|v| **v != 0.0).count() < values.len()
}
