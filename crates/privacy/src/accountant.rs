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
mod price;
mod profile;
pub mod rdp;
pub mod zcdp;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use self::pld::Sides;
use crate::event::{Event, Flat, TooManyRounds, flatten};
use crate::units::{Adjacency, Delta, Epsilon, Mu, Order};

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

    /// Whether every part of `event` has a price under `adjacency`; the error names one that has
    /// not. (A replacement may still be priced by way of add-remove.)
    pub fn supports(self, event: &Event, adjacency: Adjacency) -> Result<(), AccountError> {
        let flat = flatten(event)?;
        price::supports(self, flat.parts.iter().map(|(part, _)| *part), adjacency)
    }

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
            return Ok(price::no_guarantee(self, adjacency, delta));
        }
        let ideal = |delta, sides| match price::epsilon(self, &flat, adjacency, delta, sides) {
            Err(AccountError::Unpriced { .. }) if self.replaces_by_path(&flat, adjacency) => {
                price::by_path(self, &flat, delta)
            }
            answer => answer,
        };
        if flat.slack == 0.0 {
            return ideal(delta, sides);
        }
        // A sampler tau away from the ideal one costs (1 + e^epsilon) tau of delta. Half of delta
        // gives an epsilon from above, with which the cost is bounded.
        let half = Delta::new(0.5 * delta.get()).expect("half a delta");
        let rough = ideal(half, Sides::Upper)?.epsilon.get();
        let cost = (1.0 + rough.exp()) * flat.slack;
        if cost.is_nan() || cost > half.get() {
            return Ok(price::no_guarantee(self, adjacency, delta));
        }
        let rest = Delta::new(delta.get() - cost).expect("at least half of delta");
        let mut bound = ideal(rest, sides)?;
        bound.delta = delta;
        // The sampler's true law is unknown within tau, so nothing is certain from below.
        bound.epsilon_lower = None;
        Ok(bound)
    }

    /// Whether a replacement can be priced as a removal and an addition of the whole run.
    fn replaces_by_path(self, flat: &Flat<'_>, adjacency: Adjacency) -> bool {
        let parts = || flat.parts.iter().map(|(part, _)| *part);
        adjacency == Adjacency::Replace
            && price::supports(self, parts(), Adjacency::AddRemove).is_ok()
    }
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
            .ok_or_else(|| price::unpriced(Accountant::Rdp, part, adjacency))?;
        total += times as f64 * one[0];
    }
    Ok(total)
}

/// The mu of a whole event if all of it is Gaussian: what a Gaussian filter adds up, squared.
pub fn gaussian_size(event: &Event, adjacency: Adjacency) -> Option<Mu> {
    elementary::inner_mu(event, adjacency).and_then(|mu| Mu::new(mu).ok())
}
