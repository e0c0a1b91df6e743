//! PR-ADMM (000 Algorithm 1): every local minimiser is sent with Gaussian noise that decays.

use super::Subproblem;
use crate::accountant::zcdp;
use crate::claims::{Claim, Comparison, Verdict, clip, delta, epsilon, guarantee, priced, scale};
use crate::event::Event;
use crate::units::{Adjacency, OutOfRange, Probability, Rho, Scale};

pub(crate) const PERIODIC_CLAIM: Claim = Claim {
    algorithm: "pr-admm-periodic",
    paper: "000 Theorem 2",
    verdict: Verdict::Unsound,
    reason: "the sum over rounds drops one round: a single round is certified at epsilon 0",
    shipped: "as printed with a checked solver tolerance; gdp with sensitivity (2V/n + 2 beta)/m",
    counterexample: Some("CE-9"),
    example: || example(Schedule::Periodic { period: 1, ratio: crate::claims::probability(0.925) }),
};

pub(crate) const ITERATION_CLAIM: Claim = Claim {
    algorithm: "pr-admm-iteration",
    paper: "000 Theorem 3",
    verdict: Verdict::Loose,
    reason: "the sensitivity lacks the 1/n of a mean; its proof equates gradients at two points",
    shipped: "as printed with a checked solver tolerance; gdp with sensitivity (2V/n + 2 beta)/m",
    counterexample: None,
    example: || example(Schedule::Iteration { growth: scale(0.015) }),
};

/// How the noise variance falls with the rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule {
    /// `s1^2 / (growth t (t+1))` in round t+1, and `s1^2` in the first.
    Iteration {
        /// `R_T`.
        growth: Scale,
    },
    /// Times `ratio` after every `period` rounds.
    Periodic {
        /// `T_p`, at least 1.
        period: u64,
        /// `R_P`.
        ratio: Probability,
    },
}

impl Schedule {
    /// First variance over that of release `t`, which counts from 0.
    pub fn decay(&self, t: u64) -> f64 {
        match self {
            Schedule::Periodic { period, ratio } => {
                ratio.get().powf(-((t / (*period).max(1)) as f64))
            }
            Schedule::Iteration { .. } if t == 0 => 1.0,
            Schedule::Iteration { growth } => growth.get() * t as f64 * (t as f64 + 1.0),
        }
    }

    /// `S`: the rounds' total cost in units of the first round's, summed.
    pub fn total(&self, rounds: u64) -> f64 {
        (0..rounds).map(|t| self.decay(t)).sum()
    }

    /// The same as the paper sums it: Theorem 2 (one round short) or Theorem 3 (right).
    pub fn claimed_total(&self, rounds: u64) -> f64 {
        let t = rounds as f64;
        match self {
            Schedule::Periodic { period, ratio } => {
                let (period, ratio) = (*period as f64, ratio.get());
                let n = t / period;
                period * (1.0 - ratio.powf(n)) / (ratio.powf(n - 1.0) - ratio.powf(n)) - 1.0
            }
            Schedule::Iteration { growth } => (growth.get() * t * (t * t - 1.0) + 3.0) / 3.0,
        }
    }
}

/// What Theorems 2 and 3 charge for a run: `V^2/(2 eta^2 v^2 s1^2)` for the first round times the
/// claimed sum. `penalty` is `eta v`.
pub fn claimed_rho(
    lipschitz: f64,
    penalty: f64,
    first: Scale,
    schedule: &Schedule,
    rounds: u64,
) -> Result<Rho, OutOfRange> {
    let one = 0.5 * (lipschitz / (penalty * first.get())).powi(2);
    Rho::new(one * schedule.claimed_total(rounds))
}

/// The first noise that Theorems 2 and 3 ask for to spend `rho`.
pub fn claimed_sigma(
    rho: Rho,
    lipschitz: f64,
    penalty: f64,
    schedule: &Schedule,
    rounds: u64,
) -> Result<Scale, OutOfRange> {
    let total = schedule.claimed_total(rounds);
    Scale::new(lipschitz / penalty * (total / (2.0 * rho.get())).sqrt())
}

/// What a node's run emits.
///
/// # Guarantee
///
/// Exactly `mu = (sensitivity/s1) sqrt(S)` under replace-one and, with half the data term, under
/// add-remove; record level, everyone listening. It needs features clipped to 1, a convex twice
/// differentiable loss, a checked gradient tolerance, a public `n`, and thresholds and duals that
/// use broadcast values only.
///
/// # References
///
/// 000 Algorithm 1, Lemma 10 and Theorems 2 and 3; theory 2.1 and A1.
pub fn event(
    problem: &Subproblem,
    first: Scale,
    schedule: &Schedule,
    rounds: u64,
) -> Result<Event, OutOfRange> {
    let sensitivity = problem.sensitivity()?;
    let release = |t: u64| {
        let sigma = Scale::new(first.get() / schedule.decay(t).sqrt())?;
        Ok(Event::gaussian(sensitivity, sigma))
    };
    Ok(Event::Composed((0..rounds).map(release).collect::<Result<_, OutOfRange>>()?))
}

fn example(schedule: Schedule) -> Comparison {
    let rho = zcdp::rho(epsilon(1.0), delta(1e-4));
    let first = claimed_sigma(rho, 1.0, 1.0, &schedule, 50).expect("a positive sigma");
    let problem =
        Subproblem { records: 8000, lipschitz: clip(1.0), convexity: scale(2.0), tolerance: 1e-8 };
    let event = event(&problem, first, &schedule, 50).expect("literals in range");
    let instance = "n 8000, T 50, eta v 1, m 2, noise that the paper asks for";
    priced(instance, Some(guarantee(1.0, 1e-4)), &event, Adjacency::Replace)
}
