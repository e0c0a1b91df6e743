//! How much of a product is in registers at a time.

use pulp::Simd;

use undertone_real::Real;

/// Columns of the widest panel of the widest machine.
pub(super) const WIDEST: usize = 64;

/// Inner indices at a time, at most.
pub(super) const DEEPEST: usize = 256;

/// Rows and vectors of columns whose sums are in registers together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tile {
    /// Rows at a time, at most.
    pub rows: usize,
    /// Vectors of columns at a time, at most.
    pub vectors: usize,
    /// Numbers of a vector.
    pub lanes: usize,
    /// Inner indices at a time: so many rows of a panel stay in the first cache.
    pub depth: usize,
}

/// Rows at a time at most, with so many vectors of columns: what the sums are made of needs
/// registers, too.
#[inline(always)]
pub(super) const fn rows<S: Simd>(vectors: usize) -> usize {
    match (S::REGISTER_COUNT >= 32, vectors) {
        (true, 1..=3) => 8,
        (true, _) => 24 / vectors,
        (false, 1 | 2) => 6,
        // With four rows all registers were taken, and the compiler would move sums about.
        (false, _) => 9 / vectors,
    }
}

impl Tile {
    /// For a product with so many columns and inner indices, which panels and blocks share as
    /// evenly as they can.
    #[inline(always)]
    pub fn new<S: Simd, L: Real>(columns: usize, depth: usize) -> Self {
        let lanes = L::lanes::<S>();
        let most = if S::REGISTER_COUNT >= 32 { 4 } else { 2 };
        let vectors = columns.div_ceil(lanes).max(1);
        // One vector alone would wait for its own sums.
        let odd = vectors % 2 == 1 && vectors % 3 != 1;
        let most_here = if most == 2 && odd { 3 } else { most };
        let vectors = vectors.div_ceil(vectors.div_ceil(most_here));
        let rows = rows::<S>(vectors);
        // So much of a panel stays in the first cache beside what it is multiplied with.
        let cached = if most == 4 { 16 << 10 } else { 12 << 10 };
        let deepest = (cached / (vectors * lanes * size_of::<L>())).clamp(32, DEEPEST);
        let depth = depth.div_ceil(depth.div_ceil(deepest).max(1)).max(1);
        Self { rows, vectors, lanes, depth }
    }

    /// Columns of a panel.
    pub fn columns(&self) -> usize {
        self.vectors * self.lanes
    }

    /// How many vectors and columns the next panel has, if so many columns are left.
    #[inline(always)]
    pub fn panel(&self, columns: usize) -> (usize, usize) {
        (columns.div_ceil(self.lanes).min(self.vectors), columns.min(self.columns()))
    }
}

/// How many of the rows that are left are taken next. One row alone would wait for its own sums, so
/// that 7 is 4 + 3 and not 6 + 1.
pub(super) fn next_rows(left: usize, most: usize) -> usize {
    let fits = |rows: &usize| *rows <= left.min(most) && (left - rows != 1 || left == 2);
    [8, 6, 4, 3, 2].into_iter().find(fits).unwrap_or(1)
}
