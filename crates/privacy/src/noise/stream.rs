//! Named random streams: who draws, what for, and the how-manieth.

mod bulk;

use std::convert::Infallible;
use std::fmt;

use rand::TryRng;

use super::chacha::{self, LANES, WORDS};

/// What a stream's randomness is used for. Streams of different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Purpose {
    /// Noise added to a release; the index is the receipt's serial number.
    Noise = 1,
    /// Which records enter a batch.
    Sampling = 2,
    /// The communication graph and its schedule.
    Topology = 3,
    /// The initial point.
    Init = 4,
    /// Delays and losses of a simulated link.
    Link = 5,
}

/// The name of a stream: purpose (8 bits), node (24 bits), index (32 bits).
///
/// A name is for one draw: two fills under the same key and name read the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamId(u64);

/// A node or an index that does not fit into a stream's name.
///
/// It is an error and not a wrap-around: two releases that share a stream share their noise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamIdError {
    /// The node number needs more than 24 bits.
    #[error("node {0} is out of range: a stream id holds nodes below 2^24")]
    Node(u32),
    /// The index needs more than 32 bits.
    #[error("stream index {0} is out of range: a stream id holds indices below 2^32")]
    Index(u64),
}

impl StreamId {
    /// Names stream number `index` of a node.
    pub fn new(purpose: Purpose, node: u32, index: u64) -> Result<Self, StreamIdError> {
        if node >= 1 << 24 {
            return Err(StreamIdError::Node(node));
        }
        if index >= 1 << 32 {
            return Err(StreamIdError::Index(index));
        }
        Ok(Self((purpose as u64) << 56 | u64::from(node) << 32 | index))
    }

    /// The 64-bit stream number that the cipher sees.
    pub fn get(self) -> u64 {
        self.0
    }
}

/// The 32 secret bytes that all streams of one owner are derived from.
///
/// Whoever knows the key can subtract the noise, so a key cannot be printed (its `Debug` shows no
/// byte), copied by accident or compared, and its memory is overwritten when it is dropped. Safe
/// Rust cannot promise that the compiler made no other copy of it.
///
/// ```compile_fail
/// use undertone_privacy::noise::Key;
/// let key = Key::from_seed(1);
/// let copy = key.clone();
/// ```
///
/// ```
/// use undertone_privacy::noise::Key;
/// let key = Key::from_seed(1);
/// let borrowed = &key;
/// # assert_eq!(format!("{borrowed:?}"), "Key(secret)");
/// ```
pub struct Key([u32; 8]);

impl Key {
    /// A key for the simulator, derived from the public seed of an experiment. It hides nothing.
    pub fn from_seed(seed: u64) -> Self {
        Self::from_bytes(blake3::derive_key("undertone simulator key v1", &seed.to_le_bytes()))
    }

    /// A key from 32 bytes of the operating system's randomness.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        let (words, _) = bytes.as_chunks::<4>();
        Self(std::array::from_fn(|i| u32::from_le_bytes(words[i])))
    }

    /// For who draws after the owner of the key has let go of it.
    pub(crate) fn copied(&self) -> Self {
        Self(self.0)
    }

    pub(super) fn words(&self) -> &[u32; 8] {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(secret)")
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.0.fill(0);
        // Otherwise the compiler may drop a write that nobody reads.
        std::hint::black_box(&self.0);
    }
}

/// Random words of one stream, in order: the ChaCha keystream of (key, stream id).
///
/// Twenty rounds, unless said otherwise: releases depend on it, and the exact samplers accept no
/// other. Eight are 2.5 times as fast and are for the simulator, whose key is public anyway; the
/// best published attack reaches seven. It implements [`rand::Rng`]. There is no `Clone`: two
/// copies would repeat each other's noise.
///
/// # Guarantee
/// The words are those of `rand::rngs::ChaCha20Rng` (or `ChaCha8Rng`) with the same key and stream
/// number. Two streams with different ids, keys or numbers of rounds give keystreams that nobody
/// is known to tell from independent uniform bits. A stream holds 2^69 bytes.
///
/// # References
/// D. J. Bernstein, "ChaCha, a variant of Salsa20", 2008. J.-P. Aumasson and others, "New features
/// of Latin dances", 2008 (the attack).
pub struct Stream<const ROUNDS: usize = 20> {
    key: Key,
    id: StreamId,
    next_block: u64,
    buffer: [u32; GROUP],
    read: usize,
}

/// Words that are made at a time.
const GROUP: usize = WORDS * LANES;

