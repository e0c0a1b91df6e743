//! Factors that shorten gradients, with every rounding accounted for.

use undertone_real::Real;

use crate::objective::{Clipped, shorten};

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
    let (factor, finite) = factor::<R>(squared_norm, clip);
    if !finite {
        clipped.dropped += 1;
        return None;
    }
    clipped.shortened += u64::from(factor < 1.0);
    Some(factor)
}

/// The same without branches, and whether the squared norm is finite.
#[inline(always)]
fn factor<R: Real>(squared_norm: f64, clip: f64) -> (f64, bool) {
    // Beyond this a number of the gradient may not be finite, although its norm is in f64.
    let largest = if size_of::<R>() == 4 { 1e38 } else { f64::MAX };
    let finite = squared_norm <= largest * largest || clip <= largest;
    let squared = squared_norm * (1.0 + 4.5 * R::EPSILON.to_f64());
    (shorten::<f64>(squared, clip), finite & squared.is_finite())
}

/// The clipped coefficients of gradients `c a`, given upper bounds of the squared norms of `a`;
/// zero where that is not finite. All are counted but the first are used, so many as `counted`.
#[inline(always)]
pub(crate) fn coefficients<R: Real, const N: usize>(
    c: [R; N],
    squared_norms: [f64; N],
    clip: f64,
    counted: usize,
    clipped: &mut Clipped,
) -> [R; N] {
    let (mut shortened, mut dropped) = ([false; N], [false; N]);
    let mut out = [R::ZERO; N];
    for i in 0..N {
        let squared = c[i].to_f64() * c[i].to_f64() * squared_norms[i];
        let (factor, finite) = factor::<R>(squared, clip);
        (shortened[i], dropped[i]) = (finite & (factor < 1.0), !finite);
        out[i] = if finite { narrow(factor, c[i]) } else { R::ZERO };
    }
    let count = |which: [bool; N]| which[..counted].iter().filter(|w| **w).count() as u64;
    clipped.shortened += count(shortened);
    clipped.dropped += count(dropped);
    out
}

/// `factor * c`, rounded; zero where numbers are so small that rounding could double them.
#[inline(always)]
pub(crate) fn narrow<R: Real>(factor: f64, c: R) -> R {
    let smallest =
        if size_of::<R>() == 4 { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE };
    let value = factor * c.to_f64();
    if factor < 1.0 && value.abs() < smallest { R::ZERO } else { R::from_f64(value) }
}
