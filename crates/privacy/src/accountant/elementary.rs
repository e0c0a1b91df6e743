//! What one elementary event means: its Gaussian size, its pure epsilon, its dominating pair or
//! profile. `None` always means "nothing is known under this adjacency".

use super::knorm::KNormLoss;
use super::pair::Pair;
use super::profile::Profile;
use crate::event::{
    AboveThreshold, Event, KNorm, ObjectiveNoise, ObjectivePerturbation, SagaSampling, SagaTable,
    Sampled, flatten,
};
use crate::units::{Adjacency, Sensitivity};

/// Up to so many coordinates the quadrature of K-norm noise is accurate; beyond, only its pure
/// bound is used.
pub(crate) const MOST_DIMENSIONS: u64 = 100_000_000;

/// What bounds every divergence between neighbours.
#[derive(Clone, Debug)]
pub(crate) enum Dominating {
    /// A pair; `exact` if neighbours that realise it exist for every event of this description.
    Pair { pair: Pair, exact: bool },
    /// A profile for both directions.
    Profile(Profile),
    /// One of several pairs, chosen by a visible coin that does not depend on data.
    Visible(Vec<(f64, Pair)>),
}

impl Dominating {
    /// Whether nothing can be told apart.
    pub fn is_free(&self) -> bool {
        match self {
            Dominating::Pair { pair, .. } => pair.is_free(),
            Dominating::Profile(profile) => profile.ln_delta(0.0) == f64::NEG_INFINITY,
            Dominating::Visible(branches) => branches.iter().all(|(_, pair)| pair.is_free()),
        }
    }
}

/// Size of the test between N(0, 1) and N(mu, 1) that an event amounts to.
pub(crate) fn gaussian_mu(event: &Event, adjacency: Adjacency) -> Option<f64> {
    match event {
        Event::Gaussian(g) => ratio(&g.sensitivity, g.sigma.get(), adjacency),
        Event::HeterogeneousGaussian(groups) => {
            let squares: Option<Vec<f64>> = groups
                .iter()
                .map(|g| ratio(&g.sensitivity, g.sigma.get(), adjacency).map(|mu| mu * mu))
                .collect();
            squares.map(|s| s.iter().sum::<f64>().sqrt())
        }
        _ => None,
    }
}

/// The mu of everything done with a sample, if all of it is Gaussian.
pub(crate) fn inner_mu(event: &Event, adjacency: Adjacency) -> Option<f64> {
    let flat = flatten(event).ok()?;
    let mut square = 0.0;
    for (part, times) in flat.parts {
        square += times as f64 * gaussian_mu(part, adjacency)?.powi(2);
    }
    Some(square.sqrt())
}

/// Pure differential privacy of an event.
pub(crate) fn pure_epsilon(event: &Event, adjacency: Adjacency) -> Option<f64> {
    match event {
        Event::Laplace(l) => ratio(&l.sensitivity, l.scale.get(), adjacency),
        Event::Pure(p) => match (p.adjacency, adjacency) {
            (Adjacency::AddRemove, Adjacency::Replace) => Some(2.0 * p.epsilon.get()),
            (Adjacency::Replace, Adjacency::AddRemove) => None,
            _ => Some(p.epsilon.get()),
        },
        Event::KNorm(k) => knorm_w(k, adjacency),
        Event::AboveThreshold(svt) => above_threshold(svt, adjacency),
        Event::ObjectivePerturbation(objective) => objective_pure(objective, adjacency),
        Event::PoissonSampled(s) => match adjacency {
            Adjacency::AddRemove => sampled_pure(s, adjacency),
            Adjacency::Replace => sampled_pure(s, Adjacency::AddRemove).map(|e| 2.0 * e),
        },
        Event::FixedSizeSampled(s) if adjacency == Adjacency::Replace => sampled_pure(s, adjacency),
        _ => None,
    }
}

/// The tightest known description of an event for a privacy loss distribution.
pub(crate) fn dominating(event: &Event, adjacency: Adjacency) -> Option<Dominating> {
    let exact = |pair| Some(Dominating::Pair { pair, exact: true });
    if let Some(mu) = gaussian_mu(event, adjacency) {
        return exact(Pair::Gaussian { mu });
    }
    match event {
        Event::Laplace(_) => exact(Pair::Laplace { epsilon: pure_epsilon(event, adjacency)? }),
        Event::Pure(_) => exact(Pair::Response { epsilon: pure_epsilon(event, adjacency)? }),
        Event::KNorm(k) => {
            let w = knorm_w(k, adjacency)?;
            match k.dimension {
                // One coordinate (or none) is Laplace noise.
                0 | 1 => return exact(Pair::Laplace { epsilon: w }),
                _ if w == 0.0 => return exact(Pair::Laplace { epsilon: w }),
                d if d > MOST_DIMENSIONS => return response(event, adjacency),
                _ => {}
            }
            Some(Dominating::Profile(Profile::KNorm(KNormLoss::new(w, k.dimension))))
        }
        Event::PoissonSampled(s) => {
            poisson_sampled(s, adjacency).or_else(|| response(event, adjacency))
        }
        Event::FixedSizeSampled(s) if adjacency == Adjacency::Replace => {
            let q = s.probability.get();
            match inner_mu(&s.event, adjacency) {
                Some(mu) => {
                    let base = Box::new(Profile::Gaussian { mu });
                    Some(Dominating::Profile(Profile::Sampled { q, base }))
                }
                None => response(event, adjacency),
            }
        }
        Event::ObjectivePerturbation(objective) => {
            objective_profile(objective, adjacency).map(Dominating::Profile)
        }
        Event::Profile(points) => match (points.adjacency(), adjacency) {
            (Adjacency::Replace, Adjacency::AddRemove) => None,
            (known, wanted) => {
                let profile = Profile::Points(points.clone());
                let path = known != wanted;
                let profile = if path { Profile::Path(Box::new(profile)) } else { profile };
                Some(Dominating::Profile(profile))
            }
        },
        Event::SagaTable(saga) => saga_visible(saga, adjacency),
        _ => response(event, adjacency),
    }
}

