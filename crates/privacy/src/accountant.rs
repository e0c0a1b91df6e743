//! Accountants: what a list of events costs, as an upper bound on epsilon at a given delta.
//!
//! ```
//! use undertone_privacy::accountant::Accountant;
//! use undertone_privacy::event::Event;
//! use undertone_privacy::units::{Adjacency, Delta, Probability, Scale, Sensitivity};
//!
//! let one = Sensitivity::under_only(Adjacency::AddRemove, 1.0)?;
//! let noise = Event::gaussian(one, Scale::new(12.40021959)?);
//! let run = noise.poisson_sampled(Probability::new(0.02)?).repeated(1000);
//! let bound = Accountant::Best.epsilon(&run, Adjacency::AddRemove, Delta::new(1e-5)?)?;
//! assert!(bound.epsilon.get() < 0.1647);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod elementary;
pub mod gdp;
mod knorm;
mod pair;
mod pld;
mod profile;
pub mod rdp;
pub mod zcdp;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use self::elementary::{Dominating, dominating, gaussian_mu, inner_mu, pure_epsilon};
use self::pld::Sides;
use crate::event::{Event, Flat, Rounding, TooManyRounds, flatten};
use crate::units::{Adjacency, Delta, Epsilon, Mu, Order, Rho};

/// A way to price events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accountant {
    /// The least bound of those that apply.
    Best,
    /// Exact for Gaussians; pure parts are added to epsilon, sampling is not used.
    Gdp,
    /// Privacy loss distributions by Fourier transform, with a certified interval.
    Pld,
    /// Renyi differential privacy.
    Rdp,
    /// Zero-concentrated differential privacy.
    Zcdp,
}

/// What an accountant says: an upper bound, complete with what it is a bound on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bound {
    /// Upper bound on epsilon; infinite means "no guarantee".
    pub epsilon: Epsilon,
    /// Certified lower bound on the worst case of the events, where the accountant has one.
    pub epsilon_lower: Option<Epsilon>,
    /// The delta it holds at.
    pub delta: Delta,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
    /// Who computed it; never `Best`.
    pub accountant: Accountant,
    /// Why it is true.
    pub theorem: &'static str,
}

/// Why there is no bound.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AccountError {
    /// No theorem of this accountant covers an event.
    #[error("the {accountant} accountant has no {adjacency} bound for a {event} event; {remedy}")]
    Unpriced {
        /// The accountant that was asked.
        accountant: Accountant,
        /// The event's name in JSON.
        event: String,
        /// The adjacency that was asked for.
        adjacency: Adjacency,
        /// What to try instead.
        remedy: &'static str,
    },
    /// The event repeats too often to count.
    #[error(transparent)]
    TooManyRounds(#[from] TooManyRounds),
}

impl std::fmt::Display for Accountant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Accountant::Best => "best",
            Accountant::Gdp => "gdp",
            Accountant::Pld => "pld",
            Accountant::Rdp => "rdp",
            Accountant::Zcdp => "zcdp",
        })
    }
}

impl Accountant {
    /// The accountants that compute; `Best` asks them all.
    pub const ALL: [Accountant; 4] =
        [Accountant::Gdp, Accountant::Pld, Accountant::Rdp, Accountant::Zcdp];

    /// Upper bound on epsilon at `delta` for `event`, under `adjacency`.
    pub fn epsilon(
        self,
        event: &Event,
        adjacency: Adjacency,
        delta: Delta,
    ) -> Result<Bound, AccountError> {
        self.bound(event, adjacency, delta, Sides::Both)
    }

    /// The same without a lower bound, in half the time: for searches.
    pub fn epsilon_upper(
        self,
        event: &Event,
        adjacency: Adjacency,
        delta: Delta,
    ) -> Result<Bound, AccountError> {
        self.bound(event, adjacency, delta, Sides::Upper)
    }

    /// Upper bound on delta at `epsilon`: the least delta whose epsilon is at most that, to a
    /// relative 1e-4, rounded up.
    pub fn delta(
        self,
        event: &Event,
        adjacency: Adjacency,
        epsilon: Epsilon,
    ) -> Result<Bound, AccountError> {
        let one = Delta::new(1.0).expect("one is a delta");
        let mut bound = self.bound(event, adjacency, one, Sides::Upper)?;
        let fits = |ln: f64| -> Result<bool, AccountError> {
            let delta = Delta::new(ln.exp()).expect("an exponential of a negative number");
            Ok(self.bound(event, adjacency, delta, Sides::Upper)?.epsilon <= epsilon)
        };
        let (mut low, mut high) = (-100.0, 0.0);
        while high - low > 1e-4 {
            let middle = 0.5 * (low + high);
            if fits(middle)? {
                high = middle;
            } else {
                low = middle;
            }
        }
        bound.delta = Delta::new(f64::exp(high)).expect("an exponential of a negative number");
        bound.epsilon = epsilon;
        Ok(bound)
    }

