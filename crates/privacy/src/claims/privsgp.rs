//! Paper 003: PrivSGP, PrivSGP-VR and the baselines DP2-SGD, A(DP)2SGD and DSGD.

use super::gaussian::{classic_sigma, zcdp_epsilon};
use super::{
    Claim, Comparison, Verdict, clip, counterexample, delta, epsilon, guarantee, priced,
    probability, rho, unprotected,
};
use crate::event::{Event, SagaSampling, SagaTable};
use crate::units::{
    Adjacency, ClipNorm, Delta, Epsilon, NoiseMultiplier, OutOfRange, Probability, Scale,
    Sensitivity,
};

pub(super) const CLAIMS: [Claim; 5] = [
    Claim {
        algorithm: "privsgp",
        paper: "003 Theorem 2",
        verdict: Verdict::Unsound,
        reason: "used far outside its regime: a record is exposed whenever it is drawn",
        shipped: "Poisson batches (pld) or a uniform index (profile), noise found numerically",
        counterexample: Some("CE-2"),
        example: || counterexample::compare("CE-2", Adjacency::Replace),
    },
    Claim {
        algorithm: "privsgp-vr",
        paper: "003 Theorem 2",
        verdict: Verdict::Unsound,
        reason: "the table's mean holds every record in every round, drawn or not",
        shipped: "SAGA with a noisy mean (pld), or as printed with a split or conditional bound",
        counterexample: Some("CE-3"),
        example: || counterexample::compare("CE-3", Adjacency::Replace),
    },
    Claim {
        algorithm: "dp2-sgd",
        paper: "baseline of 003 (Yu et al. 2021, reconstructed)",
        verdict: Verdict::SoundAndLoose,
        reason: "basic composition of Gaussian rounds",
        shipped: "gradients at what was sent; all rounds together (pld or gdp)",
        counterexample: None,
        example: dp2_example,
    },
    Claim {
        algorithm: "a-dp2-sgd",
        paper: "baseline of 003 (Xu, Zhang, Wang 2021, reconstructed)",
        verdict: Verdict::SoundAndLoose,
        reason: "Renyi composition is right; its noise formula relies on asymptotics",
        shipped: "each node charged for its own activations (pld)",
        counterexample: None,
        example: asynchronous_example,
    },
    Claim {
        algorithm: "dsgd",
        paper: "baseline of 000 and 003",
        verdict: Verdict::NoClaim,
        reason: "gradient steps without noise",
        shipped: "refused without noise: no privacy",
        counterexample: None,
        example: unprotected,
    },
];

/// Theorem 2: `c2 * sensitivity * sqrt(K ln(1/delta))/(J eps)`, for an unspecified `c2`; PrivSGP-VR
/// takes `3G` for the sensitivity.
pub fn theorem_2_sigma(
    constant: f64,
    sensitivity: f64,
    epsilon: Epsilon,
    delta: Delta,
    rounds: u64,
    records: u64,
) -> Result<Scale, OutOfRange> {
    let spread = (rounds as f64 * -delta.get().ln()).sqrt();
    Scale::new(constant * sensitivity * spread / (records as f64 * epsilon.get()))
}

/// One node's stochastic gradients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gradients {
    /// Number of records, `J`.
    pub records: u64,
    /// Norm bound of one record's gradient, `G`.
    pub clip: ClipNorm,
    /// Number of rounds, `K`.
    pub rounds: u64,
}

/// PrivSGP with Poisson batches of expected size `batch`, divided by it.
///
/// # Guarantee
///
/// Add-remove with noise multiplier `sigma b/G`, replace-one by the exact pair. It needs clipped
/// gradients evaluated at public points.
///
/// # References
///
/// Theory 7.1 (P) and E4, in place of 003 Theorem 2.
pub fn poisson_event(
    gradients: &Gradients,
    batch: Scale,
    sigma: Scale,
) -> Result<Event, OutOfRange> {
    sampled(gradients, gradients.clip.get(), batch, sigma)
}

/// PrivSGP with one uniform index a round, as printed.
///
/// # Guarantee
///
/// Replace-one, a sample of size 1 of `J` with sensitivity `2G`.
///
/// # References
///
/// Theory 7.1 (U) and E7, in place of 003 Theorem 2.
pub fn single_index_event(gradients: &Gradients, sigma: Scale) -> Result<Event, OutOfRange> {
    let twice = 2.0 * gradients.clip.get();
    let round = Event::gaussian(Sensitivity::under_only(Adjacency::Replace, twice)?, sigma);
    let chance = Probability::new(1.0 / gradients.records as f64)?;
    Ok(round.fixed_size_sampled(chance).repeated(gradients.rounds))
}

