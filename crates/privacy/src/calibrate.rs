//! Calibration: of noise, rounds, sampling rate and budget, find the one that is missing.
//!
//! A family is any function from the missing number to an [`Event`]; the answer always satisfies
//! the budget, because the event at the answer itself was priced.
//!
//! ```
//! use undertone_privacy::accountant::Accountant;
//! use undertone_privacy::calibrate::Target;
//! use undertone_privacy::event::Event;
//! use undertone_privacy::units::{Adjacency, Delta, Epsilon, Sensitivity};
//!
//! let target = Target {
//!     epsilon: Epsilon::new(1.0)?,
//!     delta: Delta::new(1e-5)?,
//!     adjacency: Adjacency::AddRemove,
//!     accountant: Accountant::Best,
//! };
//! let one = Sensitivity::under_only(Adjacency::AddRemove, 1.0)?;
//! let sigma = target.noise(|sigma| Event::gaussian(one, sigma))?;
//! assert!((sigma.get() - 3.730631635).abs() < 1e-7);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::accountant::{AccountError, Accountant};
use crate::event::Event;
use crate::units::{Adjacency, Delta, Epsilon, Probability, Scale};

/// A budget, and how it is to be proved that it is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// At most this epsilon
    pub epsilon: Epsilon,
    /// at this delta,
    pub delta: Delta,
    /// for these neighbours,
    pub adjacency: Adjacency,
    /// as bounded by this accountant.
    pub accountant: Accountant,
}

/// Why nothing fits, or nothing can be said.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CalibrateError {
    /// The events have no price.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// Even the most private member of the family is too expensive.
    #[error(
        "no {what} meets epsilon {epsilon} at delta {delta}; raise the budget or lower the rest"
    )]
    Unreachable {
        /// What was looked for.
        what: &'static str,
        /// The budget.
        epsilon: Epsilon,
        /// The budget.
        delta: Delta,
    },
    /// Every member fits.
    #[error("every {what} meets the budget: these events cost nothing that a limit could save")]
    Unlimited {
        /// What was looked for.
        what: &'static str,
    },
}

/// Answers are found to this relative precision.
const PRECISION: f64 = 1e-9;
const LEAST_NOISE: f64 = 1e-9;
const MOST_NOISE: f64 = 1e15;

impl Target {
    /// The least noise that keeps the budget, for a family that costs less with more noise.
    pub fn noise(&self, family: impl Fn(Scale) -> Event) -> Result<Scale, CalibrateError> {
        let scale = |ln: f64| Scale::new(ln.exp()).expect("an exponential within the bracket");
        let excess = |ln: f64| self.excess(&family(scale(ln)));
        let (mut low, mut high) = (0.0, 0.0);
        if excess(0.0)? > 0.0 {
            while excess(high)? > 0.0 {
                low = high;
                high = (high + 1.0).min(MOST_NOISE.ln());
                if low == high {
                    return Err(self.unreachable("noise"));
                }
            }
        } else {
            while excess(low)? <= 0.0 {
                high = low;
                low = (low - 1.0).max(LEAST_NOISE.ln());
                if low == high {
                    return Err(CalibrateError::Unlimited { what: "noise" });
                }
            }
        }
        Ok(scale(shrink(low, high, excess)?))
    }

    /// The largest sampling probability that keeps the budget.
    pub fn rate(
        &self,
        family: impl Fn(Probability) -> Event,
    ) -> Result<Probability, CalibrateError> {
        let rate = |ln: f64| Probability::new((-ln).exp().min(1.0)).expect("at most one");
        let excess = |ln: f64| self.excess(&family(rate(ln)));
        if excess(0.0)? <= 0.0 {
            return Ok(rate(0.0));
        }
        let (mut low, mut high) = (0.0, 1.0);
        while excess(high)? > 0.0 {
            low = high;
            high += 1.0;
            if high > 60.0 {
                return Err(self.unreachable("sampling rate"));
            }
        }
        Ok(rate(shrink(low, high, excess)?))
    }

    /// The largest number of rounds that keeps the budget.
    pub fn rounds(&self, family: impl Fn(u64) -> Event) -> Result<u64, CalibrateError> {
        let fits = |rounds: u64| Ok::<_, CalibrateError>(self.excess(&family(rounds))? <= 0.0);
        if !fits(1)? {
            return Err(self.unreachable("number of rounds"));
        }
        let (mut most, mut over) = (1, 2);
        while fits(over)? {
            most = over;
            over *= 2;
            if over > 1 << 40 {
                return Err(CalibrateError::Unlimited { what: "number of rounds" });
            }
        }
        while over - most > 1 {
            let middle = most + (over - most) / 2;
            if fits(middle)? {
                most = middle;
            } else {
                over = middle;
            }
        }
        Ok(most)
    }

    /// The same calibration for every node's own budget.
    pub fn noise_for_each(
        targets: &[Target],
        family: impl Fn(Scale) -> Event,
    ) -> Result<Vec<Scale>, CalibrateError> {
        targets.iter().map(|target| target.noise(&family)).collect()
    }

    /// Log of the event's epsilon over the budget's; not positive if the budget is kept.
    fn excess(&self, event: &Event) -> Result<f64, AccountError> {
        let bound = self.accountant.epsilon_upper(event, self.adjacency, self.delta)?;
        let (spent, limit) = (bound.epsilon.get(), self.epsilon.get());
        if spent <= limit {
            // Exactly kept counts as kept, and zero over zero is no number.
            return Ok(if spent == limit || limit.is_infinite() {
                0.0
            } else {
                (spent / limit).ln()
            });
        }
        Ok((spent / limit).ln().max(f64::MIN_POSITIVE))
    }

