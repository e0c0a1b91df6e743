//! Factors that shorten gradients, with every rounding accounted for.

use undertone_real::Real;

use crate::objective::{Clipped, factor};

/// The factor for a gradient `c_k a_j` with `c` as they are stored, given an upper bound of its
/// squared norm; `None`, and counted, if that is not finite.
///
/// The caller narrows `factor * c_k` with [`narrow`], may subtract such a number from another, and
/// multiplies by `a_j`: three roundings of half a unit each, for which there is room for four.
#[inline(always)]
pub(crate) fn clip_factor<R: Real>(
    squared_norm: f64,
    clip: f64,
    clipped: &mut Clipped,
) -> Option<f64> {
    let unit = R::EPSILON.to_f64();
    // Beyond this a number of the gradient may not be finite, although its norm is in f64.
    let largest = if size_of::<R>() == 4 { 1e38 } else { f64::MAX };
    let finite = squared_norm <= largest * largest || clip <= largest;
    let factor = factor::<f64>(squared_norm * (1.0 + 4.5 * unit), clip).filter(|_| finite);
    let Some(factor) = factor else {
        clipped.dropped += 1;
        return None;
    };
    clipped.shortened += u64::from(factor < 1.0);
    Some(factor)
}

/// `factor * c`, rounded; zero where numbers are so small that rounding could double them.
#[inline(always)]
pub(crate) fn narrow<R: Real>(factor: f64, c: R) -> R {
    let smallest =
        if size_of::<R>() == 4 { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE };
    let value = factor * c.to_f64();
    if factor < 1.0 && value.abs() < smallest { R::ZERO } else { R::from_f64(value) }
}