    fn bound(
        self,
        event: &Event,
        adjacency: Adjacency,
        delta: Delta,
        sides: Sides,
    ) -> Result<Bound, AccountError> {
        let flat = flatten(event)?;
        if flat.parts.iter().any(|(part, _)| matches!(part, Event::NonPrivate)) {
            return Ok(no_guarantee(self, adjacency, delta));
        }
        if flat.slack == 0.0 {
            return self.ideal(&flat, adjacency, delta, sides);
        }
        // A sampler tau away from the ideal one costs (1 + e^epsilon) tau of delta. Half of delta
        // gives an epsilon from above, with which the cost is bounded.
        let half = Delta::new(0.5 * delta.get()).expect("half a delta");
        let rough = self.ideal(&flat, adjacency, half, Sides::Upper)?.epsilon.get();
        let cost = (1.0 + rough.exp()) * flat.slack;
        if cost.is_nan() || cost > half.get() {
            return Ok(no_guarantee(self, adjacency, delta));
        }
        let rest = Delta::new(delta.get() - cost).expect("at least half of delta");
        let mut bound = self.ideal(&flat, adjacency, rest, sides)?;
        bound.delta = delta;
        // The sampler's true law is unknown within tau, so nothing is certain from below.
        bound.epsilon_lower = None;
        Ok(bound)
    }

    fn ideal(
        self,
        flat: &Flat<'_>,
        adjacency: Adjacency,
        delta: Delta,
        sides: Sides,
    ) -> Result<Bound, AccountError> {
        if self == Accountant::Best {
            return best(flat, adjacency, delta, sides);
        }
        let (epsilon, lower, theorem) = match self {
            Accountant::Gdp => gdp_epsilon(flat, adjacency, delta)?,
            Accountant::Zcdp => zcdp_epsilon(flat, adjacency, delta)?,
            Accountant::Rdp => rdp_epsilon(flat, adjacency, delta)?,
            Accountant::Pld | Accountant::Best => pld_epsilon(flat, adjacency, delta, sides)?,
        };
        Ok(Bound { epsilon, epsilon_lower: lower, delta, adjacency, accountant: self, theorem })
    }
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
        return Ok((epsilon, Some(exact), "Dong, Roth, Su 2019, Gaussian composition (exact)"));
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
    let exact = Accountant::Gdp.ideal(flat, adjacency, delta, sides);
    if let Ok(Bound { epsilon_lower: Some(_), .. }) = exact {
        return exact;
    }
    let mut least = exact;
    for accountant in [Accountant::Pld, Accountant::Rdp, Accountant::Zcdp] {
        let bound = accountant.ideal(flat, adjacency, delta, sides);
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

fn no_guarantee(accountant: Accountant, adjacency: Adjacency, delta: Delta) -> Bound {
    let accountant = if accountant == Accountant::Best { Accountant::Rdp } else { accountant };
    let epsilon = Epsilon::INFINITE;
    Bound { epsilon, epsilon_lower: None, delta, adjacency, accountant, theorem: "no guarantee" }
}

fn unpriced(accountant: Accountant, event: &Event, adjacency: Adjacency) -> AccountError {
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

/// Renyi divergence of a whole event at one order, in both directions: what a Renyi filter adds up.
/// The slack of imprecise samplers is not part of it.
pub fn renyi(event: &Event, adjacency: Adjacency, order: Order) -> Result<f64, AccountError> {
    let mut total = 0.0;
    for (part, times) in flatten(event)?.parts {
        if matches!(part, Event::NonPrivate) {
            return Ok(f64::INFINITY);
        }
        let one = rdp::divergences(part, adjacency, &[order.get()])
            .ok_or_else(|| unpriced(Accountant::Rdp, part, adjacency))?;
        total += times as f64 * one[0];
    }
    Ok(total)
}

/// The mu of a whole event if all of it is Gaussian: what a Gaussian filter adds up, squared.
pub fn gaussian_size(event: &Event, adjacency: Adjacency) -> Option<Mu> {
    elementary::inner_mu(event, adjacency).and_then(|mu| Mu::new(mu).ok())
}
