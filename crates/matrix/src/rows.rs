//! Rows of one width: their products with a point, and sums of their multiples. To be inlined into
//! loops over many rows, which choose the vectors.
//!
//! Sums of a row have [`LANES`] partial sums on every machine, and products are fused with their
//! sums: the bits do not depend on the width of vectors.

use pulp::Simd;
use undertone_real::Real;

/// Partial sums of a row: as many numbers are a piece of it.
pub const LANES: usize = 16;

/// A row that is narrower than a piece, behind zeros.
#[inline(always)]
pub fn fill_up<R: Real>(row: &[R]) -> [R; LANES] {
    let mut piece = [R::ZERO; LANES];
    piece[LANES - row.len()..].copy_from_slice(row);
    piece
}

/// What a row is multiplied by.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a, R> {
    pieces: &'a [[R; LANES]],
    /// The last numbers, with zeros for those that are in pieces; `None` if all are.
    rest: Option<[R; LANES]>,
}

impl<'a, R: Real> Point<'a, R> {
    /// The numbers of a point.
    #[inline(always)]
    pub fn new(x: &'a [R]) -> Self {
        let (pieces, rest) = x.as_chunks();
        let last = x.last_chunk().copied().unwrap_or_else(|| fill_up(x));
        // Numbers are chosen and not copied: so few would take a function that copies any number.
        let choose = |l| if l + rest.len() < LANES { R::ZERO } else { last[l] };
        let some = !rest.is_empty();
        Self { pieces, rest: some.then(|| std::array::from_fn(choose)) }
    }
}

/// The product of each row with its point, all of one width; rows narrower than a piece are filled
/// up. With several at once more reads are under way, and the ends of their sums share vectors.
#[inline(always)]
pub fn dots<S: Simd, R: Real, const N: usize>(
    simd: S,
    points: [&Point<'_, R>; N],
    rows: &[&[R]; N],
) -> [R; N] {
    let mut dots = [Piece::splat(simd, R::ZERO); N];
    let mut add = |i: usize, x: &[R; LANES], row: &[R; LANES]| {
        dots[i].add_product(simd, Piece::load(simd, row), Piece::load(simd, x));
    };
    let count = points[0].pieces.len();
    let (xs, pieces) =
        (points.map(|point| &point.pieces[..count]), rows.map(|row| &row.as_chunks().0[..count]));
    for k in 0..count {
        for i in 0..N {
            add(i, &xs[i][k], &pieces[i][k]);
        }
    }
    for i in 0..N {
        if let Some(rest) = &points[i].rest {
            add(i, rest, last(rows[i]));
        }
    }
    let mut sums = [R::ZERO; N];
    for i in 0..N {
        sums[i] = dots[i].sum(simd);
    }
    sums
}

/// A sum of multiples of rows.
#[derive(Debug)]
pub struct Multiples<'a, R> {
    sum: &'a mut [R],
    /// Of the last numbers: those that are in pieces are summed as well, and not used.
    rest: [R; LANES],
}

impl<'a, R: Real> Multiples<'a, R> {
    /// A sum with nothing in it, that will be in `sum`, which is zero.
    #[inline(always)]
    pub fn new(sum: &'a mut [R]) -> Self {
        Self { sum, rest: [R::ZERO; LANES] }
    }

    /// Adds the multiples of some rows as wide as the sum, one after the other. Rows narrower than
    /// a piece are filled up.
    #[inline(always)]
    pub fn add<S: Simd, const N: usize>(&mut self, simd: S, rows: &[&[R]; N], by: &[R; N]) {
        let by: [_; N] = std::array::from_fn(|i| Piece::splat(simd, by[i]));
        let add = |sum: &mut [R; LANES], pieces: [&[R; LANES]; N]| {
            let mut total = Piece::load(simd, sum);
            for i in 0..N {
                total.add_product(simd, Piece::load(simd, pieces[i]), by[i]);
            }
            total.store(sum);
        };
        let (sums, rest) = self.sum.as_chunks_mut();
        let pieces = rows.map(|row| &row.as_chunks().0[..sums.len()]);
        for (k, sum) in sums.iter_mut().enumerate() {
            add(sum, pieces.map(|row| &row[k]));
        }
        if !rest.is_empty() {
            add(&mut self.rest, rows.map(last));
        }
    }

    /// Writes what does not fill a piece.
    #[inline(always)]
    pub fn finish(self) {
        let rest = self.sum.as_chunks_mut::<LANES>().1;
        let first = LANES - rest.len();
        rest.copy_from_slice(&self.rest[first..]);
    }
}

#[inline(always)]
fn last<R: Real>(row: &[R]) -> &[R; LANES] {
    row.last_chunk().expect("a narrow row was filled up")
}

/// A piece of a row in vectors, of which the first are used: as many as hold [`LANES`] numbers.
struct Piece<S: Simd, R: Real>([R::Vector<S>; LANES]);

impl<S: Simd, R: Real> Clone for Piece<S, R> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Simd, R: Real> Copy for Piece<S, R> {}

