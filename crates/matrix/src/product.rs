//! Products of matrices.

use pulp::Simd;
use undertone_real::Real;

mod kernel;
mod mat;
mod pack;
mod rest;
mod tile;

pub use mat::Mat;

use kernel::{Left, Out, Right, Start, kernel};
use pack::{pack, pack_left};
use tile::{Tile, next_rows};

/// Rows at a time, which stay in the second cache.
const BLOCK: usize = 128;
/// Columns at a time.
const COLUMNS: usize = 480;
/// From so many rows on, copying the right panels together is worth it.
const WORTH_PACKING: usize = 24;

/// The last panel may be filled up with zeros.
const PACKED: usize = (COLUMNS + tile::WIDEST) * tile::DEEPEST;
/// From so many panels on, copying the tiles of a transposed left block together is worth it: their
/// lines are far from each other, and all panels read them.
const WORTH_PACKING_LEFT: usize = 8;
const PACKED_LEFT: usize = BLOCK * tile::DEEPEST;

/// Memory that products reuse.
#[derive(Clone, Debug, Default)]
pub struct Packing<R>(Vec<R>);

impl<R: Real> Packing<R> {
    /// As much as a product needs, from the start of a cache line on: vectors that lie across two
    /// lines are read twice.
    fn memory(&mut self) -> &mut [R] {
        const LINE: usize = 64;
        if self.0.is_empty() {
            self.0.resize(PACKED + PACKED_LEFT + LINE / size_of::<R>(), R::ZERO);
        }
        let start = self.0.as_ptr().align_offset(LINE).min(LINE / size_of::<R>());
        &mut self.0[start..][..PACKED + PACKED_LEFT]
    }
}

/// `out = a b`, rows of `out` one after the other. Panics if the shapes do not fit.
///
/// # Guarantee
///
/// An element of the result depends on its row of `a`, its column of `b` and the latter's place
/// only, in bits: not on the other rows and columns, the number of rows, or the machine. It is a
/// chain of fused multiplications and additions in the order of the inner index, or, in up to four
/// columns behind a multiple of sixteen, the sum of sixteen such chains.
pub fn multiply<R: Real>(a: Mat<'_, R>, b: Mat<'_, R>, out: &mut [R], packing: &mut Packing<R>) {
    product(a, b, out, packing, Start::Zero);
}

/// Every row of `out` is that of `a b` and `row`; otherwise as [`multiply`]. The chain starts with
/// the number of the row.
pub fn multiply_from<R: Real>(
    row: &[R],
    a: Mat<'_, R>,
    b: Mat<'_, R>,
    out: &mut [R],
    packing: &mut Packing<R>,
) {
    assert_eq!(row.len(), b.columns, "as many numbers as columns");
    product(a, b, out, packing, Start::Row(row));
}

/// `out += a b`; otherwise as [`multiply`]. The chain starts with what is in `out`.
pub fn multiply_add<R: Real>(
    a: Mat<'_, R>,
    b: Mat<'_, R>,
    out: &mut [R],
    packing: &mut Packing<R>,
) {
    product(a, b, out, packing, Start::Out);
}

fn product<R: Real>(
    a: Mat<'_, R>,
    b: Mat<'_, R>,
    out: &mut [R],
    packing: &mut Packing<R>,
    start: Start<'_, R>,
) {
    product_on(pulp::Arch::new(), a, b, out, packing, start);
}

fn product_on<R: Real>(
    arch: pulp::Arch,
    a: Mat<'_, R>,
    b: Mat<'_, R>,
    out: &mut [R],
    packing: &mut Packing<R>,
    start: Start<'_, R>,
) {
    assert_eq!(a.columns, b.rows, "inner sizes");
    assert!(b.lines.is_none(), "chosen rows stand on the left");
    assert_eq!(out.len(), a.rows * b.columns, "size of the result");
    if out.is_empty() {
        return;
    }
    if a.columns == 0 {
        for row in out.chunks_exact_mut(b.columns) {
            row.iter_mut().enumerate().for_each(|(c, out)| *out = start.at(c, *out));
        }
        return;
    }
    arch.dispatch(Product { a, b, out, packed: packing.memory(), start });
}

