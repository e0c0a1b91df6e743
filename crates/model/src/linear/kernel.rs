//! One pass over dense rows: score, coefficient, sum.
//!
//! A row is read twice while it is near: for its score, and for the sum. Norms are those of the
//! data set.

use prefetch_index::prefetch_index;
use pulp::Simd;
use undertone_matrix::rows::{LANES, Multiples, Point, dots, fill_up};
use undertone_real::Real;

use super::{Linear, exchange_entry};
use crate::clip::coefficients;
use crate::loss::{Loss, hinge, logistic_slopes};
use crate::objective::{At, Batch, Clipped};
use crate::row::Row;
use crate::table::Table;

/// Records whose coefficients are computed together.
pub(super) const BLOCK: usize = 16;

/// Records at the end of a batch that are computed together, and rows whose scores are.
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
    let (clipped, norms) = (Clipped::default(), batch.data().squared_norms());
    let (out, intercept) = out.split_at_mut(model.width);
    let sum = Sum { model, x, batch, values, norms, targets, clip, table, out, intercept, clipped };
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
    /// Of the sum: one number or none.
    intercept: &'a mut [R],
    clipped: Clipped,
}

impl<R: Real> pulp::WithSimd for Sum<'_, R> {
    type Output = Clipped;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> Clipped {
        let point = &Point::new(&self.x[..self.model.width]);
        let mut out = Multiples::new(std::mem::take(&mut self.out));
        let whole = self.batch.len() / BLOCK * BLOCK;
        for first in (0..whole).step_by(BLOCK) {
            self.block::<S, BLOCK>(simd, first, BLOCK, point, &mut out);
        }
        for first in (whole..self.batch.len()).step_by(GROUP) {
            match self.batch.len() - first {
                // Many nodes learn from one record at a time.
                1 => self.block::<S, 1>(simd, first, 1, point, &mut out),
                rest => self.block::<S, GROUP>(simd, first, rest.min(GROUP), point, &mut out),
            }
        }
        out.finish();
        self.clipped
    }
}

impl<R: Real> Sum<'_, R> {
    /// Asks for the record at a position, if there is one: while a block is computed the next one
    /// comes.
    #[inline(always)]
    fn fetch(&self, position: usize) {
        if position < self.batch.len() {
            let first = self.batch.record(position) * self.model.width;
            // A line of the narrower type.
            for number in (0..self.model.width).step_by(LANES) {
                prefetch_index(self.values, first + number);
            }
        }
    }

    /// The first `count` of `N` records: a block, or a group if there are not as many, or one.
    #[inline(always)]
    fn block<S: Simd, const N: usize>(
        &mut self,
        simd: S,
        first: usize,
        count: usize,
        point: &Point<'_, R>,
        out: &mut Multiples<'_, R>,
    ) {
        let width = self.model.width;
        let mut rows: [&[R]; N] = [&[]; N];
        let (mut records, mut signs, mut norms) = ([0; N], [R::ZERO; N], [0.0; N]);
        for i in 0..N {
            // Beyond the batch its last record stands in, and is not used.
            let record = self.batch.record(first + if N == BLOCK { i } else { i.min(count - 1) });
            rows[i] = &self.values[record * width..][..width];
            (records[i], signs[i], norms[i]) = (record, self.targets[record], self.norms[record]);
        }
        let filled;
        if width < LANES {
            filled = rows.map(fill_up);
            rows = filled.each_ref().map(|row| &row[..]);
        }
        let mut products = [R::ZERO; N];
        if N == 1 {
            [products[0]] = dots(simd, [point], &[rows[0]]);
        }
        let groups = products.as_chunks_mut().0.iter_mut().zip(rows.as_chunks().0);
        for (k, (products, rows)) in groups.enumerate() {
            for i in 0..GROUP {
                self.fetch(first + N + k * GROUP + i);
            }
            *products = dots(simd, [point; GROUP], rows);
        }
        let offset = self.model.offset(self.x);
        let mut scores = [0.0; N];
        let mut finite = true;
        for i in 0..N {
            scores[i] = products[i].to_f64() + offset;
            finite &= scores[i].is_finite();
        }
        if !finite {
            for i in (0..count).filter(|i| !products[*i].is_finite()) {
                let row = &self.values[records[i] * width..][..width];
                scores[i] = precisely(row, &self.x[..width]) + offset;
            }
        }
        let slopes = slopes(self.model.loss, &scores, &signs.map(R::to_f64));
        // Not sooner: what was written number by number is read in vectors, which would wait.
        let norms = norms.map(|norm| self.model.with_one(norm));
        let mut cs = coefficients(slopes, norms, self.clip, count, &mut self.clipped);
        if let Some(table) = &mut self.table {
            for i in 0..count {
                cs[i] = exchange_entry(cs[i], norms[i], records[i], Some(table));
            }
        }
        let mut kept = count;
        if count < N || cs.contains(&R::ZERO) {
            // Records that contribute nothing are left out: zero times a row may be NaN.
            kept = 0;
            for i in 0..count {
                (rows[kept], cs[kept]) = (rows[i], cs[i]);
                kept += usize::from(cs[i] != R::ZERO);
            }
        }
        let rest = add::<S, R, 8>(simd, (&rows[..kept], &cs[..kept]), out);
        let rest = add::<S, R, 4>(simd, rest, out);
        add::<S, R, 1>(simd, rest, out);
        if let [intercept] = &mut *self.intercept {
            cs[..kept].iter().for_each(|c| *intercept += *c);
        }
    }
}

