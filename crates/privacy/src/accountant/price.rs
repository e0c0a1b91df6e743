//! What each accountant answers for a list of elementary events.

use super::elementary::{Dominating, dominating, gaussian_mu, inner_mu, pure_epsilon};
use super::pld::{self, Sides};
use super::{AccountError, Accountant, Bound, gdp, rdp, zcdp};
use crate::event::{Event, Flat, Rounding};
use crate::units::{Adjacency, Delta, Epsilon, Mu, Rho};

/// The bound of one accountant, or of the best, without any slack.
pub(super) fn epsilon(
    accountant: Accountant,
    flat: &Flat<'_>,
    adjacency: Adjacency,
    delta: Delta,
    sides: Sides,
) -> Result<Bound, AccountError> {
    let (epsilon, epsilon_lower, theorem) = match accountant {
        Accountant::Best => return best(flat, adjacency, delta, sides),
        Accountant::Gdp => gdp_epsilon(flat, adjacency, delta)?,
        Accountant::Zcdp => zcdp_epsilon(flat, adjacency, delta)?,
        Accountant::Rdp => rdp_epsilon(flat, adjacency, delta)?,
        Accountant::Pld => pld_epsilon(flat, adjacency, delta, sides)?,
    };
    Ok(Bound { epsilon, epsilon_lower, delta, adjacency, accountant, theorem })
}

/// Whether an accountant prices every part.
pub(super) fn supports<'a>(
    accountant: Accountant,
    mut parts: impl Iterator<Item = &'a Event> + Clone,
    adjacency: Adjacency,
) -> Result<(), AccountError> {
    let prices = |part: &Event| match accountant {
        _ if matches!(part, Event::NonPrivate) => true,
        Accountant::Best => false,
        Accountant::Gdp => {
            gaussian_mu(part, adjacency).is_some()
                || unamplified_mu(part, adjacency).is_some()
                || pure_epsilon(part, adjacency).is_some()
        }
        Accountant::Zcdp => rho(part, adjacency).is_some(),
        Accountant::Rdp => rdp::divergences(part, adjacency, &[2.0]).is_some(),
        Accountant::Pld => dominating(part, adjacency).is_some(),
    };
    if accountant == Accountant::Best {
        let one = |accountant| supports(accountant, parts.clone(), adjacency);
        return Accountant::ALL
            .into_iter()
            .map(one)
            .find(Result::is_ok)
            .unwrap_or_else(|| supports(Accountant::Rdp, parts.clone(), adjacency));
    }
    parts
        .find(|part| !prices(part))
        .map_or(Ok(()), |part| Err(unpriced(accountant, part, adjacency)))
}

/// Theory E6 for a whole run: a replacement is a removal and an addition, so an add-remove
/// (epsilon, delta) becomes (2 epsilon, (1 + e^epsilon) delta).
pub(super) fn by_path(
    accountant: Accountant,
    flat: &Flat<'_>,
    delta: Delta,
) -> Result<Bound, AccountError> {
    let at = |delta| epsilon(accountant, flat, Adjacency::AddRemove, delta, Sides::Upper);
    // Less delta costs more epsilon, which asks for less delta: a few turns settle it.
    let mut share = delta.get() / 2.0;
    for _ in 0..60 {
        let bound = at(Delta::new(share).expect("a part of a delta"))?;
        let one = bound.epsilon.get();
        let needed = (1.0 + one.exp()) * share;
        if !one.is_finite() {
            break;
        }
        if needed <= delta.get() {
            let epsilon = Epsilon::new(2.0 * one).expect("twice an epsilon");
            let theorem = "theory E6: a removal and an addition of the whole run";
            return Ok(Bound {
                epsilon,
                epsilon_lower: None,
                delta,
                adjacency: Adjacency::Replace,
                theorem,
                ..bound
            });
        }
        share = 0.999 * delta.get() / (1.0 + one.exp());
    }
    Ok(no_guarantee(accountant, Adjacency::Replace, delta))
}

