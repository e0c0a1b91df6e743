//! Filling memory with floating-point noise, in vectors, in an order that no machine changes.

use std::marker::PhantomData;

use undertone_real::{Real, SliceMut};

use super::chacha::{self, LANES, WIDE, WORDS};
use super::stream::{Key, StreamId};

/// Numbers that are computed side by side: a vector of the widest machines.
pub(super) const SIDE: usize = 16;

/// A transform from uniform bits to noise of one distribution.
pub(super) trait Kernel<R> {
    /// Reads keystream, words before blocks, and hands over `scale` times standard noise in the
    /// same order of lanes, with the place of each part.
    fn apply(bits: &[[u32; SIDE]], scale: R, emit: impl FnMut(usize, [R; SIDE]));
}

/// Where noise of a stream goes.
pub(super) struct To<'a, R> {
    pub(super) key: &'a Key,
    pub(super) id: StreamId,
    pub(super) out: &'a mut [R],
}

/// Overwrites `out` with, or adds to it, `scale` times the kernel's noise, beginning with the first
/// of a group.
///
/// Element i is a function of (key, id, i): numbers are made in groups of eight blocks of ChaCha8,
/// and a group's numbers are in the order word 0 of the eight blocks, word 1 and so on.
pub(super) fn fill<K, R, const ADD: bool>(To { key, id, out }: To<'_, R>, scale: f64, group: usize)
where
    K: Kernel<f32> + Kernel<f64>,
    R: Real,
{
    let arch = pulp::Arch::new();
    match R::slice_mut(out) {
        SliceMut::F32(out) => {
            let (to, scale) = (To { key, id, out }, scale as f32);
            arch.dispatch(Fill::<K, f32, ADD> { to, scale, begin: group, kernel: PhantomData });
        }
        SliceMut::F64(out) => {
            let to = To { key, id, out };
            arch.dispatch(Fill::<K, f64, ADD> { to, scale, begin: group, kernel: PhantomData });
        }
    }
}

/// The same for four streams from their beginnings, side by side where that is faster.
pub(super) fn fill_four<K, R, const ADD: bool>(to: [To<'_, R>; 4], scale: f64)
where
    K: Kernel<f32> + Kernel<f64>,
    R: Real,
{
    use SliceMut::{F32, F64};
    let arch = pulp::Arch::new();
    let of = to.each_ref().map(|to| (to.key, to.id));
    match to.map(|to| R::slice_mut(to.out)) {
        [F32(a), F32(b), F32(c), F32(d)] => {
            let (out, scale) = ([a, b, c, d], scale as f32);
            arch.dispatch(FillFour::<K, f32, ADD> { of, out, scale, kernel: PhantomData });
        }
        [F64(a), F64(b), F64(c), F64(d)] => {
            let out = [a, b, c, d];
            arch.dispatch(FillFour::<K, f64, ADD> { of, out, scale, kernel: PhantomData });
        }
        _ => unreachable!("all are numbers of one type"),
    }
}

/// How many numbers make a group.
pub(super) const fn group<R>() -> usize {
    4 * WORDS * LANES / size_of::<R>()
}

struct Fill<'a, K, R, const ADD: bool> {
    to: To<'a, R>,
    scale: R,
    /// The group of the first number.
    begin: usize,
    kernel: PhantomData<K>,
}

impl<K: Kernel<R>, R: Real, const ADD: bool> pulp::WithSimd for Fill<'_, K, R, ADD> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(mut self, simd: S) {
        // Where vectors hold 16 words, two groups at a time fill one set of registers, and four
        // groups both. The order of the output is that of single groups, so the result is the same.
        let mut done = 0;
        if size_of::<S::u32s>() == 64 {
            done = self.wide_groups(simd);
            done = self.groups::<WIDE>(done);
        }
        self.groups::<LANES>(done);
    }
}

impl<K: Kernel<R>, R: Real, const ADD: bool> Fill<'_, K, R, ADD> {
    /// Numbers made from a group of eight blocks.
    const GROUP: usize = group::<R>();

    /// Fills whole runs of `L / 8` groups, and with single groups the remainder as well, starting
    /// at the group that is `first` of the output. Returns the next group.
    #[inline(always)]
    fn groups<const L: usize>(&mut self, first: usize) -> usize {
        let mut words = [[0; L]; WORDS];
        let (mut group, scale, To { key, id, out }) = (first, self.scale, &mut self.to);
        let mut chunks = out[first * Self::GROUP..].chunks_exact_mut(Self::GROUP * L / LANES);
        for out in &mut chunks {
            let block = ((self.begin + group) * LANES) as u64;
            chacha::blocks::<8, L>(key.words(), id.get(), block, &mut words);
            Self::put_groups(&words, scale, out);
            group += L / LANES;
        }
        let rest = chunks.into_remainder();
        if L == LANES && !rest.is_empty() {
            // Room for the larger number of the smaller type.
            let mut noise = [R::ZERO; WORDS * LANES];
            let block = ((self.begin + group) * LANES) as u64;
            chacha::blocks::<8, L>(key.words(), id.get(), block, &mut words);
            K::apply(words.as_flattened().as_chunks().0, scale, |k, part| {
                noise[k * SIDE..][..SIDE].copy_from_slice(&part);
            });
            put::<R, ADD>(&noise, rest);
        }
        group
    }

    /// Fills whole runs of four groups. Returns the next group.
    #[inline(always)]
    fn wide_groups<S: pulp::Simd>(&mut self, simd: S) -> usize {
        let mut words = [[[0; WIDE]; WORDS]; 2];
        let (mut group, scale, To { key, id, out }) = (0, self.scale, &mut self.to);
        let each = Self::GROUP * WIDE / LANES;
        for out in out.chunks_exact_mut(2 * each) {
            let block = ((self.begin + group) * LANES) as u64;
            chacha::wide_blocks::<S, 8>(simd, key.words(), id.get(), block, &mut words);
            let (one, other) = out.split_at_mut(each);
            Self::put_groups(&words[0], scale, one);
            Self::put_groups(&words[1], scale, other);
            group += 2 * WIDE / LANES;
        }
        group
    }

    /// Makes noise of keystream, one group or two of them side by side.
    #[inline(always)]
    fn put_groups<const L: usize>(words: &[[u32; L]; WORDS], scale: R, out: &mut [R]) {
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
    }
}

