//! From a budget to mechanisms, or from mechanisms to what they cost.

use std::sync::Arc;

use undertone_privacy::accountant::Accountant;
use undertone_privacy::calibrate::{CalibrateError, Target};
use undertone_privacy::claims::admm::{ipp, pr};
use undertone_privacy::event::{Event, Gaussian, KNorm, ObjectiveNoise, ObjectivePerturbation};
use undertone_privacy::ledger::{Budget, Filter, Header, Ledger, Tally};
use undertone_privacy::mechanism::{
    AboveThresholdMechanism, GaussianMechanism, ObjectivePerturbationMechanism,
};
use undertone_privacy::units::{Delta, Epsilon, OutOfRange, Probability, Scale, Sensitivity, Unit};

use super::facts::Facts;
use super::{Priced, is_pr, paper};
use crate::experiment::protection::{Asked, Claim, at};
use crate::plan::{AlgorithmWord, ModeWord, NodeBudget, NoisePlan, PlanError, PrivacyPlan};
use crate::private::{MinimiserMechanism, MinimiserProtection, Sparing};

/// The share of an iteration's cost that pays for the solver's tolerance, where noise is in the
/// objective: one part in a hundred of the pure epsilon, or of the square of mu.
const FOR_TOLERANCE: f64 = 0.01;

/// Iterations of M-ADMM that have the same noise.
const ALIKE: u64 = 8;

/// Mechanisms, ledger and claim of one node.
pub(super) fn priced(
    facts: &Facts<'_>,
    own: Option<(&NodeBudget, &str)>,
) -> Result<Priced, PlanError> {
    let Some(privacy) = &facts.plan.privacy else {
        let delta = Delta::new(0.0).map_err(at("privacy"))?;
        let budget = Budget { epsilon: Epsilon::INFINITE, delta };
        let protection = exposed(facts);
        let ledger = ledger(facts, protection.plan(), budget)?;
        return Ok(Priced { protection, ledger, claim: None });
    };
    let asked = Asked::allowing_pure(privacy, own, has_knorm(facts))?;
    let (protection, claim) = match privacy.noise {
        NoisePlan::Sound => (sound(facts, &asked)?, None),
        NoisePlan::Paper => {
            let protection = paper::protection(facts, &asked)?;
            let source = paper::source(facts);
            (protection, Some(Claim { source, epsilon: asked.epsilon(), delta: asked.delta }))
        }
        NoisePlan::Fixed { sigma: 0.0 } => (exposed(facts), None),
        NoisePlan::Fixed { sigma } => {
            let size = Scale::new(sigma).map_err(at("privacy.noise"))?;
            let wrong = at("privacy.noise");
            let protection = fixed(facts, size)?.map_err(wrong)?;
            (protection, paper::claim_of(facts, size, asked.delta))
        }
    };
    let event = protection.plan();
    let epsilon = match asked.epsilon.filter(|_| privacy.noise == NoisePlan::Sound) {
        Some(epsilon) => epsilon,
        None => {
            let price = Accountant::Best.epsilon_upper(&event, facts.adjacency(), asked.delta);
            price.map_err(|e| PlanError::new("privacy", e.to_string()))?.epsilon
        }
    };
    let ledger = ledger(facts, event, Budget { epsilon, delta: asked.delta })?;
    Ok(Priced { protection, ledger, claim })
}

fn exposed(facts: &Facts<'_>) -> MinimiserProtection {
    let steps = vec![(0.0, MinimiserMechanism::Exposed); facts.iterations as usize];
    MinimiserProtection::Steps { steps: steps.into(), every: facts.every }
}

/// The least noise that keeps the budget.
fn sound(facts: &Facts<'_>, asked: &Asked) -> Result<MinimiserProtection, PlanError> {
    // Gaussians alone are exact there, and so is the sum of pure parts.
    let exactly = !has_noise_in_objective(facts) || asked.delta.get() == 0.0;
    let target = Target {
        epsilon: asked.epsilon(),
        delta: asked.delta,
        adjacency: facts.adjacency(),
        // Profiles of objective perturbation are priced soonest, and best, by their loss.
        accountant: if exactly { Accountant::Gdp } else { Accountant::Pld },
    };
    let made = |z: Scale| match facts.plan.algorithm.name {
        AlgorithmWord::IppAdmm => sparing(facts, asked, z),
        _ => steps(facts, scaled(facts, z)?, asked.delta.get() == 0.0),
    };
    let family = |z: Scale| made(z).map_or(Event::NonPrivate, |protection| protection.plan());
    let z = target
        .noise(family)
        .map_err(|error: CalibrateError| PlanError::new("privacy.epsilon", error.to_string()))?;
    made(z).map_err(at("privacy.epsilon"))
}

