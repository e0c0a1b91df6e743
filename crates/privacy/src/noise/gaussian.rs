//! Gaussian noise in floating point, fast: for the simulator.

use undertone_real::Real;

use super::fill::{Kernel, SIDE, To, fill, fill_four, group};
use super::stream::{Key, StreamId};
use super::transform;

/// Overwrites `out` with independent N(0, scale^2).
///
/// # Guarantee
/// Element `i` is a function of (key, id, i) and the number type alone: not of the slice's length,
/// not of the machine, its vector width or the number of threads (every operation is correctly
/// rounded, and a fused multiplication with its addition once).
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
    fill::<BoxMuller, R, false>(To { key, id, out }, scale, 0);
}

/// Adds independent N(0, scale^2) to `values`, in one pass over memory.
///
/// # Guarantee
/// Adds, with one rounding, the numbers that [`fill_gaussian`] writes.
///
/// # References
/// As for [`fill_gaussian`].
pub fn add_gaussian<R: Real>(key: &Key, id: StreamId, scale: f64, values: &mut [R]) {
    fill::<BoxMuller, R, true>(To { key, id, out: values }, scale, 0);
}

/// As [`add_gaussian`], in bits, on so many threads of the pool in which it is asked for.
pub fn add_gaussian_on<R: Real>(
    threads: usize,
    key: &Key,
    id: StreamId,
    scale: f64,
    values: &mut [R],
) {
    add_gaussian_from(threads, key, id, scale, values, 0);
}

/// Adds to `values` what [`add_gaussian`] would add to them at the end of a longer vector, from the
/// place `first` on, which is a multiple of [`piece`].
pub(crate) fn add_gaussian_from<R: Real>(
    threads: usize,
    key: &Key,
    id: StreamId,
    scale: f64,
    values: &mut [R],
    first: usize,
) {
    assert_eq!(first % group::<R>(), 0, "noise is made in groups");
    let add = |first: usize, out: &mut [R]| {
        fill::<BoxMuller, R, true>(To { key, id, out }, scale, first / group::<R>());
    };
    let threads = threads.min(values.len() / WORTH_A_THREAD);
    if threads < 2 {
        return add(first, values);
    }
    let each = values.len().div_ceil(threads).next_multiple_of(piece::<R>());
    let parts = values.chunks_mut(each).enumerate();
    undertone_threads::each(parts, |(k, part)| add(first + k * each, part));
}

/// Numbers whose noise takes far longer to make than a thread to wake up.
const WORTH_A_THREAD: usize = 1 << 14;

/// How many numbers get noise at a time where it is made in pieces: as much as the widest vectors
/// make at once.
pub(crate) const fn piece<R>() -> usize {
    4 * group::<R>()
}

/// Adds noise of several streams, each as [`add_gaussian`] does; four at a time where that is
/// faster, as it is for short ones.
pub(crate) fn add_gaussian_to_all<'a, R: Real>(
    to: impl IntoIterator<Item = (&'a Key, StreamId, &'a mut [R])>,
    scale: f64,
) {
    let mut to = to.into_iter().map(|(key, id, out)| To { key, id, out });
    while let Some(first) = to.next() {
        // What is missing at the end has nothing to be filled.
        let To { key, id, .. } = first;
        let mut next = || to.next().unwrap_or(To { key, id, out: &mut [] });
        let (b, c, d) = (next(), next(), next());
        fill_four::<BoxMuller, R, true>([first, b, c, d], scale);
    }
}

/// Two uniform words make two normals: the first half of a group holds the cosines, the second the
/// sines of the same pairs.
pub(super) struct BoxMuller;

impl Kernel<f32> for BoxMuller {
    /// In stages: a processor has only so many numbers under way, and while the long chain of
    /// operations behind a radius waits for itself, few of the next could begin.
    #[inline(always)]
    fn apply(bits: &[[u32; SIDE]], scale: f32, mut emit: impl FnMut(usize, [f32; SIDE])) {
        let half = bits.len() / 2;
        let (radii, angles) = bits.split_at(half);
        let (stages, rest) = radii.as_flattened().as_chunks::<STAGE>();
        assert!(rest.is_empty(), "whole groups");
        for (j, (radii, angles)) in stages.iter().zip(angles.chunks(STAGE / SIDE)).enumerate() {
            // Exponents first, and then squares of radii.
            let (mut parts, mut squares) = ([0.0; STAGE], [0.0; STAGE]);
            for i in 0..STAGE {
                (parts[i], squares[i]) = transform::parts_f32(radii[i]);
            }
            for i in 0..STAGE {
                squares[i] = 2.0 * transform::exponential_of_f32(parts[i], squares[i]);
            }
            let squares = squares.as_chunks::<SIDE>().0;
            for (k, (squares, angles)) in squares.iter().zip(angles).enumerate() {
                let (mut x, mut y) = ([0.0; SIDE], [0.0; SIDE]);
                for i in 0..SIDE {
                    let r = scale * squares[i].sqrt();
                    let (c, s) = transform::direction_f32(angles[i]);
                    (x[i], y[i]) = (r * c, r * s);
                }
                let place = j * STAGE / SIDE + k;
                emit(place, x);
                emit(place + half, y);
            }
        }
    }
}

/// Radii that are made at once: those of a group.
const STAGE: usize = group::<f32>() / 2;

impl Kernel<f64> for BoxMuller {
    #[inline(always)]
    fn apply(bits: &[[u32; SIDE]], scale: f64, mut emit: impl FnMut(usize, [f64; SIDE])) {
        let quarter = bits.len() / 4;
        for k in 0..quarter {
            let long = |part: usize, i: usize| {
                let [low, high] = [part, part + 2].map(|part| bits[k + part * quarter][i]);
                u64::from(high) << 32 | u64::from(low)
            };
            let (mut x, mut y) = ([0.0; SIDE], [0.0; SIDE]);
            for i in 0..SIDE {
                let r = transform::radius_f64(long(0, i));
                let (c, s) = transform::direction_f64(long(1, i));
                (x[i], y[i]) = (scale * (r * c), scale * (r * s));
            }
            emit(k, x);
            emit(k + quarter, y);
        }
    }
}
