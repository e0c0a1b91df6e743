//! One pass over dense rows: score, coefficient, sum.
//!
//! A row is read twice while it is near: for its score, and for the sum. Sums of a row have
//! [`LANES`] partial sums on every machine, and products are fused with their sums, so that bits do
//! not depend on the width of vectors. Norms are those of the data set.

use undertone_real::Real;

use super::{Linear, exchange_entry};
use crate::clip::coefficients;
use crate::loss::{Loss, hinge, logistic_slope};
use crate::objective::{At, Batch, Clipped};
use crate::row::Row;
use crate::table::Table;

/// Partial sums of a row.
const LANES: usize = 16;

/// Records whose coefficients are computed together: as many as lanes, so that sums over lanes fill
/// the lanes again.
pub(super) const BLOCK: usize = LANES;

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
    let (clipped, norms) = (Clipped::default(), batch.data().squared_norms());
    let sum = Sum { model, x, batch, values, norms, targets, clip, table, out, tail, clipped };
    pulp::Arch::new().dispatch(sum)
}

struct Sum<'a, R> {
    model: &'a Linear,
    x: &'a [R],
    batch: Batch<'a, R>,
    values: &'a [R],
    norms: &'a [f64],
    targets: &'a [R],
    clip: f64,
    table: Option<&'a mut Table<R>>,
    out: &'a mut [R],
    tail: Tail<R>,
    clipped: Clipped,
}

impl<R: Real> pulp::WithSimd for Sum<'_, R> {
    type Output = Clipped;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(mut self, _: S) -> Clipped {
        let whole = self.batch.len() / BLOCK * BLOCK;
        for first in (0..whole).step_by(BLOCK) {
            self.block::<BLOCK>(first, BLOCK);
        }
        for first in (whole..self.batch.len()).step_by(GROUP) {
            match self.batch.len() - first {
                // Many nodes learn from one record at a time.
                1 => self.block::<1>(first, 1),
                rest => self.block::<GROUP>(first, rest.min(GROUP)),
            }
        }
        self.tail.write(&mut self.out[..self.model.width]);
        self.clipped
    }
}

