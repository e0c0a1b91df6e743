//! The sparse vector technique.

use super::{ReleaseError, check_event, check_sensitivity, erase, noise_stream};
use crate::event::{AboveThreshold, Event};
use crate::ledger::Receipt;
use crate::noise::{Key, Stream};
use crate::release::{Norm, Released, Secret};
use crate::units::{Scale, Sensitivity};

/// Asks "is it above?" again and again; only the answers "above" cost.
///
/// # Guarantee
///
/// All answers of a run together are [`Event::AboveThreshold`]: pure privacy with
/// epsilon = D / threshold_scale + 2 cutoff D / query_scale. One threshold noise serves the whole
/// run, every query has its own, and the run ends for good with the last allowed "above". Queries
/// and thresholds may depend on everything released before; the run may be interleaved with other
/// releases (Haney and others 2023). Floating-point noise.
///
/// # References
///
/// Dwork and Roth 2014, algorithm 2; Lyu, Su, Li 2017, "Understanding the sparse vector technique",
/// algorithm 1 (threshold noise is not redrawn); theory 2.3 and A5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AboveThresholdMechanism {
    /// Sensitivity of every query.
    pub sensitivity: Sensitivity,
    /// Scale of the threshold's noise.
    pub threshold_scale: Scale,
    /// Scale of every query's noise.
    pub query_scale: Scale,
    /// How many answers "above" end the run.
    pub cutoff: u64,
}

impl AboveThresholdMechanism {
    /// What to debit, once for the whole run.
    pub fn event(&self) -> Event {
        let Self { sensitivity, threshold_scale, query_scale, cutoff } = *self;
        Event::AboveThreshold(AboveThreshold { sensitivity, threshold_scale, query_scale, cutoff })
    }

    /// Begins the run that the receipt pays for.
    pub fn start(&self, receipt: Receipt, key: &Key) -> Result<AboveThresholdRun, ReleaseError> {
        check_event(&receipt, self.event())?;
        let mut stream = Stream::new(key, noise_stream(&receipt));
        let shift = laplace(&mut stream, self.threshold_scale);
        Ok(AboveThresholdRun { mechanism: *self, receipt, stream, shift, above: 0 })
    }
}

/// A run of comparisons. It holds the threshold's noise, so it cannot be printed or copied.
pub struct AboveThresholdRun {
    mechanism: AboveThresholdMechanism,
    receipt: Receipt,
    stream: Stream,
    shift: f64,
    above: u64,
}

impl AboveThresholdRun {
    /// Whether the query, with noise, is at least the threshold, with noise.
    pub fn ask(
        &mut self,
        query: Secret<f64>,
        threshold: &Released<f64>,
    ) -> Result<Released<bool>, ReleaseError> {
        let AboveThresholdMechanism { sensitivity, query_scale, cutoff, .. } = self.mechanism;
        if self.is_over() {
            return Err(ReleaseError::CutOff { node: self.receipt.node(), cutoff });
        }
        check_event(&self.receipt, query.drawn().event(self.mechanism.event()))?;
        check_sensitivity(&query, Norm::L1, &sensitivity)?;
        let noisy = query.take() + laplace(&mut self.stream, query_scale);
        let above = noisy >= threshold.get() + self.shift;
        self.above += u64::from(above);
        Ok(Released::by_mechanism(above))
    }

    /// Whether all allowed answers "above" were given.
    pub fn is_over(&self) -> bool {
        self.above >= self.mechanism.cutoff
    }
}

impl Drop for AboveThresholdRun {
    fn drop(&mut self) {
        erase(std::slice::from_mut(&mut self.shift));
    }
}

fn laplace(stream: &mut Stream, scale: Scale) -> f64 {
    let magnitude = -scale.get() * libm::log(stream.uniform());
    if stream.bernoulli(0.5) { magnitude } else { -magnitude }
}
