//! A few rows times a few vectors of columns, in registers.

use pulp::Simd;

use crate::lanes::Lane;

/// Some rows of the left matrix, over one block of the inner index.
#[derive(Clone, Copy)]
pub(super) struct Left<'a, L> {
    pub(super) data: &'a [L],
    /// From a number to the next one, along the direction that is not contiguous.
    pub(super) step: usize,
    /// How many inner indices.
    pub(super) depth: usize,
}

/// Some columns of the right matrix, over the same block: rows of at least as many numbers.
#[derive(Clone, Copy)]
pub(super) struct Right<'a, L> {
    pub(super) data: &'a [L],
    pub(super) step: usize,
}

/// `out += left right` for `ROWS` rows and `width` columns, which fill `VECTORS` vectors but for
/// the last, which may be shorter. `ALONG` says that the inner index is contiguous on the left.
///
/// Every element is a chain of fused multiplications and additions in the order of the inner
/// index, which starts with what is in `out`.
#[inline(always)]
pub(super) fn kernel<
    S: Simd,
    L: Lane,
    const ROWS: usize,
    const VECTORS: usize,
    const ALONG: bool,
>(
    simd: S,
    left: Left<'_, L>,
    right: Right<'_, L>,
    out: &mut [L],
    out_step: usize,
    width: usize,
) {
    let lanes = L::lanes::<S>();
    let whole = width == VECTORS * lanes;
    let mut sums = [[L::splat(simd, L::default()); VECTORS]; ROWS];
    for (row, sums) in sums.iter_mut().enumerate() {
        let out = &out[row * out_step..][..width];
        if whole {
            sums.copy_from_slice(&L::vectors::<S>(out)[..VECTORS]);
        } else {
            for (sum, part) in sums.iter_mut().zip(out.chunks(lanes)) {
                *sum = L::load_part(simd, part);
            }
        }
    }
    let columns = right.data.chunks(right.step).take(left.depth);
    if ALONG {
        let rows: [&[L]; ROWS] =
            std::array::from_fn(|row| &left.data[row * left.step..][..left.depth]);
        for (k, right) in columns.enumerate() {
            let right = &L::vectors::<S>(right)[..VECTORS];
            for (sums, row) in sums.iter_mut().zip(rows) {
                step(simd, row[k], right, sums);
            }
        }
    } else {
        for (left, right) in left.data.chunks(left.step).zip(columns) {
            let right = &L::vectors::<S>(right)[..VECTORS];
            let left = &left[..ROWS];
            for (sums, left) in sums.iter_mut().zip(left) {
                step(simd, *left, right, sums);
            }
        }
    }
    for (row, sums) in sums.iter().enumerate() {
        let out = &mut out[row * out_step..][..width];
        if whole {
            L::vectors_mut::<S>(out)[..VECTORS].copy_from_slice(sums);
        } else {
            for (sum, part) in sums.iter().zip(out.chunks_mut(lanes)) {
                L::store_part(simd, part, *sum);
            }
        }
    }
}

#[inline(always)]
fn step<S: Simd, L: Lane, const VECTORS: usize>(
    simd: S,
    left: L,
    right: &[L::Vector<S>],
    sums: &mut [L::Vector<S>; VECTORS],
) {
    let left = L::splat(simd, left);
    for (sum, right) in sums.iter_mut().zip(right) {
        *sum = L::mul_add(simd, left, *right, *sum);
    }
}
