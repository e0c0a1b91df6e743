//! Paper 001: consensus and optimisation over directed, sparsified, time-varying networks.

use super::gaussian::classic_sigma;
use super::{Claim, Verdict, counterexample};
use crate::event::Event;
use crate::units::{
    Adjacency, ClipNorm, Delta, Epsilon, OutOfRange, Probability, Scale, Sensitivity,
};

pub(super) const CLAIMS: [Claim; 2] = [
    Claim {
        algorithm: "dp-consensus",
        paper: "001 Theorem 2.3",
        verdict: Verdict::Unsound,
        reason: "entries within C differ by 2C, and sparsity hides nothing over many rounds",
        shipped: "clip, then noise by the exact profile (gdp); the unit is a node's vector",
        counterexample: Some("CE-6"),
        example: || counterexample::compare("CE-6", Adjacency::Replace),
    },
    Claim {
        algorithm: "dp-optimisation",
        paper: "001 Theorem 2.7",
        verdict: Verdict::Unsound,
        reason: "unsent coordinates keep their gradients and are sent later",
        shipped: "per-record clipping, every window charged in full (gdp)",
        counterexample: Some("CE-7"),
        example: || counterexample::compare("CE-7", Adjacency::Replace),
    },
];

/// Theorem 2.3: `sqrt(d) C sqrt(2 ln(1.25/delta))/eps`.
pub fn theorem_2_3_sigma(
    epsilon: Epsilon,
    delta: Delta,
    dimension: u64,
    bound: ClipNorm,
) -> Result<Scale, OutOfRange> {
    classic_sigma(epsilon, delta, (dimension as f64).sqrt() * bound.get())
}

/// Theorem 2.7: `c0 D sqrt(T (1-q) d) ln(1/delta)/eps` with its unspecified constant `c0`; `q` is
/// the share of coordinates that are not sent.
pub fn theorem_2_7_sigma(
    constant: f64,
    epsilon: Epsilon,
    delta: Delta,
    bound: ClipNorm,
    rounds: u64,
    unsent: Probability,
    dimension: u64,
) -> Result<Scale, OutOfRange> {
    let sent = rounds as f64 * (1.0 - unsent.get()) * dimension as f64;
    Scale::new(constant * bound.get() * sent.sqrt() * -delta.get().ln() / epsilon.get())
}

/// Consensus: the initial vector with noise, once. `records` is 1 for a whole node's vector, or the
/// number of records in the box whose mean the vector is.
///
/// # Guarantee
///
/// Replace-one, exactly Gaussian with sensitivity `2 sqrt(d) C/records` for entries clipped to `C`.
/// With `records` = 1 the unit is the node's vector. All mixing is post-processing.
///
/// # References
///
/// Theory 5.1, in place of 001 Theorem 2.3.
pub fn consensus_event(
    dimension: u64,
    bound: ClipNorm,
    records: u64,
    sigma: Scale,
) -> Result<Event, OutOfRange> {
    let moved = 2.0 * (dimension as f64).sqrt() * bound.get() / records as f64;
    Ok(Event::gaussian(Sensitivity::under_only(Adjacency::Replace, moved)?, sigma))
}

/// Optimisation: one noisy mean of per-record clipped gradients a window.
///
/// # Guarantee
///
/// Exactly `mu = sqrt(windows) * 2 C_g/(r sigma)` under replace-one, half of it under add-remove.
/// Sparsification and mixing are post-processing and earn nothing.
///
/// # References
///
/// Theory 5.2 and A8, in place of 001 Theorem 2.7.
pub fn optimisation_event(
    clip: ClipNorm,
    records: u64,
    sigma: Scale,
    windows: u64,
) -> Result<Event, OutOfRange> {
    let mean = ClipNorm::new(clip.get() / records as f64)?;
    Ok(Event::gaussian(Sensitivity::contribution(mean), sigma).repeated(windows))
}

/// Optimisation on a Poisson sample of the records in every window, divided by its expected size.
///
/// # Guarantee
///
/// Add-remove with noise multiplier `sigma r q/C_g`; replace-one by the exact pair.
///
/// # References
///
/// Theory 5.2 and E4.
pub fn sampled_optimisation_event(
    clip: ClipNorm,
    records: u64,
    probability: Probability,
    sigma: Scale,
    windows: u64,
) -> Result<Event, OutOfRange> {
    let mean = ClipNorm::new(clip.get() / (records as f64 * probability.get()))?;
    let round = Event::gaussian(Sensitivity::contribution(mean), sigma);
    Ok(round.poisson_sampled(probability).repeated(windows))
}
