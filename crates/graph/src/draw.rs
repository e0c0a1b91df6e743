//! Seeded draws. Only exact arithmetic decides an outcome, so every machine draws the same graph.

use std::convert::Infallible;

use rand::rngs::ChaCha20Rng;
use rand::{Rng, SeedableRng, TryRng};

/// A family drawn once, one round of a schedule, or how a window's edges are dealt to its rounds.
pub(crate) enum Stream {
    Family,
    Round(u64),
    Deal(u64),
}

/// The project's stream number of topology draws, in the highest byte.
const TOPOLOGY: u64 = 3 << 56;
const ROUNDS: u64 = 1 << 55;
const DEALS: u64 = 1 << 54;

impl Stream {
    fn number(&self) -> u64 {
        match self {
            Self::Family => TOPOLOGY,
            Self::Round(round) => TOPOLOGY | ROUNDS | (round & (ROUNDS - 1)),
            Self::Deal(window) => TOPOLOGY | DEALS | (window & (DEALS - 1)),
        }
    }
}

/// The named generator: rounds do not share one, so any round can be drawn without the others.
pub(crate) fn generator(seed: u64, stream: Stream) -> ChaCha20Rng {
    let mut generator = ChaCha20Rng::seed_from_u64(seed);
    generator.set_stream(stream.number());
    generator
}

/// As [`generator`], for graphs that are drawn in every round of a simulation: a topology is no
/// secret, so a hash of a number will do.
pub(crate) fn fast_generator(seed: u64, stream: Stream) -> Hashed {
    Hashed(scramble(scramble(seed.wrapping_add(GOLDEN)) ^ stream.number()))
}

/// SplitMix64 (Steele, Lea, Flood 2014): the last number that was hashed.
pub(crate) struct Hashed(u64);

/// The distance from one number that is hashed to the next.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of SplitMix64: a hash of a number, for randomness that hides nothing.
#[inline(always)]
pub const fn scramble(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl TryRng for Hashed {
    type Error = Infallible;

    #[inline(always)]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|word| (word >> 32) as u32)
    }

    #[inline(always)]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0 = self.0.wrapping_add(GOLDEN);
        Ok(scramble(self.0))
    }

    /// In vectors, where the caller is compiled for them.
    #[inline(always)]
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        let (words, rest) = out.as_chunks_mut::<8>();
        let start = self.0;
        for (word, k) in words.iter_mut().zip(1_u64..) {
            *word = scramble(start.wrapping_add(k.wrapping_mul(GOLDEN))).to_le_bytes();
        }
        self.0 = start.wrapping_add((words.len() as u64).wrapping_mul(GOLDEN));
        if !rest.is_empty() {
            rest.copy_from_slice(&self.next_u64().to_le_bytes()[..rest.len()]);
        }
        Ok(())
    }
}

