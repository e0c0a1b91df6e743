//! Noise and budget of a node: from what a plan says to what is proved.

use std::sync::Arc;

use serde::Serialize;
use undertone_privacy::accountant::gdp;
use undertone_privacy::claims::{consensus, dgd};
use undertone_privacy::event::Event;
use undertone_privacy::ledger::Budget;
use undertone_privacy::units::{
    Adjacency, ClipNorm, Delta, Epsilon, Mu, OutOfRange, Scale, Sensitivity,
};

use undertone_real::Real;

use super::{data, is_fixed};
use crate::plan::{
    AlgorithmWord, NodeBudget, NoisePlan, NumbersPlan, Plan, PlanError, PrivacyPlan,
};
use crate::private::{Bound, Noise, Private, PrivateSteps, PrivateVector};

/// What a paper claims for the noise that is used; the ledger says what is true.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// Where.
    pub source: &'static str,
    /// The claimed epsilon.
    pub epsilon: Epsilon,
    /// At this delta.
    pub delta: Delta,
}

/// How one node is protected.
pub(super) struct Protection {
    pub(super) event: Event,
    pub(super) budget: Budget,
    pub(super) claim: Option<Claim>,
    bound: Bound,
    noise: Noises,
}

enum Noises {
    Vector(Noise),
    Steps(Arc<[Noise]>),
}

/// The ledger's inverse of the profile is rounded against us, so a budget that is computed from
/// the noise needs this much room for the noise to fit into it.
const ROOM: f64 = 1e-10;

impl Protection {
    /// By the common budget, or that of one node, which is at `key` in the plan.
    pub(super) fn new(plan: &Plan, own: Option<(&NodeBudget, &str)>) -> Result<Self, PlanError> {
        let bound = bound(plan);
        let steps = (plan.algorithm.name == AlgorithmWord::TwoStage)
            .then(|| (plan.algorithm.steps.unwrap_or(0), plan.algorithm.printed == Some(true)));
        let Some(privacy) = &plan.privacy else {
            return Self::exposed(bound, steps.map(|(steps, _)| steps));
        };
        let asked = Asked::new(privacy, own)?;
        if let Bound::Box { radius } | Bound::Ball { radius } = privacy.bound()
            && !(radius > 0.0 && radius.is_finite())
        {
            let message = format!("radius must be positive and finite, got {radius}");
            return Err(PlanError::new("privacy.clip", message));
        }
        let noise = match steps {
            None => Noises::Vector(vector_noise(plan, privacy, &asked)?),
            Some((steps, printed)) => {
                let mut noise = step_noise(plan, privacy, &asked, steps)?;
                if let (Some(last), true) = (noise.last_mut(), printed) {
                    *last = Noise::Exposed;
                }
                Noises::Steps(noise.into())
            }
        };
        let releases = releases(&noise, bound, plan.data.numbers()).map_err(at("privacy"))?;
        let (event, mu) = price(&releases);
        let kept = asked.epsilon.filter(|_| privacy.noise == NoisePlan::Sound && mu.is_finite());
        let epsilon = match kept {
            Some(epsilon) => epsilon,
            None if mu.is_infinite() => Epsilon::INFINITE,
            None => gdp::epsilon(asked.delta, Mu::new(mu * (1.0 + ROOM)).map_err(at("privacy"))?),
        };
        let budget = Budget { epsilon, delta: asked.delta };
        Ok(Self { event, budget, claim: claim(plan, privacy, &asked), bound, noise })
    }

    /// Without privacy.
    fn exposed(bound: Bound, steps: Option<u64>) -> Result<Self, PlanError> {
        let (event, noise) = match steps {
            None => (Event::NonPrivate, Noises::Vector(Noise::Exposed)),
            Some(steps) => {
                let noise = vec![Noise::Exposed; steps as usize].into();
                (Event::NonPrivate.repeated(steps), Noises::Steps(noise))
            }
        };
        let delta = Delta::new(0.0).map_err(at("privacy"))?;
        let budget = Budget { epsilon: Epsilon::INFINITE, delta };
        Ok(Self { event, budget, claim: None, bound, noise })
    }

    /// What the oracle of a node with these records answers from.
    pub(super) fn private<R: Real>(&self, data: &NumbersPlan, records: Vec<f64>) -> Private<R> {
        match &self.noise {
            Noises::Vector(noise) => {
                let vector = PrivateVector::mean_of(data.dimension, records, self.bound);
                Private::Vector(vector, *noise)
            }
            Noises::Steps(noise) => {
                let steps = PrivateSteps::new(data.dimension, records, self.bound.domain());
                Private::Steps(steps, Arc::clone(noise))
            }
        }
    }
}