impl<R: Real> Sum<'_, R> {
    /// The first `count` of `N` records: a block, or a group if there are not as many, or one.
    #[inline(always)]
    fn block<const N: usize>(&mut self, first: usize, count: usize) {
        let width = self.model.width;
        let mut rows: [&[R]; N] = [&[]; N];
        let [mut scores, mut norms, mut signs] = [[0.0; N]; 3];
        let offset = self.model.offset(self.x);
        let x = &self.x[..width];
        let mut dots = [[R::ZERO; LANES]; N];
        for (i, row) in rows.iter_mut().enumerate() {
            // Beyond the batch its last record stands in, and is not used.
            let record = self.batch.record(first + i.min(count - 1));
            *row = &self.values[record * width..][..width];
            signs[i] = self.targets[record].to_f64();
            norms[i] = self.model.with_one(self.norms[record]);
        }
        if N == 1 {
            dots[0] = partial_dot(rows[0], x, &self.tail);
        }
        let (groups, _) = rows.as_chunks::<GROUP>();
        for (dots, rows) in dots.as_chunks_mut::<GROUP>().0.iter_mut().zip(groups) {
            *dots = partial_dots(rows, x, &self.tail);
        }
        let dots = tree_sums(&dots);
        let mut finite = true;
        for i in 0..N {
            scores[i] = dots[i].to_f64() + offset;
            finite &= scores[i].is_finite();
        }
        if !finite {
            for i in (0..count).filter(|i| !dots[*i].is_finite()) {
                scores[i] = precisely(rows[i], x) + offset;
            }
        }
        let slopes = slopes(self.model.loss, &scores, &signs);
        let mut cs = coefficients(slopes, norms, self.clip, count, &mut self.clipped);
        if let Some(table) = &mut self.table {
            for i in 0..count {
                let record = self.batch.record(first + i);
                cs[i] = exchange_entry(cs[i], norms[i], record, Some(table));
            }
        }
        if count == N && cs.iter().all(|c| *c != R::ZERO) {
            return self.add(&rows, &cs);
        }
        // Records that contribute nothing are left out: zero times a row may be NaN.
        let mut kept = 0;
        for i in 0..count {
            (rows[kept], cs[kept]) = (rows[i], cs[i]);
            kept += usize::from(cs[i] != R::ZERO);
        }
        self.add(&rows[..kept], &cs[..kept]);
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

/// The sums of [`At`] of one dense record each, at most a block of them, in the places of the
/// points. Coefficients are computed for all of them in vectors.
pub(super) fn sums<R: Real>(model: &Linear, of: &mut [At<'_, R>], clip: f64) {
    pulp::Arch::new().dispatch(Sums { model, of, clip });
}

struct Sums<'a, 'b, R> {
    model: &'a Linear,
    of: &'a mut [At<'b, R>],
    clip: f64,
}

impl<R: Real> pulp::WithSimd for Sums<'_, '_, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { model, of, clip } = self;
        let mut rows: [&[R]; BLOCK] = [&[]; BLOCK];
        let [mut offsets, mut norms, mut signs] = [[0.0; BLOCK]; 3];
        let mut dots = [[R::ZERO; LANES]; BLOCK];
        for (i, At { point, batch }) in of.iter().enumerate() {
            let (record, data) = (batch.record(0), batch.data());
            let row = data.dense_row(record).expect("all records are dense");
            (signs[i], offsets[i]) = (model.targets(*batch)[record].to_f64(), model.offset(point));
            norms[i] = model.with_one(data.squared_norms()[record]);
            let x = &point[..model.width];
            dots[i] = partial_dot(row, x, &Tail::new(x));
            rows[i] = row;
        }
        let dots = tree_sums(&dots);
        let mut scores = [0.0; BLOCK];
        for i in 0..BLOCK {
            scores[i] = dots[i].to_f64() + offsets[i];
        }
        if dots.iter().any(|dot| !dot.is_finite()) {
            for i in (0..of.len()).filter(|i| !dots[*i].is_finite()) {
                scores[i] = precisely(rows[i], &of[i].point[..model.width]) + offsets[i];
            }
        }
        let slopes = slopes(model.loss, &scores, &signs);
        let cs = coefficients(slopes, norms, clip, of.len(), &mut Clipped::default());
        for ((At { point, .. }, row), c) in of.iter_mut().zip(rows).zip(cs) {
            let (out, intercept) = point.split_at_mut(model.width);
            // Zero times a row may be NaN.
            let c = if c == R::ZERO {
                out.fill(R::ZERO);
                R::ZERO
            } else {
                write_product(row, c, out);
                c
            };
            if let [intercept] = intercept {
                *intercept = c;
            }
        }
    }
}

/// `out = c row`, with the signs that adding to zero gives to zeros.
#[inline(always)]
fn write_product<R: Real>(row: &[R], c: R, out: &mut [R]) {
    // By value: whether a row and a sum overlap is a question that the compiler asks for every
    // number otherwise.
    let product = |row: &[R; LANES]| {
        let mut product = *row;
        product.iter_mut().for_each(|v| *v = v.mul_add(c, R::ZERO));
        product
    };
    // The last numbers are a window with some of those before, which are the same again.
    if let (Some(row), Some(out)) = (row.last_chunk(), out.last_chunk_mut()) {
        *out = product(row);
    } else {
        out.iter_mut().zip(row).for_each(|(out, v)| *out = v.mul_add(c, R::ZERO));
    }
    for (out, row) in out.as_chunks_mut().0.iter_mut().zip(row.as_chunks().0) {
        *out = product(row);
    }
}

/// The derivatives of losses by their scores, given targets.
#[inline(always)]
fn slopes<R: Real, const N: usize>(loss: Loss, scores: &[f64; N], signs: &[f64; N]) -> [R; N] {
    let mut slopes = [0.0; N];
    match loss {
        Loss::Logistic => {
            for i in 0..N {
                slopes[i] = signs[i] * logistic_slope(signs[i] * scores[i]);
            }
        }
        Loss::SmoothedHinge { width } => {
            for i in 0..N {
                slopes[i] = signs[i] * hinge(width, signs[i] * scores[i]).1;
            }
        }
        // A linear model has no other loss than the squared one.
        _ => {
            for i in 0..N {
                slopes[i] = scores[i] - signs[i];
            }
        }
    }
    slopes.map(R::from_f64)
}

