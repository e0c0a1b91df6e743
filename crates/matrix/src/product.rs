//! Products of matrices.

use pulp::Simd;
use undertone_real::{Real, Slice, SliceMut};

use crate::lanes::Lane;

mod kernel;
mod pack;

use kernel::{Left, Out, Right, kernel};
use pack::{pack_left, pack_right};

/// Rows of the result at a time, at most.
const ROWS: usize = 6;
/// Vectors of columns at a time, at most: with the rows, twelve sums in sixteen registers.
const VECTORS: usize = 2;
/// Numbers of the widest vectors.
const WIDEST: usize = 16;
/// Inner indices at a time: so many rows of a panel stay in the first cache.
const DEPTH: usize = 256;
/// Rows at a time, if the left matrix has to be packed; they stay in the second cache.
const BLOCK: usize = 128;
/// Columns at a time.
const COLUMNS: usize = 480;
/// From so many rows on, copying the right panels together is worth it.
const WORTH_PACKING: usize = 24;

const PACKED_LEFT: usize = BLOCK * DEPTH;
const PACKED: usize = PACKED_LEFT + (COLUMNS + VECTORS * WIDEST) * DEPTH;

/// A matrix that somebody else owns.
#[derive(Clone, Copy, Debug)]
pub struct Mat<'a, R> {
    data: &'a [R],
    rows: usize,
    columns: usize,
    /// Numbers of a row (or of a column, if it is transposed) to the next.
    step: usize,
    transposed: bool,
    /// Which lines of memory are the rows (or the columns), if not one after the other.
    lines: Option<&'a [usize]>,
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

    /// Some of its rows and columns.
    fn block(self, row: usize, rows: usize, column: usize, columns: usize) -> Self {
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

    fn place(&self, row: usize, column: usize) -> (usize, usize) {
        if self.transposed { (column, row) } else { (row, column) }
    }

    /// From this element on, as it lies in memory.
    fn from(&self, row: usize, column: usize) -> &'a [R] {
        let (line, place) = self.place(row, column);
        let line = self.lines.map_or(line, |lines| lines[line]);
        &self.data[line * self.step + place..]
    }
}

/// Memory that products reuse.
#[derive(Clone, Debug, Default)]
pub struct Packing<R>(Vec<R>);

/// `out = a b`, rows of `out` one after the other. Panics if the shapes do not fit.
///
/// # Guarantee
///
/// An element of the result depends on its row of `a` and its column of `b` only, in bits: not on
/// the other rows and columns, their number, or the machine. It is a chain of fused multiplications
/// and additions in the order of the inner index.
pub fn multiply<R: Real>(a: Mat<'_, R>, b: Mat<'_, R>, out: &mut [R], packing: &mut Packing<R>) {
    product(a, b, out, packing, true);
}

/// `out += a b`; otherwise as [`multiply`]. The chain starts with what is in `out`.
pub fn multiply_add<R: Real>(
    a: Mat<'_, R>,
    b: Mat<'_, R>,
    out: &mut [R],
    packing: &mut Packing<R>,
) {
    product(a, b, out, packing, false);
}

fn product<R: Real>(
    a: Mat<'_, R>,
    b: Mat<'_, R>,
    out: &mut [R],
    packing: &mut Packing<R>,
    fresh: bool,
) {
    assert_eq!(a.columns, b.rows, "inner sizes");
    assert!(b.lines.is_none(), "chosen rows stand on the left");
    assert_eq!(out.len(), a.rows * b.columns, "size of the result");
    if fresh && a.columns == 0 {
        out.fill(R::ZERO);
    }
    if packing.0.len() < PACKED {
        packing.0.resize(PACKED, R::ZERO);
    }
    let arch = pulp::Arch::new();
    let packed = R::slice_mut(&mut packing.0);
    match (R::slice(a.data), R::slice(b.data), R::slice_mut(out), packed) {
        (Slice::F32(left), Slice::F32(right), SliceMut::F32(out), SliceMut::F32(packed)) => {
            arch.dispatch(Product { a: a.over(left), b: b.over(right), out, packed, fresh });
        }
        (Slice::F64(left), Slice::F64(right), SliceMut::F64(out), SliceMut::F64(packed)) => {
            arch.dispatch(Product { a: a.over(left), b: b.over(right), out, packed, fresh });
        }
        _ => unreachable!("all four hold the same type"),
    }
}

impl<'a, R> Mat<'a, R> {
    /// The same shape over data whose type is known.
    fn over<'b, L>(self, data: &'b [L]) -> Mat<'b, L>
    where
        Self: 'b,
    {
        let Self { rows, columns, step, transposed, lines, .. } = self;
        Mat { data, rows, columns, step, transposed, lines }
    }
}