struct FillFour<'a, K, R, const ADD: bool> {
    of: [(&'a Key, StreamId); 4],
    out: [&'a mut [R]; 4],
    scale: R,
    kernel: PhantomData<K>,
}

impl<K: Kernel<R>, R: Real, const ADD: bool> pulp::WithSimd for FillFour<'_, K, R, ADD> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        // Vectors that hold two groups take one of each stream, if there is no more of any.
        if size_of::<S::u32s>() == 64 && self.out.iter().all(|out| out.len() <= group::<R>()) {
            return self.side_by_side(simd);
        }
        let Self { of, out, scale, kernel } = self;
        for ((key, id), out) in of.into_iter().zip(out) {
            let to = To { key, id, out };
            Fill::<K, R, ADD> { to, scale, begin: 0, kernel }.with_simd(simd);
        }
    }
}

impl<K: Kernel<R>, R: Real, const ADD: bool> FillFour<'_, K, R, ADD> {
    /// For at most a group of each.
    #[inline(always)]
    fn side_by_side<S: pulp::Simd>(self, simd: S) {
        let Self { of, out: [a, b, c, d], scale, .. } = self;
        let mut words = [[[0; WIDE]; WORDS]; 2];
        let of = of.map(|(key, id)| (key.words(), id.get()));
        chacha::wide_first_groups::<S, 8>(simd, of, &mut words);
        for (words, [one, other]) in words.iter().zip([[a, b], [c, d]]) {
            K::apply(words.as_flattened().as_chunks().0, scale, |k, noise| {
                let (left, right) = noise.split_at(LANES);
                put_eight::<R, ADD>(left, one, k);
                put_eight::<R, ADD>(right, other, k);
            });
        }
    }
}

/// To the `k`-th eight numbers, or to as many as there are.
#[inline(always)]
fn put_eight<R: Real, const ADD: bool>(noise: &[R], out: &mut [R], k: usize) {
    let (eights, rest) = out.as_chunks_mut::<LANES>();
    let count = eights.len();
    match eights.get_mut(k) {
        // By value: a vector, whatever else lies where.
        Some(out) => {
            let mut sums = *out;
            put::<R, ADD>(noise, &mut sums);
            *out = sums;
        }
        None if k == count => put::<R, ADD>(noise, rest),
        None => {}
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
            for length in [0, 1, 100, 255, 256, 257, 1000, 1700] {
                let [mut narrow, mut wide, mut usual] = [(); 3].map(|()| vec![R::ZERO; length]);
                let (begin, kernel) = (0, PhantomData::<BoxMuller>);
                let to = To { key, id, out: &mut narrow };
                Fill::<_, _, false> { to, scale, begin, kernel }.groups::<LANES>(0);
                let to = To { key, id, out: &mut wide };
                let mut both = Fill::<_, _, false> { to, scale, begin, kernel };
                let done = both.groups::<WIDE>(0);
                both.groups::<LANES>(done);
                let out = &mut *usual;
                fill::<BoxMuller, R, false>(To { key, id, out }, 0.7, 0);
                assert_eq!(narrow, wide);
                assert_eq!(narrow, usual);
                // From a later group on.
                let first = group::<R>().min(length);
                usual[first..].fill(R::ZERO);
                let out = &mut usual[first..];
                fill::<BoxMuller, R, true>(To { key, id, out }, 0.7, 1);
                assert_eq!(narrow, usual);
            }
        }
        compare::<f32>(&key, id);
        compare::<f64>(&key, id);
    }

    /// Four streams side by side are those that each is alone, however many numbers each has.
    #[test]
    fn streams_are_filled_together_as_they_are_alone() {
        fn compare<R: Real>()
        where
            BoxMuller: Kernel<R>,
        {
            let keys = [5, 6, 7, 8].map(Key::from_seed);
            let ids = [3, 4, 5, 6].map(|k| StreamId::new(Purpose::Noise, 2, k).unwrap());
            let lengths =
                [[0, 5, 9, 1], [8; 4], [63, 64, 65, 7], [105; 4], [128, 1, 0, 0], [7, 500, 8, 9]];
            for lengths in lengths {
                let [mut alone, mut together] =
                    [(); 2].map(|()| lengths.map(|length| vec![R::ONE; length]));
                for k in 0..4 {
                    let to = To { key: &keys[k], id: ids[k], out: &mut alone[k] };
                    fill::<BoxMuller, R, true>(to, 0.7, 0);
                }
                let mut streams = keys.iter().zip(ids);
                let to = together.each_mut().map(|out| {
                    let (key, id) = streams.next().unwrap();
                    To { key, id, out }
                });
                fill_four::<BoxMuller, R, true>(to, 0.7);
                assert_eq!(alone, together);
            }
        }
        compare::<f32>();
        compare::<f64>();
    }
}
