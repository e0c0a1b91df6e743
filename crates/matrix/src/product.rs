//! Products of matrices.

use pulp::Simd;
use undertone_real::{Real, Slice, SliceMut};

use crate::lanes::Lane;

mod kernel;

use kernel::{Left, Right, kernel};

/// A matrix that somebody else owns.
#[derive(Clone, Copy, Debug)]
pub struct Mat<'a, R> {
    data: &'a [R],
    rows: usize,
    columns: usize,
    /// Numbers of a row (or of a column, if it is transposed) to the next.
    step: usize,
    transposed: bool,
}

impl<'a, R> Mat<'a, R> {
    /// Of rows one after the other. Panics if the length is not `rows * columns`.
    pub fn new(data: &'a [R], rows: usize, columns: usize) -> Self {
        assert_eq!(data.len(), rows * columns, "a matrix of {rows} x {columns}");
        Self { data, rows, columns, step: columns, transposed: false }
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

    /// From this element on, as it lies in memory.
    fn from(&self, row: usize, column: usize) -> &'a [R] {
        let (line, place) = if self.transposed { (column, row) } else { (row, column) };
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
    out.fill(R::ZERO);
    multiply_add(a, b, out, packing);
}

/// `out += a b`; otherwise as [`multiply`]. The chain starts with what is in `out`.
pub fn multiply_add<R: Real>(
    a: Mat<'_, R>,
    b: Mat<'_, R>,
    out: &mut [R],
    packing: &mut Packing<R>,
) {
    assert_eq!(a.columns, b.rows, "inner sizes");
    assert_eq!(out.len(), a.rows * b.columns, "size of the result");
    if packing.0.len() < PACKED {
        packing.0.resize(PACKED, R::ZERO);
    }
    let arch = pulp::Arch::new();
    let packed = R::slice_mut(&mut packing.0);
    match (R::slice(a.data), R::slice(b.data), R::slice_mut(out), packed) {
        (Slice::F32(left), Slice::F32(right), SliceMut::F32(out), SliceMut::F32(packed)) => {
            arch.dispatch(Product { a: a.over(left), b: b.over(right), out, packed });
        }
        (Slice::F64(left), Slice::F64(right), SliceMut::F64(out), SliceMut::F64(packed)) => {
            arch.dispatch(Product { a: a.over(left), b: b.over(right), out, packed });
        }
        _ => unreachable!("all four hold the same type"),
    }
}

impl<R> Mat<'_, R> {
    /// The same shape over data whose type is known.
    fn over<L>(self, data: &[L]) -> Mat<'_, L> {
        let Self { rows, columns, step, transposed, .. } = self;
        Mat { data, rows, columns, step, transposed }
    }
}

/// Rows of the result at a time.
const ROWS: usize = 4;
/// Vectors of columns at a time, at most: with the rows, twelve sums in registers.
const VECTORS: usize = 3;
/// Inner indices at a time: so many rows of a panel stay in the first cache.
const DEPTH: usize = 192;
/// Numbers of the largest panel: the widest vectors hold sixteen.
const PACKED: usize = DEPTH * VECTORS * 16;
/// From so many rows on, copying the right panel together is worth it.
const WORTH_PACKING: usize = 24;

struct Product<'a, L> {
    a: Mat<'a, L>,
    b: Mat<'a, L>,
    out: &'a mut [L],
    packed: &'a mut [L],
}

impl<L: Lane> pulp::WithSimd for Product<'_, L> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let lanes = L::lanes::<S>();
        for first in (0..self.a.columns).step_by(DEPTH) {
            let depth = DEPTH.min(self.a.columns - first);
            let mut column = 0;
            while column < self.b.columns {
                let left = (self.b.columns - column).div_ceil(lanes);
                // One vector alone would wait for its own sums: 4 is 2 + 2, not 3 + 1.
                let vectors = if left == 4 { 2 } else { left.min(VECTORS) };
                match vectors {
                    1 => self.panel::<S, 1>(simd, first, depth, column),
                    2 => self.panel::<S, 2>(simd, first, depth, column),
                    _ => self.panel::<S, 3>(simd, first, depth, column),
                }
                column += vectors * lanes;
            }
        }
    }
}

impl<L: Lane> Product<'_, L> {
    /// Some columns of the result, over one block of the inner index.
    #[inline(always)]
    fn panel<S: Simd, const V: usize>(
        &mut self,
        simd: S,
        first: usize,
        depth: usize,
        column: usize,
    ) {
        let full = V * L::lanes::<S>();
        let width = full.min(self.b.columns - column);
        let direct = !self.b.transposed && width == full && self.a.rows < WORTH_PACKING;
        let right = if direct {
            Right { data: self.b.from(first, column), step: self.b.step }
        } else {
            let packed = &mut self.packed[..depth * full];
            pack(&self.b, first, column, width, full, packed);
            Right { data: packed, step: full }
        };
        let columns = self.b.columns;
        let mut row = 0;
        while row < self.a.rows {
            let rows = ROWS.min(self.a.rows - row);
            let left = Left { data: self.a.from(row, first), step: self.a.step, depth };
            let out = &mut self.out[row * columns + column..];
            match (rows, self.a.transposed) {
                (4, false) => kernel::<S, L, 4, V, true>(simd, left, right, out, columns, width),
                (4, true) => kernel::<S, L, 4, V, false>(simd, left, right, out, columns, width),
                (3, false) => kernel::<S, L, 3, V, true>(simd, left, right, out, columns, width),
                (3, true) => kernel::<S, L, 3, V, false>(simd, left, right, out, columns, width),
                (2, false) => kernel::<S, L, 2, V, true>(simd, left, right, out, columns, width),
                (2, true) => kernel::<S, L, 2, V, false>(simd, left, right, out, columns, width),
                (_, false) => kernel::<S, L, 1, V, true>(simd, left, right, out, columns, width),
                (_, true) => kernel::<S, L, 1, V, false>(simd, left, right, out, columns, width),
            }
            row += rows;
        }
    }
}

/// Copies a block of the right matrix together, each row filled up with zeros.
#[inline(always)]
fn pack<L: Lane>(
    b: &Mat<'_, L>,
    first: usize,
    column: usize,
    width: usize,
    full: usize,
    packed: &mut [L],
) {
    if !b.transposed {
        for (k, row) in packed.chunks_exact_mut(full).enumerate() {
            row[..width].copy_from_slice(&b.from(first + k, column)[..width]);
            row[width..].fill(L::default());
        }
        return;
    }
    let depth = packed.len() / full;
    for place in 0..full {
        let targets = packed[place..].iter_mut().step_by(full);
        if place < width {
            let source = &b.from(first, column + place)[..depth];
            targets.zip(source).for_each(|(target, value)| *target = *value);
        } else {
            targets.for_each(|target| *target = L::default());
        }
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
    fn blocks_of_the_inner_index_do_not_show() {
        for turned in [(false, false), (true, false), (false, true), (true, true)] {
            check::<f32>(5, 2 * DEPTH + 7, 50, turned, f32::mul_add);
            check::<f64>(30, 2 * DEPTH + 1, 9, turned, f64::mul_add);
        }
    }
}
