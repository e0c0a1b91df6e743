//! Counterexamples about whole runs.

use super::Outcome;
use crate::accountant::{Accountant, gdp};
use crate::claims::admm::pp;
use crate::claims::quantised::{self, Batches, remark_6_multiplier, remark_10_multiplier};
use crate::claims::{
    Guarantee, clip, consensus, delta, epsilon, guarantee, privsgp, probability, rho, scale,
};
use crate::claims::{admm::ipp, gaussian::zcdp_epsilon};
use crate::special::{ln_add, ln_normal_cdf};
use crate::units::{Adjacency, Epsilon};

/// The noise of Theorem 2 at the paper's numbers; `c2` (0.372403) is what its
/// equation 12 needs for K = 3120.
pub(in crate::claims) fn cifar_sigma() -> f64 {
    let sigma =
        privsgp::theorem_2_sigma(0.37240348289, 30.0, epsilon(3.0), delta(1e-5), 3120, 3125);
    sigma.expect("literals in range").get()
}

pub(super) fn ce_2() -> Vec<Outcome> {
    let run = Exceedance { chance: 1.0 / 3125.0, rounds: 3120.0, shift: 10.0, sd: cifar_sigma() };
    vec![run.outcome("sigma 0.2259", guarantee(3.0, 1e-5))]
}

pub(super) fn ce_3() -> Vec<Outcome> {
    let (rounds, records, g) = (3120, 3125.0, 10.0);
    // Linear losses: the table never changes, so every round sends the mean gradient with noise.
    let apart = (g - -g) / records;
    let size = |apart: f64| (0..rounds).map(|_| (apart / cifar_sigma()).powi(2)).sum::<f64>();
    let claimed = guarantee(3.0, 1e-5);
    vec![
        Outcome::gaussian("record replaced", claimed, size(apart).sqrt()),
        Outcome::gaussian("record removed", claimed, size(0.5 * apart).sqrt()),
    ]
}

/// What CE-4 takes: the run, `alpha e`, and the share of its own state that a node keeps.
pub(in crate::claims) fn hidden_state() -> (Batches, f64, f64) {
    let batches = Batches { records: 100, size: scale(100.0), clip: clip(1.0), rounds: 100 };
    let (step, own): (f64, f64) = (0.01, 0.5);
    (batches, 0.3 / 100f64.powf(1.0 / 6.0) * step, 1.0 - step + step * own)
}

pub(super) fn ce_4() -> Vec<Outcome> {
    let (batches, gamma, keep) = hidden_state();
    let claimed = guarantee(1.0, 1e-5);
    let sigma =
        remark_10_multiplier(claimed.epsilon, claimed.delta, &batches, gamma, scale(1e-9), 1)
            .expect("literals in range");
    // The difference of the two states; round t sends state t with fresh noise. The lattice is a
    // millionth of the noise, which is therefore as good as Gaussian.
    let (mut apart, mut square) = (0.0, 0.0);
    for _ in 0..batches.rounds {
        square += (apart / sigma.get()).powi(2);
        apart = keep * apart + 2.0 * gamma * batches.clip.get() / batches.records as f64;
    }
    vec![Outcome::gaussian("full batches", claimed, f64::sqrt(square))]
}

pub(super) fn ce_5() -> Vec<Outcome> {
    let run = |claimed: Guarantee| {
        let sd = remark_6_multiplier(claimed.epsilon, claimed.delta, 1000, 1000);
        let sd = sd.expect("literals in range").get();
        Exceedance { chance: 1e-3, rounds: 1000.0, shift: 1.0, sd }
    };
    let (five, one) = (guarantee(5.0, 1e-5), guarantee(1.0, 1e-5));
    let first = run(five).outcome("epsilon 5", five);
    let mut second = run(one).outcome("epsilon 1", one);
    // One threshold is a coarse attack here; the loss distribution has a certified lower end.
    let batches = Batches { records: 1000, size: scale(1.0), clip: clip(1.0), rounds: 1000 };
    let lower = remark_6_multiplier(one.epsilon, one.delta, 1000, 1000)
        .and_then(|s| quantised::poisson_event(&batches, s))
        .map(|event| Accountant::Pld.epsilon(&event, Adjacency::AddRemove, one.delta))
        .expect("literals in range")
        .expect("sampled Gaussians have a loss distribution")
        .epsilon_lower;
    if let Some(lower) = lower.filter(|lower| *lower > second.epsilon) {
        second.epsilon = lower;
    }
    vec![first, second]
}

pub(super) fn ce_7() -> Vec<Outcome> {
    let claimed = guarantee(1.0, 1e-4);
    let (windows, shift) = (100, 1.0);
    let sigma = |constant: f64, unsent: f64| {
        let (e, d) = (claimed.epsilon, claimed.delta);
        consensus::theorem_2_7_sigma(constant, e, d, clip(1.0), windows, probability(unsent), 1)
            .expect("literals in range")
            .get()
    };
    let right = (windows as f64).sqrt() * shift / gdp::mu(claimed.epsilon, claimed.delta).get();
    let constant = right / sigma(1.0, 0.0);
    let case = |case, unsent: f64, gap: u64| {
        // A coordinate that is sent every `gap` windows shows `gap` shifts and as many noises.
        let sd = sigma(constant, unsent);
        let sends = windows / gap;
        let one = (gap as f64 * shift).powi(2) / (gap as f64 * sd * sd);
        Outcome::gaussian(case, claimed, (sends as f64 * one).sqrt())
    };
    vec![case("q 0.5", 0.5, 2), case("q 0.9", 0.9, 10), case("q 0.99", 0.99, 100)]
}

