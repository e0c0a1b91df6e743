//! A few rows times a few vectors of columns, in registers.

use prefetch_index::prefetch_index;
use pulp::Simd;

use undertone_real::Real;

/// Inner indices of rows that are looked up together.
const CHUNK: usize = 16;
/// Bytes from a tile of chosen lines to what is asked for of them.
const AHEAD: usize = 64;

/// Some rows of the left matrix over one block of the inner index.
#[derive(Clone, Copy)]
pub(super) enum Left<'a, L, const ROWS: usize> {
    /// At least as many numbers of each as there are inner indices.
    Rows {
        rows: [&'a [L]; ROWS],
        /// The rows that come after them, which may be far away.
        next: [&'a [L]; ROWS],
    },
    /// All rows' numbers of an inner index together, those of the next a step further.
    Columns { data: &'a [L], step: usize },
    /// The same, with the numbers of the steps.
    Chosen { data: &'a [L], step: usize, lines: &'a [usize] },
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
    pub(super) start: Start<'a, L>,
}

/// What the sums of a row start from.
#[derive(Clone, Copy)]
pub(super) enum Start<'a, L> {
    Zero,
    /// What is there.
    Out,
    /// The same for all rows.
    Row(&'a [L]),
}

impl<'a, L> Start<'a, L> {
    /// From a column on.
    #[inline(always)]
    pub(super) fn from(self, column: usize) -> Self {
        match self {
            Self::Row(row) => Self::Row(&row[column..]),
            other => other,
        }
    }

    /// Of a column and what is there.
    #[inline(always)]
    pub(super) fn at(self, column: usize, there: L) -> L
    where
        L: Real,
    {
        match self {
            Self::Zero => L::ZERO,
            Self::Out => there,
            Self::Row(row) => row[column],
        }
    }
}

/// `out += left right` for `ROWS` rows and `VECTORS` vectors of columns.
///
/// Every element is a chain of fused multiplications and additions in the order of the inner
/// index.
#[inline(always)]
pub(super) fn kernel<S: Simd, L: Real, const ROWS: usize, const VECTORS: usize>(
    simd: S,
    left: Left<'_, L, ROWS>,
    right: Right<'_, L>,
    depth: usize,
    out: &mut Out<'_, L>,
) {
    let lanes = L::lanes::<S>();
    // All but the last, which may be shorter.
    let full = out.width / lanes;
    let mut sums = [[L::splat(simd, L::ZERO); VECTORS]; ROWS];
    if !matches!(out.start, Start::Zero) {
        for (row, sums) in sums.iter_mut().enumerate() {
            let data = match out.start {
                Start::Row(start) => &start[..out.width],
                _ => &out.data[row * out.step..][..out.width],
            };
            if full == VECTORS {
                sums.copy_from_slice(&L::vectors::<S>(data)[..VECTORS]);
            } else {
                sums[..VECTORS - 1].copy_from_slice(&L::vectors::<S>(data)[..VECTORS - 1]);
                sums[VECTORS - 1] = L::load_part(simd, &data[(VECTORS - 1) * lanes..]);
            }
        }
    }
    if right.step == VECTORS * lanes {
        // Vectors that lie one after the other need no look at where they end.
        let right = L::vectors::<S>(right.data).as_chunks::<VECTORS>().0[..depth].iter();
        add_all(simd, left, right, &mut sums);
    } else {
        let right = (0..depth).map(|k| {
            let vectors = L::vectors::<S>(&right.data[k * right.step..]);
            vectors.first_chunk().expect("whole vectors")
        });
        add_all(simd, left, right, &mut sums);
    }
    for (row, sums) in sums.iter().enumerate() {
        let data = &mut out.data[row * out.step..][..out.width];
        if full == VECTORS {
            L::vectors_mut::<S>(data)[..VECTORS].copy_from_slice(sums);
        } else {
            L::vectors_mut::<S>(data)[..VECTORS - 1].copy_from_slice(&sums[..VECTORS - 1]);
            L::store_part(simd, &mut data[(VECTORS - 1) * lanes..], sums[VECTORS - 1]);
        }
    }
}

/// `sums += left right`, one inner index after the other.
#[inline(always)]
fn add_all<'a, S: Simd, L: Real, const ROWS: usize, const VECTORS: usize>(
    simd: S,
    left: Left<'_, L, ROWS>,
    mut right: impl ExactSizeIterator<Item = &'a [L::Vector<S>; VECTORS]>,
    sums: &mut [[L::Vector<S>; VECTORS]; ROWS],
) {
    let depth = right.len();
    match left {
        Left::Rows { rows, next } => {
            // The same lengths once more, where the compiler sees them.
            let chunks = rows.map(|row| &row.as_chunks::<CHUNK>().0[..depth / CHUNK]);
            for k in 0..depth / CHUNK {
                let chunk = chunks.map(|row| &row[k]);
                for (i, right) in (0..CHUNK).zip(right.by_ref()) {
                    add(simd, chunk.map(|row| row[i]), right, sums);
                }
                // Only now: lines of rows may all have the same place in the first cache, and those
                // that come may drive out those that are used.
                for i in (0..CHUNK).step_by(64 / size_of::<L>()) {
                    next.iter().for_each(|row| prefetch_index(row, k * CHUNK + i));
                }
            }
            let rows = rows.map(|row| &row[depth / CHUNK * CHUNK..depth]);
            for (k, right) in (0..depth % CHUNK).zip(right) {
                add(simd, rows.map(|row| row[k]), right, sums);
            }
        }
        Left::Columns { data, step } => {
            for (k, right) in right.enumerate() {
                let line = &data[k * step..];
                add(simd, *line.first_chunk().expect("as many as rows"), right, sums);
                prefetch_index(line, AHEAD / size_of::<L>());
            }
        }
        Left::Chosen { data, step, lines } => {
            for (line, right) in lines.iter().zip(right) {
                let line = &data[line * step..];
                add(simd, *line.first_chunk().expect("as many as rows"), right, sums);
                prefetch_index(line, AHEAD / size_of::<L>());
            }
        }
    }
}

#[inline(always)]
fn add<S: Simd, L: Real, const ROWS: usize, const VECTORS: usize>(
    simd: S,
    left: [L; ROWS],
    right: &[L::Vector<S>; VECTORS],
    sums: &mut [[L::Vector<S>; VECTORS]; ROWS],
) {
    for (sums, left) in sums.iter_mut().zip(left) {
        let left = L::splat(simd, left);
        for (sum, right) in sums.iter_mut().zip(right) {
            *sum = L::mul_add_each(simd, left, *right, *sum);
        }
    }
}
