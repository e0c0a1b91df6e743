//! The features of one record, as they lie in memory.

use undertone_matrix::vector;
use undertone_real::Real;

use crate::dataset::{Dataset, Features};

/// The features of one record.
#[derive(Clone, Copy)]
pub(crate) enum Row<'a, R> {
    Dense(&'a [R]),
    /// Columns, and what is there.
    Sparse(&'a [u32], &'a [R]),
}

impl<'a, R: Real> Row<'a, R> {
    pub(crate) fn of(data: &'a Dataset<R>, record: usize) -> Self {
        match data.features() {
            Features::Dense { width, values } => Self::Dense(&values[record * width..][..*width]),
            Features::Sparse { starts, columns, values, .. } => {
                let range = starts[record]..starts[record + 1];
                Self::Sparse(&columns[range.clone()], &values[range])
            }
        }
    }

    /// Every column that is stored, and what is there.
    pub(crate) fn stored(self) -> impl Iterator<Item = (usize, R)> + 'a {
        let (columns, values) = match self {
            Self::Dense(values) => (None, values),
            Self::Sparse(columns, values) => (Some(columns), values),
        };
        values.iter().enumerate().map(move |(k, v)| (columns.map_or(k, |c| c[k] as usize), *v))
    }

    pub(crate) fn dot(self, x: &[R]) -> f64 {
        match self {
            Self::Dense(row) => vector::dot(row, &x[..row.len()]),
            Self::Sparse(..) => self.stored().map(|(k, v)| v.to_f64() * x[k].to_f64()).sum(),
        }
    }

    /// At least the squared norm. Infinite or NaN if a number is not finite.
    pub(crate) fn squared_norm(self) -> f64 {
        let (Self::Dense(values) | Self::Sparse(_, values)) = self;
        // Whatever the order of the sum, it is off by at most a unit a term.
        let sum = vector::squared_norm(values);
        let terms = values.len() as f64;
        sum * (1.0 + (terms + 2.0) * f64::EPSILON) + terms * f64::MIN_POSITIVE
    }

    pub(crate) fn add_scaled(self, factor: R, out: &mut [R]) {
        match self {
            Self::Dense(row) => vector::add_scaled(factor, row, &mut out[..row.len()]),
            Self::Sparse(..) => self.stored().for_each(|(k, v)| out[k] += factor * v),
        }
    }
}