/// What records are clipped to. Without privacy it is a box that holds all of them.
pub(super) fn bound(plan: &Plan) -> Bound {
    let all = || Bound::Box { radius: data::largest(plan.data.numbers()) };
    plan.privacy.as_ref().map_or_else(all, PrivacyPlan::bound)
}

/// `(mu + L)/(2 mu L)` of mean estimation, whose constants are both the number of records.
pub(super) fn first_step(data: &NumbersPlan) -> f64 {
    1.0 / data.records as f64
}

/// A budget in range.
pub(super) struct Asked {
    /// Nothing if the noise is given.
    pub(super) epsilon: Option<Epsilon>,
    pub(super) delta: Delta,
}

impl Asked {
    pub(super) fn new(
        privacy: &PrivacyPlan,
        own: Option<(&NodeBudget, &str)>,
    ) -> Result<Self, PlanError> {
        let (key, epsilon, delta) = match own {
            Some((own, key)) => (key, Some(own.epsilon), own.delta),
            None => ("privacy", privacy.epsilon, privacy.delta),
        };
        let error =
            |last: &str, message: String| Err(PlanError::new(format!("{key}.{last}"), message));
        if !(delta > 0.0 && delta < 1.0) {
            return error("delta", format!("must be above 0 and below 1, got {delta}; try 1e-5"));
        }
        let delta = Delta::new(delta).map_err(at(key))?;
        match epsilon {
            // Without noise nothing is promised, whatever other variants of the plan may spend.
            Some(_) if privacy.noise == (NoisePlan::Fixed { sigma: 0.0 }) => {
                Ok(Self { epsilon: None, delta })
            }
            Some(_) if is_fixed(privacy.noise) => {
                let message = "the noise has a fixed sigma, so epsilon follows; leave one out";
                error("epsilon", message.into())
            }
            None if !is_fixed(privacy.noise) => {
                error("epsilon", "is needed to choose the noise; there is no default".into())
            }
            Some(value) if !(value > 0.0 && value.is_finite()) => {
                error("epsilon", format!("must be positive and finite, got {value}"))
            }
            Some(value) => Ok(Self { epsilon: Some(Epsilon::new(value).map_err(at(key))?), delta }),
            None => Ok(Self { epsilon: None, delta }),
        }
    }

    pub(super) fn epsilon(&self) -> Epsilon {
        self.epsilon.expect("checked: given unless the noise is")
    }
}

fn vector_noise(plan: &Plan, privacy: &PrivacyPlan, asked: &Asked) -> Result<Noise, PlanError> {
    match privacy.noise {
        NoisePlan::Sound => {
            let moved = vector_sensitivity(privacy.bound(), plan.data.numbers())
                .map_err(at("privacy.clip"))?;
            Noise::calibrated(&moved, asked.epsilon(), asked.delta).map_err(at("privacy.epsilon"))
        }
        NoisePlan::Paper => {
            let Bound::Box { radius } = privacy.bound() else {
                let message = "theorem 2.3 of paper 001 is about boxes; clip to a box, or take \
                               \"sound\"";
                return Err(PlanError::new("privacy.noise", message));
            };
            let dimension = plan.data.numbers().dimension as u64;
            let bound = ClipNorm::new(radius).map_err(at("privacy.clip"))?;
            consensus::theorem_2_3_sigma(asked.epsilon(), asked.delta, dimension, bound)
                .map(Noise::Gaussian)
                .map_err(at("privacy.noise"))
        }
        NoisePlan::Fixed { sigma } => fixed(sigma),
    }
}

fn step_noise(
    plan: &Plan,
    privacy: &PrivacyPlan,
    asked: &Asked,
    steps: u64,
) -> Result<Vec<Noise>, PlanError> {
    if let NoisePlan::Fixed { sigma } = privacy.noise {
        return Ok(vec![fixed(sigma)?; steps as usize]);
    }
    let schedule = || -> Result<Vec<Scale>, OutOfRange> {
        let half = privacy.bound().domain().diameter(plan.data.numbers().dimension) / 2.0;
        let kappa = dgd::kappa(asked.epsilon(), asked.delta, ClipNorm::new(half)?)?;
        let step = Scale::new(first_step(plan.data.numbers()))?;
        let schedule = dgd::Schedule { step, kappa, rounds: steps };
        let mut sigmas: Vec<_> =
            (1..=steps).map(|t| schedule.sigma(t)).collect::<Result<_, _>>()?;
        if privacy.noise == NoisePlan::Sound {
            let size: f64 = sigmas
                .iter()
                .zip(1..)
                .map(|(sigma, t)| (2.0 * half * schedule.eta(t) / sigma.get()).powi(2))
                .sum();
            // Against rounding in the ledger's sum of squares.
            let factor = size.sqrt() / gdp::mu(asked.epsilon(), asked.delta).get() * (1.0 + 1e-12);
            for sigma in &mut sigmas {
                *sigma = Scale::new(sigma.get() * factor)?;
            }
        }
        Ok(sigmas)
    };
    Ok(schedule().map_err(at("privacy.epsilon"))?.into_iter().map(Noise::Gaussian).collect())
}

