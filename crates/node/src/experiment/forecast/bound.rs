//! How small gradients become: two bounds as functions of the number of rounds.

use undertone_protocol::StepSize;

use super::agreement::Agreement;
use super::constants::Constants;

/// What both bounds are about, for one number of rounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    /// `n`.
    pub nodes: f64,
    /// `d`.
    pub dimension: f64,
    /// `K`.
    pub rounds: u64,
    /// The mean over nodes of the variance of the noise in one coordinate of a mean gradient.
    pub noise: f64,
    /// The mean over nodes of the variance that batches bring in.
    pub batches: f64,
    /// With remembered gradients whose mean is noisy: the mean over nodes of
    /// `(batch / records)^2` times the variance of the noise. Zero without.
    pub memory: f64,
}

/// 003 theorem 1: a bound on the mean squared gradient over rounds and nodes, for steps of
/// `sqrt(n/K)`.
///
/// # References
///
/// Paper 003, equation 10: `(13 F + 6 L |x0|^2 + 18 L b^2 + 24 L d s^2) / sqrt(n K)`, for `K` large
/// enough (equation 92) and gradients that are not clipped.
pub(super) fn theorem_1(constants: &Constants, setting: &Setting) -> f64 {
    let l = constants.smoothness.value;
    let noise = 24.0 * l * setting.dimension * setting.noise;
    (start(constants) + noise) / (setting.nodes * setting.rounds as f64).sqrt()
}

/// 003 equation 12: the `K` that is best by theorem 1 with the noise of theorem 2, which is
/// `s_i^2 = K spread_i`. With records and budgets that differ from node to node the equation's
/// constants are averaged as its proof does.
pub(super) fn equation_12(constants: &Constants, dimension: f64, spread: f64) -> f64 {
    start(constants) / (24.0 * constants.smoothness.value * dimension * spread)
}

/// `13 F + 6 L |x0|^2 + 18 L b^2`.
fn start(constants: &Constants) -> f64 {
    let l = constants.smoothness.value;
    let (gap, b2) = (constants.gap.value, constants.heterogeneity.value);
    13.0 * gap + 6.0 * l * constants.start + 18.0 * l * b2
}

/// Why the bound of [`descent`] says nothing.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, thiserror::Error)]
pub(super) enum TooLong {
    /// Steps must be at most `1/L`.
    #[error(
        "the step {step:.3e} is above 1/L = {most:.3e}, where nothing is proved; take a shorter one"
    )]
    Smoothness { step: f64, most: f64 },
    /// Nodes drift apart faster than they agree.
    #[error(
        "nodes step {step:.3e} and drift apart faster than the network agrees; take steps below \
         {most:.3e}, or more neighbours"
    )]
    Agreement { step: f64, most: f64 },
}

