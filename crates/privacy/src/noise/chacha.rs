//! The ChaCha block function over several blocks at once.
//!
//! The layout is that of D. J. Bernstein's original cipher: a 64-bit block counter in words 12 and
//! 13, a 64-bit stream number in words 14 and 15. `rand::rngs::ChaCha20Rng` uses the same one, and
//! the tests compare the two word for word.

use std::hint::black_box;

use pulp::Simd;

/// Blocks of a group, the unit in which keystream is made.
///
/// Fixed, whatever the machine: the order of random words must not depend on a vector's width.
pub(super) const LANES: usize = 8;

/// Words of a block.
pub(super) const WORDS: usize = 16;

/// "expand 32-byte k", the cipher's constant.
const SIGMA: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// Writes word `w` of block `first + l` to `words[w][l]`.
#[inline(always)]
pub(super) fn blocks<const ROUNDS: usize, const L: usize>(
    key: &[u32; 8],
    stream: u64,
    first: u64,
    words: &mut [[u32; L]; WORDS],
) {
    // Apart, so that the loop over blocks holds 32-bit numbers only and keeps its vectors full.
    let mut low = [0_u32; L];
    let mut high = [0_u32; L];
    for (l, (low, high)) in low.iter_mut().zip(&mut high).enumerate() {
        let counter = first.wrapping_add(l as u64);
        (*low, *high) = (counter as u32, (counter >> 32) as u32);
    }
    let stream = [stream as u32, (stream >> 32) as u32];
    scramble::<ROUNDS, L>(words, |l| (*key, [low[l], high[l]], stream));
}

/// Writes word `w` of the first block of stream `l`, which has a key of its own, to `words[w][l]`.
/// Keys and numbers of streams are given word by word.
#[inline(always)]
pub(super) fn first_blocks<const ROUNDS: usize, const L: usize>(
    keys: [[u32; L]; 8],
    streams: [[u32; L]; 2],
    words: &mut [[u32; L]; WORDS],
) {
    lanes_of::<ROUNDS, L>(keys, [0; L], streams, words);
}

/// Blocks of which each has a key, a counter of 32 bits and a number of a stream.
#[inline(always)]
fn lanes_of<const ROUNDS: usize, const L: usize>(
    [a, b, c, d, e, f, g, h]: [[u32; L]; 8],
    counters: [u32; L],
    [low, high]: [[u32; L]; 2],
    words: &mut [[u32; L]; WORDS],
) {
    scramble::<ROUNDS, L>(words, |l| {
        let key = [a[l], b[l], c[l], d[l], e[l], f[l], g[l], h[l]];
        (key, [counters[l], 0], [low[l], high[l]])
    });
}

/// Writes block `l` of a key, a counter and a number of a stream to `words[..][l]`.
///
/// One plain loop over the blocks: inlined under [`pulp::Arch::dispatch`], the compiler turns it
/// into vectors of whatever width the processor has.
#[expect(clippy::needless_range_loop, reason = "one lane of all words, which lie apart")]
#[inline(always)]
fn scramble<const ROUNDS: usize, const L: usize>(
    words: &mut [[u32; L]; WORDS],
    of: impl Fn(usize) -> ([u32; 8], [u32; 2], [u32; 2]),
) {
    const { assert!(ROUNDS.is_multiple_of(2) && ROUNDS <= 20) };
    for l in 0..L {
        let (key, counter, stream) = of(l);
        let start = [
            SIGMA[0], SIGMA[1], SIGMA[2], SIGMA[3], key[0], key[1], key[2], key[3], key[4], key[5],
            key[6], key[7], counter[0], counter[1], stream[0], stream[1],
        ];
        let mut state = start;
        // Written out, because the loop over blocks is vectorised only when it is the innermost.
        if ROUNDS > 0 {
            double_round(&mut state);
        }
        if ROUNDS > 2 {
            double_round(&mut state);
        }
        if ROUNDS > 4 {
            double_round(&mut state);
        }
        if ROUNDS > 6 {
            double_round(&mut state);
        }
        if ROUNDS > 8 {
            double_round(&mut state);
        }
        if ROUNDS > 10 {
            double_round(&mut state);
        }
        if ROUNDS > 12 {
            double_round(&mut state);
        }
        if ROUNDS > 14 {
            double_round(&mut state);
        }
        if ROUNDS > 16 {
            double_round(&mut state);
        }
        if ROUNDS > 18 {
            double_round(&mut state);
        }
        for w in 0..WORDS {
            words[w][l] = state[w].wrapping_add(start[w]);
        }
    }
}

