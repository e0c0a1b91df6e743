//! One pass over dense rows: score, norm, coefficient, sum.
//!
//! A row is read twice while it is near: for its score and norm, and for the sum. Sums of a row
//! have [`LANES`] partial sums on every machine, and products are rounded before they are added,
//! so that bits depend neither on the width of vectors nor on what fuses.

use undertone_real::Real;

use super::{Linear, coefficient, exchange_entry};
use crate::loss::{Loss, hinge, logistic_slope};
use crate::objective::{Batch, Clipped};
use crate::row::Row;
use crate::table::Table;

/// Partial sums of a row.
const LANES: usize = 16;

/// Records whose coefficients are computed together.
const BLOCK: usize = 16;

/// Rows that are added to the sum together.
const GROUP: usize = 4;

/// Adds the clipped gradients to `out`, which is zero.
#[expect(clippy::too_many_arguments, reason = "it is one loop that two traits share")]
pub(super) fn sum<R: Real>(
    model: &Linear,
    x: &[R],
    batch: Batch<'_, R>,
    values: &[R],
    targets: &[R],
    clip: f64,
    table: Option<&mut Table<R>>,
    out: &mut [R],
) -> Clipped {
    let tail = Tail::new(&x[..model.width]);
    let clipped = Clipped::default();
    let mut sum = Sum { model, x, batch, values, targets, clip, table, out, tail, clipped };
    pulp::Arch::new().dispatch(&mut sum);
    sum.clipped
}

struct Sum<'a, R> {
    model: &'a Linear,
    x: &'a [R],
    batch: Batch<'a, R>,
    values: &'a [R],
    targets: &'a [R],
    clip: f64,
    table: Option<&'a mut Table<R>>,
    out: &'a mut [R],
    tail: Tail<R>,
    clipped: Clipped,
}

impl<R: Real> pulp::WithSimd for &mut Sum<'_, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        for first in (0..self.batch.len()).step_by(BLOCK) {
            self.block(first, BLOCK.min(self.batch.len() - first));
        }
        self.tail.write(&mut self.out[..self.model.width]);
    }
}

impl<R: Real> Sum<'_, R> {
    #[inline(always)]
    fn block(&mut self, first: usize, count: usize) {
        let width = self.model.width;
        let mut rows: [&[R]; BLOCK] = [&[]; BLOCK];
        let [mut scores, mut norms, mut signs] = [[0.0; BLOCK]; 3];
        let offset = self.model.offset(self.x);
        let x = &self.x[..width];
        // Through memory, or the compiler shuffles lanes in the inner loop to suit the tree.
        let mut sums = [[[R::ZERO; LANES]; 2]; BLOCK];
        for (i, row) in rows.iter_mut().enumerate() {
            // Beyond the batch its last record stands in, and is not used.
            let record = self.batch.record(first + i.min(count - 1));
            *row = &self.values[record * width..][..width];
        }
        for (pair, sums) in sums.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            if 2 * pair < count {
                *sums = partial_sums(rows[2 * pair], rows[2 * pair + 1], x, &self.tail);
            }
        }
        for i in 0..count {
            let record = self.batch.record(first + i);
            let [dot, square] = sums[i].map(tree);
            let (score, norm) = score_and_norm(dot, square, rows[i], x);
            scores[i] = score + offset;
            norms[i] = self.model.with_one(norm);
            signs[i] = self.targets[record].to_f64();
        }
        let mut slopes = [0.0; BLOCK];
        match self.model.loss {
            Loss::Logistic => {
                for i in 0..BLOCK {
                    slopes[i] = signs[i] * logistic_slope(signs[i] * scores[i]);
                }
            }
            Loss::SmoothedHinge { width } => {
                for i in 0..BLOCK {
                    slopes[i] = signs[i] * hinge(width, signs[i] * scores[i]).1;
                }
            }
            // A linear model has no other loss of several scores.
            _ => {
                for i in 0..BLOCK {
                    slopes[i] = scores[i] - signs[i];
                }
            }
        }
        // Records that contribute nothing are left out: zero times a row may be NaN.
        let mut kept = 0;
        let mut coefficients = [R::ZERO; BLOCK];
        for i in 0..count {
            let slope = R::from_f64(slopes[i]);
            let c = coefficient(slope, norms[i], self.clip, &mut self.clipped);
            let record = self.batch.record(first + i);
            let c = exchange_entry(c, norms[i], record, self.table.as_deref_mut());
            rows[kept] = rows[i];
            coefficients[kept] = c;
            kept += usize::from(c != R::ZERO);
        }
        self.add(&rows[..kept], &coefficients[..kept]);
    }

    #[inline(always)]
    fn add(&mut self, rows: &[&[R]], coefficients: &[R]) {
        let (groups, left_rows) = rows.as_chunks::<GROUP>();
        let (cs, left_cs) = coefficients.as_chunks::<GROUP>();
        let (out, intercept) = self.out.split_at_mut(self.model.width);
        for (rows, c) in groups.iter().zip(cs) {
            add_four(*rows, *c, out, &mut self.tail);
        }
        for (row, c) in left_rows.iter().zip(left_cs) {
            add_one(row, *c, out, &mut self.tail);
        }
        if let [intercept] = intercept {
            coefficients.iter().for_each(|c| *intercept += *c);
        }
    }
}