/// A bound on the mean over rounds of the squared gradient of the loss at the mean model, for the
/// plan's own steps, batches, noise and network.
///
/// # Guarantee
///
/// None: it is a prediction. It is a theorem for a loss whose nodes' gradients are `L`-Lipschitz,
/// constant steps, gradients that are unbiased (hence not clipped, and without memory), weights
/// that are doubly stochastic, and constants that hold everywhere, not only where they were
/// estimated. For steps `g`, `v = noise + batches` and windows of `w` rounds that contract by `c`:
///
/// 1. The mean model moves by the mean of all gradients, so smoothness gives, for `g <= 1/L`,
///    `mean |grad f|^2 <= 2 F/(g K) + L g v/n + L^2 X`, where `X` is the mean squared distance of
///    nodes from their mean.
/// 2. That distance is a sum of what was added `t` rounds ago and mixed since, which is at most
///    `c^floor(t/w)` of it. Noise is independent from round to round, so its squares add up: to
///    `g^2 A2 v` with `A2 = w/(1 - c^2)`. Drift adds up to `g^2 A1^2 D` with `A1 = w/(1 - c)`
///    (Young's inequality for convolutions), where `D <= 2 (L^2 X + b^2)`. Both are one less if
///    nodes step before they mix. Hence `X (1 - 4 g^2 A1^2 L^2) <= 2 g^2 (A2 v + 2 A1^2 b^2)`.
/// 3. A noisy memory is a random walk that is added to every gradient: after `k` rounds its
///    variance is `k d memory`, on average `(K - 1)/2` times that, and none of it averages out over
///    rounds. It enters 1 as twice its part that nodes have in common, and 2 beside `b^2`.
///
/// # References
///
/// The steps are those of Lian and others 2017, "Can decentralized algorithms outperform
/// centralized algorithms?", theorem 1, and of Koloskova and others 2020, "A unified theory of
/// decentralized SGD with changing topology and local updates", with the noise of privacy as a part
/// of `v`.
pub(super) fn descent(
    constants: &Constants,
    setting: &Setting,
    agreement: &Agreement,
    step: StepSize,
) -> Result<f64, TooLong> {
    let (l, n) = (constants.smoothness.value, setting.nodes);
    let first = step.at(0);
    if first * l > 1.0 {
        return Err(TooLong::Smoothness { step: first, most: 1.0 / l });
    }
    let k = setting.rounds as f64;
    let v = setting.batches + setting.dimension * setting.noise;
    let walk = 0.5 * (k - 1.0) * setting.dimension * setting.memory;
    // How many terms a square of a sum has, in steps 1 and 2.
    let (ways, parts) = if setting.memory > 0.0 { (2.0, 3.0) } else { (1.0, 2.0) };
    let Agreement { squares, sums } = *agreement;
    let feedback = 2.0 * parts * (first * sums * l).powi(2);
    if feedback >= 1.0 {
        let most = 1.0 / (l * sums * (2.0 * parts).sqrt());
        return Err(TooLong::Agreement { step: first, most });
    }
    let drift = parts * sums * sums * (constants.heterogeneity.value + walk);
    let apart = 2.0 * (squares * v + drift) / (1.0 - feedback);
    let [sum, square, cube] = powers(step, setting.rounds);
    let descent = 2.0 * constants.gap.value / sum + l * v / n * square / sum;
    Ok(descent + ways * (l * l * apart * cube / sum + walk / n))
}

/// The constant step for which the bound of [`descent`] is least, and that bound.
pub(super) fn best_step(
    constants: &Constants,
    setting: &Setting,
    agreement: &Agreement,
) -> Option<(f64, f64)> {
    let longest = 1.0 / constants.smoothness.value;
    let steps = (0..STEPS).map(|k| longest * 10f64.powf(-STEP_DECADES * k as f64 / STEPS as f64));
    let bound = |step: f64| {
        let error = descent(constants, setting, agreement, StepSize::Constant(step)).ok()?;
        Some((step, error))
    };
    steps.filter_map(bound).min_by(|a, b| a.1.total_cmp(&b.1))
}

/// Steps that are tried, from the longest down.
const STEPS: u32 = 600;
const STEP_DECADES: f64 = 6.0;