/// Lanes of the widest vectors.
pub(super) const WIDE: usize = 16;

/// Writes word `w` of block `first + WIDE k + l` to `words[k][w][l]`, where vectors have [`WIDE`]
/// lanes: two sets of blocks at once, so that operations of the one begin while the other waits for
/// its own. What 32 registers hold is just that.
#[inline(always)]
pub(super) fn wide_blocks<S: Simd, const ROUNDS: usize>(
    simd: S,
    key: &[u32; 8],
    stream: u64,
    first: u64,
    words: &mut [[[u32; WIDE]; WORDS]; 2],
) {
    scramble_wide::<S, ROUNDS>(simd, &Numbered { key, stream, first }, words);
}

/// Writes the first groups of four streams with keys of their own, where vectors have [`WIDE`]
/// lanes: word `w` of block `l` of the first to `words[0][w][l]`, of the second to
/// `words[0][w][LANES + l]`, and of the others to `words[1]`.
#[inline(always)]
pub(super) fn wide_first_groups<S: Simd, const ROUNDS: usize>(
    simd: S,
    of: [(&[u32; 8], u64); 4],
    words: &mut [[[u32; WIDE]; WORDS]; 2],
) {
    scramble_wide::<S, ROUNDS>(simd, &First { of }, words);
}

/// Two sets of blocks at once, each of a state before the first round.
#[inline(always)]
fn scramble_wide<S: Simd, const ROUNDS: usize>(
    simd: S,
    start: &impl Start,
    words: &mut [[[u32; WIDE]; WORDS]; 2],
) {
    // Written in vectors, because the compiler would do the one set after the other, and written
    // out, because it would call functions.
    let [mut one, mut other] = [start.of(simd, 0), start.of(simd, 1)];
    // In a loop: unrolled, it would be put into another order.
    for _ in 0..black_box(ROUNDS / 2) {
        columns(simd, &mut one);
        columns(simd, &mut other);
        diagonals(simd, &mut one);
        diagonals(simd, &mut other);
    }
    // Made anew, in place of being kept.
    add_starts(simd, &one, &start.of(simd, 0), &mut words[0]);
    add_starts(simd, &other, &start.of(simd, 1), &mut words[1]);
}

#[inline(always)]
fn double_round(s: &mut [u32; WORDS]) {
    quarter_round::<0, 4, 8, 12>(s);
    quarter_round::<1, 5, 9, 13>(s);
    quarter_round::<2, 6, 10, 14>(s);
    quarter_round::<3, 7, 11, 15>(s);
    quarter_round::<0, 5, 10, 15>(s);
    quarter_round::<1, 6, 11, 12>(s);
    quarter_round::<2, 7, 8, 13>(s);
    quarter_round::<3, 4, 9, 14>(s);
}

#[inline(always)]
fn quarter_round<const A: usize, const B: usize, const C: usize, const D: usize>(
    s: &mut [u32; WORDS],
) {
    s[A] = s[A].wrapping_add(s[B]);
    s[D] = (s[D] ^ s[A]).rotate_left(16);
    s[C] = s[C].wrapping_add(s[D]);
    s[B] = (s[B] ^ s[C]).rotate_left(12);
    s[A] = s[A].wrapping_add(s[B]);
    s[D] = (s[D] ^ s[A]).rotate_left(8);
    s[C] = s[C].wrapping_add(s[D]);
    s[B] = (s[B] ^ s[C]).rotate_left(7);
}

/// The number of each lane.
const LANE: [u32; WIDE] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// States before the first round, one vector a word. No closure, which might be called.
trait Start {
    /// That of one of two sets.
    fn of<S: Simd>(&self, simd: S, set: usize) -> [S::u32s; WORDS];
}

/// Blocks of one stream, numbered from `first` on.
struct Numbered<'a> {
    key: &'a [u32; 8],
    stream: u64,
    first: u64,
}