/// Partial sums of the products of some rows with `x`. Some, so that more reads are under way at
/// once.
#[inline(always)]
fn partial_dots<R: Real>(rows: &[&[R]; GROUP], x: &[R], tail: &Tail<R>) -> [[R; LANES]; GROUP] {
    let mut dots = [[R::ZERO; LANES]; GROUP];
    let xs = x.as_chunks::<LANES>().0;
    let [a, b, c, d] = rows.map(|row| row.as_chunks::<LANES>().0);
    for ((((x, a), b), c), d) in xs.iter().zip(a).zip(b).zip(c).zip(d) {
        for l in 0..LANES {
            dots[0][l] = a[l].mul_add(x[l], dots[0][l]);
            dots[1][l] = b[l].mul_add(x[l], dots[1][l]);
            dots[2][l] = c[l].mul_add(x[l], dots[2][l]);
            dots[3][l] = d[l].mul_add(x[l], dots[3][l]);
        }
    }
    if tail.count > 0 {
        for (dots, row) in dots.iter_mut().zip(rows) {
            let row = window(row);
            for l in 0..LANES {
                dots[l] = row[l].mul_add(tail.x[l], dots[l]);
            }
        }
    }
    dots
}

/// The same of one row.
#[inline(always)]
fn partial_dot<R: Real>(row: &[R], x: &[R], tail: &Tail<R>) -> [R; LANES] {
    let mut dot = [R::ZERO; LANES];
    for (x, row) in x.as_chunks::<LANES>().0.iter().zip(row.as_chunks::<LANES>().0) {
        for l in 0..LANES {
            dot[l] = row[l].mul_add(x[l], dot[l]);
        }
    }
    if tail.count > 0 {
        let row = window(row);
        for l in 0..LANES {
            dot[l] = row[l].mul_add(tail.x[l], dot[l]);
        }
    }
    dot
}

/// In double precision, where single precision overflows.
#[cold]
#[inline(never)]
fn precisely<R: Real>(row: &[R], x: &[R]) -> f64 {
    Row::Dense(row).dot(x)
}

/// `out += c0 r0 + c1 r1 + c2 r2 + c3 r3`, one after the other.
#[inline(always)]
fn add_four<R: Real>(rows: [&[R]; GROUP], c: [R; GROUP], out: &mut [R], tail: &mut Tail<R>) {
    let whole = out.len() - tail.count;
    let [r0, r1, r2, r3] = rows.map(|row| &row[..whole]);
    add_each([r0, r1, r2, r3], c, &mut out[..whole]);
    if tail.count > 0 {
        let [r0, r1, r2, r3] = rows.map(window);
        add_each([&r0, &r1, &r2, &r3], c, &mut tail.sum);
    }
}

#[inline(always)]
fn add_each<R: Real>([r0, r1, r2, r3]: [&[R]; GROUP], c: [R; GROUP], out: &mut [R]) {
    for ((((out, r0), r1), r2), r3) in out.iter_mut().zip(r0).zip(r1).zip(r2).zip(r3) {
        let sum = r1.mul_add(c[1], r0.mul_add(c[0], *out));
        *out = r3.mul_add(c[3], r2.mul_add(c[2], sum));
    }
}

/// `out += c row`.
#[inline(always)]
fn add_one<R: Real>(row: &[R], c: R, out: &mut [R], tail: &mut Tail<R>) {
    let whole = out.len() - tail.count;
    for (out, v) in out[..whole].iter_mut().zip(row) {
        *out = v.mul_add(c, *out);
    }
    if tail.count > 0 {
        tail.sum.iter_mut().zip(window(row)).for_each(|(sum, v)| *sum = v.mul_add(c, *sum));
    }
}

/// The last numbers of a row that do not fill all lanes. They are read together with those before
/// them, as a window of the last [`LANES`] numbers.
struct Tail<R> {
    count: usize,
    /// Zero where a number of the window was read before.
    x: [R; LANES],
    /// Of the window: what was read before is summed as well, and not used.
    sum: [R; LANES],
}