pub(super) fn ce_10() -> Vec<Outcome> {
    let (n, beta, m) = (100, 0.04, 2.7);
    let (e1, e3, d1, r2) = (epsilon(1.0), epsilon(0.99), delta(1e-5), rho(0.02));
    let objective = pp::claimed_objective_sigma(e3, d1, n).expect("literals in range").get();
    let output = pp::claimed_output_sigma(beta, r2, scale(m)).expect("literals in range").get();
    // Saturated losses are linear, to any precision, and m x^2/2 is the rest: the minimiser is
    // -(gradient + b1)/m. The solver stops at a gradient of norm beta, away from the other data
    // set's answer.
    let stopped = |gradient: f64, residual: f64| -(gradient - residual) / m;
    let gradient = 0.1_f64.cos() / n as f64;
    let apart = stopped(-gradient, beta) - stopped(gradient, -beta);
    let sd = (objective / m).hypot(output);
    let case = |case, rounds: u64| {
        let claimed = pp::theorem_6_rho(e1, d1, r2, rounds).and_then(|rho| zcdp_epsilon(rho, d1));
        let claimed = Guarantee { epsilon: claimed.expect("literals in range"), delta: d1 };
        Outcome::gaussian(case, claimed, (rounds as f64).sqrt() * apart / sd)
    };
    vec![case("T 1", 1), case("T 30", 30)]
}

pub(super) fn ce_12() -> Vec<Outcome> {
    let claimed = guarantee(1.0, 0.0);
    let (first, second) = ipp::split(claimed.epsilon, 1).expect("literals in range");
    let (threshold, query) =
        ipp::claimed_scales(first, second, 1, scale(1.0)).expect("literals in range");
    let above = |value: f64| laplace_difference_tail(-value, query.get(), threshold.get());
    let laws = [-1.0, 1.0].map(|value| first_above(above(value), 30));
    let ratio = |(p, q): (&f64, &f64)| (p / q).ln();
    let ln_ratios: Vec<f64> = laws[0].iter().zip(&laws[1]).map(ratio).collect();
    let worst = ln_ratios.iter().fold(0.0_f64, |worst, r| worst.max(r.abs()));
    let stick = |p: &[f64], q: &[f64]| -> f64 {
        let factor = claimed.epsilon.get().exp();
        p.iter().zip(q).map(|(p, q)| (p - factor * q).max(0.0)).sum()
    };
    let most = stick(&laws[0], &laws[1]).max(stick(&laws[1], &laws[0]));
    vec![Outcome {
        case: "time of the first broadcast in 30 rounds",
        claimed,
        delta: delta(most),
        epsilon: epsilon(worst),
        // The transcript holds more than the time of the first broadcast.
        exact: false,
        mu: None,
    }]
}

/// Chance that Laplace noise of scale `a` minus one of scale `b` exceeds `t`, for `a != b`.
fn laplace_difference_tail(t: f64, a: f64, b: f64) -> f64 {
    let tail = |t: f64| (a * a * (-t / a).exp() - b * b * (-t / b).exp()) / (2.0 * (a * a - b * b));
    if t >= 0.0 { tail(t) } else { 1.0 - tail(-t) }
}

/// The law of the first success in `rounds` trials; the last entry is "never".
fn first_above(chance: f64, rounds: i32) -> Vec<f64> {
    let mut law: Vec<f64> = (0..rounds).map(|k| (1.0 - chance).powi(k) * chance).collect();
    law.push((1.0 - chance).powi(rounds));
    law
}

/// A run in which a record's gradient is `+shift` or, in the neighbour, `-shift`; it is drawn with
/// `chance` in each round, and the attacker asks whether any round exceeded a threshold.
struct Exceedance {
    chance: f64,
    rounds: f64,
    shift: f64,
    sd: f64,
}

impl Exceedance {
    fn outcome(&self, case: &'static str, claimed: Guarantee) -> Outcome {
        let (e, d) = (claimed.epsilon.get(), claimed.delta.get());
        let (mut most, mut sure) = (0.0_f64, 0.0_f64);
        for k in 1..4000 {
            let threshold = (self.shift + 8.0 * self.sd) * f64::from(k) / 4000.0;
            let with = self.any(self.shift, threshold);
            let without = self.any(-self.shift, threshold);
            most = most.max(with - e.exp() * without);
            if with > d {
                // The union bound on the neighbour's chance, in logs: it may underflow.
                let union = self.rounds.ln() + self.ln_one(-self.shift, threshold);
                sure = sure.max((with - d).ln() - union.min(0.0));
            }
        }
        let epsilon = Epsilon::new(sure).expect("a maximum of at least 0");
        Outcome { case, claimed, delta: delta(most), epsilon, exact: false, mu: None }
    }

    /// Log of the chance that one round exceeds the threshold.
    fn ln_one(&self, shift: f64, threshold: f64) -> f64 {
        let drawn = self.chance.ln() + ln_normal_cdf((shift - threshold) / self.sd);
        ln_add(drawn, (-self.chance).ln_1p() + ln_normal_cdf(-threshold / self.sd))
    }

    /// The chance that any round does.
    fn any(&self, shift: f64, threshold: f64) -> f64 {
        let one = self.ln_one(shift, threshold).exp();
        -(self.rounds * (-one).ln_1p()).exp_m1()
    }
}
