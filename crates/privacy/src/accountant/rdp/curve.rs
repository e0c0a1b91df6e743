//! The Renyi curve of one elementary event.

use super::integral::Tabulated;
use super::sampled::{LARGEST, SampledGaussian, at_order, ln_moment_of_curve};
use crate::accountant::elementary::{
    Dominating, MOST_DIMENSIONS, dominating, gaussian_mu, inner_mu, pure_epsilon, saga_mus,
};
use crate::accountant::knorm::KNormLoss;
use crate::accountant::pair::Pair;
use crate::accountant::profile::Profile;
use crate::event::{
    DiscreteGaussian, Event, Rounding, SagaSampling, SagaTable, Sampled, SdmMask, flatten,
};
use crate::special::ln_add;
use crate::units::Adjacency;

/// Renyi divergences of `event` at `orders`; `None` if none is known.
pub(crate) fn divergences(event: &Event, adjacency: Adjacency, orders: &[f64]) -> Option<Vec<f64>> {
    let each = |f: &dyn Fn(f64) -> f64| Some(orders.iter().map(|a| f(*a)).collect::<Vec<f64>>());
    if let Some(mu) = gaussian_mu(event, adjacency) {
        return each(&|a| 0.5 * a * mu * mu);
    }
    match event {
        Event::DiscreteGaussian(noise) => {
            noise.sensitivity.under(adjacency)?;
            each(&|a| discrete_gaussian(noise, adjacency, a))
        }
        Event::KNorm(k) if (2..=MOST_DIMENSIONS).contains(&k.dimension) => {
            let loss = KNormLoss::new(pure_epsilon(event, adjacency)?, k.dimension);
            each(&|a| loss.renyi(a))
        }
        Event::KNorm(k) if k.dimension > MOST_DIMENSIONS => {
            let epsilon = pure_epsilon(event, adjacency)?;
            each(&|a| pure(epsilon, a))
        }
        Event::Laplace(_) | Event::KNorm(_) => {
            let epsilon = pure_epsilon(event, adjacency)?;
            each(&|a| laplace(epsilon, a))
        }
        Event::PoissonSampled(s) if adjacency == Adjacency::AddRemove => poisson(s, orders)
            .or_else(|| pure_epsilon(event, adjacency).and_then(|e| each(&|a| pure(e, a)))),
        Event::SagaTable(saga) => saga_curve(saga, adjacency, orders),
        Event::SdmMask(mask) if adjacency == Adjacency::AddRemove => sdm(mask, orders),
        _ => by_profile(event, adjacency, orders)
            .or_else(|| pure_epsilon(event, adjacency).and_then(|e| each(&|a| pure(e, a)))),
    }
}

/// Theory E9: pure differential privacy.
pub(super) fn pure(epsilon: f64, order: f64) -> f64 {
    let ln = ln_add(order * epsilon, (1.0 - order) * epsilon) - ln_add(0.0, epsilon);
    (ln / (order - 1.0)).clamp(0.0, epsilon)
}

/// Laplace noise, closed form (Mironov 2017, proposition 6).
fn laplace(epsilon: f64, order: f64) -> f64 {
    let twice = 2.0 * order - 1.0;
    let ln = ln_add(
        (order / twice).ln() + (order - 1.0) * epsilon,
        ((order - 1.0) / twice).ln() - order * epsilon,
    );
    (ln / (order - 1.0)).clamp(0.0, epsilon)
}

/// Discrete Gaussian: `a shift^2 / (2 sigma^2)` for a shift on the lattice (theory 3.2, A6).
fn discrete_gaussian(noise: &DiscreteGaussian, adjacency: Adjacency, order: f64) -> f64 {
    let sensitivity = noise.sensitivity.under(adjacency).expect("the caller looked");
    let (step, sigma) = (noise.step.get(), noise.sigma.get());
    let root = (noise.dimension as f64).sqrt();
    let line = |shift: f64| 0.5 * order * (shift / sigma).powi(2);
    match noise.rounding {
        Rounding::OnLattice => line(sensitivity),
        Rounding::Nearest => line(sensitivity + step * root),
        Rounding::Stochastic => {
            let always = line(sensitivity + step * root);
            if sensitivity > step {
                return always;
            }
            let exponent = 0.5 * order * (order - 1.0) * (step / sigma).powi(2);
            let chance = (sensitivity / (step * root)).min(1.0);
            let one = (chance * exponent.min(700.0).exp_m1()).ln_1p();
            let coupled = noise.dimension as f64 * one / (order - 1.0);
            if exponent > 700.0 { always } else { coupled.min(always) }
        }
    }
}

