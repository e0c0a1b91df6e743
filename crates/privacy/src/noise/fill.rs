//! Filling memory with floating-point noise, in vectors, in an order that no machine changes.

use std::marker::PhantomData;

use undertone_real::{Real, SliceMut};

use super::chacha::{self, LANES, WORDS};
use super::stream::{Key, StreamId};

/// Numbers that are computed side by side: a vector of the widest machines.
pub(super) const SIDE: usize = 16;

/// A transform from uniform bits to noise of one distribution.
pub(super) trait Kernel<R> {
    /// Reads keystream, words before blocks, and hands over `scale` times standard noise in the
    /// same order of lanes, with the place of each part.
    fn apply(bits: &[[u32; SIDE]], scale: R, emit: impl FnMut(usize, [R; SIDE]));
}

/// Overwrites `out` with, or adds to it, `scale` times the kernel's noise.
///
/// Element i is a function of (key, id, i): numbers are made in groups of eight blocks of ChaCha8,
/// and a group's numbers are in the order word 0 of the eight blocks, word 1 and so on.
pub(super) fn fill<K, R, const ADD: bool>(key: &Key, id: StreamId, scale: f64, out: &mut [R])
where
    K: Kernel<f32> + Kernel<f64>,
    R: Real,
{
    let arch = pulp::Arch::new();
    match R::slice_mut(out) {
        SliceMut::F32(out) => {
            let scale = scale as f32;
            arch.dispatch(Fill::<K, f32, ADD> { key, id, scale, out, kernel: PhantomData });
        }
        SliceMut::F64(out) => {
            arch.dispatch(Fill::<K, f64, ADD> { key, id, scale, out, kernel: PhantomData });
        }
    }
}

struct Fill<'a, K, R, const ADD: bool> {
    key: &'a Key,
    id: StreamId,
    scale: R,
    out: &'a mut [R],
    kernel: PhantomData<K>,
}

impl<K: Kernel<R>, R: Real, const ADD: bool> pulp::WithSimd for Fill<'_, K, R, ADD> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(mut self, _: S) {
        // Two groups at a time fill the registers of a machine whose vectors hold 16 words. The
        // order of the output is that of single groups, so the result is the same.
        let done = if size_of::<S::u32s>() == 64 { self.groups::<16>(0) } else { 0 };
        self.groups::<LANES>(done);
    }
}

impl<K: Kernel<R>, R: Real, const ADD: bool> Fill<'_, K, R, ADD> {
    /// Numbers made from a group of eight blocks.
    const GROUP: usize = 4 * WORDS * LANES / size_of::<R>();

    /// Fills whole runs of `L / 8` groups, and with single groups the remainder as well, starting
    /// at group `first`. Returns the next group.
    #[inline(always)]
    fn groups<const L: usize>(&mut self, first: usize) -> usize {
        let mut words = [[0; L]; WORDS];
        let (mut group, scale) = (first, self.scale);
        let mut chunks = self.out[first * Self::GROUP..].chunks_exact_mut(Self::GROUP * L / LANES);
        for out in &mut chunks {
            let block = (group * LANES) as u64;
            chacha::blocks::<8, L>(self.key.words(), self.id.get(), block, &mut words);
            // Where vectors hold two groups, their halves belong to the one and to the other.
            let (one, other) = out.split_at_mut(Self::GROUP);
            K::apply(words.as_flattened().as_chunks().0, scale, |k, noise| {
                if L == LANES {
                    put::<R, ADD>(&noise, &mut one[k * SIDE..][..SIDE]);
                } else {
                    let (left, right) = noise.split_at(LANES);
                    put::<R, ADD>(left, &mut one[k * LANES..][..LANES]);
                    put::<R, ADD>(right, &mut other[k * LANES..][..LANES]);
                }
            });
            group += L / LANES;
        }
        let rest = chunks.into_remainder();
        if L == LANES && !rest.is_empty() {
            // Room for the larger number of the smaller type.
            let mut noise = [R::ZERO; WORDS * LANES];
            let block = (group * LANES) as u64;
            chacha::blocks::<8, L>(self.key.words(), self.id.get(), block, &mut words);
            K::apply(words.as_flattened().as_chunks().0, scale, |k, part| {
                noise[k * SIDE..][..SIDE].copy_from_slice(&part);
            });
            put::<R, ADD>(&noise, rest);
        }
        group
    }
}

#[inline(always)]
fn put<R: Real, const ADD: bool>(noise: &[R], out: &mut [R]) {
    for (out, &noise) in out.iter_mut().zip(noise) {
        *out = if ADD { *out + noise } else { noise };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Purpose;
    use crate::noise::gaussian::BoxMuller;

    /// The widths that machines choose between, and plain scalar code, give the same bits.
    #[test]
    fn the_width_of_vectors_does_not_matter() {
        let key = Key::from_seed(5);
        let id = StreamId::new(Purpose::Noise, 2, 3).unwrap();
        fn compare<R: Real>(key: &Key, id: StreamId)
        where
            BoxMuller: Kernel<R>,
        {
            let scale = R::from_f64(0.7);
            for length in [0, 1, 100, 255, 256, 257, 1000] {
                let [mut narrow, mut wide, mut usual] = [(); 3].map(|()| vec![R::ZERO; length]);
                let kernel = PhantomData::<BoxMuller>;
                let out = &mut narrow;
                Fill::<_, _, false> { key, id, scale, out, kernel }.groups::<LANES>(0);
                let out = &mut wide;
                let mut both = Fill::<_, _, false> { key, id, scale, out, kernel };
                let done = both.groups::<16>(0);
                both.groups::<LANES>(done);
                fill::<BoxMuller, R, false>(key, id, 0.7, &mut usual);
                assert_eq!(narrow, wide);
                assert_eq!(narrow, usual);
            }
        }
        compare::<f32>(&key, id);
        compare::<f64>(&key, id);
    }
}