struct Product<'a, L> {
    a: Mat<'a, L>,
    b: Mat<'a, L>,
    out: &'a mut [L],
    packed: &'a mut [L],
    start: Start<'a, L>,
}

impl<L: Real> pulp::WithSimd for Product<'_, L> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (a, b) = (self.a, self.b);
        let (packed, packed_left) = self.packed.split_at_mut(PACKED);
        let columns = b.columns - rest::columns(a, b);
        for first_column in (0..columns).step_by(COLUMNS) {
            let n_columns = COLUMNS.min(columns - first_column);
            let tile = Tile::new::<S, L>(n_columns, a.columns);
            let mut first = 0;
            while first < a.columns {
                let b = b.block(first, b.rows - first, first_column, n_columns);
                let right = Panels::new(b, a.rows, tile, packed);
                let depth = right.b.rows;
                for row in (0..a.rows).step_by(BLOCK) {
                    let a = a.block(row, BLOCK.min(a.rows - row), first, depth);
                    let out = &mut self.out[row * self.b.columns + first_column..];
                    let start = if first == 0 { self.start } else { Start::Out };
                    let (step, start) = (self.b.columns, start.from(first_column));
                    let many = n_columns > (WORTH_PACKING_LEFT - 1) * tile.columns();
                    let left = (many && a.transposed).then(|| pack_left(a, tile.rows, packed_left));
                    Block { a, left, right, out, step, start }.add(simd);
                }
                first += depth;
            }
        }
        if columns < b.columns {
            let (out, step) = (&mut self.out[columns..], b.columns);
            let b = b.block(0, b.rows, columns, b.columns - columns);
            let start = self.start.from(columns);
            let out = Out { data: out, step, width: b.columns, start };
            rest::add(simd, a, b, out, packed);
        }
    }
}

/// Some inner indices of the right matrix, its columns in panels of whole vectors.
#[derive(Clone, Copy)]
struct Panels<'a, L> {
    b: Mat<'a, L>,
    tile: Tile,
    /// Panels one after the other, if they are not read where they lie.
    packed: Option<&'a [L]>,
}

impl<'a, L: Real> Panels<'a, L> {
    /// As many inner indices from the first of `b` on as are taken together, for a product with so
    /// many rows.
    #[inline(always)]
    fn new(b: Mat<'a, L>, rows: usize, tile: Tile, packed: &'a mut [L]) -> Self {
        let depth = tile.depth.min(b.rows);
        if !b.transposed && rows < WORTH_PACKING {
            // The last vector of a line may read into the next line, but not behind the matrix.
            let width = b.columns.next_multiple_of(tile.lanes);
            let inside = b.data.len().checked_sub(width).map_or(0, |rest| rest / b.step + 1);
            if inside > 0 {
                return Self { b: b.block(0, depth.min(inside), 0, b.columns), tile, packed: None };
            }
        }
        let b = b.block(0, depth, 0, b.columns);
        for column in (0..b.columns).step_by(tile.columns()) {
            let (vectors, width) = tile.panel(b.columns - column);
            let full = vectors * tile.lanes;
            let panel = &mut packed[column * b.rows..][..full * b.rows];
            pack(b.block(0, b.rows, column, width), full, panel);
        }
        Self { b, tile, packed: Some(packed) }
    }

    #[inline(always)]
    fn panel(&self, column: usize, full: usize) -> Right<'a, L> {
        let Self { b, .. } = self;
        match self.packed {
            Some(packed) => Right { data: &packed[column * b.rows..][..full * b.rows], step: full },
            None => Right { data: b.from(0, column), step: b.step },
        }
    }
}