pub(super) fn fixed(sigma: f64) -> Result<Noise, PlanError> {
    if sigma == 0.0 {
        return Ok(Noise::Exposed);
    }
    Scale::new(sigma).map(Noise::Gaussian).map_err(|_| {
        let message = format!("sigma must be at least 0 and finite, got {sigma}");
        PlanError::new("privacy.noise", message)
    })
}

/// What is released, and how far one unit moves it.
fn releases(
    noise: &Noises,
    bound: Bound,
    data: &NumbersPlan,
) -> Result<Vec<(Noise, Sensitivity)>, OutOfRange> {
    match noise {
        Noises::Vector(noise) => Ok(vec![(*noise, vector_sensitivity(bound, data)?)]),
        Noises::Steps(noise) => {
            let steps = PrivateSteps::new(data.dimension, Vec::new(), bound.domain());
            let eta = |t: usize| first_step(data) / t as f64;
            let one = |(noise, t): (&Noise, usize)| Ok((*noise, steps.sensitivity(eta(t))?));
            noise.iter().zip(1..).map(one).collect()
        }
    }
}

/// The event of all releases, and the exact mu of it: infinite if something is exposed.
fn price(releases: &[(Noise, Sensitivity)]) -> (Event, f64) {
    let square = |(noise, moved): &(Noise, Sensitivity)| match noise {
        Noise::Exposed => f64::INFINITY,
        Noise::Gaussian(sigma) => {
            let moved = moved.under(Adjacency::Replace).expect("a bound is finite");
            (moved / sigma.get()).powi(2)
        }
    };
    let mu = releases.iter().map(square).sum::<f64>().sqrt();
    let mut events: Vec<_> = releases.iter().map(|(noise, moved)| noise.event(*moved)).collect();
    let event = if events.len() == 1 { events.remove(0) } else { Event::Composed(events) };
    (event, mu)
}

fn vector_sensitivity(bound: Bound, data: &NumbersPlan) -> Result<Sensitivity, OutOfRange> {
    let moved = bound.domain().diameter(data.dimension) / data.records as f64;
    Sensitivity::under_only(Adjacency::Replace, moved)
}

/// What the paper of the algorithm says about this noise.
fn claim(plan: &Plan, privacy: &PrivacyPlan, asked: &Asked) -> Option<Claim> {
    let two_stage = plan.algorithm.name == AlgorithmWord::TwoStage;
    let printed = plan.algorithm.printed == Some(true);
    let delta = asked.delta;
    match (privacy.noise, privacy.bound()) {
        (NoisePlan::Fixed { sigma }, Bound::Box { radius }) if !two_stage && sigma > 0.0 => {
            let bound = ClipNorm::new(radius).ok()?;
            let one = Epsilon::new(1.0).ok()?;
            let dimension = plan.data.numbers().dimension as u64;
            // The theorem's noise is inverse to epsilon.
            let at_one = consensus::theorem_2_3_sigma(one, delta, dimension, bound).ok()?;
            let epsilon = Epsilon::new(at_one.get() / sigma).ok()?;
            Some(Claim { source: "001 Theorem 2.3", epsilon, delta })
        }
        (NoisePlan::Paper, _) if !two_stage => {
            Some(Claim { source: "001 Theorem 2.3", epsilon: asked.epsilon?, delta })
        }
        (NoisePlan::Paper, _) if !printed => {
            Some(Claim { source: "004 Theorem 1", epsilon: asked.epsilon?, delta })
        }
        (NoisePlan::Paper | NoisePlan::Sound, _) if printed => {
            Some(Claim { source: "004 Algorithm 1", epsilon: asked.epsilon?, delta })
        }
        _ => None,
    }
}

pub(super) fn at(key: &str) -> impl Fn(OutOfRange) -> PlanError {
    let key = key.to_string();
    move |error| PlanError::new(key.clone(), error.to_string())
}
