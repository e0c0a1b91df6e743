//! The corners of the parameter space: no panic, no NaN, no memory blow-up, bounds in order.

use serde_json::Value;
use undertone_privacy::accountant::Accountant;
use undertone_privacy::event::Event;
use undertone_privacy::units::{Adjacency, Delta, Probability, Scale, Sensitivity};

fn round(q: f64, sigma: f64) -> Event {
    let one = Sensitivity::under_only(Adjacency::AddRemove, 1.0).unwrap();
    let noise = Event::gaussian(one, Scale::new(sigma).unwrap());
    noise.poisson_sampled(Probability::new(q).unwrap())
}

// One test for each adjacency, so that two cores share the work.
#[test]
fn every_corner_gives_an_ordered_answer_when_a_record_is_added_or_removed() {
    every_corner(Adjacency::AddRemove);
}

#[test]
fn every_corner_gives_an_ordered_answer_when_a_record_is_replaced() {
    every_corner(Adjacency::Replace);
}

fn every_corner(adjacency: Adjacency) {
    for q in [0.0, 1e-9, 0.01, 0.999, 1.0] {
        for sigma in [1e-3, 0.5, 1e6] {
            for times in [1, 1_000_000_000] {
                for delta in [1e-18, 1e-3] {
                    let run = round(q, sigma).repeated(times);
                    check(&run, adjacency, delta, (q, sigma, times));
                }
            }
        }
    }
}

fn check(run: &Event, adjacency: Adjacency, delta: f64, case: (f64, f64, u64)) {
    let at = Delta::new(delta).unwrap();
    let best = Accountant::Best.epsilon(run, adjacency, at).unwrap();
    assert!(best.epsilon.get().is_finite(), "{case:?} {delta} {adjacency}");
    // Often the best is the loss distribution's own answer, which takes a second to compute.
    let pld = match best.accountant {
        Accountant::Pld => Ok(best),
        _ => Accountant::Pld.epsilon(run, adjacency, at),
    };
    let Ok(pld) = pld else { return };
    let (low, high) = (pld.epsilon_lower.map_or(0.0, |e| e.get()), pld.epsilon.get());
    assert!(low <= high && low <= best.epsilon.get(), "{case:?} {delta} {adjacency}: {low} {high}");
}

#[test]
fn tiny_and_huge_epsilons_are_tight() {
    // Nearly Gaussian compositions, whose value is known: mu = q sqrt(T (e^(1/sigma^2) - 1)).
    for (q, sigma, times, delta) in [(0.01, 300.0, 100, 1e-5), (0.001, 1000.0, 10_000, 1e-10)] {
        let run = round(q, sigma).repeated(times);
        let at = Delta::new(delta).unwrap();
        let pld = Accountant::Pld.epsilon(&run, Adjacency::AddRemove, at).unwrap();
        let (low, high) = (pld.epsilon_lower.unwrap().get(), pld.epsilon.get());
        assert!(high < 0.01 && low > 0.0 && high / low < 1.01, "{low} {high}");
    }
    let run = round(0.001, 1.0).repeated(1_000_000_000);
    let pld =
        Accountant::Pld.epsilon(&run, Adjacency::AddRemove, Delta::new(1e-5).unwrap()).unwrap();
    let (low, high) = (pld.epsilon_lower.unwrap().get(), pld.epsilon.get());
    assert!(low > 900.0 && high / low < 1.01, "{low} {high}");
}

#[test]
fn small_deltas_do_not_jump() {
    // Other accountants jump here, because a transform cannot see 1e-18 without tilting.
    let run = round(0.01, 1.0).repeated(1000);
    let mut last = 0.0;
    for k in 0..40 {
        let delta = Delta::new(10f64.powf(-2.0 - 0.5 * f64::from(k))).unwrap();
        let pld = Accountant::Pld.epsilon(&run, Adjacency::AddRemove, delta).unwrap();
        let (low, high) = (pld.epsilon_lower.unwrap().get(), pld.epsilon.get());
        assert!(high / low < 1.001, "{delta}: {low} {high}");
        assert!(
            high > last && high < last + 0.5 + f64::from(k == 0),
            "{delta}: {high} after {last}"
        );
        last = high;
    }
}

/// Numbers that a file may hold, put in the place of every number of every published event.
#[test]
fn every_number_of_an_event_may_be_extreme() {
    let golden: Vec<Value> = serde_json::from_str(include_str!("golden/events.json")).unwrap();
    let mut priced = 0;
    for event in &golden {
        for extreme in [0.0, 1e-300, 1e18, 1e300] {
            for place in 0..numbers(&mut event.clone(), usize::MAX, 0.0) {
                let mut changed = event.clone();
                numbers(&mut changed, place, extreme);
                let Ok(event) = serde_json::from_value::<Event>(changed) else { continue };
                for accountant in [Accountant::Gdp, Accountant::Pld, Accountant::Rdp] {
                    let adjacency = Adjacency::Replace;
                    let bound = accountant.epsilon(&event, adjacency, Delta::new(1e-5).unwrap());
                    if let Ok(bound) = bound {
                        assert!(!bound.epsilon.get().is_nan(), "{event:?}");
                        let lower = bound.epsilon_lower.map_or(0.0, |e| e.get());
                        assert!(lower <= bound.epsilon.get(), "{event:?}: {bound:?}");
                        priced += 1;
                    }
                }
            }
        }
    }
    assert!(priced > 200, "{priced}");
}

/// Replaces the number at `place` (counted from 0), and returns how many there are.
fn numbers(value: &mut Value, place: usize, by: f64) -> usize {
    fn walk(value: &mut Value, place: usize, by: f64, seen: &mut usize) {
        match value {
            Value::Number(_) => {
                if *seen == place {
                    // Counts must look like counts to be read at all.
                    let whole = by.fract() == 0.0 && by < 2e18;
                    *value = if whole { Value::from(by as u64) } else { Value::from(by) };
                }
                *seen += 1;
            }
            Value::Array(items) => items.iter_mut().for_each(|v| walk(v, place, by, seen)),
            Value::Object(map) => map.values_mut().for_each(|v| walk(v, place, by, seen)),
            _ => {}
        }
    }
    let mut seen = 0;
    walk(value, place, by, &mut seen);
    seen
}
