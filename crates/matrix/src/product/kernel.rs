//! A few rows times a few vectors of columns, in registers.

use pulp::Simd;

use crate::lanes::Lane;

/// Some rows of the left matrix over one block of the inner index.
#[derive(Clone, Copy)]
pub(super) enum Left<'a, L> {
    /// Rows one after the other, `step` numbers from one to the next.
    Rows { data: &'a [L], step: usize },
    /// All rows' numbers of an inner index together, then those of the next.
    Packed { data: &'a [L] },
}

/// Some columns of the right matrix over the same block: rows of whole vectors.
#[derive(Clone, Copy)]
pub(super) struct Right<'a, L> {
    pub(super) data: &'a [L],
    pub(super) step: usize,
}

/// `out += left right` for `ROWS` rows and `VECTORS` whole vectors of columns.
///
/// Every element is a chain of fused multiplications and additions in the order of the inner
/// index, which starts with what is in `out`.
#[inline(always)]
pub(super) fn kernel<S: Simd, L: Lane, const ROWS: usize, const VECTORS: usize>(
    simd: S,
    left: Left<'_, L>,
    right: Right<'_, L>,
    depth: usize,
    out: &mut [L],
    out_step: usize,
) {
    let mut sums = [[L::splat(simd, L::default()); VECTORS]; ROWS];
    for (row, sums) in sums.iter_mut().enumerate() {
        sums.copy_from_slice(&L::vectors::<S>(&out[row * out_step..])[..VECTORS]);
    }
    match left {
        Left::Rows { data, step } => {
            let rows: [&[L]; ROWS] = std::array::from_fn(|row| &data[row * step..][..depth]);
            for k in 0..depth {
                let right = &L::vectors::<S>(&right.data[k * right.step..])[..VECTORS];
                for (sums, row) in sums.iter_mut().zip(rows) {
                    add(simd, row[k], right, sums);
                }
            }
        }
        Left::Packed { data } => {
            let left = data.as_chunks::<ROWS>().0;
            for (k, left) in left.iter().enumerate() {
                let right = &L::vectors::<S>(&right.data[k * right.step..])[..VECTORS];
                for (sums, left) in sums.iter_mut().zip(left) {
                    add(simd, *left, right, sums);
                }
            }
        }
    }
    for (row, sums) in sums.iter().enumerate() {
        L::vectors_mut::<S>(&mut out[row * out_step..])[..VECTORS].copy_from_slice(sums);
    }
}

#[inline(always)]
fn add<S: Simd, L: Lane, const VECTORS: usize>(
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