/// Where the second halves of long random numbers begin; see [`Stream::extension`].
const EXTENSION_BLOCK: u64 = 1 << 63;

impl Stream {
    /// Opens a stream at its beginning.
    pub fn new(key: &Key, id: StreamId) -> Self {
        Self::open(key, id)
    }
}

impl Stream<8> {
    /// Opens a stream of the simulator, with eight rounds, at its beginning.
    pub fn simulated(key: &Key, id: StreamId) -> Self {
        Self::open(key, id)
    }
}

impl<const ROUNDS: usize> Stream<ROUNDS> {
    fn open(key: &Key, id: StreamId) -> Self {
        Self { key: key.copied(), id, next_block: 0, buffer: [0; GROUP], read: GROUP }
    }

    /// How many 64-bit words were read, half-read ones included.
    pub(super) fn position(&self) -> u64 {
        (self.next_block * WORDS as u64 - (GROUP - self.read) as u64).div_ceil(2)
    }

    /// The 64 bits that belong to word number `position`, for a caller that needs 128.
    ///
    /// They come from the far half of the keystream, so that nothing is spent on them unless they
    /// are asked for, which a comparison of random numbers almost never does.
    pub(super) fn extension(&self, position: u64) -> u64 {
        let mut words = [[0; 1]; WORDS];
        let block = EXTENSION_BLOCK + position / (WORDS / 2) as u64;
        chacha::blocks::<ROUNDS, 1>(self.key.words(), self.id.get(), block, &mut words);
        let w = 2 * (position % (WORDS / 2) as u64) as usize;
        u64::from(words[w + 1][0]) << 32 | u64::from(words[w][0])
    }

    /// The next 64-bit words, in bulk; half of a word that was read in part is skipped.
    pub(super) fn fill_u64(&mut self, mut out: &mut [u64]) {
        self.read = self.read.next_multiple_of(2);
        while !out.is_empty() {
            if self.read == GROUP {
                self.refill();
            }
            let (pairs, _) = self.buffer[self.read..].as_chunks::<2>();
            let count = pairs.len().min(out.len());
            let (now, later) = out.split_at_mut(count);
            for (out, [low, high]) in now.iter_mut().zip(pairs) {
                *out = u64::from(*high) << 32 | u64::from(*low);
            }
            self.read += 2 * count;
            out = later;
        }
    }

    fn refill(&mut self) {
        pulp::Arch::new().dispatch(Refill::<ROUNDS> {
            key: self.key.words(),
            id: self.id,
            first: self.next_block,
            buffer: &mut self.buffer,
        });
        self.next_block += LANES as u64;
        self.read = 0;
    }
}

impl<const ROUNDS: usize> fmt::Debug for Stream<ROUNDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("id", &self.id).finish_non_exhaustive()
    }
}

impl<const ROUNDS: usize> Drop for Stream<ROUNDS> {
    fn drop(&mut self) {
        self.buffer.fill(0);
        std::hint::black_box(&self.buffer);
    }
}

impl<const ROUNDS: usize> TryRng for Stream<ROUNDS> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        if self.read == GROUP {
            self.refill();
        }
        self.read += 1;
        Ok(self.buffer[self.read - 1])
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let low = self.try_next_u32()?;
        let high = self.try_next_u32()?;
        Ok(u64::from(high) << 32 | u64::from(low))
    }

    fn try_fill_bytes(&mut self, mut bytes: &mut [u8]) -> Result<(), Infallible> {
        while !bytes.is_empty() {
            if self.read == GROUP {
                self.refill();
            }
            let words = &self.buffer[self.read..];
            let (now, later) = bytes.split_at_mut(bytes.len().min(4 * words.len()));
            self.read += now.len().div_ceil(4);
            let (whole, rest) = now.as_chunks_mut::<4>();
            for (bytes, word) in whole.iter_mut().zip(words) {
                *bytes = word.to_le_bytes();
            }
            if !rest.is_empty() {
                rest.copy_from_slice(&words[whole.len()].to_le_bytes()[..rest.len()]);
            }
            bytes = later;
        }
        Ok(())
    }
}

struct Refill<'a, const ROUNDS: usize> {
    key: &'a [u32; 8],
    id: StreamId,
    first: u64,
    buffer: &'a mut [u32; GROUP],
}

