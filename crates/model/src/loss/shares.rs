//! Exponentials of scores, divided by their sum.

use undertone_matrix::vector;
use undertone_real::Real;

use super::greatest;
use crate::vectorised::{Kernel, vectorised};

/// Writes the shares of the scores of each record. All exponentials are taken at once: those of one
/// record would not fill the vectors.
pub(super) fn shares<R: Real>(scores: &[R], width: usize, out: &mut [R]) {
    for (scores, out) in scores.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
        let top = R::from_f64(greatest(scores));
        out.iter_mut().zip(scores).for_each(|(out, score)| *out = *score - top);
    }
    vector::exp(out);
    vectorised(Divide, (width, out));
}

/// Divides each row by its sum.
struct Divide;

impl<'a, R: Real> Kernel<(usize, &'a mut [R])> for Divide {
    #[inline(always)]
    fn run((width, out): (usize, &'a mut [R])) {
        for row in out.chunks_exact_mut(width) {
            let inverse = 1.0 / row.iter().fold(0.0, |sum, term| sum + term.to_f64());
            row.iter_mut().for_each(|term| *term = R::from_f64(term.to_f64() * inverse));
        }
    }
}
