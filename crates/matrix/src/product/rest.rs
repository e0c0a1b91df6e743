//! The last columns of a product, if they are too few for a vector: a vector of sums for each of
//! them would be mostly empty.

use pulp::Simd;

use super::kernel::Out;
use super::{Mat, PACKED};
use undertone_real::Real;

/// Parts of a sum.
const PARTS: usize = 16;
/// Columns at most.
const MOST: usize = 4;
/// Chains shorter than this are not worth reading and writing the result out of its order.
const SHORT: usize = 8;

/// How many of the last columns are computed here. The same on every machine, because it shows in
/// the bits.
pub(super) fn columns<L>(a: Mat<'_, L>, b: Mat<'_, L>) -> usize {
    let rest = b.columns % PARTS;
    let few = b.columns > PARTS && rest <= MOST && b.rows <= PACKED / MOST;
    // Short sums in parts are not worth it.
    let long = if a.transposed { SHORT } else { 4 * PARTS };
    if few && b.rows >= long { rest } else { 0 }
}

/// `out += a b` for a matrix `b` of few columns.
#[inline(always)]
pub(super) fn add<S: Simd, L: Real>(
    simd: S,
    a: Mat<'_, L>,
    b: Mat<'_, L>,
    out: Out<'_, L>,
    packed: &mut [L],
) {
    // Two columns at a time, then one.
    for column in (0..b.columns).step_by(2) {
        let n = (b.columns - column).min(2);
        let b = b.block(0, b.rows, column, n);
        let start = out.start.from(column);
        let out = Out { data: &mut out.data[column..], step: out.step, width: n, start };
        match n {
            1 => add_columns::<S, L, 1>(simd, a, b, out, packed),
            _ => add_columns::<S, L, 2>(simd, a, b, out, packed),
        }
    }
}

#[inline(always)]
fn add_columns<S: Simd, L: Real, const N: usize>(
    simd: S,
    a: Mat<'_, L>,
    b: Mat<'_, L>,
    out: Out<'_, L>,
    packed: &mut [L],
) {
    // Each column's numbers one after the other.
    let packed = &mut packed[..N * b.rows];
    for (c, column) in packed.chunks_exact_mut(b.rows).enumerate() {
        column.iter_mut().enumerate().for_each(|(k, to)| *to = b.from(k, c)[0]);
    }
    if a.transposed {
        return simd.vectorize(Chains::<S, L, N> { simd, a, b: packed, out });
    }
    let b = packed;
    match PARTS / L::lanes::<S>() {
        1 => simd.vectorize(Dots::<S, L, N, 1> { simd, a, b, out }),
        2 => simd.vectorize(Dots::<S, L, N, 2> { simd, a, b, out }),
        4 => simd.vectorize(Dots::<S, L, N, 4> { simd, a, b, out }),
        8 => simd.vectorize(Dots::<S, L, N, 8> { simd, a, b, out }),
        _ => simd.vectorize(Dots::<S, L, N, PARTS> { simd, a, b, out }),
    }
}

/// Rows side by side: every element is a chain in the order of the inner index.
struct Chains<'a, S, L, const N: usize> {
    simd: S,
    a: Mat<'a, L>,
    b: &'a [L],
    out: Out<'a, L>,
}

impl<S: Simd, L: Real, const N: usize> pulp::NullaryFnOnce for Chains<'_, S, L, N> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        let (mut row, lanes) = (0, L::lanes::<S>());
        while S::REGISTER_COUNT >= 32 && row + 8 * lanes <= self.a.rows {
            self.rows::<8>(row);
            row += 8 * lanes;
        }
        while row + 4 * lanes <= self.a.rows {
            self.rows::<4>(row);
            row += 4 * lanes;
        }
        while row + lanes <= self.a.rows {
            self.rows::<1>(row);
            row += lanes;
        }
        let Self { a, b, out, .. } = self;
        for row in row..a.rows {
            for (c, b) in b.chunks_exact(a.columns).enumerate() {
                let sum = &mut out.data[row * out.step + c];
                let start = out.start.at(c, *sum);
                let term = |sum, (k, b): (usize, &L)| a.from(row, k)[0].mul_add(*b, sum);
                *sum = b.iter().enumerate().fold(start, term);
            }
        }
    }
}

