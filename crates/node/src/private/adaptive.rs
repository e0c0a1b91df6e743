//! A clip norm that follows a quantile of the gradients' norms.

use undertone_privacy::mechanism::QuantileGaussian;
use undertone_privacy::units::{ClipNorm, NoiseMultiplier, OutOfRange, Scale};

/// How the clip norm of a node is found.
///
/// After every round it becomes `C exp(-rate (share - quantile))`, where `share` is the noisy share
/// of the batch whose gradients were not longer than `C`. The share is released, and charged, with
/// the sum: the clip norm of a round is a function of what was released before it.
///
/// # Guarantee
///
/// That of [`QuantileGaussian`], in every round the same event.
///
/// # References
///
/// Andrew, Thakkar, McMahan, Ramaswamy 2021, "Differentially private learning with adaptive
/// clipping", algorithm 1; here every node follows its own gradients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveClip {
    start: ClipNorm,
    quantile: f64,
    rate: f64,
    count: Scale,
}

/// How far it may go from where it started, in either direction. Public, and against overflow.
const FAR: f64 = 1e6;

impl AdaptiveClip {
    /// From a norm, towards a quantile of norms between 0 and 1, with a noise of the count that is
    /// a standard deviation in records.
    pub fn new(
        start: ClipNorm,
        quantile: f64,
        rate: f64,
        count: Scale,
    ) -> Result<Self, OutOfRange> {
        let check = |unit, range, value: f64, fits: bool| {
            if fits { Ok(()) } else { Err(OutOfRange { unit, range, value }) }
        };
        let inside = quantile > 0.0 && quantile < 1.0;
        check("quantile", "above 0 and below 1", quantile, inside)?;
        check("rate", "above 0 and at most 10", rate, rate > 0.0 && rate <= 10.0)?;
        ClipNorm::new(start.get() / FAR)?;
        ClipNorm::new(start.get() * FAR)?;
        Ok(Self { start, quantile, rate, count })
    }

    /// Where it starts.
    pub fn start(&self) -> ClipNorm {
        self.start
    }

    /// What a round releases. The noise of the sum is that for the clip norm of the start; it
    /// shrinks and grows with the clip norm.
    pub fn mechanism(&self, noise: Scale) -> Result<QuantileGaussian, OutOfRange> {
        let sum = NoiseMultiplier::new(noise.get() / self.start.get())?;
        Ok(QuantileGaussian { sum, count: self.count })
    }

    /// The clip norm of the next round. `count` is how many were not longer, less half of all, with
    /// its noise; `batch` is how many there are on average, which is public.
    pub(crate) fn next(&self, clip: ClipNorm, count: f64, batch: f64) -> ClipNorm {
        let share = 0.5 + count / batch.max(1.0);
        let (least, most) = (self.start.get() / FAR, self.start.get() * FAR);
        let moved = clip.get() * (-self.rate * (share - self.quantile)).clamp(-50.0, 50.0).exp();
        ClipNorm::new(moved.clamp(least, most)).expect("between two norms")
    }
}
