//! Gaussian noise in floating point, fast: for the simulator.

use undertone_real::{Real, SliceMut};

use super::chacha::{self, LANES, WORDS};
use super::stream::{Key, StreamId};

mod transform;

/// Overwrites `out` with independent N(0, scale^2).
///
/// # Guarantee
/// Element `i` is a function of (key, id, i) and the number type alone: not of the slice's length,
/// not of the machine, its vector width or the number of threads (no fused multiply-add is used,
/// and every other operation is correctly rounded).
///
/// The values are floating point, and so is the distribution: 2^63 (`f32`) or 2^116 (`f64`)
/// equally likely pairs by the method of Box and Muller. The largest value is 6.67 scale in `f32`
/// (a true Gaussian exceeds it with probability 3e-11) and 8.58 scale in `f64` (1e-17). The
/// transform's error is at most 3e-7 of the radius in `f32` and 1e-15 in `f64`. The low bits of
/// such values can give a secret away (Mironov 2012), so this sampler is for the simulator; a real
/// release takes its noise from an exact sampler.
///
/// Eight rounds of ChaCha suffice here: the best published attack reaches seven, and nobody gains
/// by predicting a simulation whose seed is public.
///
/// # References
/// G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", 1958.
/// I. Mironov, "On significance of the least significant bits for differential privacy", 2012.
pub fn fill_gaussian<R: Real>(key: &Key, id: StreamId, scale: f64, out: &mut [R]) {
    run::<R, false>(key, id, scale, out);
}

/// Adds independent N(0, scale^2) to `values`, in one pass over memory.
///
/// # Guarantee
/// Adds, with one rounding, the numbers that [`fill_gaussian`] writes.
///
/// # References
/// As for [`fill_gaussian`].
pub fn add_gaussian<R: Real>(key: &Key, id: StreamId, scale: f64, values: &mut [R]) {
    run::<R, true>(key, id, scale, values);
}

fn run<R: Real, const ADD: bool>(key: &Key, id: StreamId, scale: f64, out: &mut [R]) {
    let arch = pulp::Arch::new();
    match R::slice_mut(out) {
        SliceMut::F32(out) => {
            arch.dispatch(Fill::<f32, ADD> { key, id, scale: scale as f32, out });
        }
        SliceMut::F64(out) => arch.dispatch(Fill::<f64, ADD> { key, id, scale, out }),
    }
}

/// A number type with a vectorised Box-Muller transform.
trait Normal: Real {
    /// Numbers made from one group of eight blocks.
    const GROUP: usize;
    /// Turns keystream, words before blocks, into standard normals in the same order of lanes.
    fn normals(bits: &[u32], out: &mut [Self]);
}

impl Normal for f32 {
    const GROUP: usize = WORDS * LANES;

    #[inline(always)]
    fn normals(bits: &[u32], out: &mut [f32]) {
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

impl Normal for f64 {
    const GROUP: usize = WORDS * LANES / 2;

    #[inline(always)]
    fn normals(bits: &[u32], out: &mut [f64]) {
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

struct Fill<'a, R, const ADD: bool> {
    key: &'a Key,
    id: StreamId,
    scale: R,
    out: &'a mut [R],
}

impl<R: Normal, const ADD: bool> pulp::WithSimd for Fill<'_, R, ADD> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(mut self, _: S) {
        // Two groups at a time fill the registers of a machine whose vectors hold 16 words. The
        // order of the output is that of single groups, so the result is the same.
        let done = if size_of::<S::u32s>() == 64 { self.groups::<16>(0) } else { 0 };
        self.groups::<LANES>(done);
    }
}

impl<R: Normal, const ADD: bool> Fill<'_, R, ADD> {
    /// Fills whole runs of `L / 8` groups, and with single groups the remainder as well, starting
    /// at group `first`. Returns the next group.
    #[inline(always)]
    fn groups<const L: usize>(&mut self, first: usize) -> usize {
        let mut words = [[0; L]; WORDS];
        let mut normals = [R::ZERO; 2 * WORDS * LANES];
        let normals = &mut normals[..R::GROUP * (L / LANES)];
        let mut group = first;
        for out in self.out[first * R::GROUP..].chunks_mut(normals.len()) {
            if L > LANES && out.len() < normals.len() {
                break;
            }
            let block = (group * LANES) as u64;
            chacha::blocks::<8, L>(self.key.words(), self.id.get(), block, &mut words);
            R::normals(words.as_flattened(), normals);
            for (g, out) in out.chunks_mut(R::GROUP).enumerate() {
                let rows = normals.chunks_exact(L).map(|row| &row[g * LANES..(g + 1) * LANES]);
                for (out, row) in out.chunks_mut(LANES).zip(rows) {
                    for (out, &normal) in out.iter_mut().zip(row) {
                        let noise = self.scale * normal;
                        *out = if ADD { *out + noise } else { noise };
                    }
                }
            }
            group += L / LANES;
        }
        group
    }
}
