//! C14 of the theory's appendix C: what is true must not be called false.

use super::*;
use crate::claims::admm::{Subproblem, pr};
use crate::claims::fair::{
    lemma_22, lemma_23, pdfc_event, rfm_event, theorem_18_epsilon, theorem_20,
};
use crate::claims::gaussian::tail_sigma;
use crate::claims::{dgd, fair, recycled};

fn adult() -> Subproblem {
    Subproblem { records: 8000, lipschitz: clip(1.0), convexity: scale(2.0), tolerance: 0.0 }
}

#[test]
fn control_pr_admm_with_its_tight_noise() {
    let periodic = pr::Schedule::Periodic { period: 1, ratio: probability(0.925) };
    let iteration = pr::Schedule::Iteration { growth: scale(0.015) };
    // The printed digits, rounded up.
    for (schedule, first) in [(periodic, 0.00971992707), (iteration, 0.00996129326)] {
        let event = pr::event(&adult(), scale(first), &schedule, 50).expect("in range");
        let epsilon = price(Accountant::Best, &event, Adjacency::Replace, 1e-4);
        assert!(epsilon <= 1.0 && epsilon > 1.0 - 1e-7, "{epsilon}");
    }
}

#[test]
fn control_rfm_formula() {
    for e in [0.01, 0.1, 1.0, 3.0, 10.0] {
        for d in [1e-9, 1e-5, 1e-3, 0.1] {
            let sigma = tail_sigma(epsilon(e), delta(d), lemma_23(13)).expect("in range");
            let event = rfm_event(sigma).expect("in range");
            assert!(price(Accountant::Best, &event, Adjacency::Replace, d) <= e);
            // Even with the formula's own sensitivity.
            let mu = lemma_23(13) / sigma.get();
            assert!(gaussian_delta(e, mu) <= 0.627 * d);
        }
    }
}

#[test]
fn control_theorem_v1_with_exact_minimisers() {
    // One dimension, one record with v = y x in [-1, 1]: the minimiser f of
    // ln(1 + e^(-v f)) + 0.3 f^2 + (c + b) f has density (0.6 + h) e^(-|0.6 f + c - g|)/2.
    let parts = |v: f64, f: f64| {
        let s = 1.0 / (1.0 + (v * f).exp());
        (v * s, v * v * s * (1.0 - s))
    };
    let worst = |linear: bool| {
        let mut worst = 0.0_f64;
        for k in -800..=800 {
            let f = f64::from(k) / 100.0;
            let records = (-100..=100).map(|v| parts(f64::from(v) / 100.0, f));
            let records: Vec<(f64, f64)> = records.collect();
            // The public linear term c is zero, or so large that the modulus is linear too.
            for far in if linear { vec![1e3, -1e3] } else { vec![0.6 * f] } {
                let ln = |(g, h): &(f64, f64)| (0.6 + h).ln() - (far - g).abs();
                let most = records.iter().map(ln).fold(f64::NEG_INFINITY, f64::max);
                let least = records.iter().map(ln).fold(f64::INFINITY, f64::min);
                worst = worst.max(most - least);
            }
        }
        worst
    };
    let node = recycled::Node {
        records: 1,
        weight: scale(1.0),
        ridge: 0.6 - 2e-9,
        neighbours: 1,
        smoothness: 0.25,
    };
    let odd = [recycled::Iteration { eta: scale(1e-9), rate: scale(1.0) }];
    let event = recycled::event(&node, &odd, 1).expect("in range");
    let tight = price(Accountant::Gdp, &event, Adjacency::Replace, 0.0);
    let paper = recycled::theorem_v1_epsilon(&node, &odd).expect("in range").get();
    digits(tight, "2.348307");
    digits(paper, "3.166667");
    // The theory's 1.102364 is the worst of its own instances; the supremum is 1.060174 without a
    // public linear term and 1.123149 with the worst one. All of them are below the tight bound.
    digits(worst(false), "1.0602");
    digits(worst(true), "1.1231");
    assert!(worst(true) >= 1.102364 && worst(true) <= tight && tight <= paper);
}

#[test]
fn control_theorem_v1_at_the_papers_numbers() {
    for growth in [1.0, 1.01, 1.05] {
        let odd = recycled::growing(growth, 1.0, 25);
        let event = recycled::event(&recycled::adult(), &odd, 105).expect("in range");
        let claimed = recycled::theorem_v1_epsilon(&recycled::adult(), &odd).expect("in range");
        assert!(price(Accountant::Best, &event, Adjacency::Replace, 0.0) <= claimed.get());
    }
}

#[test]
fn control_dgd_theorem_1_after_the_fix() {
    for (e, d) in [(4.0, 1e-3), (4.0, 1e-6), (4.0, 1e-9), (0.5, 1e-5)] {
        let kappa = dgd::kappa(epsilon(e), delta(d), clip(1.0)).expect("in range");
        for rounds in [1, 10, 1000] {
            let schedule = dgd::Schedule { step: scale(0.01), kappa, rounds };
            let event = dgd::event(&schedule, clip(1.0)).expect("in range");
            assert!(price(Accountant::Best, &event, Adjacency::Replace, d) <= e);
        }
    }
}

#[test]
fn control_theorem_3() {
    let schedule = pr::Schedule::Iteration { growth: scale(0.015) };
    for rounds in [1, 2, 50] {
        near(schedule.claimed_total(rounds), schedule.total(rounds), 1e-12);
        let total = pr::claimed_rho(1.0, 1.0, scale(5.0), &schedule, rounds).expect("in range");
        let claimed =
            crate::claims::gaussian::zcdp_epsilon(total, delta(1e-4)).expect("in range").get();
        // Even a single record, where the sensitivity's missing 1/n does not help.
        let problem = Subproblem { records: 1, ..adult() };
        let event = pr::event(&problem, scale(5.0), &schedule, rounds).expect("in range");
        assert!(price(Accountant::Best, &event, Adjacency::Replace, 1e-4) <= claimed);
    }
}

#[test]
fn control_theorem_18() {
    for d in 1..=200u64 {
        let (total, n) = (lemma_22(d), d as f64);
        // L1 sensitivities of the printed coefficients with features in [0, 1].
        let (touching, rest) = (2.75 + n / 4.0, (n - 1.0) * (3.0 + (n - 1.0) / 8.0));
        for (special, others) in [(1.0, 1.0), (0.01, 10.0), (10.0, 0.01)] {
            let claimed = theorem_18_epsilon(epsilon(special), epsilon(others), d);
            let truth = touching * special / total + rest * others / total;
            assert!(truth <= claimed.expect("in range").get() + 1e-12, "{d}");
        }
        let noise = scale(total);
        let event = pdfc_event(d, noise, noise).expect("in range");
        assert!(price(Accountant::Best, &event, Adjacency::Replace, 0.0) <= 1.0);
    }
}

#[test]
fn control_adfc_with_equal_groups_is_no_false_alarm() {
    let group = (epsilon(1.0), delta(1e-5));
    let (e, d) = theorem_20(group, group, 13).expect("in range");
    near(e.get(), 1.0, 1e-12);
    near(d.get(), 2e-5, 1e-5);
    let sigma = fair::adfc_claimed_sigma(group.0, group.1, 13).expect("in range");
    let shift = crate::claims::counterexample::single::one_attribute_shift(1000);
    digits(shift / sigma.get(), "0.0547");
    assert!(gaussian_delta(1.0, shift / sigma.get()) < 1e-50);
    let event = fair::adfc_printed_event(sigma, sigma).expect("in range");
    assert!(price(Accountant::Best, &event, Adjacency::Replace, d.get()) <= e.get());
}