/// Partial sums of the products with `x`, and of the squares, of two rows. Two, so that more reads
/// are under way at once.
#[inline(always)]
fn partial_sums<R: Real>(r: &[R], s: &[R], x: &[R], tail: &Tail<R>) -> [[[R; LANES]; 2]; 2] {
    let [mut r_dot, mut r_norm, mut s_dot, mut s_norm] = [[R::ZERO; LANES]; 4];
    let xs = x.as_chunks::<LANES>().0;
    let (rs, ss) = (r.as_chunks::<LANES>().0, s.as_chunks::<LANES>().0);
    for ((r, s), x) in rs.iter().zip(ss).zip(xs) {
        for l in 0..LANES {
            r_dot[l] += r[l] * x[l];
            r_norm[l] += r[l] * r[l];
            s_dot[l] += s[l] * x[l];
            s_norm[l] += s[l] * s[l];
        }
    }
    if tail.count > 0 {
        let (r, s) = (window(r), window(s));
        for l in 0..LANES {
            let (r, s) = (r[l] * tail.mask[l], s[l] * tail.mask[l]);
            r_dot[l] += r * tail.x[l];
            r_norm[l] += r * r;
            s_dot[l] += s * tail.x[l];
            s_norm[l] += s * s;
        }
    }
    [[r_dot, r_norm], [s_dot, s_norm]]
}

/// The inner product, and at least the squared norm: not finite if a number of the row is not.
#[inline(always)]
fn score_and_norm<R: Real>(dot: R, norm: R, row: &[R], x: &[R]) -> (f64, f64) {
    let (dot, norm) = (dot.to_f64(), norm.to_f64());
    // Where single precision overflows or loses digits to underflow, double precision does not.
    if !dot.is_finite() || !(1e-25..f64::INFINITY).contains(&norm) {
        return precisely(row, x);
    }
    // A square, the sums of a lane, and the four levels of the tree.
    let roundings = (row.len() / LANES + 8) as f64;
    (dot, norm * (1.0 + roundings * R::EPSILON.to_f64()))
}

#[cold]
#[inline(never)]
fn precisely<R: Real>(row: &[R], x: &[R]) -> (f64, f64) {
    let row = Row::Dense(row);
    (row.dot(x), row.squared_norm())
}

/// `out += c0 r0 + c1 r1 + c2 r2 + c3 r3`, one after the other.
#[inline(always)]
fn add_four<R: Real>(rows: [&[R]; GROUP], c: [R; GROUP], out: &mut [R], tail: &mut Tail<R>) {
    let chunks = rows.map(|row| row.as_chunks::<LANES>().0);
    let [r0, r1, r2, r3] = chunks;
    let outs = out.as_chunks_mut::<LANES>().0.iter_mut();
    for ((((out, r0), r1), r2), r3) in outs.zip(r0).zip(r1).zip(r2).zip(r3) {
        *out = four(*out, [r0, r1, r2, r3], c);
    }
    if tail.count > 0 {
        let [r0, r1, r2, r3] = rows.map(window);
        tail.sum = four(tail.sum, [&r0, &r1, &r2, &r3], c);
    }
}

#[inline(always)]
fn four<R: Real>(sum: [R; LANES], rows: [&[R; LANES]; GROUP], c: [R; GROUP]) -> [R; LANES] {
    let mut out = [R::ZERO; LANES];
    for l in 0..LANES {
        let two = (sum[l] + c[0] * rows[0][l]) + c[1] * rows[1][l];
        out[l] = (two + c[2] * rows[2][l]) + c[3] * rows[3][l];
    }
    out
}

/// `out += c row`.
#[inline(always)]
fn add_one<R: Real>(row: &[R], c: R, out: &mut [R], tail: &mut Tail<R>) {
    for (out, row) in out.as_chunks_mut::<LANES>().0.iter_mut().zip(row.as_chunks::<LANES>().0) {
        for l in 0..LANES {
            out[l] += c * row[l];
        }
    }
    if tail.count > 0 {
        let window = window(row);
        for l in 0..LANES {
            tail.sum[l] += c * window[l];
        }
    }
}

/// The last numbers of a row that do not fill all lanes. They are read together with those before
/// them, as a window of the last [`LANES`] numbers.
struct Tail<R> {
    count: usize,
    /// One where a number of the window was not read before.
    mask: [R; LANES],
    x: [R; LANES],
    /// Of the window: what was read before is summed as well, and not used.
    sum: [R; LANES],
}

impl<R: Real> Tail<R> {
    fn new(x: &[R]) -> Self {
        let count = x.len() % LANES;
        let mut tail =
            Self { count, mask: [R::ZERO; LANES], x: [R::ZERO; LANES], sum: [R::ZERO; LANES] };
        tail.mask[LANES - count..].fill(R::ONE);
        tail.x[LANES - count..].copy_from_slice(&x[x.len() - count..]);
        tail
    }

    fn write(&self, out: &mut [R]) {
        let first = out.len() - self.count;
        out[first..].copy_from_slice(&self.sum[LANES - self.count..]);
    }
}

#[inline(always)]
fn window<R: Real>(row: &[R]) -> [R; LANES] {
    if let Some(window) = row.last_chunk::<LANES>() {
        return *window;
    }
    let mut window = [R::ZERO; LANES];
    window[LANES - row.len()..].copy_from_slice(row);
    window
}

#[inline(always)]
fn tree<R: Real>(mut lanes: [R; LANES]) -> R {
    let mut half = LANES / 2;
    while half > 0 {
        for l in 0..half {
            lanes[l] += lanes[l + half];
        }
        half /= 2;
    }
    lanes[0]
}