impl<R: Real> Tail<R> {
    #[inline(always)]
    fn new(x: &[R]) -> Self {
        let count = x.len() % LANES;
        let mut window = window(x);
        // Numbers are chosen and not copied: so few would take a function that copies any number.
        for (l, x) in window.iter_mut().enumerate() {
            *x = if l + count < LANES { R::ZERO } else { *x };
        }
        Self { count, x: window, sum: [R::ZERO; LANES] }
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

/// The sum over the lanes of each row, as a tree: the upper half is added to the lower one.
#[inline(always)]
fn tree_sums<R: Real, const N: usize>(rows: &[[R; LANES]; N]) -> [R; N] {
    let mut fours = [[R::ZERO; 4]; N];
    for (four, row) in fours.iter_mut().zip(rows) {
        for l in 0..4 {
            four[l] = (row[l] + row[l + 8]) + (row[l + 4] + row[l + 12]);
        }
    }
    fours.map(|[a, b, c, d]| (a + c) + (b + d))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Dataset, Features, Targets};
    use crate::laws;
    use pulp::WithSimd;

    /// The vectors of this machine, and plain scalar code, give the same bits.
    #[test]
    fn the_width_of_vectors_does_not_matter() {
        fn compare<R: Real>() {
            for (width, records) in [(1, 3), (15, 20), (16, 16), (105, 37), (105, 1), (200, 5)] {
                let model = &Linear::new(width, true, Loss::Logistic);
                let data = Dataset::<R>::new(laws::features(records, width, 1), Targets::None);
                let data = data.unwrap();
                let Features::Dense { values, .. } = data.features() else { unreachable!() };
                let Targets::Sign(targets) = laws::signs::<R>(records, 2) else { unreachable!() };
                let (x, batch, targets) = (&laws::point(model, 3), Batch::all(&data), &*targets);
                let [mut vectors, mut scalars] = [(); 2].map(|()| vec![R::ZERO; width + 1]);
                let clipped = sum(model, x, batch, values, targets, 0.7, None, &mut vectors);
                let (clip, table, out) = (0.7, None, &mut *scalars);
                let (tail, none) = (Tail::new(&x[..width]), Clipped::default());
                let norms = batch.data().squared_norms();
                let plain = Sum {
                    model,
                    x,
                    batch,
                    values,
                    norms,
                    targets,
                    clip,
                    table,
                    out,
                    tail,
                    clipped: none,
                };
                assert_eq!(clipped, plain.with_simd(pulp::Scalar::new()));
                assert!(vectors == scalars, "{width}");
            }
        }
        compare::<f32>();
        compare::<f64>();
    }
    /// One record alone has the bits that it has among others that add nothing.
    #[test]
    fn a_record_alone_contributes_as_among_others() {
        fn compare<R: Real>() {
            for width in [1, 15, 16, 40, 105] {
                let (model, records) = (&Linear::new(width, true, Loss::Logistic), 5);
                let Features::Dense { mut values, .. } = laws::features::<R>(records, width, 1)
                else {
                    unreachable!()
                };
                // All but the first are not finite, so that they are left out.
                values[width..].fill(R::from_f64(f64::NAN));
                let features = Features::Dense { width, values };
                let data = Dataset::new(features, laws::signs(records, 2)).unwrap();
                let x = &laws::point(model, 3);
                let [mut alone, mut among] = [(); 2].map(|()| vec![R::ZERO; width + 1]);
                let Targets::Sign(targets) = data.targets() else { unreachable!() };
                let Features::Dense { values, .. } = data.features() else { unreachable!() };
                let first = Batch::of(&data, &[0]);
                sum(model, x, first, values, targets, 0.7, None, &mut alone);
                let of = &[0, 1, 2, 3];
                sum(model, x, Batch::of(&data, of), values, targets, 0.7, None, &mut among);
                assert!(alone == among && alone.iter().any(|v| *v != R::ZERO), "{width}");
            }
        }
        compare::<f32>();
        compare::<f64>();
    }
}