impl Start for Numbered<'_> {
    #[inline(always)]
    fn of<S: Simd>(&self, simd: S, set: usize) -> [S::u32s; WORDS] {
        let Self { key, stream, first } = self;
        let first = first.wrapping_add((set * WIDE) as u64);
        let (low, high) = (simd.splat_u32s(first as u32), (first >> 32) as u32);
        let counters = simd.add_u32s(S::as_simd_u32s(&LANE).0[0], low);
        let is_carried = simd.less_than_u32s(counters, low);
        let [high, next] = [simd.splat_u32s(high), simd.splat_u32s(high.wrapping_add(1))];
        let mut state = [simd.splat_u32s(0); WORDS];
        for w in 0..4 {
            state[w] = simd.splat_u32s(SIGMA[w]);
        }
        for w in 0..8 {
            state[4 + w] = simd.splat_u32s(key[w]);
        }
        state[12] = counters;
        state[13] = simd.select_u32s(is_carried, next, high);
        state[14] = simd.splat_u32s(*stream as u32);
        state[15] = simd.splat_u32s((stream >> 32) as u32);
        state
    }
}

/// The first groups of streams, half a vector each.
struct First<'a> {
    of: [(&'a [u32; 8], u64); 4],
}

impl Start for First<'_> {
    #[inline(always)]
    fn of<S: Simd>(&self, simd: S, set: usize) -> [S::u32s; WORDS] {
        let ((one, first), (other, second)) = (self.of[2 * set], self.of[2 * set + 1]);
        let lane = S::as_simd_u32s(&LANE).0[0];
        let is_first = simd.less_than_u32s(lane, simd.splat_u32s(LANES as u32));
        let mut state = [simd.splat_u32s(0); WORDS];
        for w in 0..4 {
            state[w] = simd.splat_u32s(SIGMA[w]);
        }
        for w in 0..8 {
            let (one, other) = (simd.splat_u32s(one[w]), simd.splat_u32s(other[w]));
            state[4 + w] = simd.select_u32s(is_first, one, other);
        }
        state[12] = simd.and_u32s(lane, simd.splat_u32s(LANES as u32 - 1));
        for (w, half) in [(14, 0), (15, 32)] {
            let [one, other] = [first, second].map(|id| simd.splat_u32s((id >> half) as u32));
            state[w] = simd.select_u32s(is_first, one, other);
        }
        state
    }
}

#[inline(always)]
fn add_starts<S: Simd>(
    simd: S,
    state: &[S::u32s; WORDS],
    start: &[S::u32s; WORDS],
    words: &mut [[u32; WIDE]; WORDS],
) {
    for ((state, start), words) in state.iter().zip(start).zip(words) {
        S::as_mut_simd_u32s(words).0[0] = simd.add_u32s(*state, *start);
    }
}

#[inline(always)]
fn columns<S: Simd>(simd: S, s: &mut [S::u32s; WORDS]) {
    wide_quarter_round::<S, 0, 4, 8, 12>(simd, s);
    wide_quarter_round::<S, 1, 5, 9, 13>(simd, s);
    wide_quarter_round::<S, 2, 6, 10, 14>(simd, s);
    wide_quarter_round::<S, 3, 7, 11, 15>(simd, s);
}

#[inline(always)]
fn diagonals<S: Simd>(simd: S, s: &mut [S::u32s; WORDS]) {
    wide_quarter_round::<S, 0, 5, 10, 15>(simd, s);
    wide_quarter_round::<S, 1, 6, 11, 12>(simd, s);
    wide_quarter_round::<S, 2, 7, 8, 13>(simd, s);
    wide_quarter_round::<S, 3, 4, 9, 14>(simd, s);
}

#[inline(always)]
fn wide_quarter_round<S: Simd, const A: usize, const B: usize, const C: usize, const D: usize>(
    simd: S,
    s: &mut [S::u32s; WORDS],
) {
    let (add, xor) = (|a, b| simd.add_u32s(a, b), |a, b| simd.xor_u32s(a, b));
    s[A] = add(s[A], s[B]);
    s[D] = turned::<S, 16>(simd, xor(s[D], s[A]));
    s[C] = add(s[C], s[D]);
    s[B] = turned::<S, 12>(simd, xor(s[B], s[C]));
    s[A] = add(s[A], s[B]);
    s[D] = turned::<S, 8>(simd, xor(s[D], s[A]));
    s[C] = add(s[C], s[D]);
    s[B] = turned::<S, 7>(simd, xor(s[B], s[C]));
}

