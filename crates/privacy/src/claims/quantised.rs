//! Paper 000, quantised decentralised SGD: Q-DPSGD-1, Q-DPSGD-2 and the SDM baseline.

use super::{
    Claim, Comparison, Guarantee, Verdict, clip, counterexample, delta, epsilon, guarantee, priced,
    probability, scale,
};
use crate::accountant::rdp;
use crate::event::{DiscreteGaussian, Event, Rounding, SdmMask};
use crate::special::{ln_binomial, ln_sum_exp};
use crate::units::{
    Adjacency, ClipNorm, Delta, Epsilon, NoiseMultiplier, Order, OutOfRange, Probability, Scale,
    Sensitivity,
};

pub(super) const CLAIMS: [Claim; 3] = [
    Claim {
        algorithm: "q-dpsgd-1",
        paper: "000 Theorem 11",
        verdict: Verdict::Unsound,
        reason: "4 q^2 times the unsampled cost needs much noise; the sampling law is unstated",
        shipped: "public batch sizes, Poisson (pld) or fixed size (profile) sampling",
        counterexample: Some("CE-5"),
        example: one_example,
    },
    Claim {
        algorithm: "q-dpsgd-2",
        paper: "000 Theorem 15",
        verdict: Verdict::Unsound,
        reason: "the own state is never noised: every old gradient is sent again in each round",
        shipped: "the state restarts from what was sent; rdp of coupled rounding, amplified",
        counterexample: Some("CE-4"),
        example: || counterexample::compare("CE-4", Adjacency::Replace),
    },
    Claim {
        algorithm: "sdm",
        paper: "baseline of 000 (recalled)",
        verdict: Verdict::ProofBroken,
        reason: "a cost proportional to the chance of sending is true to first order only",
        shipped: "unsent coordinates are forgotten; rdp of the visible mask",
        counterexample: None,
        example: sdm_example,
    },
];

/// One node's batches: clipped gradients, summed and divided by the public expected size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Batches {
    /// Number of records at the node, `m`.
    pub records: u64,
    /// Expected or fixed size of a batch, `s_t`; the divisor.
    pub size: Scale,
    /// Norm bound of one record's gradient, `K`.
    pub clip: ClipNorm,
    /// Number of rounds with a batch that is not empty.
    pub rounds: u64,
}

impl Batches {
    /// Chance of a record to be in a batch.
    pub fn probability(&self) -> Result<Probability, OutOfRange> {
        Probability::new(self.size.get() / self.records as f64)
    }

    fn mean(&self) -> Result<ClipNorm, OutOfRange> {
        ClipNorm::new(self.clip.get() / self.size.get())
    }

    /// Noise of standard deviation `multiplier * K`, as the paper writes it.
    fn sigma(&self, multiplier: NoiseMultiplier) -> Result<Scale, OutOfRange> {
        Scale::new(multiplier.get() * self.clip.get())
    }
}

/// Theorem 11: `8 order/(m^2 s^2)` for every round, whatever the batch.
pub fn theorem_11_divergence(
    order: Order,
    records: u64,
    multiplier: NoiseMultiplier,
    rounds: u64,
) -> f64 {
    8.0 * order.get() * rounds as f64 / (records as f64 * multiplier.get()).powi(2)
}

/// Remark 6: `s^2 = 16 T (2 ln(1/delta)/eps + 1)/(m^2 eps)`.
pub fn remark_6_multiplier(
    epsilon: Epsilon,
    delta: Delta,
    records: u64,
    rounds: u64,
) -> Result<NoiseMultiplier, OutOfRange> {
    let square = 16.0 * rounds as f64 * claimed_order(epsilon, delta)
        / ((records as f64).powi(2) * epsilon.get());
    NoiseMultiplier::new(square.sqrt())
}

/// The epsilon for which remark 6 asks for this multiplier:
/// `eps^2 = c (2 ln(1/delta) + eps)` with `c = 16 T/(m s)^2`.
pub fn remark_6_epsilon(
    multiplier: NoiseMultiplier,
    delta: Delta,
    records: u64,
    rounds: u64,
) -> Result<Epsilon, OutOfRange> {
    let c = 16.0 * rounds as f64 / (records as f64 * multiplier.get()).powi(2);
    Epsilon::new(0.5 * (c + (c * c - 8.0 * c * delta.get().ln()).sqrt()))
}

/// Theorem 15: `8 order/(s^2 m^2) (alpha e + eta sqrt(p) |S|/K)^2` summed over equal rounds.
/// `step` is `alpha e`, `lattice` is `eta`.
pub fn theorem_15_divergence(
    order: Order,
    batches: &Batches,
    step: f64,
    lattice: Scale,
    dimension: u64,
    multiplier: NoiseMultiplier,
) -> f64 {
    theorem_11_divergence(order, batches.records, multiplier, batches.rounds)
        * claimed_step(batches, step, lattice, dimension).powi(2)
}

