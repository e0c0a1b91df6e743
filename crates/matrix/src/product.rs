//! Products of matrices.

use undertone_real::Real;

/// A matrix that somebody else owns.
#[derive(Clone, Copy, Debug)]
pub struct Mat<'a, R> {
    data: &'a [R],
    rows: usize,
    columns: usize,
    row_step: usize,
    column_step: usize,
}

impl<'a, R: Real> Mat<'a, R> {
    /// Of rows one after the other. Panics if the length is not `rows * columns`.
    pub fn new(data: &'a [R], rows: usize, columns: usize) -> Self {
        assert_eq!(data.len(), rows * columns, "a matrix of {rows} x {columns}");
        Self { data, rows, columns, row_step: columns, column_step: 1 }
    }

    /// Transposed, without moving anything.
    pub fn t(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_step: self.column_step,
            column_step: self.row_step,
            ..self
        }
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    fn at(&self, row: usize, column: usize) -> R {
        self.data[row * self.row_step + column * self.column_step]
    }
}

/// Memory that products reuse.
#[derive(Clone, Debug, Default)]
pub struct Packing<R> {
    values: Vec<R>,
}

/// `out = a b`, rows of `out` one after the other. Panics if the shapes do not fit.
///
/// An element of the result depends on its row of `a` and its column of `b` only, in bits: not on
/// the other rows and columns, their number, or the machine.
pub fn multiply<R: Real>(a: Mat<'_, R>, b: Mat<'_, R>, out: &mut [R], packing: &mut Packing<R>) {
    out.fill(R::ZERO);
    multiply_add(a, b, out, packing);
}

/// `out += a b`; otherwise as [`multiply`].
pub fn multiply_add<R: Real>(
    a: Mat<'_, R>,
    b: Mat<'_, R>,
    out: &mut [R],
    _packing: &mut Packing<R>,
) {
    assert_eq!(a.columns, b.rows, "inner sizes");
    assert_eq!(out.len(), a.rows * b.columns, "size of the result");
    for i in 0..a.rows {
        for j in 0..b.columns {
            for k in 0..a.columns {
                out[i * b.columns + j] += a.at(i, k) * b.at(k, j);
            }
        }
    }
}