    fn unreachable(&self, what: &'static str) -> CalibrateError {
        CalibrateError::Unreachable { what, epsilon: self.epsilon, delta: self.delta }
    }
}

/// Shrinks a bracket with `excess(low) > 0 >= excess(high)` and returns its upper end: regula falsi
/// with the Illinois rule, and a halving every third step so that it can never be slow.
fn shrink(
    mut low: f64,
    mut high: f64,
    excess: impl Fn(f64) -> Result<f64, AccountError>,
) -> Result<f64, AccountError> {
    let (mut at_low, mut at_high) = (excess(low)?, excess(high)?);
    for turn in 1.. {
        if high - low <= PRECISION || at_high == 0.0 {
            break;
        }
        let straight = (low * at_high - high * at_low) / (at_high - at_low);
        // A little on the safe side, so that the upper end arrives too.
        let guess = straight + 0.3 * PRECISION;
        let guess = if turn % 3 == 0 || !(low < guess && guess < high) {
            0.5 * (low + high)
        } else {
            guess
        };
        let value = excess(guess)?;
        if value > 0.0 {
            (low, at_low) = (guess, value);
            at_high *= 0.5;
        } else {
            (high, at_high) = (guess, value);
            at_low *= 0.5;
        }
    }
    Ok(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Sensitivity;

    fn target(epsilon: f64, delta: f64) -> Target {
        Target {
            epsilon: Epsilon::new(epsilon).unwrap(),
            delta: Delta::new(delta).unwrap(),
            adjacency: Adjacency::AddRemove,
            accountant: Accountant::Best,
        }
    }

    fn gaussian(sigma: Scale) -> Event {
        Event::gaussian(Sensitivity::under_only(Adjacency::AddRemove, 1.0).unwrap(), sigma)
    }

    fn rate(q: f64) -> Probability {
        Probability::new(q).unwrap()
    }

    #[test]
    fn gaussian_noise_matches_theory_e1() {
        for (epsilon, delta, expected) in [
            (1.0, 1e-5, 3.730631635),
            (1.0, 1e-4, 3.185702990),
            (3.0, 1e-5, 1.390593457),
            (0.5, 1e-6, 8.057618481),
            (10.0, 1e-5, 0.499888620),
        ] {
            let sigma = target(epsilon, delta).noise(gaussian).unwrap().get();
            assert!((sigma - expected).abs() < 2e-8, "{sigma} is not {expected}");
        }
    }

    #[test]
    fn sampled_noise_matches_theory_7_1() {
        let event = |sigma| gaussian(sigma).poisson_sampled(rate(1.0 / 3125.0)).repeated(3120);
        let sigma = target(3.0, 1e-5).noise(event).unwrap().get();
        // Theory's 0.465010368 comes from a coarser grid.
        assert!(sigma < 0.465010368 && sigma > 0.9998 * 0.465010368, "{sigma}");
        let rdp = Target { accountant: Accountant::Rdp, ..target(3.0, 1e-5) };
        let sigma = rdp.noise(event).unwrap().get();
        // Theory's 0.548629 uses integer orders only.
        assert!(sigma < 0.548629 && sigma > 0.52, "{sigma}");
    }

    #[test]
    fn each_missing_number_is_found_and_keeps_the_budget() {
        let target = target(2.0, 1e-6);
        let event = |z: f64, q: f64, t: u64| {
            gaussian(Scale::new(z).unwrap()).poisson_sampled(rate(q)).repeated(t)
        };
        let spent = |e: &Event| {
            let bound = target.accountant.epsilon_upper(e, target.adjacency, target.delta);
            bound.unwrap().epsilon.get()
        };
        let z = target.noise(|z| event(z.get(), 0.01, 500)).unwrap().get();
        let t = target.rounds(|t| event(z, 0.01, t)).unwrap();
        let q = target.rate(|q| event(z, q.get(), 500)).unwrap().get();
        assert!((500..=501).contains(&t), "{t}");
        assert!((q - 0.01).abs() < 1e-6, "{q}");
        for kept in [event(z, 0.01, 500), event(z, 0.01, t), event(z, q, 500)] {
            assert!(spent(&kept) <= 2.0);
        }
        assert!(spent(&event(z, 0.01, t + 1)) > 2.0);
    }

    #[test]
    fn what_cannot_be_kept_or_missed_is_said() {
        let free = target(1.0, 1e-5).noise(|_| Event::NoOp);
        assert_eq!(free, Err(CalibrateError::Unlimited { what: "noise" }));
        let never = target(1.0, 1e-5).noise(|_| Event::NonPrivate);
        assert!(matches!(never, Err(CalibrateError::Unreachable { .. })));
        let none = target(0.1, 1e-9).rounds(|t| gaussian(Scale::new(0.5).unwrap()).repeated(t));
        assert!(matches!(none, Err(CalibrateError::Unreachable { .. })));
    }

    #[test]
    fn nodes_get_their_own_noise() {
        let targets = [target(1.0, 1e-5), target(10.0, 1e-5)];
        let noises = Target::noise_for_each(&targets, gaussian).unwrap();
        assert!((noises[0].get() - 3.730631635).abs() < 2e-8);
        assert!((noises[1].get() - 0.499888620).abs() < 2e-8);
    }
}
