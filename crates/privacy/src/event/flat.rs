//! A nested event as a list of (elementary event, how often).

use std::collections::BTreeMap;

use super::{Event, Sampled};

/// More repetitions than a 64-bit counter holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the event repeats more than 2^64 times; no accountant can bound that")]
pub struct TooManyRounds;

/// An event without `Composed`, `Repeated`, `Imprecise`, `NoOp` or trivial sampling at its top.
pub(crate) struct Flat<'a> {
    /// Distinct elementary events and their number, in order of first appearance.
    pub parts: Vec<(&'a Event, u64)>,
    /// Sum of the total-variation slacks.
    pub slack: f64,
}

/// Lists the elementary events of `event`, equal ones merged (composition does not mind the order).
pub(crate) fn flatten(event: &Event) -> Result<Flat<'_>, TooManyRounds> {
    let mut walk = Walk { parts: Vec::new(), places: BTreeMap::new(), slack: 0.0 };
    walk.visit(event, 1)?;
    Ok(Flat { parts: walk.parts, slack: walk.slack })
}

struct Walk<'a> {
    parts: Vec<(&'a Event, u64)>,
    places: BTreeMap<String, usize>,
    slack: f64,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, event: &'a Event, times: u64) -> Result<(), TooManyRounds> {
        if times == 0 {
            return Ok(());
        }
        match event {
            Event::NoOp => Ok(()),
            Event::Composed(events) => events.iter().try_for_each(|e| self.visit(e, times)),
            Event::Repeated(repeated) => {
                let total = times.checked_mul(repeated.times).ok_or(TooManyRounds)?;
                self.visit(&repeated.event, total)
            }
            Event::Imprecise(imprecise) => {
                self.slack += times as f64 * imprecise.total_variation.get();
                self.visit(&imprecise.event, times)
            }
            Event::PoissonSampled(sampled) | Event::FixedSizeSampled(sampled)
                if is_trivial(sampled) =>
            {
                if sampled.probability.get() == 0.0 {
                    return Ok(());
                }
                self.visit(&sampled.event, times)
            }
            leaf => {
                self.slack += times as f64 * inner_slack(leaf)?;
                self.count(leaf, times)
            }
        }
    }

    fn count(&mut self, leaf: &'a Event, times: u64) -> Result<(), TooManyRounds> {
        let place = match self.parts.last() {
            Some((last, _)) if *last == leaf => self.parts.len() - 1,
            _ => {
                let fresh = self.parts.len();
                *self.places.entry(format!("{leaf:?}")).or_insert(fresh)
            }
        };
        if place == self.parts.len() {
            self.parts.push((leaf, times));
            return Ok(());
        }
        let count = &mut self.parts[place].1;
        *count = count.checked_add(times).ok_or(TooManyRounds)?;
        Ok(())
    }
}

fn is_trivial(sampled: &Sampled) -> bool {
    let q = sampled.probability.get();
    q == 0.0 || q == 1.0
}

/// The slack hidden inside a sampled or masked event; mixing does not increase it.
fn inner_slack(leaf: &Event) -> Result<f64, TooManyRounds> {
    match leaf {
        Event::PoissonSampled(s) | Event::FixedSizeSampled(s) => Ok(flatten(&s.event)?.slack),
        Event::SdmMask(mask) => Ok(flatten(&mask.event)?.slack),
        _ => Ok(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Imprecise;
    use crate::units::{Adjacency, Probability, Scale, Sensitivity};

    fn gaussian(sigma: f64) -> Event {
        let one = Sensitivity::under_only(Adjacency::AddRemove, 1.0).unwrap();
        Event::gaussian(one, Scale::new(sigma).unwrap())
    }

    #[test]
    fn nesting_multiplies_and_equal_events_merge() {
        let event = Event::Composed(vec![
            gaussian(1.0).repeated(3),
            gaussian(2.0),
            Event::Composed(vec![gaussian(1.0), Event::NoOp]).repeated(2),
        ]);
        let flat = flatten(&event).unwrap();
        assert_eq!(flat.parts, vec![(&gaussian(1.0), 5), (&gaussian(2.0), 1)]);
    }

    #[test]
    fn counts_that_overflow_are_refused() {
        let event = gaussian(1.0).repeated(1 << 40).repeated(1 << 40);
        assert!(flatten(&event).is_err());
    }

    #[test]
    fn slack_is_found_at_any_depth() {
        let tv = Probability::new(1e-9).unwrap();
        let inner =
            Event::Imprecise(Imprecise { total_variation: tv, event: Box::new(gaussian(1.0)) });
        let event = inner.poisson_sampled(Probability::new(0.5).unwrap()).repeated(10);
        assert!((flatten(&event).unwrap().slack - 1e-8).abs() < 1e-20);
    }
}
