//! Seeded draws. Only exact arithmetic decides an outcome, so every machine draws the same graph.

use rand::rngs::ChaCha20Rng;
use rand::{Rng, SeedableRng};

/// A family drawn once, or one round of a schedule.
pub(crate) enum Stream {
    Family,
    Round(u64),
}

/// The project's stream number of topology draws, in the highest byte.
const TOPOLOGY: u64 = 3 << 56;
const ROUNDS: u64 = 1 << 55;

/// The named generator: rounds do not share one, so any round can be drawn without the others.
pub(crate) fn generator(seed: u64, stream: Stream) -> ChaCha20Rng {
    let mut generator = ChaCha20Rng::seed_from_u64(seed);
    generator.set_stream(match stream {
        Stream::Family => TOPOLOGY,
        Stream::Round(round) => TOPOLOGY | ROUNDS | (round & (ROUNDS - 1)),
    });
    generator
}

/// Uniform in `[0, 1)`, 53 bits.
pub(crate) fn unit(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Uniform below `bound`, which is not zero, without bias.
pub(crate) fn below(rng: &mut impl Rng, bound: u32) -> u32 {
    // Lemire's method: the low half says whether this is one of the surplus draws.
    let bound = u64::from(bound);
    let surplus = (1_u64 << 32) % bound;
    loop {
        let product = u64::from(rng.next_u32()) * bound;
        if product & 0xffff_ffff >= surplus {
            return (product >> 32) as u32;
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
        let mut rng = generator(6, Stream::Round(3));
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[below(&mut rng, 7) as usize] += 1;
        }
        let sd = (70_000.0 / 7.0 * (6.0 / 7.0_f64)).sqrt();
        assert!(counts.iter().all(|&c| (f64::from(c) - 10_000.0).abs() < 5.5 * sd));
        assert_eq!(below(&mut rng, 1), 0);
    }
}