impl<S: Simd, L: Real, const N: usize> Chains<'_, S, L, N> {
    #[inline(always)]
    fn rows<const V: usize>(&mut self, row: usize) {
        let Self { simd, a, b, out } = self;
        let (simd, depth, rows) = (*simd, a.columns, V * L::lanes::<S>());
        let mut parts = [[L::ZERO; 8 * PARTS]; N];
        for (i, row) in (row..row + rows).enumerate() {
            for (c, parts) in parts.iter_mut().enumerate() {
                parts[i] = out.start.at(c, out.data[row * out.step + c]);
            }
        }
        let mut sums = [[L::splat(simd, L::ZERO); V]; N];
        for (sums, parts) in sums.iter_mut().zip(&parts) {
            sums.copy_from_slice(&L::vectors::<S>(parts)[..V]);
        }
        let right: [&[L]; N] = std::array::from_fn(|c| &b[c * depth..][..depth]);
        let data = &a.data[row..];
        match a.lines {
            None => {
                for k in 0..depth {
                    add_line(simd, &data[k * a.step..], right.map(|right| right[k]), &mut sums);
                }
            }
            Some(lines) => {
                for (k, line) in lines[..depth].iter().enumerate() {
                    add_line(simd, &data[line * a.step..], right.map(|right| right[k]), &mut sums);
                }
            }
        }
        // Simple enough that the sums above stay in registers.
        for (sums, parts) in sums.iter().zip(&mut parts) {
            L::vectors_mut::<S>(parts)[..V].copy_from_slice(sums);
        }
        for (i, row) in (row..row + rows).enumerate() {
            (0..N).for_each(|c| out.data[row * out.step + c] = parts[c][i]);
        }
    }
}

#[inline(always)]
fn add_line<S: Simd, L: Real, const N: usize, const V: usize>(
    simd: S,
    left: &[L],
    right: [L; N],
    sums: &mut [[L::Vector<S>; V]; N],
) {
    let left = &L::vectors::<S>(left)[..V];
    for (sums, right) in sums.iter_mut().zip(right) {
        let right = L::splat(simd, right);
        for (sum, left) in sums.iter_mut().zip(left) {
            *sum = L::mul_add_each(simd, *left, right, *sum);
        }
    }
}

/// Inner indices side by side: every element is a sum in sixteen parts, which are `P` vectors.
struct Dots<'a, S, L, const N: usize, const P: usize> {
    simd: S,
    a: Mat<'a, L>,
    b: &'a [L],
    out: Out<'a, L>,
}

impl<S: Simd, L: Real, const N: usize, const P: usize> pulp::NullaryFnOnce
    for Dots<'_, S, L, N, P>
{
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        let mut row = 0;
        while P == 1 && row + 8 <= self.a.rows {
            self.rows::<8>(row);
            row += 8;
        }
        while P == 1 && row + 4 <= self.a.rows {
            self.rows::<4>(row);
            row += 4;
        }
        // With half as wide vectors there are half as many registers, too.
        while P == 2 && row + 3 <= self.a.rows {
            self.rows::<3>(row);
            row += 3;
        }
        while row < self.a.rows {
            self.rows::<1>(row);
            row += 1;
        }
    }
}

impl<S: Simd, L: Real, const N: usize, const P: usize> Dots<'_, S, L, N, P> {
    #[inline(always)]
    fn rows<const R: usize>(&mut self, row: usize) {
        let Self { simd, a, b, out } = self;
        let (simd, depth) = (*simd, a.columns);
        let left: [&[L]; R] = std::array::from_fn(|r| &a.from(row + r, 0)[..depth]);
        let right: [&[L]; N] = std::array::from_fn(|c| &b[c * depth..][..depth]);
        let mut sums = [[[L::splat(simd, L::ZERO); P]; N]; R];
        // The same lengths once more, where the compiler sees them.
        let n = depth / PARTS;
        let lefts = left.map(|row| &row.as_chunks::<PARTS>().0[..n]);
        let rights = right.map(|column| &column.as_chunks::<PARTS>().0[..n]);
        for k in 0..n {
            for (sums, left) in sums.iter_mut().zip(lefts) {
                let left = &L::vectors::<S>(&left[k])[..P];
                for (sums, right) in sums.iter_mut().zip(rights) {
                    let right = &L::vectors::<S>(&right[k])[..P];
                    for (sum, (left, right)) in sums.iter_mut().zip(left.iter().zip(right)) {
                        *sum = L::mul_add_each(simd, *left, *right, *sum);
                    }
                }
            }
        }
        // Simple enough that the sums above stay in registers.
        let mut parts = [[[L::ZERO; PARTS]; N]; R];
        for (parts, sums) in parts.iter_mut().zip(&sums) {
            for (parts, sums) in parts.iter_mut().zip(sums) {
                L::vectors_mut::<S>(parts)[..P].copy_from_slice(sums);
            }
        }
        let whole = n * PARTS;
        for (r, (parts, left)) in parts.iter_mut().zip(left).enumerate() {
            for (c, (parts, right)) in parts.iter_mut().zip(right).enumerate() {
                let last = left[whole..].iter().zip(&right[whole..]);
                for (part, (left, right)) in parts.iter_mut().zip(last) {
                    *part = left.mul_add(*right, *part);
                }
                let to = &mut out.data[(row + r) * out.step + c];
                *to = out.start.at(c, *to) + tree(parts);
            }
        }
    }
}

/// The sum of parts, in one order.
#[inline(always)]
fn tree<L: Real>(parts: &[L; PARTS]) -> L {
    let halves: [L; 8] = std::array::from_fn(|i| parts[i] + parts[i + 8]);
    let quarters: [L; 4] = std::array::from_fn(|i| halves[i] + halves[i + 4]);
    let [a, b] = std::array::from_fn(|i| quarters[i] + quarters[i + 2]);
    a + b
}
