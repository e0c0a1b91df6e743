//! Products with a mixing matrix, in either precision.

use std::ops::Range;

use undertone_real::Real;

use super::Mixing;

impl Mixing {
    /// One round of mixing: row `i` of `out` becomes the weighted sum of the rows of `x`, each
    /// `d` long, added in the order of the senders. Weights are rounded to the type of `x`.
    /// Panics if the lengths do not fit.
    pub fn apply<R: Real>(&self, x: &[R], d: usize, out: &mut [R]) {
        self.check_lengths(x, d, out);
        if d == 1 {
            for (sum, range) in out.iter_mut().zip(self.ranges()) {
                let entries = self.senders[range.clone()].iter().zip(&self.weights[range]);
                *sum = entries.fold(R::ZERO, |s, (j, &w)| s + R::from_f64(w) * x[j.idx()]);
            }
            return;
        }
        if d == 0 {
            return;
        }
        out.fill(R::ZERO);
        for (sum, range) in out.chunks_exact_mut(d).zip(self.ranges()) {
            let (fours, rest) = self.senders[range.clone()].as_chunks::<4>();
            let (weights, weights_of_rest) = self.weights[range].as_chunks::<4>();
            let row = |j: super::NodeId| &x[j.idx() * d..][..d];
            for (&senders, &weights) in fours.iter().zip(weights) {
                add_four(sum, weights.map(R::from_f64), senders.map(row));
            }
            for (&sender, &weight) in rest.iter().zip(weights_of_rest) {
                add(sum, R::from_f64(weight), row(sender));
            }
        }
    }

    /// As [`Mixing::apply`], with the matrix transposed.
    pub fn apply_transposed<R: Real>(&self, x: &[R], d: usize, out: &mut [R]) {
        self.check_lengths(x, d, out);
        if d == 0 {
            return;
        }
        out.fill(R::ZERO);
        for (own, range) in x.chunks_exact(d).zip(self.ranges()) {
            for (j, &weight) in self.senders[range.clone()].iter().zip(&self.weights[range]) {
                add(&mut out[j.idx() * d..][..d], R::from_f64(weight), own);
            }
        }
    }

    fn ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.starts.windows(2).map(|pair| pair[0]..pair[1])
    }

    fn check_lengths<R>(&self, x: &[R], d: usize, out: &[R]) {
        let length = self.n_nodes() as usize * d;
        assert!(x.len() == length && out.len() == length, "a row of d values for every node");
    }
}

fn add<R: Real>(sum: &mut [R], weight: R, row: &[R]) {
    for (s, &v) in sum.iter_mut().zip(row) {
        *s += weight * v;
    }
}

/// Four rows in one pass over the sum, in the same order as one after another, so that the last
/// bit is the same and the sum is read and written once, not four times.
fn add_four<R: Real>(sum: &mut [R], [w0, w1, w2, w3]: [R; 4], rows: [&[R]; 4]) {
    // Slices of one length: the compiler then drops the checks, and vectorises.
    let [a, b, c, e] = rows.map(|row| &row[..sum.len()]);
    for (k, s) in sum.iter_mut().enumerate() {
        *s = *s + w0 * a[k] + w1 * b[k] + w2 * c[k] + w3 * e[k];
    }
}
