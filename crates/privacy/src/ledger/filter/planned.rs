//! Plans: lists of events that are priced as a whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Gate;
use crate::accountant::Accountant;
use crate::event::{Event, TooManyRounds};
use crate::ledger::{Budget, OpenError};
use crate::units::Adjacency;

pub(super) fn open_plan(
    plan: &Event,
    budget: &Budget,
    adjacency: Adjacency,
) -> Result<Gate, OpenError> {
    let mut left = BTreeMap::new();
    unpack(plan, 1, &mut left)?;
    let price = Accountant::Best.epsilon_upper(plan, adjacency, budget.delta)?;
    if price.epsilon > budget.epsilon {
        let remedy = what_fits(plan, budget, adjacency)?;
        return Err(OpenError::PlanTooDear { price: price.epsilon, budget: *budget, remedy });
    }
    let places = left.into_iter().enumerate().map(|(place, (key, n))| (key, (place, n)));
    let plan = Arc::new(places.collect());
    Ok(Gate::Planned { left: all_of(&plan), plan, price })
}

pub(super) fn all_of(plan: &BTreeMap<String, (usize, u64)>) -> Vec<u64> {
    // Places are numbered in the order of the keys.
    plan.values().map(|(_, n)| *n).collect()
}

fn what_fits(plan: &Event, budget: &Budget, adjacency: Adjacency) -> Result<String, OpenError> {
    let Event::Repeated(repeated) = plan else {
        return Ok("plan fewer events, more noise or a larger budget".into());
    };
    let (mut fits, mut fails) = (0, repeated.times);
    while fails - fits > 1 {
        let middle = fits + (fails - fits) / 2;
        let run = repeated.event.as_ref().clone().repeated(middle);
        let price = Accountant::Best.epsilon_upper(&run, adjacency, budget.delta)?;
        if price.epsilon <= budget.epsilon {
            fits = middle;
        } else {
            fails = middle;
        }
    }
    Ok(format!("{fits} repetitions fit, not {}", repeated.times))
}

/// Counts the leaves of `Composed` and `Repeated`, by their JSON; `NoOp` needs no plan.
pub(super) fn unpack(
    event: &Event,
    times: u64,
    counts: &mut BTreeMap<String, u64>,
) -> Result<(), TooManyRounds> {
    match event {
        Event::Composed(events) => events.iter().try_for_each(|e| unpack(e, times, counts)),
        Event::Repeated(repeated) => {
            let total = times.checked_mul(repeated.times).ok_or(TooManyRounds)?;
            unpack(&repeated.event, total, counts)
        }
        Event::NoOp => Ok(()),
        _ if times == 0 => Ok(()),
        leaf => {
            let key = serde_json::to_string(leaf).expect("plain data has a JSON form");
            let count = counts.entry(key).or_insert(0);
            *count = count.checked_add(times).ok_or(TooManyRounds)?;
            Ok(())
        }
    }
}

/// What is left of a plan, in words.
pub(super) fn list(plan: &BTreeMap<String, (usize, u64)>, left: &[u64]) -> String {
    let rest: Vec<String> = plan
        .iter()
        .filter(|(_, (place, _))| left[*place] > 0)
        .map(|(key, (place, _))| format!("{} times {key}", left[*place]))
        .collect();
    if rest.is_empty() { "nothing".into() } else { rest.join(", ") }
}
