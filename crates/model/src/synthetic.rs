//! Data sets that are drawn from a seed: same seed, same data on every machine.

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};

/// The data of one node, drawn independently of that of the others.
#[derive(Debug)]
pub struct Source(ChaCha8Rng);

impl Source {
    /// The numbers of `node`.
    pub fn new(seed: u64, node: u32) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(u64::from(node));
        Self(rng)
    }

    /// Uniform in `[low, high)`: the vectors of paper 001.
    pub fn uniform(&mut self, low: f64, high: f64, count: usize) -> Vec<f64> {
        (0..count).map(|_| low + (high - low) * self.unit()).collect()
    }

    /// Normal with unit variance, redrawn until it is within `[-radius, radius]`: the records of
    /// paper 004. Panics if that is nearly impossible.
    pub fn truncated_normal(&mut self, mean: f64, radius: f64, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.truncated(mean, radius)).collect()
    }

    fn truncated(&mut self, mean: f64, radius: f64) -> f64 {
        for _ in 0..1_000_000 {
            let value = mean + self.normal();
            if value.abs() <= radius {
                return value;
            }
        }
        panic!("a normal number around {mean} is practically never within {radius} of zero")
    }

    /// Box and Muller.
    fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.unit(), self.unit());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Standard normal quantile for a two-sided alpha of 1e-6.
    const Z: f64 = 4.892;

    #[test]
    fn uniform_numbers_have_their_moments() {
        let n = 100_000;
        let values = Source::new(1, 2).uniform(-5.0, 5.0, n);
        assert!(values.iter().all(|v| (-5.0..5.0).contains(v)));
        let mean = values.iter().sum::<f64>() / n as f64;
        assert!(mean.abs() < Z * (100.0 / 12.0 / n as f64).sqrt(), "{mean}");
        assert_ne!(values[..5], Source::new(1, 3).uniform(-5.0, 5.0, 5));
        assert_eq!(values[..5], Source::new(1, 2).uniform(-5.0, 5.0, 5));
    }

    #[test]
    fn truncated_normal_numbers_have_their_mean() {
        // N(0.7, 1) within [-1, 1]: mean 0.7 + (phi(-1.7) - phi(0.3))/(Phi(0.3) - Phi(-1.7)).
        let (n, expected) = (200_000, 0.7 + (0.094_049_077 - 0.381_387_815) / 0.573_346_996);
        let values = Source::new(4, 0).truncated_normal(0.7, 1.0, n);
        let mean = values.iter().sum::<f64>() / n as f64;
        // The variance is less than that of a uniform number on [-1, 1].
        assert!((mean - expected).abs() < Z * (1.0 / 3.0 / n as f64).sqrt(), "{mean} {expected}");
        assert!(values.iter().all(|v| v.abs() <= 1.0));
    }
}
