//! Tests by section of the theory: its printed digits, recomputed.

use super::*;
use crate::accountant::gdp;
use crate::units::{Mu, Sensitivity};

mod admm;
mod consensus;
mod controls;
mod counterexamples;
mod dgd;
mod fair;
mod privsgp;
mod quantised;
mod recycled;

/// A unit in half of the last printed digit: pass the value as printed.
fn digits(value: f64, printed: &str) {
    let expected: f64 = printed.parse().expect("a number");
    let (mantissa, exponent) = printed.split_once('e').unwrap_or((printed, "0"));
    let places = mantissa.split_once('.').map_or(0, |(_, after)| after.len() as i32);
    let exponent: i32 = exponent.parse().expect("an exponent");
    let unit = 10f64.powi(exponent - places);
    // One unit of the last digit: the theory rounds some values and cuts others.
    assert!((value - expected).abs() <= unit, "{value} is not {printed}");
}

fn near(value: f64, expected: f64, tolerance: f64) {
    assert!((value / expected - 1.0).abs() <= tolerance, "{value} is not {expected}");
}

/// At most the theory's value, and at least 0.88 of it: where its quadrature or split is coarser
/// than ours, or its best order would not be an integer (worth up to a tenth at epsilon 3).
fn at_most(value: f64, expected: f64) {
    assert!(value <= expected * (1.0 + 2e-5), "{value} is above {expected}");
    assert!(value >= 0.88 * expected, "{value} is far below {expected}");
}

fn price(accountant: Accountant, event: &Event, adjacency: Adjacency, at: f64) -> f64 {
    accountant.epsilon(event, adjacency, delta(at)).expect("priced").epsilon.get()
}

/// Size of a run of Gaussians.
fn size(event: &Event, adjacency: Adjacency) -> f64 {
    fn square(event: &Event, adjacency: Adjacency) -> f64 {
        match event {
            Event::Gaussian(g) => {
                (g.sensitivity.under(adjacency).expect("known") / g.sigma.get()).powi(2)
            }
            Event::Composed(parts) => parts.iter().map(|part| square(part, adjacency)).sum(),
            Event::Repeated(r) => r.times as f64 * square(&r.event, adjacency),
            other => panic!("{} is no Gaussian", other.name()),
        }
    }
    square(event, adjacency).sqrt()
}

fn gaussian_delta(at: f64, mu: f64) -> f64 {
    gdp::delta(epsilon(at), Mu::new(mu).expect("in range")).get()
}

fn gaussian_epsilon(at: f64, mu: f64) -> f64 {
    gdp::epsilon(delta(at), Mu::new(mu).expect("in range")).get()
}

/// The size that an (epsilon, delta) target allows.
fn allowed(e: f64, d: f64) -> f64 {
    gdp::mu(epsilon(e), delta(d)).get()
}

#[test]
fn every_claim_can_be_compared_and_false_ones_name_a_counterexample() {
    for claim in all() {
        let comparison = claim.compare();
        assert_eq!(claim.verdict == Verdict::NoClaim, {
            comparison.claimed.is_none() && comparison.truth.epsilon == Epsilon::INFINITE
        });
        if claim.verdict == Verdict::Unsound {
            assert!(claim.counterexample.is_some(), "{}", claim.algorithm);
        }
        if let Some(id) = claim.counterexample {
            assert!(counterexample::find(id).is_some(), "{id}");
        }
        if matches!(claim.verdict, Verdict::Sound | Verdict::Loose | Verdict::SoundAndLoose)
            && let Some(claimed) = comparison.claimed
        {
            assert!(comparison.truth.epsilon <= claimed.epsilon, "{}", claim.algorithm);
        }
        let json = serde_json::to_value(claim).expect("claims serialise");
        assert_eq!(json["algorithm"], claim.algorithm);
        serde_json::to_string(&comparison).expect("comparisons serialise");
    }
}

#[test]
fn keys_are_unique_and_mistyped_ones_find_a_neighbour() {
    let mut keys: Vec<_> = all().iter().map(|claim| claim.algorithm).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), all().len());
    assert!(find("pr-admm-periodic").is_some());
    assert!(find("pr-admm").is_none());
    assert_eq!(nearest("privsgpvr"), "privsgp-vr");
    assert_eq!(edits("kitten", "sitting"), 3);
}