/// Sums of the steps, of their squares and of their cubes: with steps that shrink, rounds are
/// weighted by them.
fn powers(step: StepSize, rounds: u64) -> [f64; 3] {
    if let StepSize::Constant(size) = step {
        return [1, 2, 3].map(|power| rounds as f64 * size.powi(power));
    }
    let mut sums = [0.0; 3];
    for k in 0..rounds {
        let size = step.at(k);
        sums = [sums[0] + size, sums[1] + size * size, sums[2] + size.powi(3)];
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::super::constants::{Constant, Origin};
    use super::*;

    fn constants(l: f64, gap: f64, b2: f64, start: f64) -> Constants {
        let given = |value| Constant { value, origin: Origin::Given };
        let (smoothness, gap) = (given(l), given(gap));
        Constants { smoothness, gap, heterogeneity: given(b2), variance: given(1.0), start }
    }

    fn setting(rounds: u64, noise: f64) -> Setting {
        let (nodes, dimension) = (16.0, 10.0);
        Setting { nodes, dimension, rounds, noise, batches: 0.0, memory: 0.0 }
    }

    /// The numbers of the paper's run on CIFAR-10, with the constant of theory's CE-2.
    #[test]
    fn equation_12_gives_the_rounds_of_the_paper() {
        let constants = constants(25.0, 2.8, 5e5, 7.8e5);
        let spread =
            |epsilon: f64| (3.0 * 0.372_403 * 10.0 / (3125.0 * epsilon)).powi(2) * -(1e-5_f64.ln());
        let best = equation_12(&constants, 11_173_962.0, spread(3.0));
        assert!((best / 3120.0 - 1.0).abs() < 1e-4, "{best}");
        // It is the minimum of theorem 1 with that noise, and goes with epsilon squared.
        let at = |rounds: u64| {
            let noise = spread(3.0) * rounds as f64;
            theorem_1(&constants, &Setting { dimension: 11_173_962.0, ..setting(rounds, noise) })
        };
        assert!(at(3120) < at(3000) && at(3120) < at(3250));
        let half = equation_12(&constants, 11_173_962.0, spread(1.5));
        assert!((best / half - 4.0).abs() < 1e-9);
    }

    /// `f(x) = L x^2/2` for one node: the mean squared gradient of `K` noisy steps is known.
    #[test]
    fn the_bound_holds_and_is_near_for_a_quadratic() {
        let (l, step, noise, start) = (2.0_f64, 0.1, 0.3_f64, 1.0_f64);
        let alone = Agreement { squares: 0.0, sums: 0.0 };
        let given = constants(l, 0.5 * l * start * start, 0.0, start * start);
        for rounds in [10_u32, 100, 1000] {
            let (mut square, mut total) = (start * start, 0.0);
            for _ in 0..rounds {
                total += l * l * square;
                square = (1.0 - step * l).powi(2) * square + step * step * noise;
            }
            let truth = total / f64::from(rounds);
            let here = Setting { nodes: 1.0, dimension: 1.0, ..setting(u64::from(rounds), noise) };
            let bound = descent(&given, &here, &alone, StepSize::Constant(step)).unwrap();
            assert!(truth <= bound && bound < 2.0 * truth, "{truth} {bound}");
        }
    }

    /// Two nodes that want -1 and 1, over a ring of two with a kept share: simulated without noise.
    #[test]
    fn the_bound_holds_for_nodes_that_drift_apart() {
        let (l, step, kept) = (1.0_f64, 0.05, 0.8_f64);
        // Weights [kept, 1 - kept]: disagreement shrinks by 2 kept - 1 in a round.
        let c = 2.0 * kept - 1.0;
        let agreement = Agreement { squares: 1.0 / (1.0 - c * c), sums: 1.0 / (1.0 - c) };
        let given = constants(l, 0.5 * 9.0, 1.0, 9.0);
        let (mut x, mut total, rounds) = ([3.0_f64, 3.0], 0.0, 400);
        for _ in 0..rounds {
            total += (0.5 * (x[0] + x[1])).powi(2);
            let mixed = [kept * x[0] + (1.0 - kept) * x[1], kept * x[1] + (1.0 - kept) * x[0]];
            x = [mixed[0] - step * l * (x[0] + 1.0), mixed[1] - step * l * (x[1] - 1.0)];
        }
        let here = Setting { nodes: 2.0, dimension: 1.0, ..setting(rounds, 0.0) };
        let bound = descent(&given, &here, &agreement, StepSize::Constant(step)).unwrap();
        assert!(total / rounds as f64 <= bound, "{total} {bound}");
    }

    #[test]
    fn steps_that_are_too_long_have_no_bound() {
        let given = constants(4.0, 1.0, 1.0, 1.0);
        let slow = Agreement { squares: 100.0, sums: 100.0 };
        let at = |size| descent(&given, &setting(10, 1.0), &slow, StepSize::Constant(size));
        assert_eq!(at(0.3), Err(TooLong::Smoothness { step: 0.3, most: 0.25 }));
        assert!(matches!(at(0.01), Err(TooLong::Agreement { .. })));
        assert!(at(0.001).is_ok());
        let (best, error) = best_step(&given, &setting(10, 1.0), &slow).unwrap();
        assert!(
            [0.5, 0.9, 1.1, 2.0].iter().all(|f| at(f * best).is_err() || at(f * best) > Ok(error))
        );
        let shrinking = StepSize::Decaying { first: 0.001, power: 0.5 };
        assert!(descent(&given, &setting(10, 1.0), &slow, shrinking).is_ok());
    }
}