fn poisson(s: &Sampled, orders: &[f64]) -> Option<Vec<f64>> {
    let q = s.probability.get();
    if let Some(mu) = inner_mu(&s.event, Adjacency::AddRemove) {
        if mu == 0.0 {
            return Some(vec![0.0; orders.len()]);
        }
        let gaussian = SampledGaussian::new(q, mu);
        return Some(orders.iter().map(|a| gaussian.at_order(*a)).collect());
    }
    // Any other mechanism by its own curve at integer orders.
    let integers: Vec<f64> = (0..=LARGEST).map(|k| k.max(2) as f64).collect();
    let mut inner = vec![0.0; integers.len()];
    for (part, times) in flatten(&s.event).ok()?.parts {
        let curve = divergences(part, Adjacency::AddRemove, &integers)?;
        inner.iter_mut().zip(curve).for_each(|(sum, r)| *sum += times as f64 * r);
    }
    let at = |order: usize| ln_moment_of_curve(q, order, &|l| inner[l]);
    Some(orders.iter().map(|a| at_order(*a, at)).collect())
}

fn by_profile(event: &Event, adjacency: Adjacency, orders: &[f64]) -> Option<Vec<f64>> {
    let profile = match dominating(event, adjacency)? {
        Dominating::Profile(profile) => profile,
        Dominating::Pair { pair: Pair::SampledReplace { q, mu }, .. } => {
            Profile::SampledPath { q, mu }
        }
        _ => return None,
    };
    if profile.has_floor() {
        return None;
    }
    // Tabulate for a few ranges of orders, so that small ones get a fine grid.
    let mut curve = vec![f64::INFINITY; orders.len()];
    let mut from = 1.0;
    for largest in [4.0, 8.0, 16.0, 24.0, 32.0, 48.0, 64.0, 96.0, 128.0, 256.0, 512.0] {
        let table = Tabulated::new(&profile, largest);
        for (r, order) in curve.iter_mut().zip(orders) {
            if *order > from && *order <= largest {
                *r = table.renyi(*order);
            }
        }
        from = largest;
    }
    Some(curve)
}

/// Bounds (S) and (C) of theory 7.2.
fn saga_curve(saga: &SagaTable, adjacency: Adjacency, orders: &[f64]) -> Option<Vec<f64>> {
    match (saga.sampling, adjacency) {
        (SagaSampling::Poisson { expected }, Adjacency::AddRemove) => {
            let unit = saga.clip.get() / saga.sigma.get();
            let records = saga.records.max(1) as f64;
            let q = (expected.get() / records).min(1.0);
            // Every split of the noise is valid at every order; take the best of a fine set.
            let mut curve = vec![f64::INFINITY; orders.len()];
            for k in 1..120 {
                let share = 10f64.powf(-4.0 + f64::from(k) / 30.0).min(0.99);
                let table = (unit / records).powi(2) / share;
                let mu = 2.0 * unit / expected.get() / (1.0 - share).sqrt();
                let gaussian = SampledGaussian::new(q, mu);
                for (r, a) in curve.iter_mut().zip(orders) {
                    if *a <= 128.0 {
                        let split = 0.5 * a * table + gaussian.at_order(*a);
                        *r = r.min(split);
                    }
                }
            }
            Some(curve)
        }
        (SagaSampling::SingleIndex, Adjacency::Replace) => {
            let (hit, idle) = saga_mus(saga);
            let chance = 1.0 / saga.records.max(1) as f64;
            let moment = |a: f64, mu: f64| 0.5 * a * (a - 1.0) * mu * mu;
            let ln =
                |a: f64| ln_add(chance.ln() + moment(a, hit), (-chance).ln_1p() + moment(a, idle));
            Some(orders.iter().map(|a| ln(*a) / (a - 1.0)).collect())
        }
        _ => None,
    }
}

/// Theory 3.3: one minus the chance plus the chance times the unmasked moment.
fn sdm(mask: &SdmMask, orders: &[f64]) -> Option<Vec<f64>> {
    // The proof needs the curve of a (sampled) Gaussian, convex in the squared sensitivity.
    let flat = flatten(&mask.event).ok()?;
    let [(inner, 1)] = flat.parts[..] else { return None };
    let is_gaussian = match inner {
        Event::PoissonSampled(s) => inner_mu(&s.event, Adjacency::AddRemove).is_some(),
        other => gaussian_mu(other, Adjacency::AddRemove).is_some(),
    };
    if !is_gaussian {
        return None;
    }
    let c = mask.transmit.get();
    let curve = divergences(inner, Adjacency::AddRemove, orders)?;
    let masked = |(r, a): (f64, &f64)| {
        let moment = (a - 1.0) * r;
        let ln = if moment < 1.0 {
            (c * moment.exp_m1()).ln_1p()
        } else {
            ln_add((-c).ln_1p(), c.ln() + moment)
        };
        ln / (a - 1.0)
    };
    Some(curve.into_iter().zip(orders).map(masked).collect())
}

#[cfg(test)]
mod tests;
