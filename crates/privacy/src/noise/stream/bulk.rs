//! Words of streams that are drawn from and not kept, in vectors.

use super::super::chacha::{self, LANES, WIDE, WORDS};
use super::{Key, Stream, StreamId};

impl Stream {
    /// The first words of some streams, for whoever needs no more of them: one block of each
    /// instead of eight, and those of several streams at once.
    pub(crate) fn first_u64s(of: &[(&Key, StreamId)], out: &mut [u64]) {
        pulp::Arch::new().dispatch(First { of, out });
    }

    /// Which of the first `count` long words of a stream are below a bound, in order.
    pub(crate) fn below(key: &Key, id: StreamId, count: usize, bound: u64) -> Vec<usize> {
        let mut found = Vec::new();
        pulp::Arch::new().dispatch(Below { key, id, count, bound, found: &mut found });
        found
    }
}

struct Below<'a> {
    key: &'a Key,
    id: StreamId,
    count: usize,
    bound: u64,
    found: &'a mut Vec<usize>,
}

impl pulp::WithSimd for Below<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        match size_of::<S::u32s>() {
            64 => self.wide_blocks(simd),
            _ => self.blocks(),
        }
    }
}

/// Long words of a block.
const LONG: usize = WORDS / 2;

impl Below<'_> {
    /// Eight blocks at a time.
    #[inline(always)]
    fn blocks(mut self) {
        let mut words = [[0; LANES]; WORDS];
        for first in (0..self.count).step_by(LONG * LANES) {
            let block = (first / LONG) as u64;
            chacha::blocks::<20, LANES>(self.key.words(), self.id.get(), block, &mut words);
            self.look_at(&words, first);
        }
    }

    /// Two sets of blocks at a time, as wide as vectors are.
    #[inline(always)]
    fn wide_blocks<S: pulp::Simd>(mut self, simd: S) {
        let mut words = [[[0; WIDE]; WORDS]; 2];
        for first in (0..self.count).step_by(2 * LONG * WIDE) {
            let (key, block) = (self.key.words(), (first / LONG) as u64);
            chacha::wide_blocks::<S, 20>(simd, key, self.id.get(), block, &mut words);
            self.look_at(&words[0], first);
            self.look_at(&words[1], first + LONG * WIDE);
        }
    }

    /// Finds those of some blocks, the first of which begins with a long word of that number.
    #[inline(always)]
    fn look_at<const L: usize>(&mut self, words: &[[u32; L]; WORDS], first: usize) {
        let high = (self.bound >> 32) as u32;
        // Few are, so most of the time their upper halves tell that none is.
        let mut maybe = [false; L];
        for word in 0..LONG {
            for l in 0..L {
                maybe[l] |= words[2 * word + 1][l] <= high;
            }
        }
        for l in (0..L).filter(|l| maybe[*l]) {
            for word in 0..LONG {
                let [low, upper] = [words[2 * word][l], words[2 * word + 1][l]];
                let (long, idx) =
                    (u64::from(upper) << 32 | u64::from(low), first + l * LONG + word);
                if long < self.bound && idx < self.count {
                    self.found.push(idx);
                }
            }
        }
    }
}

struct First<'a> {
    of: &'a [(&'a Key, StreamId)],
    out: &'a mut [u64],
}

impl pulp::WithSimd for First<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        match size_of::<S::u32s>() {
            64 => self.streams::<WIDE>(),
            _ => self.streams::<LANES>(),
        }
    }
}

impl First<'_> {
    /// So many streams at a time.
    #[inline(always)]
    fn streams<const L: usize>(self) {
        for (of, out) in self.of.chunks(L).zip(self.out.chunks_mut(L)) {
            let (mut keys, mut streams) = ([[0; L]; 8], [[0; L]; 2]);
            for (l, (key, id)) in of.iter().enumerate() {
                keys.iter_mut().zip(&key.0).for_each(|(lanes, word)| lanes[l] = *word);
                streams[0][l] = id.get() as u32;
                streams[1][l] = (id.get() >> 32) as u32;
            }
            let mut words = [[0; L]; WORDS];
            chacha::first_blocks::<20, L>(keys, streams, &mut words);
            // All words are written, or else the compiler takes the loop over streams apart.
            let words = std::hint::black_box(&words);
            for (l, out) in out.iter_mut().enumerate() {
                *out = u64::from(words[1][l]) << 32 | u64::from(words[0][l]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::Rng;

    use super::*;
    use crate::noise::Purpose;

    fn id(purpose: Purpose, node: u32, index: u64) -> StreamId {
        StreamId::new(purpose, node, index).unwrap()
    }

    /// However wide vectors are, the words are those of the stream.
    #[test]
    fn words_below_a_bound_are_found() {
        let (key, id) = (Key::from_seed(4), id(Purpose::Sampling, 2, 9));
        for count in [0, 1, 7, 64, 65, 300, 1200] {
            for bound in [0, 1 << 50, 1 << 57, 1 << 63, u64::MAX] {
                let mut stream = Stream::new(&key, id);
                let expected: Vec<usize> =
                    (0..count).filter(|_| stream.next_u64() < bound).collect();
                assert_eq!(Stream::below(&key, id, count, bound), expected);
                let mut narrow = Vec::new();
                Below { key: &key, id, count, bound, found: &mut narrow }.blocks();
                assert_eq!(narrow, expected);
            }
        }
    }

    /// However many there are, and however wide vectors are.
    #[test]
    fn first_words_of_streams_are_found_together() {
        let keys: Vec<Key> = (0..37).map(Key::from_seed).collect();
        for count in [0, 1, 8, 9, 16, 17, 37] {
            let of: Vec<_> = (0..count).map(|k| (&keys[k], id(Purpose::Noise, 2, 7))).collect();
            let first: Vec<u64> =
                of.iter().map(|(key, id)| Stream::new(key, *id).next_u64()).collect();
            let [mut usual, mut narrow, mut wide] = [(); 3].map(|()| vec![0; count]);
            Stream::first_u64s(&of, &mut usual);
            First { of: &of, out: &mut narrow }.streams::<LANES>();
            First { of: &of, out: &mut wide }.streams::<WIDE>();
            assert_eq!([usual, narrow, wide], [first.clone(), first.clone(), first]);
        }
    }
}
