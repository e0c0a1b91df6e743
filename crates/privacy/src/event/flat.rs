//! A nested event as a list of (elementary event, how often).

use super::Event;
use crate::units::Probability;

/// More repetitions than a 64-bit counter holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the event repeats more than 2^64 times; no accountant can bound that")]
pub struct TooManyRounds;

/// An event without `Composed`, `Repeated`, `Imprecise` or `NoOp` at its top levels.
pub(crate) struct Flat<'a> {
    /// Distinct elementary events and their number, in order of first appearance.
    pub parts: Vec<(&'a Event, u64)>,
    /// Sum of the total-variation slacks, at most 1.
    pub slack: Probability,
}

/// Lists the elementary events of `event`, equal neighbours merged.
pub(crate) fn flatten(event: &Event) -> Result<Flat<'_>, TooManyRounds> {
    let mut parts: Vec<(&Event, u64)> = Vec::new();
    let mut slack = 0.0;
    walk(event, 1, &mut parts, &mut slack)?;
    let slack = Probability::new(f64::min(slack, 1.0)).expect("a capped sum of probabilities");
    Ok(Flat { parts, slack })
}

fn walk<'a>(
    event: &'a Event,
    times: u64,
    parts: &mut Vec<(&'a Event, u64)>,
    slack: &mut f64,
) -> Result<(), TooManyRounds> {
    if times == 0 {
        return Ok(());
    }
    match event {
        Event::NoOp => Ok(()),
        Event::Composed(events) => events.iter().try_for_each(|e| walk(e, times, parts, slack)),
        Event::Repeated(repeated) => {
            let total = times.checked_mul(repeated.times).ok_or(TooManyRounds)?;
            walk(&repeated.event, total, parts, slack)
        }
        Event::Imprecise(imprecise) => {
            *slack += times as f64 * imprecise.total_variation.get();
            walk(&imprecise.event, times, parts, slack)
        }
        leaf => {
            match parts.last_mut() {
                Some((last, count)) if *last == leaf => {
                    *count = count.checked_add(times).ok_or(TooManyRounds)?;
                }
                _ => parts.push((leaf, times)),
            }
            Ok(())
        }
    }
}
