//! Matrices as products read them.

use std::ops::Range;

/// A matrix that somebody else owns.
#[derive(Clone, Copy, Debug)]
pub struct Mat<'a, R> {
    pub(super) data: &'a [R],
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Numbers of a row (or of a column, if it is transposed) to the next.
    pub(super) step: usize,
    pub(super) transposed: bool,
    /// Which lines of memory are the rows (or the columns), if not one after the other.
    pub(super) lines: Option<&'a [usize]>,
}

impl<'a, R> Mat<'a, R> {
    /// Of rows one after the other. Panics if the length is not `rows * columns`.
    pub fn new(data: &'a [R], rows: usize, columns: usize) -> Self {
        assert_eq!(data.len(), rows * columns, "a matrix of {rows} x {columns}");
        Self { data, rows, columns, step: columns, transposed: false, lines: None }
    }

    /// Of some rows of a larger matrix, in any order. It may stand on the left of a product.
    /// Panics if one of them does not exist.
    pub fn of_rows(data: &'a [R], columns: usize, rows: &'a [usize]) -> Self {
        let exist = |row: &usize| row.checked_add(1).and_then(|n| n.checked_mul(columns));
        let fits = rows.iter().all(|row| exist(row).is_some_and(|end| end <= data.len()));
        assert!(fits, "rows of a matrix with {columns} columns");
        let lines = Some(rows);
        Self { data, rows: rows.len(), columns, step: columns, transposed: false, lines }
    }

    /// Transposed, without moving anything.
    pub fn t(self) -> Self {
        Self { rows: self.columns, columns: self.rows, transposed: !self.transposed, ..self }
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Some of its rows, one after the other. Panics if one of them does not exist.
    pub fn some_rows(self, rows: Range<usize>) -> Self {
        assert!(rows.start <= rows.end && rows.end <= self.rows, "rows of a matrix");
        let columns = self.columns;
        self.block(rows.start, rows.len(), 0, columns)
    }

    /// Some of its rows and columns.
    pub(super) fn block(self, row: usize, rows: usize, column: usize, columns: usize) -> Self {
        // The last block may be empty, and start behind the data.
        if rows * columns == 0 {
            return Self { data: &[], rows, columns, lines: None, ..self };
        }
        let (line, place) = self.place(row, column);
        match self.lines {
            None => Self { data: self.from(row, column), rows, columns, ..self },
            Some(lines) => {
                let (data, lines) = (&self.data[place..], Some(&lines[line..]));
                Self { data, rows, columns, lines, ..self }
            }
        }
    }

    pub(super) fn place(&self, row: usize, column: usize) -> (usize, usize) {
        if self.transposed { (column, row) } else { (row, column) }
    }

    /// From this element on, as it lies in memory.
    pub(super) fn from(&self, row: usize, column: usize) -> &'a [R] {
        let (line, place) = self.place(row, column);
        let line = self.lines.map_or(line, |lines| lines[line]);
        &self.data[line * self.step + place..]
    }
}