/// Some rows and some columns of the result, over one block of the inner index.
struct Block<'a, L> {
    a: Mat<'a, L>,
    /// Tiles of it one after the other, if they are not read where they lie.
    left: Option<&'a [L]>,
    right: Panels<'a, L>,
    out: &'a mut [L],
    step: usize,
    start: Start<'a, L>,
}

impl<L: Real> Block<'_, L> {
    #[inline(always)]
    fn add<S: Simd>(self, simd: S) {
        let Self { a, left, right, out, step, start } = self;
        let (columns, tile) = (right.b.columns, right.tile);
        for column in (0..columns).step_by(tile.columns()) {
            let (vectors, width) = tile.panel(columns - column);
            let right = right.panel(column, vectors * tile.lanes);
            let out = Out { data: &mut out[column..], step, width, start: start.from(column) };
            // Tiles that were copied together are all of the same height.
            let most = if left.is_some() { tile.rows } else { tile::rows::<S>(vectors) };
            match vectors {
                1 => simd.vectorize(Panel::<S, L, 1> { simd, a, left, right, out, most }),
                2 => simd.vectorize(Panel::<S, L, 2> { simd, a, left, right, out, most }),
                3 => simd.vectorize(Panel::<S, L, 3> { simd, a, left, right, out, most }),
                _ => simd.vectorize(Panel::<S, L, 4> { simd, a, left, right, out, most }),
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
    /// Rows at a time.
    most: usize,
}

impl<S: Simd, L: Real, const V: usize> pulp::NullaryFnOnce for Panel<'_, S, L, V> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        // What has no registers never comes, and is not compiled.
        let fits = |rows: usize| rows <= tile::rows::<S>(V);
        let mut row = 0;
        while row < self.a.rows {
            let rows = next_rows(self.a.rows - row, self.most);
            match rows {
                8 if fits(8) => self.rows::<8>(row),
                6 if fits(6) => self.rows::<6>(row),
                4 if fits(4) => self.rows::<4>(row),
                3 if fits(3) => self.rows::<3>(row),
                2 => self.rows::<2>(row),
                _ => self.rows::<1>(row),
            }
            row += rows;
        }
    }
}

