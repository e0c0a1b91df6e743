//! Gaussian noise in floating point, fast: for the simulator.

use undertone_real::Real;

use super::fill::{Kernel, fill};
use super::stream::{Key, StreamId};
use super::transform;

/// Overwrites `out` with independent N(0, scale^2).
///
/// # Guarantee
/// Element `i` is a function of (key, id, i) and the number type alone: not of the slice's length,
/// not of the machine, its vector width or the number of threads (no fused multiply-add is used,
/// and every other operation is correctly rounded).
///
/// The values are floating point, and so is the distribution: 2^63 (`f32`) or 2^106 (`f64`)
/// equally likely pairs by the method of Box and Muller. The largest value is 6.67 scale in `f32`
/// (a true Gaussian exceeds it with probability 3e-11) and 8.58 scale in `f64` (1e-17). The
/// transform's error is at most 4e-7 of the radius in `f32` and 1e-15 in `f64`. The low bits of
/// such values can give a secret away (Mironov 2012), so this sampler is for the simulator; a real
/// release takes its noise from [`ExactGaussian`](super::ExactGaussian).
///
/// The bits are ChaCha's with eight rounds; see [`Stream`](super::Stream) for why.
///
/// # References
/// G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", 1958.
/// I. Mironov, "On significance of the least significant bits for differential privacy", 2012.
pub fn fill_gaussian<R: Real>(key: &Key, id: StreamId, scale: f64, out: &mut [R]) {
    fill::<BoxMuller, R, false>(key, id, scale, out);
}

/// Adds independent N(0, scale^2) to `values`, in one pass over memory.
///
/// # Guarantee
/// Adds, with one rounding, the numbers that [`fill_gaussian`] writes.
///
/// # References
/// As for [`fill_gaussian`].
pub fn add_gaussian<R: Real>(key: &Key, id: StreamId, scale: f64, values: &mut [R]) {
    fill::<BoxMuller, R, true>(key, id, scale, values);
}

/// Two uniform words make two normals: the first half of a group holds the cosines, the second the
/// sines of the same pairs.
pub(super) struct BoxMuller;

impl Kernel<f32> for BoxMuller {
    #[inline(always)]
    fn apply(bits: &[u32], out: &mut [f32]) {
        let half = bits.len() / 2;
        let (radius, angle) = bits.split_at(half);
        let (x, y) = out.split_at_mut(half);
        for (((x, y), &radius), &angle) in x.iter_mut().zip(y).zip(radius).zip(angle) {
            let r = transform::radius_f32(radius);
            let (c, s) = transform::direction_f32(angle);
            (*x, *y) = (r * c, r * s);
        }
    }
}

impl Kernel<f64> for BoxMuller {
    #[inline(always)]
    fn apply(bits: &[u32], out: &mut [f64]) {
        let quarter = bits.len() / 4;
        let (low, high) = bits.split_at(2 * quarter);
        let (radius_low, angle_low) = low.split_at(quarter);
        let (radius_high, angle_high) = high.split_at(quarter);
        let (x, y) = out.split_at_mut(quarter);
        let radius = radius_low.iter().zip(radius_high);
        let angle = angle_low.iter().zip(angle_high);
        for (((x, y), radius), angle) in x.iter_mut().zip(y).zip(radius).zip(angle) {
            let r = transform::radius_f64(u64::from(*radius.1) << 32 | u64::from(*radius.0));
            let (c, s) = transform::direction_f64(u64::from(*angle.1) << 32 | u64::from(*angle.0));
            (*x, *y) = (r * c, r * s);
        }
    }
}
