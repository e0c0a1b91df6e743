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
        for i in 0..count {
            let record = self.batch.record(first + i);
            let row = &self.values[record * width..][..width];
            let (score, norm) = score_and_norm(row, &self.x[..width], &self.tail);
            rows[i] = row;
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
            add_rows(*rows, *c, out, &mut self.tail);
        }
        for (row, c) in left_rows.iter().zip(left_cs) {
            add_rows([*row], [*c], out, &mut self.tail);
        }
        if let [intercept] = intercept {
            coefficients.iter().for_each(|c| *intercept += *c);
        }
    }
}

/// The inner product, and at least the squared norm: neither is finite if a number is not.
#[inline(always)]
fn score_and_norm<R: Real>(row: &[R], x: &[R], tail: &Tail<R>) -> (f64, f64) {
    let [mut dot, mut norm] = [[R::ZERO; LANES]; 2];
    let (chunks, xs) = (row.as_chunks::<LANES>().0, x.as_chunks::<LANES>().0);
    for (chunk, x) in chunks.iter().zip(xs) {
        for l in 0..LANES {
            dot[l] += chunk[l] * x[l];
            norm[l] += chunk[l] * chunk[l];
        }
    }
    if tail.count > 0 {
        let window = window(row);
        for l in 0..LANES {
            let v = window[l] * tail.mask[l];
            dot[l] += v * tail.x[l];
            norm[l] += v * v;
        }
    }
    let (dot, norm) = (tree(dot).to_f64(), tree(norm).to_f64());
    // Where single precision overflows or loses digits to underflow, double precision does not.
    if !dot.is_finite() || !(1e-25..f64::INFINITY).contains(&norm) {
        return precisely(row, x);
    }
    // A square, the sums of a lane, and the four levels of the tree.
    let roundings = (chunks.len() + 8) as f64;
    (dot, norm * (1.0 + roundings * R::EPSILON.to_f64()))
}

#[cold]
#[inline(never)]
fn precisely<R: Real>(row: &[R], x: &[R]) -> (f64, f64) {
    let row = Row::Dense(row);
    (row.dot(x), row.squared_norm())
}

/// `out += c0 r0 + c1 r1 + ...`, one after the other.
#[inline(always)]
fn add_rows<R: Real, const N: usize>(
    rows: [&[R]; N],
    c: [R; N],
    out: &mut [R],
    tail: &mut Tail<R>,
) {
    let chunks = rows.map(|row| &row.as_chunks::<LANES>().0[..out.len() / LANES]);
    for (k, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        for i in 0..N {
            let row = &chunks[i][k];
            for l in 0..LANES {
                out[l] += c[i] * row[l];
            }
        }
    }
    if tail.count > 0 {
        for i in 0..N {
            let window = window(rows[i]);
            for l in 0..LANES {
                tail.sum[l] += c[i] * window[l];
            }
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