/// A noise in units of what one record moves.
fn scaled(facts: &Facts<'_>, z: Scale) -> Result<Scale, OutOfRange> {
    let moved = if has_noise_in_objective(facts) {
        facts.gradient() * penalised(facts, 0)
    } else {
        let sensitivity = facts.problem(0)?.sensitivity()?;
        sensitivity.under(facts.adjacency()).expect("known under both adjacencies")
    };
    // A coordinate of K-norm noise is longer by the root of their number.
    let knorm = if has_knorm(facts) { (facts.dimension as f64 + 1.0).sqrt() } else { 1.0 };
    Scale::new(z.get() * moved * knorm)
}

/// Noise of a size that is given.
fn fixed(
    facts: &Facts<'_>,
    sigma: Scale,
) -> Result<Result<MinimiserProtection, OutOfRange>, PlanError> {
    if facts.plan.algorithm.name == AlgorithmWord::IppAdmm {
        let message = "ipp-admm has three noises; take \"sound\" or \"paper\"";
        return Err(PlanError::new("privacy.noise", message));
    }
    Ok(steps(facts, sigma, false))
}

/// Mechanisms of all iterations, given the standard deviation of a coordinate of the (first) noise.
/// Problems become more convex with a growing penalty; unless `each` is wanted they are charged as
/// the first one, which is the dearest, for one price is computed sooner than many.
pub(super) fn steps(
    facts: &Facts<'_>,
    sigma: Scale,
    each: bool,
) -> Result<MinimiserProtection, OutOfRange> {
    let schedule = schedule(facts)?;
    let step = |k: u64| -> Result<_, OutOfRange> {
        let planned = match facts.plan.algorithm.name {
            _ if each => k,
            // Its noise is multiplied by the penalty, in steps so that few prices are needed.
            AlgorithmWord::MAdmm => k - k % ALIKE,
            _ => 0,
        };
        let mechanism = if has_knorm(facts) {
            MinimiserMechanism::Objective(knorm(facts, sigma, planned)?)
        } else if has_noise_in_objective(facts) {
            MinimiserMechanism::Objective(objective(facts, sigma, None, planned)?)
        } else {
            let decay = schedule.map_or(1.0, |schedule| schedule.decay(k).sqrt());
            let sensitivity = facts.problem(planned)?.sensitivity()?;
            let sigma = Scale::new(sigma.get() / decay)?;
            MinimiserMechanism::Output(GaussianMechanism { sensitivity, sigma })
        };
        Ok((facts.convexity(planned), mechanism))
    };
    let steps = (0..facts.iterations).map(step).collect::<Result<Vec<_>, _>>()?;
    Ok(MinimiserProtection::Steps { steps: steps.into(), every: facts.every })
}

/// How PR-ADMM's noise falls.
pub(super) fn schedule(facts: &Facts<'_>) -> Result<Option<pr::Schedule>, OutOfRange> {
    if !is_pr(facts.plan.algorithm.name) {
        return Ok(None);
    }
    let number = |written: Option<f64>| written.unwrap_or(f64::NAN);
    Ok(Some(match facts.plan.algorithm.name {
        AlgorithmWord::PrAdmmPeriodic => {
            let period = facts.admm.period.unwrap_or(1);
            pr::Schedule::Periodic { period, ratio: Probability::new(number(facts.admm.ratio))? }
        }
        _ => pr::Schedule::Iteration { growth: Scale::new(number(facts.admm.decay))? },
    }))
}

/// Gaussian noise in the objective; on the output what is given, or what the tolerance needs.
pub(super) fn objective(
    facts: &Facts<'_>,
    sigma: Scale,
    output: Option<Scale>,
    iteration: u64,
) -> Result<ObjectivePerturbationMechanism, OutOfRange> {
    let gradient = facts.gradient();
    let sensitivity = Sensitivity::both(gradient, 2.0 * gradient)?;
    let problem = facts.problem(iteration)?;
    let tolerance = problem.tolerance_sensitivity()?;
    let output = match output {
        Some(output) => output,
        None => {
            let moved = 2.0 * facts.tolerance / problem.convexity.get();
            let mu = FOR_TOLERANCE.sqrt() * gradient / sigma.get();
            Scale::new(moved / mu)?
        }
    };
    Ok(ObjectivePerturbationMechanism {
        objective: ObjectivePerturbation {
            noise: ObjectiveNoise::Gaussian(Gaussian { sensitivity, sigma }),
            curvature: Scale::new(facts.curvature(iteration))?,
            sign_definite: facts.sign_definite,
        },
        output: Some(ObjectiveNoise::Gaussian(Gaussian { sensitivity: tolerance, sigma: output })),
        dimension: facts.dimension,
    })
}

