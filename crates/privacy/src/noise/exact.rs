//! The discrete Gaussian in integer arithmetic: the noise of real releases.

use super::stream::Stream;

mod convolution;
mod fixed;
pub mod reference;
mod table;

use convolution::Plan;
use table::Table;

/// A discrete Gaussian on the integers: x with probability proportional to
/// exp(-x^2 / (2 sigma^2)).
///
/// Construction computes a table once for a sigma (well under a millisecond); it is meant to be
/// kept and reused.
///
/// # Guarantee
/// One sample is within [`total_variation`](Self::total_variation) of the ideal distribution in
/// total variation, for the sigma that was given, taken as the exact binary fraction that the
/// `f64` is; below 2e-33 for every sigma in the range. A vector of d samples is within d times
/// that. This supposes that the stream's bits are uniform, and nothing else: no floating-point
/// number is involved in drawing.
///
/// Time and memory accesses do not depend on what is drawn: every draw scans the whole table.
/// The exception is a draw whose first 63 bits equal those of a table entry, which is compared
/// again on 127 bits; it happens with probability below 2^-54 a draw.
///
/// # References
/// T. Pöppelmann, L. Ducas, T. Güneysu, "Enhanced lattice-based signatures on reconfigurable
/// hardware", 2014 (cumulative tables and convolution). D. Micciancio, M. Walter, "Gaussian
/// sampling over the integers: efficient, generic, constant-time", 2017. C. Canonne, G. Kamath,
/// T. Steinke, "The discrete Gaussian for differential privacy", 2020 (its privacy).
#[derive(Debug)]
pub struct ExactGaussian {
    sigma: f64,
    plan: Plan,
    table: Table,
}

/// A sigma that [`ExactGaussian`] does not reach.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("sigma must be between 2^-10 and 2^40 lattice steps, got {0}")]
pub struct SigmaOutOfRange(pub f64);

/// Draws that are turned into samples at a time; at least as many as one sample needs.
const DRAWS: usize = 256;

impl ExactGaussian {
    /// Prepares the sampler for a sigma, in steps of the lattice.
    pub fn new(sigma: f64) -> Result<Self, SigmaOutOfRange> {
        let range = 1.0 / 1024.0..=(1_u64 << 40) as f64;
        if !range.contains(&sigma) {
            return Err(SigmaOutOfRange(sigma));
        }
        let plan = Plan::new(sigma);
        let table = Table::new(sigma, plan.variance_ratio());
        Ok(Self { sigma, plan, table })
    }

    /// The parameter of the distribution; its standard deviation is at most this.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// An upper bound on the total-variation distance of one sample from the ideal.
    ///
    /// With m = 2^levels draws from a table of n entries a sample, it is
    /// m (n + 1) 2^-127 + (m - 1) 1.1e-34: rounding and the cut of the tail, then the
    /// convolutions.
    pub fn total_variation(&self) -> f64 {
        let draws = self.plan.weights().len() as f64;
        draws * self.table.total_variation() + (draws - 1.0) * convolution::TOTAL_VARIATION
    }

    /// Overwrites `out` with independent samples.
    ///
    /// The same samples come out however a sequence is cut into calls on one stream.
    pub fn fill(&self, stream: &mut Stream, out: &mut [i64]) {
        let weights = self.plan.weights();
        let mut bits = [0; DRAWS];
        let mut draws = [0; DRAWS];
        for out in out.chunks_mut(DRAWS / weights.len()) {
            let count = out.len() * weights.len();
            let (bits, draws) = (&mut bits[..count], &mut draws[..count]);
            let first = stream.position();
            stream.fill_u64(bits);
            self.table.sample(bits, |i| stream.extension(first + i as u64), draws);
            for (out, draws) in out.iter_mut().zip(draws.chunks_exact(weights.len())) {
                *out = draws.iter().zip(weights).map(|(x, w)| x * w).sum();
            }
        }
    }
}