impl<S: Simd, L: Real, const V: usize> Panel<'_, S, L, V> {
    #[inline(always)]
    fn rows<const N: usize>(&mut self, row: usize) {
        let Self { a, left, right, .. } = *self;
        let Out { step, width, start, .. } = self.out;
        let data = &mut self.out.data[row * step..];
        let mut out = Out { data, step, width, start };
        let left = match (left, a.lines) {
            (Some(packed), _) => Left::Columns { data: &packed[row * a.columns..], step: N },
            _ if !a.transposed => Left::Rows {
                rows: std::array::from_fn(|i| a.from(row + i, 0)),
                next: std::array::from_fn(|i| a.from((row + N + i).min(a.rows - 1), 0)),
            },
            (_, None) => Left::Columns { data: &a.data[row..], step: a.step },
            (_, Some(lines)) => Left::Chosen { data: &a.data[row..], step: a.step, lines },
        };
        kernel::<S, L, N, V>(self.simd, left, right, a.columns, &mut out);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The chains of the guarantee, element by element.
    fn reference<R: Real>(
        a: Mat<'_, R>,
        b: Mat<'_, R>,
        start: impl Fn(usize, usize) -> R,
        fma: fn(R, R, R) -> R,
    ) -> Vec<R> {
        let (depth, n) = (a.columns, b.columns);
        let in_parts = n > 16 && n % 16 <= 4 && !a.transposed && depth >= 64;
        let element = |i: usize, j: usize| {
            let term = |sum, k: usize| fma(a.from(i, k)[0], b.from(k, j)[0], sum);
            if !in_parts || j < n - n % 16 {
                return (0..depth).fold(start(i, j), term);
            }
            let chain = |part: usize| (part..depth).step_by(16).fold(R::ZERO, term);
            let mut parts: Vec<R> = (0..16).map(chain).collect();
            for half in [8, 4, 2, 1] {
                (0..half).for_each(|i| parts[i] = parts[i] + parts[i + half]);
            }
            start(i, j) + parts[0]
        };
        (0..a.rows * n).map(|k| element(k / n, k % n)).collect()
    }

    fn numbers<R: Real>(count: usize, seed: usize) -> Vec<R> {
        let value = |i: usize| ((i * 7919 + seed * 104_729) % 2003) as f64 / 1001.0 - 1.0;
        (0..count).map(|i| R::from_f64(value(i))).collect()
    }

    /// What this machine is, and what it could be.
    fn machines() -> Vec<pulp::Arch> {
        let mut machines = vec![pulp::Arch::new()];
        #[cfg(target_arch = "x86_64")]
        machines.extend(pulp::x86::V3::try_new().map(pulp::Arch::V3));
        #[cfg(target_arch = "x86_64")]
        machines.push(pulp::Arch::Scalar);
        machines
    }

    fn check<R: Real>(m: usize, k: usize, n: usize, turned: (bool, bool), fma: fn(R, R, R) -> R) {
        let (a, b) = (numbers::<R>(m * k, 1), numbers::<R>(k * n, 2));
        let a = if turned.0 { Mat::new(&a, k, m).t() } else { Mat::new(&a, m, k) };
        let b = if turned.1 { Mat::new(&b, n, k).t() } else { Mat::new(&b, k, n) };
        let (there, row) = (numbers::<R>(m * n, 3), numbers::<R>(n, 4));
        let packing = &mut Packing::default();
        let expected = [
            reference(a, b, |_, _| R::ZERO, fma),
            reference(a, b, |i, j| there[i * n + j], fma),
            reference(a, b, |_, j| row[j], fma),
        ];
        for machine in machines() {
            let starts = [Start::Zero, Start::Out, Start::Row(&row)];
            for (which, (start, expected)) in starts.into_iter().zip(&expected).enumerate() {
                let mut out = there.clone();
                product_on(machine, a, b, &mut out, packing, start);
                assert!(out == *expected, "{m} x {k} x {n} {turned:?} {which} {machine:?}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn products_are_chains_in_order_in_bits(
            m in 0_usize..60,
            k in 0_usize..90,
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
        // Few columns, and so many that tiles of the left matrix are copied together.
        for n in [50, COLUMNS + 35] {
            let (weights, above) = (numbers::<f32>(300 * n, 2), numbers::<f32>(9 * n, 3));
            let [mut a, mut b] = [vec![0.0; 9 * n], vec![1.0; 9 * n]];
            multiply(chosen, Mat::new(&weights, 300, n), &mut a, packing);
            multiply(copied, Mat::new(&weights, 300, n), &mut b, packing);
            assert_eq!(a, b);
            let [mut a, mut b] = [vec![0.0; 300 * n], vec![1.0; 300 * n]];
            multiply(chosen.t(), Mat::new(&above, 9, n), &mut a, packing);
            multiply(copied.t(), Mat::new(&above, 9, n), &mut b, packing);
            assert_eq!(a, b);
        }
    }

    #[test]
    #[should_panic(expected = "rows of a matrix with 3 columns")]
    fn rows_that_do_not_exist_are_refused() {
        let _ = Mat::of_rows(&[0.0; 9], 3, &[0, 3]);
    }

    #[test]
    fn blocks_of_the_inner_index_do_not_show() {
        for turned in [(false, false), (true, false), (false, true), (true, true)] {
            check::<f32>(5, 2 * tile::DEEPEST + 7, 50, turned, f32::mul_add);
            check::<f64>(30, 2 * tile::DEEPEST + 1, 9, turned, f64::mul_add);
            check::<f32>(130, 70, COLUMNS + 35, turned, f32::mul_add);
            check::<f64>(25, 300, COLUMNS + 3, turned, f64::mul_add);
        }
    }
}
