//! Data sets that are drawn from a seed: same seed, same data on every machine.

mod census;
mod images;
mod mixture;
mod regression;

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};

pub use census::{census, census_csv};
pub use images::images;
pub use mixture::gaussian_mixture;
pub use regression::{Regression, linear_regression};

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

    /// Uniform in `[0, 1)`.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Numbers that belong to no node.
    pub(crate) fn named(seed: u64, stream: Stream) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream((1 << 32) + stream as u64);
        Self(rng)
    }

    /// Standard normal. Unlike [`normal`](Self::normal), which golden traces hold fast, it does not
    /// depend on the machine's logarithm and cosine.
    pub(crate) fn gaussian(&mut self) -> f64 {
        let (u, v) = (1.0 - self.unit(), self.unit());
        (-2.0 * libm::log(u)).sqrt() * libm::cos(std::f64::consts::TAU * v)
    }

    /// Whether something of this probability happens.
    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Uniform below `n`, to within 2^-64 n.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.0.next_u64()) * n as u128) >> 64) as usize
    }

    /// One of some things with these weights.
    pub(crate) fn one_of(&mut self, weights: &[f64]) -> usize {
        let mut left = self.unit() * weights.iter().sum::<f64>();
        for (k, weight) in weights.iter().enumerate() {
            left -= weight;
            if left < 0.0 {
                return k;
            }
        }
        weights.len() - 1
    }

    /// In an order of which all are equally likely.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// The logarithm of a Gamma variable with scale one. Its logarithm, because for small shapes
    /// the variable itself underflows.
    ///
    /// # References
    ///
    /// Marsaglia and Tsang 2000; their section 6 for shapes below one.
    pub(crate) fn ln_gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let boost = libm::log(1.0 - self.unit()) / shape;
            return self.ln_gamma(shape + 1.0) + boost;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.gaussian();
            let v = (1.0 + c * x) * (1.0 + c * x) * (1.0 + c * x);
            let u = 1.0 - self.unit();
            if v > 0.0 && libm::log(u) < 0.5 * x * x + d * (1.0 - v + libm::log(v)) {
                return libm::log(d * v);
            }
        }
    }
}

/// Streams of random numbers that belong to no node, by name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stream {
    Partition = 0,
    Census = 1,
    Images = 2,
    Mixture = 3,
    Regression = 4,
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

    #[test]
    fn gamma_numbers_have_their_moments() {
        let n = 200_000;
        for shape in [0.3, 1.0, 4.5] {
            let mut source = Source::new(3, 0);
            let values: Vec<f64> = (0..n).map(|_| source.ln_gamma(shape).exp()).collect();
            let mean = values.iter().sum::<f64>() / f64::from(n);
            assert!((mean - shape).abs() < Z * (shape / f64::from(n)).sqrt(), "{mean} {shape}");
            let square = values.iter().map(|v| v * v).sum::<f64>() / f64::from(n);
            assert!((square / (shape * (shape + 1.0)) - 1.0).abs() < 0.05, "{square} {shape}");
        }
        assert!(Source::new(3, 0).ln_gamma(1e-4).is_finite());
    }

    #[test]
    fn a_shuffle_reaches_every_order() {
        let mut counts = [0_u32; 6];
        let mut source = Source::named(1, Stream::Partition);
        for _ in 0..60_000 {
            let mut items = [0, 1, 2];
            source.shuffle(&mut items);
            counts[items[0] * 2 + usize::from(items[1] > items[2])] += 1;
        }
        let expected = 10_000.0;
        let deviation = Z * f64::sqrt(expected * 5.0 / 6.0);
        assert!(counts.iter().all(|c| (f64::from(*c) - expected).abs() < deviation), "{counts:?}");
    }
}