/// K-norm noise in the objective, and on the output for the tolerance.
fn knorm(
    facts: &Facts<'_>,
    sigma: Scale,
    iteration: u64,
) -> Result<ObjectivePerturbationMechanism, OutOfRange> {
    let dimension = facts.dimension;
    let gradient = facts.gradient();
    let rate = (dimension as f64 + 1.0).sqrt() / sigma.get() * penalised(facts, iteration);
    let noise = KNorm {
        sensitivity: Sensitivity::both(gradient, 2.0 * gradient)?,
        rate: Scale::new(rate)?,
        dimension,
    };
    let problem = facts.problem(iteration)?;
    let moved = 2.0 * facts.tolerance / problem.convexity.get();
    let tolerance = KNorm {
        sensitivity: problem.tolerance_sensitivity()?,
        rate: Scale::new(FOR_TOLERANCE * gradient * rate / moved)?,
        dimension,
    };
    Ok(ObjectivePerturbationMechanism {
        objective: ObjectivePerturbation {
            noise: ObjectiveNoise::KNorm(noise),
            curvature: Scale::new(facts.curvature(iteration))?,
            sign_definite: facts.sign_definite,
        },
        output: Some(ObjectiveNoise::KNorm(tolerance)),
        dimension,
    })
}

/// M-ADMM's noise is in the penalty: as a linear term it is multiplied by `2 eta V`, and its rate
/// divided.
fn penalised(facts: &Facts<'_>, iteration: u64) -> f64 {
    match facts.plan.algorithm.name {
        AlgorithmWord::MAdmm => 1.0 / facts.penalty.quadratic(iteration, facts.neighbours),
        _ => 1.0,
    }
}

/// Comparisons for their share of the budget, and outputs with noise of so many sensitivities.
fn sparing(facts: &Facts<'_>, asked: &Asked, z: Scale) -> Result<MinimiserProtection, OutOfRange> {
    let share = facts.admm.test_share.unwrap_or(0.25);
    let test = Epsilon::new(share * asked.epsilon().get())?;
    let loss_clip = Scale::new(facts.admm.loss_clip.unwrap_or(f64::NAN))?;
    let cutoff = facts.admm.cutoff.unwrap_or(1);
    let problem = facts.problem(0)?;
    let scales = ipp::scales(&problem, loss_clip, test, cutoff, facts.adjacency())?;
    sparing_with(facts, scales, scaled(facts, z)?)
}

/// The same with given noise: of the threshold and of queries, and on the output.
pub(super) fn sparing_with(
    facts: &Facts<'_>,
    (threshold_scale, query_scale): (Scale, Scale),
    sigma: Scale,
) -> Result<MinimiserProtection, OutOfRange> {
    let loss_clip = Scale::new(facts.admm.loss_clip.unwrap_or(f64::NAN))?;
    let problem = facts.problem(0)?;
    Ok(MinimiserProtection::Sparing(Arc::new(Sparing {
        comparisons: AboveThresholdMechanism {
            sensitivity: ipp::query_sensitivity(&problem, loss_clip)?,
            threshold_scale,
            query_scale,
            cutoff: facts.admm.cutoff.unwrap_or(1),
        },
        output: GaussianMechanism { sensitivity: problem.sensitivity()?, sigma },
        loss_clip: loss_clip.get(),
        threshold: facts.admm.threshold.unwrap_or(f64::NAN),
        convexity: facts.convexity(0),
    })))
}

pub(super) fn has_knorm(facts: &Facts<'_>) -> bool {
    use AlgorithmWord as Word;
    let name = facts.plan.algorithm.name;
    matches!(name, Word::Dvp | Word::MAdmm | Word::PrivateMrAdmm | Word::PrivateRAdmm)
}

fn has_noise_in_objective(facts: &Facts<'_>) -> bool {
    let pp = facts.plan.algorithm.name == AlgorithmWord::PpAdmm;
    has_knorm(facts) || (pp && facts.admm.mode == Some(ModeWord::Objective))
}

fn ledger(facts: &Facts<'_>, event: Event, budget: Budget) -> Result<Ledger<Tally>, PlanError> {
    let filter = Filter::Planned { event };
    let adjacency = facts.adjacency();
    let header = Header { node: 0, budget, adjacency, unit: Unit::Record, filter };
    Ledger::open(header, Tally::default())
        .map_err(|error| PlanError::new("privacy", error.to_string()))
}

impl Asked {
    /// A delta of zero is allowed where noise gives pure privacy.
    fn allowing_pure(
        privacy: &PrivacyPlan,
        own: Option<(&NodeBudget, &str)>,
        pure: bool,
    ) -> Result<Self, PlanError> {
        let delta = own.map_or(privacy.delta, |(own, _)| own.delta);
        if !pure || delta != 0.0 {
            return Self::new(privacy, own);
        }
        // The rest is checked with a delta that is in range.
        let stand_in = PrivacyPlan { delta: 0.5, ..privacy.clone() };
        let own_stand_in = own.map(|(own, key)| (NodeBudget { delta: 0.5, ..*own }, key));
        let own = own_stand_in.as_ref().map(|(own, key)| (own, *key));
        let asked = Self::new(&stand_in, own)?;
        Ok(Self { delta: Delta::new(0.0).map_err(at("privacy.delta"))?, ..asked })
    }
}
