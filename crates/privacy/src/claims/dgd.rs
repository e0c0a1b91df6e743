//! Paper 004: two-stage decentralised gradient descent, noisy steps first, averaging afterwards.

use super::{Claim, Comparison, Verdict, counterexample, delta, epsilon, guarantee, priced, scale};
use crate::event::Event;
use crate::units::{Adjacency, ClipNorm, Delta, Epsilon, OutOfRange, Scale, Sensitivity};

pub(super) const CLAIMS: [Claim; 2] = [
    Claim {
        algorithm: "dp-dgd",
        paper: "004 Algorithm 1",
        verdict: Verdict::Unsound,
        reason: "the first message of stage II holds the last gradient without noise",
        shipped: "the last step is noised like the others, then averaging (gdp)",
        counterexample: Some("CE-1"),
        example: || counterexample::compare("CE-1", Adjacency::Replace),
    },
    Claim {
        algorithm: "dp-dgd-noised",
        paper: "004 Theorem 1",
        verdict: Verdict::SoundAndLoose,
        reason: "a two-sided tail and a relaxed root waste almost half of the variance",
        shipped: "the same schedule, priced exactly (gdp)",
        counterexample: None,
        example,
    },
];

/// The step and noise schedules of stage I.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// `(mu + L)/(2 mu L)` for strong convexity `mu` and smoothness `L`.
    pub step: Scale,
    /// `kappa`; see [`kappa`].
    pub kappa: Scale,
    /// Number of noisy rounds, `T`.
    pub rounds: u64,
}

impl Schedule {
    /// `eta_t = step/t`, t from 1.
    pub fn eta(&self, t: u64) -> f64 {
        self.step.get() / t as f64
    }

    /// `M_t`, with `M_t^2 = (2/kappa) step^2 sqrt(T)/t^1.5`.
    pub fn sigma(&self, t: u64) -> Result<Scale, OutOfRange> {
        let variance =
            2.0 / self.kappa.get() * self.step.get().powi(2) * (self.rounds as f64).sqrt()
                / (t as f64).powf(1.5);
        Scale::new(variance.sqrt())
    }
}

/// `kappa = eps^2/(4 G^2 (eps + 2 ln(2/delta)))`.
pub fn kappa(epsilon: Epsilon, delta: Delta, gradient: ClipNorm) -> Result<Scale, OutOfRange> {
    Scale::new(theorem_1_budget(epsilon, delta) / (4.0 * gradient.get().powi(2)))
}

/// Theorem 1: what the sum of `Delta(t)^2/M_t^2` may be: `eps^2/(eps + 2 ln(2/delta))`.
pub fn theorem_1_budget(epsilon: Epsilon, delta: Delta) -> f64 {
    epsilon.get().powi(2) / (epsilon.get() + 2.0 * (2.0 / delta.get()).ln())
}

/// What the sound algorithm emits: `T` noisy steps, the last of them too.
///
/// # Guarantee
///
/// Exactly `mu^2` = the sum of `(2 eta_t G/M_t)^2` under replace-one, a quarter of it under
/// add-remove, where `gradient` bounds one record's gradient. The projection moves nothing further
/// apart and the point of each gradient is public. Stage II is a function of what was sent.
///
/// # References
///
/// Theory 8, in place of 004 Algorithm 1; 004 Theorem 1 and Proposition 3.
pub fn event(schedule: &Schedule, gradient: ClipNorm) -> Result<Event, OutOfRange> {
    let step = |t: u64| {
        let moved = ClipNorm::new(schedule.eta(t) * gradient.get())?;
        Ok(Event::gaussian(Sensitivity::contribution(moved), schedule.sigma(t)?))
    };
    Ok(Event::Composed((1..=schedule.rounds).map(step).collect::<Result<_, OutOfRange>>()?))
}

/// The paper's mean estimation: 100 records a node, epsilon 4, delta 1e-3.
pub(super) fn estimation(rounds: u64) -> Schedule {
    let one = ClipNorm::new(1.0).expect("one is a clip norm");
    let kappa = kappa(epsilon(4.0), delta(1e-3), one).expect("literals in range");
    Schedule { step: scale(0.01), kappa, rounds }
}

fn example() -> Comparison {
    let one = ClipNorm::new(1.0).expect("one is a clip norm");
    let event = event(&estimation(1000), one).expect("literals in range");
    let instance = "mean estimation, T 1000, G 1, noise schedule of the paper, last step noised";
    priced(instance, Some(guarantee(4.0, 1e-3)), &event, Adjacency::Replace)
}