/// Remark 10: the multiplier that makes Theorem 15 half of epsilon at its order.
pub fn remark_10_multiplier(
    epsilon: Epsilon,
    delta: Delta,
    batches: &Batches,
    step: f64,
    lattice: Scale,
    dimension: u64,
) -> Result<NoiseMultiplier, OutOfRange> {
    let plain = remark_6_multiplier(epsilon, delta, batches.records, batches.rounds)?;
    NoiseMultiplier::new(plain.get() * claimed_step(batches, step, lattice, dimension))
}

/// The rule recalled for SDM: the unmasked divergence times the chance of sending.
pub fn linear_rule_divergence(transmit: Probability, unmasked: f64) -> f64 {
    transmit.get() * unmasked
}

/// That rule for a run: what it would give, were it true.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearRule {
    /// Chance of a coordinate to be sent.
    pub transmit: Probability,
    /// Chance of a record to be in a batch.
    pub probability: Probability,
    /// Number of rounds.
    pub rounds: u64,
}

impl LinearRule {
    /// The claimed epsilon, by the best of the orders 2 to 64.
    pub fn epsilon(&self, multiplier: NoiseMultiplier, delta: Delta) -> Epsilon {
        let at = |a: u32| {
            let one = sampled_divergence(a, self.probability.get(), multiplier.get());
            let order = Order::new(f64::from(a)).expect("at least two");
            let all = self.rounds as f64 * linear_rule_divergence(self.transmit, one);
            rdp::to_epsilon(order, all, delta)
        };
        let least = |least, next| if next < least { next } else { least };
        (2..=64).map(at).fold(Epsilon::INFINITE, least)
    }

    /// The noise that the rule asks for, to a relative 1e-9.
    pub fn multiplier(
        &self,
        epsilon: Epsilon,
        delta: Delta,
    ) -> Result<NoiseMultiplier, OutOfRange> {
        let (mut low, mut high): (f64, f64) = (1e-3_f64.ln(), 1e6_f64.ln());
        while high - low > 1e-9 {
            let middle = 0.5 * (low + high);
            match self.epsilon(NoiseMultiplier::new(middle.exp())?, delta) <= epsilon {
                true => high = middle,
                false => low = middle,
            }
        }
        NoiseMultiplier::new(high.exp())
    }
}

/// Q-DPSGD-1 with Poisson batches, divided by the expected size.
///
/// # Guarantee
///
/// Add-remove with noise multiplier `s * s_t`, and replace-one by the exact pair. It needs
/// per-record clipping, a public batch schedule, and timing that does not depend on records.
/// Broadcasting a quantised state is post-processing, because the noise is in the state.
///
/// # References
///
/// Theory 3.1 (P), E4 and E6, in place of 000 Theorem 11.
pub fn poisson_event(batches: &Batches, multiplier: NoiseMultiplier) -> Result<Event, OutOfRange> {
    let sensitivity = Sensitivity::contribution(batches.mean()?);
    let round = Event::gaussian(sensitivity, batches.sigma(multiplier)?);
    Ok(round.poisson_sampled(batches.probability()?).repeated(batches.rounds))
}

/// Q-DPSGD-1 with uniform batches of exactly the given size.
///
/// # Guarantee
///
/// Replace-one only, with noise multiplier `s * s_t / 2`.
///
/// # References
///
/// Theory 3.1 (F) and E7, in place of 000 Theorem 11.
pub fn fixed_size_event(
    batches: &Batches,
    multiplier: NoiseMultiplier,
) -> Result<Event, OutOfRange> {
    let value = batches.size.get();
    if value.fract() != 0.0 {
        return Err(OutOfRange { unit: "fixed batch size", range: "a whole number", value });
    }
    let twice = 2.0 * batches.mean()?.get();
    let sensitivity = Sensitivity::under_only(Adjacency::Replace, twice)?;
    let round = Event::gaussian(sensitivity, batches.sigma(multiplier)?);
    Ok(round.fixed_size_sampled(batches.probability()?).repeated(batches.rounds))
}

/// Q-DPSGD-1 with Poisson batches of which a data-independent deadline keeps only some.
///
/// # Guarantee
///
/// Add-remove with noise multiplier `s * s_t / 2`: the cap may swap the record for another one, so
/// its presence moves the sum by twice the clip norm.
///
/// # References
///
/// Theory 3.1 (C) and A10.
pub fn capped_event(batches: &Batches, multiplier: NoiseMultiplier) -> Result<Event, OutOfRange> {
    let sensitivity = Sensitivity::contribution(ClipNorm::new(2.0 * batches.mean()?.get())?);
    let round = Event::gaussian(sensitivity, batches.sigma(multiplier)?);
    Ok(round.poisson_sampled(batches.probability()?).repeated(batches.rounds))
}

