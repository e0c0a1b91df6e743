//! Laplace noise in floating point, for the simulator.

use undertone_real::Real;

use super::fill::{Kernel, SIDE, To, fill};
use super::stream::{Key, StreamId};
use super::transform;

/// Overwrites `out` with independent Laplace noise, density exp(-|x| / scale) / (2 scale).
///
/// # Guarantee
/// Element `i` is a function of (key, id, i) and the number type alone, as for
/// [`fill_gaussian`](super::fill_gaussian). The values are floating point: 2^32 (`f32`) or 2^53
/// (`f64`) equally likely ones, at most 22.2 or 36.8 scales, with an error of at most 3e-7 or
/// 5e-16 of the value. For the simulator; a real release takes its noise from
/// [`discrete_laplace`](super::discrete_laplace).
///
/// # References
/// C. Dwork, F. McSherry, K. Nissim, A. Smith, "Calibrating noise to sensitivity in private data
/// analysis", 2006.
pub fn fill_laplace<R: Real>(key: &Key, id: StreamId, scale: f64, out: &mut [R]) {
    fill::<Inverse, R, false>(To { key, id, out }, scale, 0);
}

/// Adds independent Laplace noise to `values`, in one pass over memory.
///
/// # Guarantee
/// Adds, with one rounding, the numbers that [`fill_laplace`] writes.
///
/// # References
/// As for [`fill_laplace`].
pub fn add_laplace<R: Real>(key: &Key, id: StreamId, scale: f64, values: &mut [R]) {
    fill::<Inverse, R, true>(To { key, id, out: values }, scale, 0);
}

/// Inversion: an exponential, with the lowest bit (which it does not use) as the sign.
struct Inverse;

impl Kernel<f32> for Inverse {
    #[inline(always)]
    fn apply(bits: &[[u32; SIDE]], scale: f32, mut emit: impl FnMut(usize, [f32; SIDE])) {
        for (k, bits) in bits.iter().enumerate() {
            emit(
                k,
                bits.map(|bits| {
                    let magnitude = transform::exponential_f32(bits);
                    scale * f32::from_bits(magnitude.to_bits() ^ bits << 31)
                }),
            );
        }
    }
}

impl Kernel<f64> for Inverse {
    #[inline(always)]
    fn apply(bits: &[[u32; SIDE]], scale: f64, mut emit: impl FnMut(usize, [f64; SIDE])) {
        let (low, high) = bits.split_at(bits.len() / 2);
        for (k, (low, high)) in low.iter().zip(high).enumerate() {
            let mut noise = [0.0; SIDE];
            for i in 0..SIDE {
                let bits = u64::from(high[i]) << 32 | u64::from(low[i]);
                let magnitude = transform::exponential_f64(bits);
                noise[i] = scale * f64::from_bits(magnitude.to_bits() ^ bits << 63);
            }
            emit(k, noise);
        }
    }
}