struct Product<'a, L> {
    a: Mat<'a, L>,
    b: Mat<'a, L>,
    out: &'a mut [L],
    packed: &'a mut [L],
    fresh: bool,
}

impl<L: Lane> pulp::WithSimd for Product<'_, L> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (packed_left, packed_right) = self.packed.split_at_mut(PACKED_LEFT);
        let (a, b) = (self.a, self.b);
        for first_column in (0..b.columns).step_by(COLUMNS) {
            let n_columns = COLUMNS.min(b.columns - first_column);
            for first in (0..a.columns).step_by(DEPTH) {
                let depth = DEPTH.min(a.columns - first);
                let b = b.block(first, depth, first_column, n_columns);
                let right = Panels::new::<S>(b, a.rows, packed_right);
                for row in (0..a.rows).step_by(BLOCK) {
                    let a = a.block(row, BLOCK.min(a.rows - row), first, depth);
                    let left = pack_left(a, packed_left);
                    let out = &mut self.out[row * self.b.columns + first_column..];
                    let (step, fresh) = (self.b.columns, self.fresh && first == 0);
                    Block { a, left, right, out, step, fresh }.add(simd);
                }
            }
        }
    }
}

/// Columns of the right matrix, in panels of whole vectors.
#[derive(Clone, Copy)]
struct Panels<'a, L> {
    b: Mat<'a, L>,
    /// Panels one after the other; of the panels that are read where they lie, nothing.
    packed: &'a [L],
    direct: bool,
}

impl<'a, L: Lane> Panels<'a, L> {
    #[inline(always)]
    fn new<S: Simd>(b: Mat<'a, L>, rows: usize, packed: &'a mut [L]) -> Self {
        let direct = !b.transposed && rows < WORTH_PACKING;
        for column in (0..b.columns).step_by(VECTORS * L::lanes::<S>()) {
            let (vectors, width) = next_panel::<S, L>(b.columns - column);
            let full = vectors * L::lanes::<S>();
            if !direct || width < full {
                let panel = &mut packed[column * b.rows..][..full * b.rows];
                pack_right(b.block(0, b.rows, column, width), full, panel);
            }
        }
        Self { b, packed, direct }
    }

    #[inline(always)]
    fn panel(&self, column: usize, full: usize) -> Right<'a, L> {
        if self.direct && column + full <= self.b.columns {
            return Right { data: self.b.from(0, column), step: self.b.step };
        }
        Right { data: &self.packed[column * self.b.rows..][..full * self.b.rows], step: full }
    }
}

/// How many vectors and columns the next panel has.
#[inline(always)]
fn next_panel<S: Simd, L: Lane>(columns: usize) -> (usize, usize) {
    let vectors = columns.div_ceil(L::lanes::<S>()).min(VECTORS);
    (vectors, columns.min(vectors * L::lanes::<S>()))
}

/// How many of the rows that are left are taken next: few rows at once would wait for their own
/// sums, so 7 is 4 + 3 and 8 is 4 + 4.
fn next_rows(left: usize) -> usize {
    match left {
        7 | 8 => 4,
        left => left.min(ROWS),
    }
}

/// Some rows and some columns of the result, over one block of the inner index.
struct Block<'a, L> {
    a: Mat<'a, L>,
    /// `a` in groups of rows, if it had to be packed.
    left: Option<&'a [L]>,
    right: Panels<'a, L>,
    out: &'a mut [L],
    step: usize,
    fresh: bool,
}

impl<L: Lane> Block<'_, L> {
    #[inline(always)]
    fn add<S: Simd>(self, simd: S) {
        let Self { a, left, right, out, step, fresh } = self;
        let columns = right.b.columns;
        for column in (0..columns).step_by(VECTORS * L::lanes::<S>()) {
            let (vectors, width) = next_panel::<S, L>(columns - column);
            let right = right.panel(column, vectors * L::lanes::<S>());
            let out = Out { data: &mut out[column..], step, width, fresh };
            match vectors {
                1 => simd.vectorize(Panel::<S, L, 1> { simd, a, left, right, out }),
                _ => simd.vectorize(Panel::<S, L, 2> { simd, a, left, right, out }),
            }
        }
    }
}

/// Some rows of the result times one panel: a function of its own, so that its sums have all the
/// registers.
struct Panel<'a, S, L, const V: usize> {
    simd: S,
    a: Mat<'a, L>,
    left: Option<&'a [L]>,
    right: Right<'a, L>,
    out: Out<'a, L>,
}

impl<S: Simd, L: Lane, const V: usize> pulp::NullaryFnOnce for Panel<'_, S, L, V> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        let mut row = 0;
        while row < self.a.rows {
            let rows = next_rows(self.a.rows - row);
            match rows {
                1 => self.rows::<1>(row),
                2 => self.rows::<2>(row),
                3 => self.rows::<3>(row),
                4 => self.rows::<4>(row),
                5 => self.rows::<5>(row),
                _ => self.rows::<ROWS>(row),
            }
            row += rows;
        }
    }
}

