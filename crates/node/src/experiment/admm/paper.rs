//! The noise that the papers ask for, and what they claim for it.

use undertone_privacy::accountant::zcdp;
use undertone_privacy::claims::admm::{ipp, pp, pr};
use undertone_privacy::claims::gaussian::{lemma_3_rho, zcdp_epsilon};
use undertone_privacy::claims::recycled::{self, Iteration};
use undertone_privacy::mechanism::GaussianMechanism;
use undertone_privacy::units::{Delta, Epsilon, OutOfRange, Rho, Scale};

use super::facts::Facts;
use super::noise::{has_knorm, objective, schedule, sparing_with, steps};
use crate::experiment::protection::{Asked, Claim, at};
use crate::plan::{AlgorithmWord, ModeWord, PlanError};
use crate::private::{MinimiserMechanism, MinimiserProtection};

/// The part of a round's budget that paper 000 gives to the noise on the output.
const SPLITS: f64 = 0.001;

/// Where the claim is made.
pub(super) fn source(facts: &Facts<'_>) -> &'static str {
    match facts.plan.algorithm.name {
        AlgorithmWord::PrAdmmPeriodic => "000 Theorem 2",
        AlgorithmWord::PrAdmmIteration => "000 Theorem 3",
        AlgorithmWord::PpAdmm => "000 Theorem 6",
        AlgorithmWord::IppAdmm => "000 Lemma 13",
        AlgorithmWord::Dvp => "002 Theorem V.1 for all iterations (baseline)",
        AlgorithmWord::MAdmm => "Zhang, Khalili, Liu 2018 (baseline of 002)",
        _ => "002 Theorem V.1",
    }
}

/// The paper's mechanisms for a budget.
pub(super) fn protection(
    facts: &Facts<'_>,
    asked: &Asked,
) -> Result<MinimiserProtection, PlanError> {
    if has_knorm(facts) {
        return recycled_steps(facts, asked.epsilon());
    }
    let wrong = at("privacy.epsilon");
    let (epsilon, delta) = (asked.epsilon(), asked.delta);
    match facts.plan.algorithm.name {
        AlgorithmWord::IppAdmm => ipp_paper(facts, epsilon, delta).map_err(wrong),
        AlgorithmWord::PpAdmm => pp_paper(facts, epsilon, delta),
        _ => {
            let first = || -> Result<Scale, OutOfRange> {
                let schedule = schedule(facts)?.expect("only PR-ADMM is left");
                let eta_v = 0.5 * facts.penalty.quadratic(0, facts.neighbours);
                let rho = zcdp::rho(epsilon, delta);
                pr::claimed_sigma(rho, facts.lipschitz, eta_v, &schedule, facts.iterations)
            };
            let sigma = first().map_err(at("privacy.epsilon"))?;
            steps(facts, sigma, false).map_err(wrong)
        }
    }
}

/// What the paper says of noise whose size is given, if it does.
pub(super) fn claim_of(facts: &Facts<'_>, sigma: Scale, delta: Delta) -> Option<Claim> {
    let source = source(facts);
    if has_knorm(facts) {
        let alpha = (facts.dimension as f64 + 1.0).sqrt() / sigma.get();
        let epsilon = recycled_epsilon(facts, alpha).ok()?;
        // The theorem is about pure privacy.
        return Some(Claim { source, epsilon, delta: Delta::new(0.0).ok()? });
    }
    let schedule = schedule(facts).ok()??;
    let eta_v = 0.5 * facts.penalty.quadratic(0, facts.neighbours);
    let rho = pr::claimed_rho(facts.lipschitz, eta_v, sigma, &schedule, facts.iterations).ok()?;
    Some(Claim { source, epsilon: zcdp_epsilon(rho, delta).ok()?, delta })
}

/// Budgets of one round by paper 000: for the noise in the objective, and for that on the output.
fn rhos(total: f64, rounds: f64) -> Result<(Rho, Rho), OutOfRange> {
    Ok((Rho::new((1.0 - SPLITS) * total / rounds)?, Rho::new(SPLITS * total / rounds)?))
}

fn pp_paper(
    facts: &Facts<'_>,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<MinimiserProtection, PlanError> {
    let n = facts.records as u64;
    let chosen = || -> Result<(Scale, Scale, Scale), OutOfRange> {
        let total = lemma_3_rho(epsilon, delta)?.get();
        let (rho_1, rho_2) = rhos(total, facts.iterations as f64)?;
        let one = zcdp_epsilon(rho_1, delta)?;
        let three = Epsilon::new(0.99 * one.get())?;
        let nodes = u64::from(facts.plan.network.nodes);
        let ridge = pp::claimed_ridge(one, three, nodes, n, facts.smoothness)?;
        let convexity = Scale::new(facts.convexity(0))?;
        let output = pp::claimed_output_sigma(facts.tolerance, rho_2, convexity)?;
        Ok((pp::claimed_objective_sigma(three, delta, n)?, output, ridge))
    };
    let wrong = at("privacy.epsilon");
    let (first, second, ridge) = chosen().map_err(&wrong)?;
    let least = ridge.get() / f64::from(facts.plan.network.nodes);
    if facts.admm.ridge < least {
        let message = format!("theorem 6 of paper 000 needs at least {least:.6} here");
        return Err(PlanError::new("algorithm.admm.ridge", message));
    }
    let mechanism = || -> Result<MinimiserMechanism, OutOfRange> {
        if facts.admm.mode == Some(ModeWord::Objective) {
            let mechanism = objective(facts, first, Some(second), 0)?;
            return Ok(MinimiserMechanism::Objective(mechanism));
        }
        let sensitivity = facts.problem(0)?.sensitivity()?;
        Ok(MinimiserMechanism::Output(GaussianMechanism { sensitivity, sigma: second }))
    };
    let step = (facts.convexity(0), mechanism().map_err(wrong)?);
    let steps = vec![step; facts.iterations as usize];
    Ok(MinimiserProtection::Steps { steps: steps.into(), every: facts.every })
}

/// Half of the budget for comparisons, as the paper does not say how it is split.
fn ipp_paper(
    facts: &Facts<'_>,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<MinimiserProtection, OutOfRange> {
    let total = lemma_3_rho(epsilon, delta)?.get();
    let cutoff = facts.admm.cutoff.unwrap_or(1);
    let loss_clip = Scale::new(facts.admm.loss_clip.unwrap_or(f64::NAN))?;
    let (first, second) = ipp::split(Epsilon::new(total.sqrt())?, cutoff)?;
    let scales = ipp::claimed_scales(first, second, cutoff, loss_clip)?;
    let (_, rho_2) = rhos(0.5 * total, cutoff as f64)?;
    let convexity = Scale::new(facts.convexity(0))?;
    let output = pp::claimed_output_sigma(facts.tolerance, rho_2, convexity)?;
    sparing_with(facts, scales, output)
}

/// The total that is claimed for a rate; it is linear in the rate.
fn recycled_epsilon(facts: &Facts<'_>, alpha: f64) -> Result<Epsilon, OutOfRange> {
    let node = recycled::Node {
        records: facts.records as u64,
        weight: Scale::new(facts.lipschitz)?,
        ridge: facts.admm.ridge,
        neighbours: facts.neighbours as u64,
        smoothness: facts.smoothness / facts.lipschitz,
    };
    let iteration = |k| {
        let eta = Scale::new(facts.penalty.at(k))?;
        Ok(Iteration { eta, rate: Scale::new(alpha)? })
    };
    let all = (0..facts.iterations).map(iteration).collect::<Result<Vec<_>, OutOfRange>>()?;
    match facts.plan.algorithm.name {
        AlgorithmWord::MAdmm => recycled::m_admm_epsilon(&node, &all),
        _ => recycled::theorem_v1_epsilon(&node, &all),
    }
}

fn recycled_steps(facts: &Facts<'_>, epsilon: Epsilon) -> Result<MinimiserProtection, PlanError> {
    let wrong = at("privacy.epsilon");
    let of = |alpha| recycled_epsilon(facts, alpha).map(Epsilon::get).map_err(at("privacy.noise"));
    let (one, two) = (of(1.0)?, of(2.0)?);
    let alpha = 1.0 + (epsilon.get() - one) / (two - one);
    let reachable = alpha > 0.0;
    if !reachable {
        let least = 2.0 * one - two;
        let message = format!(
            "the theorem charges {least:.3} for curvature alone; take more, or a larger penalty"
        );
        return Err(PlanError::new("privacy.epsilon", message));
    }
    let sigma = Scale::new((facts.dimension as f64 + 1.0).sqrt() / alpha).map_err(&wrong)?;
    steps(facts, sigma, false).map_err(wrong)
}