impl<S: Simd, R: Real> Piece<S, R> {
    #[inline(always)]
    fn vectors() -> usize {
        LANES / R::lanes::<S>()
    }

    #[inline(always)]
    fn splat(simd: S, value: R) -> Self {
        Self([R::splat(simd, value); LANES])
    }

    #[inline(always)]
    fn load(simd: S, piece: &[R; LANES]) -> Self {
        let (mut to, from) = (Self::splat(simd, R::ZERO), R::vectors::<S>(piece));
        to.0[..Self::vectors()].copy_from_slice(from);
        to
    }

    #[inline(always)]
    fn store(self, piece: &mut [R; LANES]) {
        let to = R::vectors_mut::<S>(piece);
        to.copy_from_slice(&self.0[..Self::vectors()]);
    }

    #[inline(always)]
    fn add_product(&mut self, simd: S, a: Self, b: Self) {
        for w in 0..Self::vectors() {
            self.0[w] = R::mul_add_each(simd, a.0[w], b.0[w], self.0[w]);
        }
    }

    /// The sum over all lanes: the upper half is added to the lower one.
    #[inline(always)]
    fn sum(mut self, simd: S) -> R {
        let mut half = Self::vectors() / 2;
        while half > 0 {
            for w in 0..half {
                self.0[w] = R::add_each(simd, self.0[w], self.0[w + half]);
            }
            half /= 2;
        }
        // In vectors to the end: sums of single numbers of several pieces would be put together
        // number by number.
        let mut sum = self.0[0];
        let mut half = R::lanes::<S>() / 2;
        while half > 0 {
            sum = R::add_each(simd, sum, R::turn(simd, sum, half));
            half /= 2;
        }
        let mut lanes = [R::ZERO; LANES];
        R::vectors_mut::<S>(&mut lanes)[0] = sum;
        lanes[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Products and sums of rows with some vectors.
    struct Both<'a, R, const N: usize> {
        x: &'a [R],
        rows: [&'a [R]; N],
        by: [R; N],
        sum: &'a mut [R],
    }

    impl<R: Real, const N: usize> pulp::WithSimd for Both<'_, R, N> {
        type Output = [R; N];

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> [R; N] {
            let mut sum = Multiples::new(self.sum);
            sum.add(simd, &self.rows, &self.by);
            sum.finish();
            dots(simd, [&Point::new(self.x); N], &self.rows)
        }
    }

    /// Bits are those of sixteen partial sums, which are added in halves, on this machine and with
    /// plain scalar code.
    #[test]
    fn bits_do_not_depend_on_vectors() {
        fn check<R: Real>() {
            for width in [0, 1, 9, 15, 16, 17, 31, 32, 105] {
                let number = |i: usize| R::from_f64(((i * 37 + 11) % 101) as f64 / 7.0 - 6.0);
                let x: Vec<R> = (0..width).map(|i| number(i + 3)).collect();
                let rows: Vec<Vec<R>> =
                    (0..3).map(|r| (0..width).map(|i| number(i * 5 + r)).collect()).collect();
                let by = [R::from_f64(0.3), R::from_f64(-1.7), R::from_f64(1e-3)];
                let mut sums = vec![R::ZERO; width];
                for (row, by) in rows.iter().zip(by) {
                    sums.iter_mut().zip(row).for_each(|(sum, v)| *sum = v.mul_add(by, *sum));
                }
                let dots = rows.iter().map(|row| {
                    let mut parts = [R::ZERO; LANES];
                    // What does not fill a piece is at the end of one.
                    let first = LANES - width % LANES;
                    for (i, (v, x)) in row.iter().zip(&x).enumerate() {
                        let piece = i / LANES < width / LANES;
                        let l = if piece { i % LANES } else { first + i % LANES };
                        parts[l] = v.mul_add(*x, parts[l]);
                    }
                    for half in [8, 4, 2, 1] {
                        (0..half).for_each(|l| parts[l] += parts[l + half]);
                    }
                    parts[0]
                });
                let expected = (dots.collect::<Vec<_>>(), sums);
                let filled: Vec<Vec<R>> = rows
                    .iter()
                    .map(|row| if width < LANES { fill_up(row).to_vec() } else { row.clone() })
                    .collect();
                let rows = std::array::from_fn(|r| &*filled[r]);
                let got = |scalar: bool| {
                    let mut sum = vec![R::ZERO; width];
                    let both = Both::<R, 3> { x: &x, rows, by, sum: &mut sum };
                    let dots = if scalar {
                        pulp::WithSimd::with_simd(both, pulp::Scalar::new())
                    } else {
                        pulp::Arch::new().dispatch(both)
                    };
                    (dots.to_vec(), sum)
                };
                assert!(got(true) == expected && got(false) == expected, "{width}");
            }
        }
        check::<f32>();
        check::<f64>();
    }

    #[test]
    #[should_panic(expected = "a narrow row was filled up")]
    fn narrow_rows_are_refused() {
        dots(pulp::Scalar::new(), [&Point::new(&[1.0, 2.0])], &[&[1.0, 2.0]]);
    }
}