impl<S: Simd, L: Lane, const V: usize> Panel<'_, S, L, V> {
    #[inline(always)]
    fn rows<const N: usize>(&mut self, row: usize) {
        let depth = self.a.columns;
        let left = match self.left {
            Some(packed) => Left::Packed { data: &packed[row * depth..][..N * depth] },
            None => Left::Rows(std::array::from_fn(|i| &self.a.from(row + i, 0)[..depth])),
        };
        let Out { step, width, fresh, .. } = self.out;
        let data = &mut self.out.data[row * step..];
        let mut out = Out { data, step, width, fresh };
        kernel::<S, L, N, V>(self.simd, left, self.right, depth, &mut out);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The chain of the guarantee, element by element.
    fn reference<R: Real>(a: Mat<'_, R>, b: Mat<'_, R>, out: &mut [R], fma: fn(R, R, R) -> R) {
        for i in 0..a.rows {
            for j in 0..b.columns {
                let sum = &mut out[i * b.columns + j];
                for k in 0..a.columns {
                    *sum = fma(a.from(i, k)[0], b.from(k, j)[0], *sum);
                }
            }
        }
    }

    fn numbers<R: Real>(count: usize, seed: usize) -> Vec<R> {
        let value = |i: usize| ((i * 7919 + seed * 104_729) % 2003) as f64 / 1001.0 - 1.0;
        (0..count).map(|i| R::from_f64(value(i))).collect()
    }

    fn check<R: Real>(m: usize, k: usize, n: usize, turned: (bool, bool), fma: fn(R, R, R) -> R) {
        let (a, b) = (numbers::<R>(m * k, 1), numbers::<R>(k * n, 2));
        let a = if turned.0 { Mat::new(&a, k, m).t() } else { Mat::new(&a, m, k) };
        let b = if turned.1 { Mat::new(&b, n, k).t() } else { Mat::new(&b, k, n) };
        let start = numbers::<R>(m * n, 3);
        let (mut ours, mut expected) = (start.clone(), start);
        multiply_add(a, b, &mut ours, &mut Packing::default());
        reference(a, b, &mut expected, fma);
        assert_eq!(ours, expected, "{m} x {k} x {n} {turned:?}");
        multiply(a, b, &mut ours, &mut Packing::default());
        expected.fill(R::ZERO);
        reference(a, b, &mut expected, fma);
        assert_eq!(ours, expected, "from zero: {m} x {k} x {n} {turned:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn products_are_chains_in_order_in_bits(
            m in 0_usize..60,
            k in 0_usize..40,
            n in 0_usize..70,
            left: bool,
            right: bool,
        ) {
            check::<f32>(m, k, n, (left, right), f32::mul_add);
            check::<f64>(m, k, n, (left, right), f64::mul_add);
        }
    }

    #[test]
    fn chosen_rows_are_like_copies_of_them() {
        let (data, lines) = (numbers::<f32>(40 * 300, 1), [7, 3, 3, 39, 0, 12, 21, 8, 9]);
        let copied: Vec<f32> =
            lines.iter().flat_map(|line| &data[line * 300..][..300]).copied().collect();
        let (chosen, copied) = (Mat::of_rows(&data, 300, &lines), Mat::new(&copied, 9, 300));
        let packing = &mut Packing::default();
        let (weights, above) = (numbers::<f32>(300 * 50, 2), numbers::<f32>(9 * 50, 3));
        let [mut a, mut b] = [vec![0.0; 9 * 50], vec![1.0; 9 * 50]];
        multiply(chosen, Mat::new(&weights, 300, 50), &mut a, packing);
        multiply(copied, Mat::new(&weights, 300, 50), &mut b, packing);
        assert_eq!(a, b);
        let [mut a, mut b] = [vec![0.0; 300 * 50], vec![1.0; 300 * 50]];
        multiply(chosen.t(), Mat::new(&above, 9, 50), &mut a, packing);
        multiply(copied.t(), Mat::new(&above, 9, 50), &mut b, packing);
        assert_eq!(a, b);
    }

    #[test]
    #[should_panic(expected = "rows of a matrix with 3 columns")]
    fn rows_that_do_not_exist_are_refused() {
        let _ = Mat::of_rows(&[0.0; 9], 3, &[0, 3]);
    }

    #[test]
    fn blocks_of_the_inner_index_do_not_show() {
        for turned in [(false, false), (true, false), (false, true), (true, true)] {
            check::<f32>(5, 2 * DEPTH + 7, 50, turned, f32::mul_add);
            check::<f64>(30, 2 * DEPTH + 1, 9, turned, f64::mul_add);
        }
    }
}