/// Q-DPSGD-2 re-anchored: the next state is built from the lattice points that were sent.
/// `step` is `alpha e`, `lattice` is `eta`.
///
/// # Guarantee
///
/// Add-remove, by the Renyi curve of stochastic rounding with common uniforms, amplified for any
/// Poisson-sampled mechanism. It needs rounding uniforms and sampling that do not depend on data,
/// and a state that is a function of what was sent.
///
/// # References
///
/// Theory 3.2, A6 and E8, in place of 000 Theorem 15; 000 Theorem 14 for the lattice.
pub fn reanchored_event(
    batches: &Batches,
    step: Scale,
    lattice: Scale,
    dimension: u64,
    multiplier: NoiseMultiplier,
) -> Result<Event, OutOfRange> {
    let sensitivity = Sensitivity::contribution(ClipNorm::new(step.get() * batches.mean()?.get())?);
    let round = Event::DiscreteGaussian(DiscreteGaussian {
        sensitivity,
        sigma: batches.sigma(multiplier)?,
        step: lattice,
        dimension,
        rounding: Rounding::Stochastic,
    });
    Ok(round.poisson_sampled(batches.probability()?).repeated(batches.rounds))
}

/// SDM: Poisson batches, noise of standard deviation `sigma` on the mean, a visible random mask.
///
/// # Guarantee
///
/// Add-remove. It needs a mask that does not depend on data and unsent coordinates that are
/// forgotten: the next state is rebuilt from public values.
///
/// # References
///
/// Theory 3.3 and A7.
pub fn sdm_event(
    batches: &Batches,
    sigma: Scale,
    transmit: Probability,
) -> Result<Event, OutOfRange> {
    let sensitivity = Sensitivity::contribution(batches.mean()?);
    let round = Event::gaussian(sensitivity, sigma).poisson_sampled(batches.probability()?);
    let masked = Event::SdmMask(SdmMask { transmit, event: Box::new(round) });
    Ok(masked.repeated(batches.rounds))
}

/// The Renyi order at which the paper converts: `2 ln(1/delta)/eps + 1`.
fn claimed_order(epsilon: Epsilon, delta: Delta) -> f64 {
    -2.0 * delta.get().ln() / epsilon.get() + 1.0
}

/// What theorem 15 has in place of one: `alpha e + eta sqrt(p) |S|/K`.
pub fn claimed_step(batches: &Batches, step: f64, lattice: Scale, dimension: u64) -> f64 {
    let rounding = lattice.get() * (dimension as f64).sqrt();
    step + rounding * batches.size.get() / batches.clip.get()
}

/// Theory E4 at an integer order, on its own: accountants do not use it.
pub(super) fn sampled_divergence(order: u32, q: f64, z: f64) -> f64 {
    let a = f64::from(order);
    let term = |k: u32| {
        let k = f64::from(k);
        ln_binomial(a, k) + (a - k) * (-q).ln_1p() + k * q.ln() + 0.5 * (k * k - k) / (z * z)
    };
    ln_sum_exp((0..=order).map(term)) / (a - 1.0)
}

fn one_example() -> Comparison {
    let batches = Batches { records: 1000, size: scale(20.0), clip: clip(0.5), rounds: 1000 };
    let multiplier = remark_6_multiplier(epsilon(1.0), delta(1e-5), 1000, 1000);
    let event = multiplier.and_then(|s| poisson_event(&batches, s)).expect("literals in range");
    let instance = "m 1000, batches of 20, T 1000, noise of Remark 6";
    priced(instance, Some(guarantee(1.0, 1e-5)), &event, Adjacency::AddRemove)
}

fn sdm_example() -> Comparison {
    let batches = Batches { records: 1000, size: scale(20.0), clip: clip(0.5), rounds: 1000 };
    let transmit = probability(0.3);
    let event = sdm_event(&batches, scale(2.0 * 0.5 / 20.0), transmit).expect("literals in range");
    let rule = LinearRule { transmit, probability: probability(0.02), rounds: 1000 };
    let multiplier = NoiseMultiplier::new(2.0).expect("a literal in range");
    let claimed = rule.epsilon(multiplier, delta(1e-5));
    let claimed = Guarantee { epsilon: claimed, delta: delta(1e-5) };
    let instance = "q 0.02, noise multiplier 2, T 1000, every coordinate sent with chance 0.3";
    priced(instance, Some(claimed), &event, Adjacency::AddRemove)
}
