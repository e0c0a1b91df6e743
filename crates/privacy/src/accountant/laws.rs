//! Laws that every accountant obeys, whatever the events.

use proptest::prelude::*;

use super::{AccountError, Accountant, Bound};
use crate::event::Event;
use crate::testing;
use crate::units::{Adjacency, Delta, Probability, Scale, Sensitivity};

fn round(q: f64, sigma: f64) -> Event {
    let one = Sensitivity::under_only(Adjacency::AddRemove, 1.0).unwrap();
    Event::gaussian(one, Scale::new(sigma).unwrap()).poisson_sampled(Probability::new(q).unwrap())
}

fn price(accountant: Accountant, event: &Event, adjacency: Adjacency, delta: f64) -> f64 {
    let bound = accountant.epsilon(event, adjacency, Delta::new(delta).unwrap()).unwrap();
    bound.epsilon.get()
}

/// The accountants that price sampled Gaussians under both adjacencies.
const SAMPLED: [Accountant; 3] = [Accountant::Gdp, Accountant::Pld, Accountant::Rdp];

/// Bounds may wobble by their own discretisation, no more.
const WOBBLE: f64 = 1.0 + 2e-3;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn more_rounds_records_or_certainty_and_less_noise_cost_more(
        q in 1e-4..0.9_f64,
        sigma in 0.5..20.0_f64,
        times in 1_u64..5000,
        ln_delta in -30.0..-4.0_f64,
        more in 1.02..2.0_f64,
        adjacency in testing::adjacency(),
    ) {
        let delta = ln_delta.exp();
        for accountant in SAMPLED {
            let at = |event: Event, delta| price(accountant, &event, adjacency, delta);
            let base = at(round(q, sigma).repeated(times), delta);
            let many = (times as f64 * more).ceil() as u64;
            for dearer in [
                at(round(q, sigma).repeated(many), delta),
                at(round((q * more).min(1.0), sigma).repeated(times), delta),
                at(round(q, sigma / more).repeated(times), delta),
                at(round(q, sigma).repeated(times), delta / more),
            ] {
                prop_assert!(base <= dearer * WOBBLE + 1e-9, "{accountant}: {base} > {dearer}");
            }
        }
    }

    #[test]
    fn the_order_of_events_does_not_matter(
        mut events in proptest::collection::vec(
            (1e-3..0.5_f64, 0.7..5.0_f64, 1_u64..50), 1..4),
        delta in 1e-9..1e-3_f64,
    ) {
        let run = |events: &[(f64, f64, u64)]| {
            Event::Composed(events.iter().map(|(q, z, t)| round(*q, *z).repeated(*t)).collect())
        };
        let (forth, once) = (run(&events), run(&events));
        events.reverse();
        let back = run(&events);
        for accountant in SAMPLED {
            let at = |event| price(accountant, event, Adjacency::AddRemove, delta);
            let (a, b) = (at(&forth), at(&back));
            prop_assert!((a / b - 1.0).abs() < 1e-9, "{accountant}: {a} {b}");
            prop_assert_eq!(at(&once), a);
        }
    }

    #[test]
    fn lower_bounds_stay_below_every_upper_bound(
        q in 1e-3..1.0_f64, sigma in 0.3..30.0_f64, times in 1_u64..20_000,
        ln_delta in -38.0..-3.0_f64, adjacency in testing::adjacency(),
    ) {
        let run = round(q, sigma).repeated(times);
        let delta = Delta::new(ln_delta.exp()).unwrap();
        let pld = Accountant::Pld.epsilon(&run, adjacency, delta).unwrap();
        let lower = pld.epsilon_lower.unwrap();
        for accountant in SAMPLED {
            let upper = accountant.epsilon(&run, adjacency, delta).unwrap().epsilon;
            prop_assert!(lower <= upper, "{accountant}: {lower} > {upper}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_event_is_priced_or_refused_without_panic(
        event in testing::event(), adjacency in testing::adjacency(), ln_delta in -40.0..-1.0_f64,
    ) {
        let delta = Delta::new(ln_delta.exp()).unwrap();
        for accountant in Accountant::ALL {
            match accountant.epsilon(&event, adjacency, delta) {
                Ok(Bound { epsilon, epsilon_lower, .. }) => {
                    prop_assert!(!epsilon.get().is_nan());
                    let lower = epsilon_lower.map_or(0.0, |e| e.get());
                    prop_assert!(lower <= epsilon.get(), "{accountant}: {lower} > {epsilon}");
                }
                Err(AccountError::Unpriced { remedy, .. }) => prop_assert!(!remedy.is_empty()),
                Err(AccountError::TooManyRounds(_)) => {}
            }
        }
    }
}
