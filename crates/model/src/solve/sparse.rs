//! Rows of which only what is not zero is kept.

use pulp::{Arch, NullaryFnOnce};
use undertone_matrix::{Packing, vector};

use super::kernel::{Curve, derivatives, settle};
use super::rows::Store;

/// What is not zero in each row, in groups of four that are filled up with zeros of column 0.
pub(super) struct Sparse<C> {
    starts: Vec<usize>,
    columns: Vec<C>,
    values: Vec<f64>,
}

/// The number of a column. A byte of it needs no check in a table of 256.
pub(super) trait Column: Copy + Send + Sync {
    type Table: AsRef<[f64]> + AsMut<[f64]>;

    fn new(column: usize) -> Self;
    fn index(self) -> usize;
    /// Zeros for at least so many columns.
    fn table(columns: usize) -> Self::Table;
    fn at(self, table: &Self::Table) -> f64;
    fn at_mut(self, table: &mut Self::Table) -> &mut f64;
}

/// Numbers of a group: the sum of a row is in so many parts.
const FOUR: usize = 4;
/// Records between compensated additions.
const PART: usize = 256;

impl Sparse<u8> {
    /// More do not fit.
    pub(super) const COLUMNS: usize = 256;
}

impl<C: Column> Sparse<C> {
    pub(super) fn new<R>(rows: impl Iterator<Item = R>) -> Self
    where
        R: Iterator<Item = (usize, f64)>,
    {
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in rows {
            for (column, value) in row {
                columns.push(C::new(column));
                values.push(value);
            }
            columns.resize(columns.len().next_multiple_of(FOUR), C::new(0));
            values.resize(columns.len(), 0.0);
            starts.push(values.len());
        }
        Self { starts, columns, values }
    }

    fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.starts.windows(2).map(|ends| &self.values[ends[0]..ends[1]])
    }

    #[inline(always)]
    fn row(&self, ends: &[usize]) -> (&[C], &[f64]) {
        (&self.columns[ends[0]..ends[1]], &self.values[ends[0]..ends[1]])
    }
}

impl<C: Column> Store for Sparse<C> {
    fn longest(&self) -> f64 {
        self.rows().map(vector::squared_norm).fold(0.0, f64::max).sqrt()
    }

    fn chain(&self) -> usize {
        self.rows().map(|row| row.len() / FOUR).max().unwrap_or(0)
    }

    fn hessian_cost(&self) -> u32 {
        let stored = self.values.len() / self.starts.len();
        stored as u32 / 2
    }

    fn score(&self, record: usize, x: &[f64]) -> f64 {
        let (columns, values) = self.row(&self.starts[record..record + 2]);
        values.iter().zip(columns).map(|(v, k)| v * x[k.index()]).sum()
    }

    fn gradient(
        &self,
        curve: Curve,
        targets: &[f64],
        x: &[f64],
        margins: &mut [f64],
        out: &mut [f64],
    ) -> f64 {
        Arch::new().dispatch(Sum { curve, rows: self, targets, x, margins, out })
    }

    fn add_hessian(
        &self,
        curve: Curve,
        weight: f64,
        margins: &[f64],
        _: &mut Packing<f64>,
        out: &mut [f64],
    ) {
        let d = out.len().isqrt();
        for (ends, margin) in self.starts.windows(2).zip(margins) {
            let bend = weight * curve.bend(*margin);
            let (columns, values) = self.row(ends);
            for (rank, (i, v)) in columns.iter().zip(values).enumerate() {
                let (row, c) = (&mut out[i.index() * d..][..d], bend * v);
                for (j, u) in columns.iter().zip(values).take(rank + 1) {
                    row[j.index()] += c * u;
                }
            }
        }
    }
}

impl Column for u8 {
    type Table = [f64; 256];

    fn new(column: usize) -> Self {
        column.try_into().expect("the store is for few columns")
    }

    #[inline(always)]
    fn index(self) -> usize {
        self.into()
    }

    fn table(_: usize) -> Self::Table {
        [0.0; 256]
    }

    #[inline(always)]
    fn at(self, table: &Self::Table) -> f64 {
        table[usize::from(self)]
    }

    #[inline(always)]
    fn at_mut(self, table: &mut Self::Table) -> &mut f64 {
        &mut table[usize::from(self)]
    }
}

impl Column for u32 {
    type Table = Vec<f64>;

    fn new(column: usize) -> Self {
        column.try_into().expect("no more columns than indices")
    }

    #[inline(always)]
    fn index(self) -> usize {
        self as usize
    }

    fn table(columns: usize) -> Self::Table {
        vec![0.0; columns]
    }

    #[inline(always)]
    fn at(self, table: &Self::Table) -> f64 {
        table[self as usize]
    }

    #[inline(always)]
    fn at_mut(self, table: &mut Self::Table) -> &mut f64 {
        &mut table[self as usize]
    }
}

/// Adds up `slope(margin) row` over all rows, and gives the sum of the absolute slopes.
struct Sum<'a, C> {
    curve: Curve,
    rows: &'a Sparse<C>,
    targets: &'a [f64],
    x: &'a [f64],
    margins: &'a mut [f64],
    /// As long as `x`.
    out: &'a mut [f64],
}

impl<C: Column> NullaryFnOnce for Sum<'_, C> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        let Self { curve, rows, targets, x, margins, out } = self;
        let (mut table, mut part) = (C::table(x.len()), C::table(x.len()));
        table.as_mut()[..x.len()].copy_from_slice(x);
        let mut lost = vec![0.0; x.len()];
        out.fill(0.0);
        let (mut slopes, mut c) = (0.0, [0.0; PART]);
        for (k, margins) in margins.chunks_mut(PART).enumerate() {
            let first = k * PART;
            let ends = &rows.starts[first..=first + margins.len()];
            for (ends, margin) in ends.windows(2).zip(&mut *margins) {
                let (columns, values) = rows.row(ends);
                *margin = score(columns, values, &table);
            }
            if !targets.is_empty() {
                margins.iter_mut().zip(&targets[first..]).for_each(|(m, y)| *m -= y);
            }
            let c = &mut c[..margins.len()];
            derivatives(curve, margins, c);
            slopes += c.iter().map(|c| c.abs()).sum::<f64>();
            for (ends, c) in ends.windows(2).zip(&*c) {
                let (columns, values) = rows.row(ends);
                add(*c, columns, values, &mut part);
            }
            settle(&mut part.as_mut()[..x.len()], out, &mut lost);
        }
        out.iter_mut().zip(&lost).for_each(|(out, lost)| *out += lost);
        slopes
    }
}

#[inline(always)]
fn score<C: Column>(columns: &[C], values: &[f64], table: &C::Table) -> f64 {
    let mut sum = [0.0; FOUR];
    let (columns, values) = (columns.as_chunks::<FOUR>().0, values.as_chunks::<FOUR>().0);
    for (columns, values) in columns.iter().zip(values) {
        for l in 0..FOUR {
            sum[l] = values[l].mul_add(columns[l].at(table), sum[l]);
        }
    }
    (sum[0] + sum[2]) + (sum[1] + sum[3])
}

/// `table += c row`, in order.
#[inline(always)]
fn add<C: Column>(c: f64, columns: &[C], values: &[f64], table: &mut C::Table) {
    let (columns, values) = (columns.as_chunks::<FOUR>().0, values.as_chunks::<FOUR>().0);
    for (columns, values) in columns.iter().zip(values) {
        let scaled = values.map(|v| c * v);
        for (column, scaled) in columns.iter().zip(scaled) {
            *column.at_mut(table) += scaled;
        }
    }
}