type Answer = (Epsilon, Option<Epsilon>, &'static str);

fn gdp_epsilon(
    flat: &Flat<'_>,
    adjacency: Adjacency,
    delta: Delta,
) -> Result<Answer, AccountError> {
    let (mut square, mut shift, mut sampled) = (0.0, 0.0, false);
    for (part, times) in &flat.parts {
        let times = *times as f64;
        if let Some(mu) = gaussian_mu(part, adjacency) {
            square += times * mu * mu;
        } else if let Some(mu) = unamplified_mu(part, adjacency) {
            square += times * mu * mu;
            sampled = true;
        } else if let Some(epsilon) = pure_epsilon(part, adjacency) {
            shift += times * epsilon;
        } else {
            return Err(unpriced(Accountant::Gdp, part, adjacency));
        }
    }
    let mu = Mu::new(f64::sqrt(square)).expect("a square root");
    let exact = gdp::epsilon(delta, mu);
    let epsilon = Epsilon::new(exact.get() + shift).expect("a sum of epsilons");
    if sampled {
        let theorem = "Gaussian composition given the samples, whose secrecy is not used";
        return Ok((epsilon, None, theorem));
    }
    if shift == 0.0 {
        // The same number seen from below: rounded down by more than it was rounded up.
        let lower = Epsilon::new(exact.get() * (1.0 - 1e-9)).expect("a part of an epsilon");
        return Ok((epsilon, Some(lower), "Dong, Roth, Su 2019, Gaussian composition (exact)"));
    }
    let theorem = "basic composition of the pure part with the exact Gaussian profile";
    Ok((epsilon, None, theorem))
}

/// Mu of a sampled Gaussian for somebody who knows the sample: joint convexity (theory E12) makes
/// it a bound, if a poor one.
fn unamplified_mu(event: &Event, adjacency: Adjacency) -> Option<f64> {
    match event {
        Event::PoissonSampled(s) => inner_mu(&s.event, adjacency),
        Event::FixedSizeSampled(s) if adjacency == Adjacency::Replace => {
            inner_mu(&s.event, adjacency)
        }
        _ => None,
    }
}

fn zcdp_epsilon(
    flat: &Flat<'_>,
    adjacency: Adjacency,
    delta: Delta,
) -> Result<Answer, AccountError> {
    let mut total = 0.0;
    for (part, times) in &flat.parts {
        let rho =
            rho(part, adjacency).ok_or_else(|| unpriced(Accountant::Zcdp, part, adjacency))?;
        total += *times as f64 * rho;
    }
    let epsilon = zcdp::epsilon(Rho::new(total).expect("a sum of rhos"), delta);
    Ok((epsilon, None, "Bun and Steinke 2016, converted by Canonne, Kamath, Steinke 2020"))
}

/// zCDP of one event.
fn rho(event: &Event, adjacency: Adjacency) -> Option<f64> {
    if let Some(mu) = gaussian_mu(event, adjacency) {
        return Some(0.5 * mu * mu);
    }
    if let Event::DiscreteGaussian(noise) = event {
        let sensitivity = noise.sensitivity.under(adjacency)?;
        let rounding = match noise.rounding {
            Rounding::OnLattice => 0.0,
            Rounding::Nearest | Rounding::Stochastic => {
                noise.step.get() * (noise.dimension as f64).sqrt()
            }
        };
        return Some(0.5 * ((sensitivity + rounding) / noise.sigma.get()).powi(2));
    }
    pure_epsilon(event, adjacency).map(|epsilon| 0.5 * epsilon * epsilon)
}

fn rdp_epsilon(
    flat: &Flat<'_>,
    adjacency: Adjacency,
    delta: Delta,
) -> Result<Answer, AccountError> {
    let mut curve = [0.0; rdp::ORDERS.len()];
    for (part, times) in &flat.parts {
        let one = rdp::divergences(part, adjacency, &rdp::ORDERS)
            .ok_or_else(|| unpriced(Accountant::Rdp, part, adjacency))?;
        curve.iter_mut().zip(one).for_each(|(sum, r)| *sum += *times as f64 * r);
    }
    let (epsilon, _) = rdp::best(&curve, delta);
    Ok((epsilon, None, "Mironov 2017, adaptive Renyi composition, converted by theory E2"))
}

fn pld_epsilon(
    flat: &Flat<'_>,
    adjacency: Adjacency,
    delta: Delta,
    sides: Sides,
) -> Result<Answer, AccountError> {
    let parts: Vec<(Dominating, u64)> = flat
        .parts
        .iter()
        .map(|(part, times)| {
            dominating(part, adjacency)
                .map(|d| (d, *times))
                .ok_or_else(|| unpriced(Accountant::Pld, part, adjacency))
        })
        .collect::<Result<_, _>>()?;
    let theorem = "Zhu, Dong, Wang 2022, composition of dominating pairs, certified FFT";
    let parts: Vec<_> = parts.into_iter().filter(|(part, _)| !part.is_free()).collect();
    if parts.is_empty() || delta.get() >= 1.0 {
        return Ok((Epsilon::ZERO, Some(Epsilon::ZERO), theorem));
    }
    if delta.get() == 0.0 {
        return Ok((Epsilon::INFINITE, None, theorem));
    }
    let interval = pld::epsilon(&parts, delta.get(), sides);
    let epsilon = |value: f64| Epsilon::new(value).unwrap_or(Epsilon::INFINITE);
    Ok((epsilon(interval.upper), interval.lower.map(epsilon), theorem))
}

fn best(
    flat: &Flat<'_>,
    adjacency: Adjacency,
    delta: Delta,
    sides: Sides,
) -> Result<Bound, AccountError> {
    let exact = epsilon(Accountant::Gdp, flat, adjacency, delta, sides);
    if let Ok(Bound { epsilon_lower: Some(_), .. }) = exact {
        return exact;
    }
    let mut least = exact;
    for accountant in [Accountant::Pld, Accountant::Rdp, Accountant::Zcdp] {
        let bound = epsilon(accountant, flat, adjacency, delta, sides);
        least = match (least, bound) {
            (Ok(a), Ok(b)) => Ok(if b.epsilon < a.epsilon { b } else { a }),
            (Err(_), b) => b,
            (a, Err(_)) => a,
        };
    }
    least.map_err(|error| match error {
        AccountError::Unpriced { event, adjacency, remedy, .. } => {
            AccountError::Unpriced { accountant: Accountant::Best, event, adjacency, remedy }
        }
        other => other,
    })
}

/// No bound at all.
pub(super) fn no_guarantee(accountant: Accountant, adjacency: Adjacency, delta: Delta) -> Bound {
    let accountant = if accountant == Accountant::Best { Accountant::Rdp } else { accountant };
    let epsilon = Epsilon::INFINITE;
    Bound { epsilon, epsilon_lower: None, delta, adjacency, accountant, theorem: "no guarantee" }
}

/// The error for an event without a price, with what to do about it.
pub(super) fn unpriced(
    accountant: Accountant,
    event: &Event,
    adjacency: Adjacency,
) -> AccountError {
    let remedy = match event {
        Event::FixedSizeSampled(_) if adjacency == Adjacency::AddRemove => {
            "a fixed sample size is about replacing a record: use the replace adjacency"
        }
        Event::SagaTable(_) => {
            "Poisson sampling is priced under add-remove, a single index under replace"
        }
        Event::SdmMask(_) => {
            "masked rounds are priced under add-remove, with Gaussian noise inside"
        }
        _ => "try another accountant (best asks all) or state the sensitivity under this adjacency",
    };
    AccountError::Unpriced { accountant, event: event.name(), adjacency, remedy }
}