/// PrivSGP-VR with its private table. Poisson sampling gives bound (S), a single index bound (C).
///
/// # Guarantee
///
/// (S) add-remove: the noise is split over the table's mean and the sampled difference. (C)
/// replace-one: all indices are revealed, so the bound is valid always and loose.
///
/// # References
///
/// Theory 7.2 (S), (C) and A9, in place of 003 Theorem 2.
pub fn table_event(gradients: &Gradients, sampling: SagaSampling, sigma: Scale) -> Event {
    let (clip, records) = (gradients.clip, gradients.records);
    Event::SagaTable(SagaTable { clip, sigma, records, sampling }).repeated(gradients.rounds)
}

/// PrivSGP-VR redesigned: the running mean is built from what was sent, so it is public and the
/// table is read for sampled records only. `difference` bounds a sampled record's `v - T`: twice
/// the gradient's bound if only gradients are clipped.
///
/// # Guarantee
///
/// Add-remove with noise multiplier `sigma b/difference`, replace-one by the exact pair.
///
/// # References
///
/// Theory 7.2 (noisy-mean SAGA) and A9.
pub fn noisy_mean_event(
    gradients: &Gradients,
    difference: ClipNorm,
    batch: Scale,
    sigma: Scale,
) -> Result<Event, OutOfRange> {
    sampled(gradients, difference.get(), batch, sigma)
}

/// DP2-SGD and, with its own number of activations, a node of A(DP)2SGD.
///
/// # Guarantee
///
/// Add-remove with the given noise multiplier, replace-one by the exact pair. It needs gradients
/// evaluated at transmitted values and, for A(DP)2SGD, a number of activations that is capped in
/// advance; random activation earns nothing, for it is visible.
///
/// # References
///
/// Theory 7.3 and 7.4, E4.
pub fn noisy_gradient_event(
    multiplier: NoiseMultiplier,
    probability: Probability,
    rounds: u64,
) -> Result<Event, OutOfRange> {
    let one = Sensitivity::contribution(ClipNorm::new(1.0)?);
    let round = Event::gaussian(one, Scale::new(multiplier.get())?);
    if probability.get() == 1.0 {
        return Ok(round.repeated(rounds));
    }
    Ok(round.poisson_sampled(probability).repeated(rounds))
}

/// Basic composition, as DP2-SGD uses it: `(K eps0, K delta0)`.
pub fn basic_composition(
    epsilon: Epsilon,
    delta: Delta,
    rounds: u64,
) -> Result<(Epsilon, Delta), OutOfRange> {
    let k = rounds as f64;
    Ok((Epsilon::new(k * epsilon.get())?, Delta::new(k * delta.get())?))
}

fn sampled(
    gradients: &Gradients,
    contribution: f64,
    batch: Scale,
    sigma: Scale,
) -> Result<Event, OutOfRange> {
    let mean = ClipNorm::new(contribution / batch.get())?;
    let chance = Probability::new(batch.get() / gradients.records as f64)?;
    let round = Event::gaussian(Sensitivity::contribution(mean), sigma);
    Ok(round.poisson_sampled(chance).repeated(gradients.rounds))
}

/// One node of the paper's CIFAR-10 run: 16 nodes, epsilon 3.
pub fn cifar() -> Gradients {
    Gradients { records: 3125, clip: clip(10.0), rounds: 3120 }
}

fn dp2_example() -> Comparison {
    let (one, slack) = (epsilon(0.05), delta(1e-7));
    let sigma = classic_sigma(one, slack, 1.0).expect("literals in range");
    let claimed = basic_composition(one, slack, 100).expect("literals in range");
    let event = NoiseMultiplier::new(sigma.get())
        .and_then(|z| noisy_gradient_event(z, probability(1.0), 100))
        .expect("literals in range");
    let instance = "100 full-batch rounds, each (0.05, 1e-7) by the classic formula";
    let claimed = guarantee(claimed.0.get(), claimed.1.get());
    priced(instance, Some(claimed), &event, Adjacency::AddRemove)
}

fn asynchronous_example() -> Comparison {
    let z = NoiseMultiplier::new(20.0).expect("a literal in range");
    let event = noisy_gradient_event(z, probability(0.1), 100).expect("literals in range");
    let total = rho(100.0 / (2.0 * 20.0 * 20.0));
    let claimed = zcdp_epsilon(total, delta(1e-5)).expect("literals in range");
    let instance = "100 activations, noise multiplier 20, q 0.1; claimed without amplification";
    priced(instance, Some(guarantee(claimed.get(), 1e-5)), &event, Adjacency::AddRemove)
}
