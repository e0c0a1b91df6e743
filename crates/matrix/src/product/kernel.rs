//! A few rows times a few vectors of columns, in registers.

use pulp::Simd;

use crate::lanes::Lane;

/// Some rows of the left matrix over one block of the inner index.
#[derive(Clone, Copy)]
pub(super) enum Left<'a, L, const ROWS: usize> {
    /// As many numbers of each as there are inner indices.
    Rows([&'a [L]; ROWS]),
    /// All rows' numbers of an inner index together, then those of the next.
    Packed { data: &'a [L] },
}

/// Some columns of the right matrix over the same block: rows of whole vectors.
#[derive(Clone, Copy)]
pub(super) struct Right<'a, L> {
    pub(super) data: &'a [L],
    pub(super) step: usize,
}

/// Where a result goes.
pub(super) struct Out<'a, L> {
    pub(super) data: &'a mut [L],
    pub(super) step: usize,
    /// Columns of it, which fill whole vectors but for the last, which may be shorter.
    pub(super) width: usize,
    /// Whether to start from zero, not from what is there.
    pub(super) fresh: bool,
}

/// `out += left right` for `ROWS` rows and `VECTORS` vectors of columns.
///
/// Every element is a chain of fused multiplications and additions in the order of the inner
/// index, which starts with what is in `out`.
#[inline(always)]
pub(super) fn kernel<S: Simd, L: Lane, const ROWS: usize, const VECTORS: usize>(
    simd: S,
    left: Left<'_, L, ROWS>,
    right: Right<'_, L>,
    depth: usize,
    out: &mut Out<'_, L>,
) {
    let lanes = L::lanes::<S>();
    let whole = out.width == VECTORS * lanes;
    let mut sums = [[L::splat(simd, L::default()); VECTORS]; ROWS];
    if !out.fresh {
        for (row, sums) in sums.iter_mut().enumerate() {
            let data = &out.data[row * out.step..][..out.width];
            if whole {
                sums.copy_from_slice(&L::vectors::<S>(data)[..VECTORS]);
            } else {
                for (v, sum) in sums.iter_mut().enumerate() {
                    let part = data.len().min(v * lanes)..data.len().min((v + 1) * lanes);
                    *sum = L::load_part(simd, &data[part]);
                }
            }
        }
    }
    match left {
        Left::Rows(rows) => {
            // The same lengths once more, where the compiler sees them.
            let rows = rows.map(|row| &row[..depth]);
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
        let data = &mut out.data[row * out.step..][..out.width];
        if whole {
            L::vectors_mut::<S>(data)[..VECTORS].copy_from_slice(sums);
        } else {
            for (v, sum) in sums.iter().enumerate() {
                let part = data.len().min(v * lanes)..data.len().min((v + 1) * lanes);
                L::store_part(simd, &mut data[part], *sum);
            }
        }
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
