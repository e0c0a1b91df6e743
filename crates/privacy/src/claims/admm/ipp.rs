//! IPP-ADMM (000 Algorithm 3): PP-ADMM that sends only when a noisy comparison says it is worth it.

use super::{Subproblem, pp};
use crate::claims::gaussian::zcdp_epsilon;
use crate::claims::{Claim, Comparison, Guarantee, Verdict, delta, epsilon, priced, scale};
use crate::event::{AboveThreshold, Event, Laplace};
use crate::units::{Adjacency, Epsilon, OutOfRange, Rho, Scale, Sensitivity};

pub(crate) const CLAIM: Claim = Claim {
    algorithm: "ipp-admm",
    paper: "000 Lemma 13",
    verdict: Verdict::Unsound,
    reason: "threshold noise is drawn anew every round, so silent rounds are not free",
    shipped: "one threshold noise per run, loss-only query, noise on the output (pure + gdp)",
    counterexample: Some("CE-12"),
    example,
};

/// The paper's total: `(eps1 + eps2)^2/2 + c (rho1 + rho2)`.
pub fn claimed_rho(
    epsilon_1: Epsilon,
    epsilon_2: Epsilon,
    cutoff: u64,
    rho_1: Rho,
    rho_2: Rho,
) -> Result<Rho, OutOfRange> {
    let test = 0.5 * (epsilon_1.get() + epsilon_2.get()).powi(2);
    Rho::new(test + cutoff as f64 * (rho_1.get() + rho_2.get()))
}

/// Scales of the threshold's and the queries' Laplace noise as printed: `2 c C/eps1`, `4 c C/eps2`.
pub fn claimed_scales(
    epsilon_1: Epsilon,
    epsilon_2: Epsilon,
    cutoff: u64,
    loss_clip: Scale,
) -> Result<(Scale, Scale), OutOfRange> {
    let unit = 2.0 * cutoff as f64 * loss_clip.get();
    Ok((Scale::new(unit / epsilon_1.get())?, Scale::new(2.0 * unit / epsilon_2.get())?))
}

/// The split of a test budget over threshold and queries: 1 to `(2c)^(2/3)`.
pub fn split(test: Epsilon, cutoff: u64) -> Result<(Epsilon, Epsilon), OutOfRange> {
    let weight = (2.0 * cutoff as f64).powf(2.0 / 3.0);
    let first = test.get() / (1.0 + weight);
    Ok((Epsilon::new(first)?, Epsilon::new(test.get() - first)?))
}

/// How far one record moves the loss-only query: `2C/n + ((n-1)/n) V dx` when it is replaced,
/// `C/n + V dx` when it is added or removed, where `dx` is how far it moves the returned point and
/// `V` bounds how fast a loss changes with it.
pub fn query_sensitivity(
    problem: &Subproblem,
    loss_clip: Scale,
) -> Result<Sensitivity, OutOfRange> {
    let (n, clip) = (problem.records as f64, loss_clip.get());
    let moved = |adjacency| Ok(problem.lipschitz.get() * problem.shift(adjacency)?);
    let add_remove = clip / n + moved(Adjacency::AddRemove)?;
    let replace = 2.0 * clip / n + (n - 1.0) / n * moved(Adjacency::Replace)?;
    Sensitivity::both(add_remove, replace)
}

/// Scales that spend `split(test)` under `adjacency`: `Dq/e1` and `2 c Dq/e2`.
pub fn scales(
    problem: &Subproblem,
    loss_clip: Scale,
    test: Epsilon,
    cutoff: u64,
    adjacency: Adjacency,
) -> Result<(Scale, Scale), OutOfRange> {
    let (first, second) = split(test, cutoff)?;
    let moved = query_sensitivity(problem, loss_clip)?
        .under(adjacency)
        .expect("the query's sensitivity is known under both adjacencies");
    let queries = 2.0 * cutoff as f64 * moved / second.get();
    Ok((Scale::new(moved / first.get())?, Scale::new(queries)?))
}

/// What a node's run emits: one sparse vector test and at most `cutoff` noisy outputs.
///
/// # Guarantee
///
/// Both adjacencies: `delta(eps) <= delta_G(eps - e1 - e2; sqrt(c) mu2)`, because given the
/// objective's noise the density of a transcript is that of the bits times that of the Gaussians.
/// It needs one threshold noise per run, a query of clipped losses without regulariser, and silence
/// for good after `cutoff` broadcasts.
///
/// # References
///
/// Theory 2.3 and A5, in place of 000 Lemmas 12 and 13; Lyu, Su, Li 2017 for the sparse vector.
pub fn event(
    problem: &Subproblem,
    loss_clip: Scale,
    scales: (Scale, Scale),
    output: Scale,
    cutoff: u64,
) -> Result<Event, OutOfRange> {
    let test = Event::AboveThreshold(AboveThreshold {
        sensitivity: query_sensitivity(problem, loss_clip)?,
        threshold_scale: scales.0,
        query_scale: scales.1,
        cutoff,
    });
    let release = Event::gaussian(problem.sensitivity()?, output).repeated(cutoff);
    Ok(Event::Composed(vec![test, release]))
}

/// The algorithm as printed, with noise drawn anew every round, but with the loss-only query.
///
/// # Guarantee
///
/// Both adjacencies: every one of `rounds` bits is a function of the query with Laplace noise of
/// the larger of the two scales, and at most `cutoff` outputs are sent. Silence is charged too.
///
/// # References
///
/// Theory 2.3, last paragraph; 000 Algorithm 3.
pub fn printed_event(
    problem: &Subproblem,
    loss_clip: Scale,
    scales: (Scale, Scale),
    output: Scale,
    cutoff: u64,
    rounds: u64,
) -> Result<Event, OutOfRange> {
    let bit = Event::Laplace(Laplace {
        sensitivity: query_sensitivity(problem, loss_clip)?,
        scale: if scales.0 > scales.1 { scales.0 } else { scales.1 },
    });
    let release = Event::gaussian(problem.sensitivity()?, output).repeated(cutoff.min(rounds));
    Ok(Event::Composed(vec![bit.repeated(rounds), release]))
}

fn example() -> Comparison {
    let cutoff = 15;
    let defaults = pp::Defaults::new(epsilon(1.0), delta(1e-4)).expect("literals in range");
    let (first, second) = split(epsilon(0.5), cutoff).expect("literals in range");
    let claimed = claimed_rho(first, second, cutoff, defaults.rho_1, defaults.rho_2)
        .and_then(|rho| zcdp_epsilon(rho, delta(1e-4)))
        .expect("literals in range");
    let printed = claimed_scales(first, second, cutoff, scale(2.0)).expect("literals in range");
    let event = event(&defaults.problem, scale(2.0), printed, defaults.output, cutoff)
        .expect("literals in range");
    let instance = "n 7000, c 15, C 2, test budget 0.5; true side: the redesign at the same noise";
    let claimed = Guarantee { epsilon: claimed, delta: delta(1e-4) };
    priced(instance, Some(claimed), &event, Adjacency::Replace)
}
