//! Uniform numbers and coins.

use rand::Rng;

use super::stream::Stream;
use super::transform;

impl<const ROUNDS: usize> Stream<ROUNDS> {
    /// A uniform number in (0, 1), both ends excluded: an odd multiple of 2^-53.
    ///
    /// # Guarantee
    /// Each of the 2^52 values is equally likely; the mean is exactly 1/2.
    ///
    /// # References
    /// None beyond the stream's own.
    pub fn uniform(&mut self) -> f64 {
        transform::unit_f64(self.next_u64() >> 12)
    }

    /// True with the given probability; never for 0, always for 1.
    ///
    /// # Guarantee
    /// The probability is exact for multiples of 2^-64, and otherwise within 2^-64 of what was
    /// asked for. Values outside [0, 1] are taken as the nearer end.
    ///
    /// # References
    /// None beyond the stream's own.
    pub fn bernoulli(&mut self, probability: f64) -> bool {
        // The product with 2^64 is exact; the conversion rounds down and saturates.
        let threshold = (probability * 18_446_744_073_709_551_616.0) as u128;
        u128::from(self.next_u64()) < threshold
    }
}