/// Uniform in `[0, 1)`, 53 bits.
pub(crate) fn unit(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Uniform below `bound`, which is not zero, without bias.
pub(crate) fn below(rng: &mut impl Rng, bound: u32) -> u32 {
    // Lemire's method: the low half says whether this is one of the surplus draws. These are
    // fewer than `bound`, so the division is rarely needed.
    let wide = u64::from(bound);
    loop {
        let product = u64::from(rng.next_u32()) * wide;
        let low = product & 0xffff_ffff;
        if low >= wide || low >= (1_u64 << 32) % wide {
            return (product >> 32) as u32;
        }
    }
}

/// As [`below`], for bounds of 64 bits.
pub(crate) fn below_long(rng: &mut impl Rng, bound: u64) -> u64 {
    let wide = u128::from(bound);
    loop {
        let product = u128::from(rng.next_u64()) * wide;
        if (product & u128::from(u64::MAX)) >= (1_u128 << 64) % wide {
            return (product >> 64) as u64;
        }
    }
}

/// Many numbers below one bound, which is not zero: as [`below`], multiplied in bulk.
#[inline(always)]
pub(crate) fn fill_below(rng: &mut impl Rng, bound: u32, out: &mut [u32]) {
    let wide = u64::from(bound);
    let surplus = ((1_u64 << 32) % wide) as u32;
    let mut words = [[0; 4]; 512];
    for piece in out.chunks_mut(words.len()) {
        let words = &mut words[..piece.len()];
        rng.fill_bytes(words.as_flattened_mut());
        let mut n_lost = 0;
        for (value, word) in piece.iter_mut().zip(&*words) {
            let product = u64::from(u32::from_le_bytes(*word)) * wide;
            n_lost += u32::from((product as u32) < surplus);
            *value = (product >> 32) as u32;
        }
        if n_lost == 0 {
            continue;
        }
        for (value, word) in piece.iter_mut().zip(&*words) {
            if u32::from_le_bytes(*word).wrapping_mul(bound) < surplus {
                *value = below(rng, bound);
            }
        }
    }
}

/// Fisher-Yates, up to 2^32 elements.
pub(crate) fn shuffle<T>(rng: &mut impl Rng, items: &mut [T]) {
    for i in (1..items.len()).rev() {
        items.swap(i, below(rng, (i + 1) as u32) as usize);
    }
}

/// How many failures come before the next success of independent trials.
pub(crate) struct Skips {
    /// Probability that the binary digit 2^j of the number of failures is one.
    digits: Vec<f64>,
}

impl Skips {
    /// Trials that succeed with `probability`, in `(0, 1]`.
    ///
    /// The binary digits of a geometric number are independent, and digit j is one with
    /// probability `q^(2^j) / (1 + q^(2^j))`, `q` being the probability of failure. No logarithm,
    /// whose last bit depends on the machine, is needed.
    pub(crate) fn new(probability: f64) -> Self {
        let mut digits = Vec::new();
        let mut power = 1.0 - probability;
        while power > 1e-18 && digits.len() < 63 {
            digits.push(power / (1.0 + power));
            power *= power;
        }
        Self { digits }
    }

    pub(crate) fn next(&self, rng: &mut impl Rng) -> u64 {
        let mut skip = 0;
        for (j, &one) in self.digits.iter().enumerate() {
            if unit(rng) < one {
                skip |= 1 << j;
            }
        }
        skip
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skips_are_geometric() {
        let mut rng = generator(5, Stream::Family);
        for p in [0.02, 0.3, 0.9] {
            let skips = Skips::new(p);
            let n = 100_000;
            let mut counts = [0_u32; 4];
            let mut sum = 0.0;
            for _ in 0..n {
                let skip = skips.next(&mut rng);
                sum += skip as f64;
                if let Some(count) = counts.get_mut(skip as usize) {
                    *count += 1;
                }
            }
            let n = f64::from(n);
            // Five standard deviations: about 1e-6, both sides.
            let sd = ((1.0 - p) / (p * p) / n).sqrt();
            assert!((sum / n - (1.0 - p) / p).abs() < 5.0 * sd);
            for (k, &count) in counts.iter().enumerate() {
                let mass = p * (1.0 - p).powi(k as i32);
                let sd = (mass * (1.0 - mass) / n).sqrt();
                assert!((f64::from(count) / n - mass).abs() < 5.0 * sd, "p {p} k {k}");
            }
        }
        assert_eq!(Skips::new(1.0).next(&mut rng), 0);
    }

    #[test]
    fn draws_below_a_bound_are_even() {
        let even = |draw: &mut dyn FnMut() -> u32| {
            let mut counts = [0_u32; 7];
            for _ in 0..70_000 {
                counts[draw() as usize] += 1;
            }
            let sd = (70_000.0 / 7.0 * (6.0 / 7.0_f64)).sqrt();
            assert!(counts.iter().all(|&c| (f64::from(c) - 10_000.0).abs() < 5.5 * sd));
        };
        let mut rng = generator(6, Stream::Round(3));
        even(&mut || below(&mut rng, 7));
        even(&mut || below_long(&mut rng, 7) as u32);
        let mut fast = fast_generator(6, Stream::Deal(3));
        let mut draws = vec![0; 70_000];
        fill_below(&mut fast, 7, &mut draws);
        let mut drawn = draws.iter();
        even(&mut || *drawn.next().unwrap());
        // Eight words for seven values: without rejection every seventh would have twice its due.
        fill_below(&mut fast, 7 << 29, &mut draws);
        let mut drawn = draws.iter();
        even(&mut || drawn.next().unwrap() % 7);
        even(&mut || below(&mut fast, 7 << 29) % 7);
        even(&mut || (below_long(&mut fast, 7 << 61) % 7) as u32);
        assert_eq!((below(&mut rng, 1), below_long(&mut rng, 1)), (0, 0));
        fill_below(&mut rng, 1, &mut draws);
        assert!(draws.iter().all(|drawn| *drawn == 0));
    }

    #[test]
    fn bytes_are_those_of_words_one_after_the_other() {
        let (mut words, mut bytes) = (Hashed(7), [0; 45]);
        Hashed(7).fill_bytes(&mut bytes);
        for piece in bytes.chunks(8) {
            assert_eq!(words.next_u64().to_le_bytes()[..piece.len()], *piece);
        }
        // The sequence of the seed 1234567 is a common test vector.
        let mut known = Hashed(1_234_567);
        assert_eq!([(); 2].map(|()| known.next_u64()), [6457827717110365317, 3203168211198807973]);
    }

    #[test]
    fn streams_have_numbers_of_their_own() {
        let streams = [
            Stream::Family,
            Stream::Round(0),
            Stream::Round(1),
            Stream::Round(DEALS - 1),
            Stream::Deal(0),
            Stream::Deal(1),
        ];
        let numbers: Vec<u64> = streams.iter().map(Stream::number).collect();
        for (i, number) in numbers.iter().enumerate() {
            assert_eq!(number >> 56, 3);
            assert!(!numbers[..i].contains(number), "{i}");
        }
    }
}