/// All numbers with their bits turned to the left, which the compiler knows the instruction of.
#[inline(always)]
fn turned<S: Simd, const BITS: u32>(simd: S, a: S::u32s) -> S::u32s {
    let left = simd.wrapping_dyn_shl_u32s(a, simd.splat_u32s(BITS));
    simd.or_u32s(left, simd.wrapping_dyn_shr_u32s(a, simd.splat_u32s(u32::BITS - BITS)))
}

#[cfg(test)]
mod tests {
    use rand::rngs::{ChaCha8Rng, ChaCha20Rng};
    use rand::{Rng, SeedableRng};

    use super::*;

    const KEY: [u32; 8] = [1, 0x8000_0000, 3, 0xffff_ffff, 5, 6, 7, 0xdead_beef];

    fn seed() -> [u8; 32] {
        let mut bytes = [0; 32];
        for (to, word) in bytes.chunks_exact_mut(4).zip(KEY) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn assert_equal<const ROUNDS: usize, const L: usize>(
        mut next: impl FnMut() -> u32,
        first: u64,
    ) {
        let mut words = [[0; L]; WORDS];
        blocks::<ROUNDS, L>(&KEY, 0x0123_4567_89ab_cdef, first, &mut words);
        for l in 0..L {
            for (w, row) in words.iter().enumerate() {
                assert_eq!(row[l], next(), "{ROUNDS} rounds, block {l}, word {w}");
            }
        }
    }

    /// From blocks whose counter carries into its upper word, too.
    #[test]
    fn the_blocks_are_those_of_rand() {
        for first in [0, 1 << 20, (1 << 32) - 3] {
            let mut eight = ChaCha8Rng::from_seed(seed());
            eight.set_stream(0x0123_4567_89ab_cdef);
            let mut twenty = ChaCha20Rng::from_seed(seed());
            twenty.set_stream(0x0123_4567_89ab_cdef);
            for lanes in [8, 16] {
                eight.set_word_pos(u128::from(first) * 16);
                twenty.set_word_pos(u128::from(first) * 16);
                if lanes == 8 {
                    assert_equal::<8, 8>(|| eight.next_u32(), first);
                    assert_equal::<20, 8>(|| twenty.next_u32(), first);
                } else {
                    assert_equal::<8, 16>(|| eight.next_u32(), first);
                    assert_equal::<20, 16>(|| twenty.next_u32(), first);
                }
            }
        }
    }

    struct Wide {
        first: u64,
        words: [[[u32; WIDE]; WORDS]; 2],
    }

    impl pulp::WithSimd for Wide {
        type Output = Option<[[[u32; WIDE]; WORDS]; 2]>;

        #[inline(always)]
        fn with_simd<S: Simd>(mut self, simd: S) -> Self::Output {
            if size_of::<S::u32s>() < size_of::<[u32; WIDE]>() {
                return None;
            }
            wide_blocks::<S, 8>(simd, &KEY, 0x0123_4567_89ab_cdef, self.first, &mut self.words);
            Some(self.words)
        }
    }

    /// Where vectors are as wide as that; otherwise there is nothing to compare.
    #[test]
    fn two_sets_at_once_are_those_one_by_one() {
        for first in [0, 8, (1 << 32) - 40, (1 << 32) - 24, (1 << 32) - 8, u64::MAX - 7] {
            let words = [[[0; WIDE]; WORDS]; 2];
            let Some(found) = pulp::Arch::new().dispatch(Wide { first, words }) else { return };
            for (k, found) in (0_u64..).zip(found) {
                let mut expected = [[0; WIDE]; WORDS];
                let first = first.wrapping_add(k * WIDE as u64);
                blocks::<8, WIDE>(&KEY, 0x0123_4567_89ab_cdef, first, &mut expected);
                assert_eq!(found, expected, "from block {first}");
            }
        }
    }
}
