//! Theory section 6.

use super::*;
use crate::claims::recycled::*;

#[test]
fn theory_6_2_pure_totals() {
    for (growth, rate, paper, tight) in [
        (1.0, 1.0, "11.8841184471", "11.2733124838"),
        (1.04, 1.0, "11.5311332744", "11.1485493626"),
        (1.0, 2.0, "22.8216184471", "22.2108124838"),
    ] {
        let odd = growing(growth, rate, 25);
        digits(theorem_v1_epsilon(&adult(), &odd).expect("in range").get(), paper);
        let event = event(&adult(), &odd, 105).expect("in range");
        digits(price(Accountant::Gdp, &event, Adjacency::Replace, 0.0), tight);
    }
    let kappa = adult().curvature(scale(1.0));
    digits(kappa, "0.0135231207");
    digits(kappa.ln_1p(), "0.0134324994");
}

#[test]
fn theory_6_2_totals_with_a_delta() {
    for (count, replace, add_remove) in [(25, 1.400638, 0.667376), (50, 2.132540, 1.004556)] {
        let event = event(&adult(), &growing(1.0, 1.0, count), 105).expect("in range");
        at_most(price(Accountant::Rdp, &event, Adjacency::Replace, 1e-5), replace);
        at_most(price(Accountant::Rdp, &event, Adjacency::AddRemove, 1e-5), add_remove);
    }
}

#[test]
fn theory_6_2_noise_for_a_tolerance() {
    let rate = tolerance_rate(scale(4.0), 1e-10, epsilon(1e-3)).expect("in range");
    near(rate.get(), 2e7, 1e-12);
    near(105.0 / rate.get(), 5.3e-6, 0.01);
    let event = tolerance_event(scale(4.0), 1e-10, rate, 105).expect("in range");
    for adjacency in [Adjacency::Replace, Adjacency::AddRemove] {
        near(price(Accountant::Gdp, &event, adjacency, 0.0), 1e-3, 1e-12);
    }
}

#[test]
fn theory_6_3_dvp_counts_every_iteration() {
    let one = event(&adult(), &growing(1.0, 1.0, 1), 105).expect("in range");
    let all = event(&adult(), &growing(1.0, 1.0, 50), 105).expect("in range");
    let at = |event: &Event| price(Accountant::Gdp, event, Adjacency::Replace, 0.0);
    near(at(&all), 50.0 * at(&one), 1e-12);
    // 2 C alpha/B + ln(1 + kappa).
    near(at(&one), 0.4375 + 0.0134324994, 1e-9);
}

#[test]
fn theory_6_4_m_admm_is_tighter_than_its_claim() {
    let iterations = growing(1.0, 1.0, 25);
    let claimed = m_admm_epsilon(&adult(), &iterations).expect("in range").get();
    near(claimed, 25.0 * 1750.0 * (1.4 * 0.25 + 1.0) / (2.0 * 8000.0), 1e-12);
    let event = m_admm_event(&adult(), &iterations, 105).expect("in range");
    let tight = 25.0 * (1750.0 / (2.0 * 8000.0) + 0.0135231207f64.ln_1p());
    let pure = price(Accountant::Gdp, &event, Adjacency::Replace, 0.0);
    near(pure, tight, 1e-8);
    assert!(pure <= claimed);
}