fn response(event: &Event, adjacency: Adjacency) -> Option<Dominating> {
    let epsilon = pure_epsilon(event, adjacency)?;
    Some(Dominating::Pair { pair: Pair::Response { epsilon }, exact: false })
}

fn poisson_sampled(s: &Sampled, adjacency: Adjacency) -> Option<Dominating> {
    let q = s.probability.get();
    // The sample's law is about presence, so the inner sensitivity is that of presence too.
    let mu = inner_mu(&s.event, Adjacency::AddRemove)?;
    if mu == 0.0 {
        return Some(Dominating::Pair { pair: Pair::Gaussian { mu }, exact: true });
    }
    Some(match adjacency {
        Adjacency::AddRemove => {
            Dominating::Pair { pair: Pair::SampledRemove { q, mu }, exact: true }
        }
        Adjacency::Replace => {
            // Attained only if two records may pull in opposite directions with all their force.
            let swap = inner_mu(&s.event, Adjacency::Replace);
            let exact = swap.is_some_and(|swap| swap >= 2.0 * mu * (1.0 - 1e-12));
            Dominating::Pair { pair: Pair::SampledReplace { q, mu }, exact }
        }
    })
}

fn sampled_pure(s: &Sampled, adjacency: Adjacency) -> Option<f64> {
    let flat = flatten(&s.event).ok()?;
    let mut epsilon = 0.0;
    for (part, times) in flat.parts {
        epsilon += times as f64 * pure_epsilon(part, adjacency)?;
    }
    let q = s.probability.get();
    Some(if epsilon > 600.0 { epsilon } else { (q * epsilon.exp_m1()).ln_1p() })
}

fn above_threshold(svt: &AboveThreshold, adjacency: Adjacency) -> Option<f64> {
    let threshold = ratio(&svt.sensitivity, svt.threshold_scale.get(), adjacency)?;
    let query = ratio(&svt.sensitivity, svt.query_scale.get(), adjacency)?;
    Some(threshold + 2.0 * svt.cutoff as f64 * query)
}

fn objective_pure(objective: &ObjectivePerturbation, adjacency: Adjacency) -> Option<f64> {
    let ObjectiveNoise::KNorm(noise) = &objective.noise else { return None };
    // A replacement is charged twice for the shift but once for the curvature: what the removed
    // record took from the determinant the added one cannot take again.
    Some(knorm_w(noise, adjacency)? + objective.curvature.get().ln_1p())
}

fn objective_profile(objective: &ObjectivePerturbation, adjacency: Adjacency) -> Option<Profile> {
    let curvature = objective.curvature.get();
    let base = match &objective.noise {
        ObjectiveNoise::Gaussian(g) => {
            Profile::Gaussian { mu: ratio(&g.sensitivity, g.sigma.get(), Adjacency::AddRemove)? }
        }
        ObjectiveNoise::KNorm(k)
            if objective.sign_definite && (2..=MOST_DIMENSIONS).contains(&k.dimension) =>
        {
            Profile::KNorm(KNormLoss::new(knorm_w(k, Adjacency::AddRemove)?, k.dimension))
        }
        ObjectiveNoise::KNorm(_) => return None,
    };
    let gaussian = match base {
        Profile::Gaussian { mu } => Some(mu),
        _ => None,
    };
    let sign_definite = objective.sign_definite;
    let one = Profile::Objective { base: Box::new(base), curvature, sign_definite };
    if adjacency == Adjacency::AddRemove {
        return Some(one);
    }
    let path = Profile::Path(Box::new(one));
    Some(match gaussian {
        Some(mu) if sign_definite => {
            Profile::Least(Box::new(path), Box::new(Profile::ObjectiveReplace { mu, curvature }))
        }
        _ => path,
    })
}

/// Bound (C) of theory 7.2: condition on all indices.
fn saga_visible(saga: &SagaTable, adjacency: Adjacency) -> Option<Dominating> {
    let SagaSampling::SingleIndex = saga.sampling else { return None };
    if adjacency != Adjacency::Replace {
        return None;
    }
    let (hit, idle) = saga_mus(saga);
    let chance = 1.0 / saga.records.max(1) as f64;
    Some(Dominating::Visible(vec![
        (chance, Pair::Gaussian { mu: hit }),
        (1.0 - chance, Pair::Gaussian { mu: idle }),
    ]))
}

/// Sizes of a round of printed SAGA in which the record is drawn, and of one in which it is not.
pub(crate) fn saga_mus(saga: &SagaTable) -> (f64, f64) {
    let unit = saga.clip.get() / saga.sigma.get();
    (4.0 * unit, 2.0 * unit / saga.records.max(1) as f64)
}

pub(crate) fn knorm_w(k: &KNorm, adjacency: Adjacency) -> Option<f64> {
    k.sensitivity.under(adjacency).map(|s| s * k.rate.get())
}

fn ratio(sensitivity: &Sensitivity, scale: f64, adjacency: Adjacency) -> Option<f64> {
    sensitivity.under(adjacency).map(|s| s / scale)
}