/// Rows, and what each is multiplied by.
type Multiplied<'a, R> = (&'a [&'a [R]], &'a [R]);

/// Adds the rows in groups of so many, and returns those that are left.
#[inline(always)]
fn add<'a, S: Simd, R: Real, const N: usize>(
    simd: S,
    (rows, by): Multiplied<'a, R>,
    out: &mut Multiples<'_, R>,
) -> Multiplied<'a, R> {
    let ((rows, other_rows), (by, others)) = (rows.as_chunks::<N>(), by.as_chunks::<N>());
    // `for_each` may call its closure, which then has no vectors of this machine.
    for (rows, by) in rows.iter().zip(by) {
        out.add(simd, rows, by);
    }
    (other_rows, others)
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
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { model, of, clip } = self;
        let mut rows: [&[R]; BLOCK] = [&[]; BLOCK];
        let [mut offsets, mut norms, mut signs] = [[0.0; BLOCK]; 3];
        for (i, At { point, batch }) in of.iter().enumerate() {
            let (record, data) = (batch.record(0), batch.data());
            rows[i] = data.dense_row(record).expect("all records are dense");
            (signs[i], offsets[i]) = (model.targets(*batch)[record].to_f64(), model.offset(point));
            norms[i] = model.with_one(data.squared_norms()[record]);
        }
        let mut products = [R::ZERO; BLOCK];
        let groups = products.as_chunks_mut::<GROUP>().0.iter_mut();
        for (first, products) in (0..of.len()).step_by(GROUP).zip(groups) {
            // Beyond the last it stands in, and is not used.
            let which: [usize; GROUP] = std::array::from_fn(|i| (first + i).min(of.len() - 1));
            let points = which.map(|i| Point::new(&of[i].point[..model.width]));
            let mut rows = which.map(|i| rows[i]);
            let filled;
            if model.width < LANES {
                filled = rows.map(fill_up);
                rows = filled.each_ref().map(|row| &row[..]);
            }
            *products = dots(simd, points.each_ref(), &rows);
        }
        let mut scores = [0.0; BLOCK];
        for i in 0..BLOCK {
            scores[i] = products[i].to_f64() + offsets[i];
        }
        if products.iter().any(|product| !product.is_finite()) {
            for i in (0..of.len()).filter(|i| !products[*i].is_finite()) {
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
            slopes = logistic_slopes(std::array::from_fn(|i| signs[i] * scores[i]));
            slopes.iter_mut().zip(signs).for_each(|(slope, sign)| *slope *= sign);
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

/// In double precision, where single precision overflows.
#[cold]
#[inline(never)]
fn precisely<R: Real>(row: &[R], x: &[R]) -> f64 {
    Row::Dense(row).dot(x)
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
                let (clip, table, clipped_before) = (0.7, None, Clipped::default());
                let (out, intercept) = scalars.split_at_mut(width);
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
                    intercept,
                    clipped: clipped_before,
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