impl<const ROUNDS: usize> pulp::WithSimd for Refill<'_, ROUNDS> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let mut words = [[0; LANES]; WORDS];
        chacha::blocks::<ROUNDS, LANES>(self.key, self.id.get(), self.first, &mut words);
        let (blocks, _) = self.buffer.as_chunks_mut::<WORDS>();
        for (l, block) in blocks.iter_mut().enumerate() {
            for (to, from) in block.iter_mut().zip(&words) {
                *to = from[l];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::{ChaCha8Rng, ChaCha20Rng};
    use rand::{Rng, SeedableRng};

    use super::*;

    fn id(purpose: Purpose, node: u32, index: u64) -> StreamId {
        StreamId::new(purpose, node, index).unwrap()
    }

    fn assert_equal<const ROUNDS: usize>(mut stream: Stream<ROUNDS>, mut reference: impl Rng) {
        for i in 0..1000 {
            assert_eq!(stream.next_u32(), reference.next_u32(), "word {i}");
        }
        let mut words = [0; 333];
        stream.fill_u64(&mut words);
        assert_eq!(words, std::array::from_fn(|_| reference.next_u64()));
        let (mut ours, mut theirs) = ([0; 1001], [0; 1001]);
        stream.fill_bytes(&mut ours);
        reference.fill_bytes(&mut theirs);
        assert_eq!(ours, theirs);
        assert_eq!(stream.next_u32(), reference.next_u32());
    }

    #[test]
    fn the_keystream_is_that_of_chacha() {
        let bytes: [u8; 32] = std::array::from_fn(|i| i as u8 * 7 + 1);
        let id = id(Purpose::Noise, 0x00ab_cdef, 0x1234_5678);
        let mut reference = ChaCha20Rng::from_seed(bytes);
        reference.set_stream(id.get());
        assert_equal(Stream::new(&Key::from_bytes(bytes), id), reference);
        let mut reference = ChaCha8Rng::from_seed(bytes);
        reference.set_stream(id.get());
        assert_equal(Stream::simulated(&Key::from_bytes(bytes), id), reference);
    }

    #[test]
    fn the_extension_is_the_far_half_of_the_keystream() {
        let stream = Stream::new(&Key::from_bytes([9; 32]), id(Purpose::Noise, 1, 2));
        let mut reference = ChaCha20Rng::from_seed([9; 32]);
        reference.set_stream(stream.id.get());
        reference.set_word_pos(u128::from(EXTENSION_BLOCK) * 16);
        for position in 0..20 {
            assert_eq!(stream.extension(position), reference.next_u64());
        }
    }

    #[test]
    fn position_counts_the_words_that_were_read() {
        let mut stream = Stream::new(&Key::from_seed(1), id(Purpose::Noise, 0, 0));
        for i in 0..300 {
            assert_eq!(stream.position(), i);
            stream.next_u64();
        }
        stream.next_u32();
        assert_eq!(stream.position(), 301);
        stream.fill_u64(&mut [0; 200]);
        assert_eq!(stream.position(), 501);
    }

    #[test]
    fn a_stream_has_its_own_words() {
        let first = |key: u64, id| Stream::new(&Key::from_seed(key), id).next_u64();
        let draws = [
            first(1, id(Purpose::Noise, 0, 0)),
            first(1, id(Purpose::Noise, 0, 1)),
            first(1, id(Purpose::Noise, 1, 0)),
            first(1, id(Purpose::Sampling, 0, 0)),
            first(1, id(Purpose::Topology, 0, 0)),
            first(1, id(Purpose::Init, 0, 0)),
            first(1, id(Purpose::Link, 0, 0)),
            first(2, id(Purpose::Noise, 0, 0)),
        ];
        for (i, a) in draws.iter().enumerate() {
            assert!(!draws[..i].contains(a), "draw {i} repeats another");
        }
        assert_eq!(draws[0], first(1, id(Purpose::Noise, 0, 0)));
    }

    #[test]
    fn ids_do_not_wrap_around() {
        assert_eq!(id(Purpose::Link, 0xff_ffff, 0xffff_ffff).get(), 0x05ff_ffff_ffff_ffff);
        assert_eq!(StreamId::new(Purpose::Noise, 1 << 24, 0), Err(StreamIdError::Node(1 << 24)));
        assert_eq!(StreamId::new(Purpose::Noise, 0, 1 << 32), Err(StreamIdError::Index(1 << 32)));
    }

    #[test]
    fn secrets_are_not_printed() {
        let key = Key::from_bytes([0xab; 32]);
        let stream = Stream::new(&key, id(Purpose::Noise, 0, 7));
        assert_eq!(format!("{key:?}"), "Key(secret)");
        assert!(!format!("{stream:?}").contains("buffer"));
    }
}