#[test]
fn every_counterexample_breaks_its_claim_in_its_first_case() {
    for (k, example) in counterexample::all().iter().enumerate() {
        assert_eq!(example.id, format!("CE-{}", k + 1));
        let outcome = (example.evaluate)()[0];
        assert!(outcome.breaks(), "{}: {outcome:?}", example.id);
        assert!(serde_json::to_string(&outcome).is_ok());
    }
    assert!(counterexample::find("ce-4").is_some());
}

#[test]
fn violations_are_found_for_every_unsound_claim_and_break_it() {
    for claim in all() {
        match claim.violation() {
            Some(outcome) => assert!(outcome.breaks(), "{}", claim.algorithm),
            None => assert!(claim.verdict != Verdict::Unsound, "{}", claim.algorithm),
        }
    }
    let worst = find("dp-optimisation").and_then(Claim::violation).expect("it has one");
    assert_eq!(worst.case, "q 0.99");
}

#[test]
fn every_shipped_event_survives_json() {
    use crate::claims::admm::{Subproblem, ipp, pp, pr};
    use crate::claims::{consensus, dgd, fair, privsgp, quantised, recycled};
    use crate::event::SagaSampling;
    use crate::units::{NoiseMultiplier, OutOfRange};

    let events = || -> Result<Vec<Event>, OutOfRange> {
        let (s, c, q) = (scale(2.0), clip(1.0), probability(0.1));
        let z = NoiseMultiplier::new(1.5)?;
        let problem = Subproblem { records: 10, lipschitz: c, convexity: s, tolerance: 1e-3 };
        let batches = quantised::Batches { records: 10, size: s, clip: c, rounds: 3 };
        let odd = recycled::growing(1.1, 1.0, 2);
        let node = recycled::adult();
        let sgd = privsgp::cifar();
        Ok(vec![
            pr::event(&problem, s, &pr::Schedule::Iteration { growth: s }, 3)?,
            pp::output_event(&problem, s, 3)?,
            pp::objective_event(&problem, 0.25, s, s, 3)?,
            ipp::event(&problem, s, (s, s), s, 3)?,
            ipp::printed_event(&problem, s, (s, s), s, 3, 9)?,
            quantised::poisson_event(&batches, z)?,
            quantised::fixed_size_event(&batches, z)?,
            quantised::capped_event(&batches, z)?,
            quantised::reanchored_event(&batches, s, s, 5, z)?,
            quantised::sdm_event(&batches, s, q)?,
            fair::fm_event(4, s)?,
            fair::rfm_event(s)?,
            fair::pdfc_event(4, s, s)?,
            fair::adfc_event(fair::Features::Signed, s, s)?,
            fair::adfc_printed_event(s, s)?,
            fair::pflr_event(4, 1.0, fair::Features::Signed, s)?,
            consensus::consensus_event(4, c, 1, s)?,
            consensus::optimisation_event(c, 10, s, 3)?,
            consensus::sampled_optimisation_event(c, 10, q, s, 3)?,
            recycled::event(&node, &odd, 3)?,
            recycled::m_admm_event(&node, &odd, 3)?,
            recycled::tolerance_event(s, 1e-3, s, 3)?,
            privsgp::poisson_event(&sgd, s, s)?,
            privsgp::single_index_event(&sgd, s)?,
            privsgp::table_event(&sgd, SagaSampling::SingleIndex, s),
            privsgp::noisy_mean_event(&sgd, c, s, s)?,
            privsgp::noisy_gradient_event(z, q, 3)?,
            dgd::event(&dgd::estimation(3), c)?,
        ])
    };
    for event in events().expect("literals in range") {
        let json = serde_json::to_string(&event).expect("events serialise");
        assert_eq!(event, serde_json::from_str::<Event>(&json).expect("and come back"));
        let priced = [Adjacency::AddRemove, Adjacency::Replace].map(|adjacency| {
            Accountant::Best.epsilon_upper(&event, adjacency, delta(1e-5)).is_ok()
        });
        assert!(priced.contains(&true), "{json}");
    }
}

#[test]
fn guarantees_print_short() {
    assert_eq!(guarantee(0.5, 1.0000999990000001e-5).to_string(), "(0.500000, 1.0001e-5)");
    assert_eq!(guarantee(f64::INFINITY, 0.0).to_string(), "(inf, 0)");
}
