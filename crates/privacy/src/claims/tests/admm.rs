//! Theory section 2.

use super::*;
use crate::claims::admm::pr::Schedule;
use crate::claims::admm::{Subproblem, ipp, pp, pr};
use crate::special::normal_cdf;

fn periodic(period: u64, ratio: f64) -> Schedule {
    Schedule::Periodic { period, ratio: probability(ratio) }
}

fn iteration(growth: f64) -> Schedule {
    Schedule::Iteration { growth: scale(growth) }
}

fn adult(tolerance: f64) -> Subproblem {
    Subproblem { records: 8000, lipschitz: clip(1.0), convexity: scale(2.0), tolerance }
}

#[test]
fn theory_2_1_sums_over_rounds() {
    digits(periodic(1, 0.925).total(50), "595.7930316178");
    digits(periodic(1, 0.925).claimed_total(50), "594.7930316");
    digits(periodic(5, 0.9).total(50), "84.0587395857");
    digits(iteration(0.015).total(50), "625.75");
    near(iteration(0.015).claimed_total(50), 625.75, 1e-12);
}

#[test]
fn theory_2_1_noise_of_the_paper_and_its_true_size() {
    let budget = crate::accountant::zcdp::rho(epsilon(1.0), delta(1e-4));
    digits(budget.get(), "0.0257628385");
    let sigma = |s: &Schedule| pr::claimed_sigma(budget, 1.0, 1.0, s, 50).expect("in range");
    digits(sigma(&periodic(1, 0.925)).get(), "107.4412574");
    digits(sigma(&iteration(0.015)).get(), "110.2017714");
    let schedule = periodic(1, 0.925);
    let run = pr::event(&adult(0.0), sigma(&schedule), &schedule, 50).expect("in range");
    digits(size(&run, Adjacency::Replace), "2.8398e-5");
    let spent = pr::claimed_rho(1.0, 1.0, sigma(&schedule), &schedule, 50).expect("in range");
    near(spent.get(), budget.get(), 1e-12);
}

#[test]
fn theory_2_1_noise_that_is_needed() {
    for (schedule, printed) in
        [(periodic(1, 0.925), "0.00971992706"), (iteration(0.015), "0.00996129325")]
    {
        let moved = adult(0.0).sensitivity().expect("in range").under(Adjacency::Replace);
        let s1 = moved.expect("known") * schedule.total(50).sqrt() / allowed(1.0, 1e-4);
        digits(s1, printed);
    }
}

#[test]
fn theory_2_1_a_run_with_a_tolerance() {
    let problem = adult(1e-8);
    let moved = problem.sensitivity().expect("in range");
    digits(moved.under(Adjacency::Replace).expect("known"), "1.2501e-4");
    near(moved.under(Adjacency::AddRemove).expect("known"), (1.0 / 8000.0 + 2e-8) / 2.0, 1e-12);
    for (schedule, mu, e) in [
        (periodic(1, 0.925), "0.1525676543", "0.4437161401"),
        (iteration(0.015), "0.1563562294", "0.4561191942"),
    ] {
        let run = pr::event(&problem, scale(0.02), &schedule, 50).expect("in range");
        digits(size(&run, Adjacency::Replace), mu);
        digits(price(Accountant::Best, &run, Adjacency::Replace, 1e-4), e);
    }
    let run = pr::event(&problem, scale(0.02), &periodic(1, 0.925), 50).expect("in range");
    let total = rho(0.5 * size(&run, Adjacency::Replace).powi(2));
    let classic = crate::claims::gaussian::zcdp_epsilon(total, delta(1e-4)).expect("in range");
    digits(classic.get(), "0.6664484505");
    assert!(price(Accountant::Zcdp, &run, Adjacency::Replace, 1e-4) <= classic.get());
}

/// The add-remove profile of objective perturbation, independent of the accountant's.
fn objective(e: f64, mu: f64, ld: f64) -> f64 {
    if e >= ld {
        return gaussian_delta(e - ld, mu);
    }
    1.0 - 2.0 * (e - ld).exp() * normal_cdf(-0.5 * mu)
}

fn objective_replace(e: f64, mu: f64, ld: f64) -> f64 {
    let path = (1.0 + (0.5 * e).exp()) * objective(0.5 * e, mu, ld);
    if e < ld {
        return path.min(1.0);
    }
    path.min(2.0 * gaussian_delta(e - ld, mu) + gaussian_delta(e - ld, 2.0 * mu))
}

/// Theory E5 by the midpoint rule.
fn renyi(a: f64, end: f64, profile: impl Fn(f64) -> f64) -> f64 {
    let cells = 40_000;
    let width = end / f64::from(cells);
    let sum: f64 = (0..cells)
        .map(|k| (f64::from(k) + 0.5) * width)
        .map(|e| (((a - 1.0) * e).exp() + (-a * e).exp()) * profile(e) * width)
        .sum();
    (a * (a - 1.0) * sum).ln_1p() / (a - 1.0)
}

#[test]
fn theory_2_2_profiles_of_objective_perturbation() {
    digits(objective(0.03, 0.02, 1e-4), "6.01756997e-4");
    digits(objective(0.0, 0.02, 1e-4), "8.077909798e-3");
    digits(objective_replace(0.06, 0.02, 1e-4), "1.221840223e-3");
    // Derivatives of both signs.
    digits(2.0 * gaussian_delta(0.49, 0.3), "0.01632598249");
    digits(1.0 - 2.0 * 0.01f64.exp() * normal_cdf(-0.3), "0.2281427363");
}

#[test]
fn theory_2_2_renyi_of_objective_perturbation() {
    for (mu, ld, a, one, two) in [
        (0.02, 1e-4, 2.0, 4.0319092e-4, 1.612673e-3),
        (0.02, 1e-4, 8.0, 1.6127173e-3, 6.4498025e-3),
        (0.1, 0.01, 2.0, 0.011726351, 0.046399075),
        (0.1, 0.01, 8.0, 0.046190304, 0.17479965),
    ] {
        // The theory's quadrature is pessimistic: up to 0.1% above the integral.
        let r = renyi(a, 20.0 * mu + ld, |e| objective(e, mu, ld));
        assert!(r <= one * 1.00001 && r >= 0.998 * one, "{r} is not {one}");
        let r = renyi(a, 40.0 * mu + ld, |e| objective_replace(e, mu, ld));
        assert!(r <= two * 1.00001 && r >= 0.998 * two, "{r} is not {two}");
    }
}

#[test]
fn theory_2_2_defaults_of_the_paper() {
    let run = pp::Defaults::new(epsilon(1.0), delta(1e-4)).expect("in range");
    digits(run.rho_1.get(), "9.038753905e-4");
    digits(run.epsilon_1.get(), "0.1833867513");
    digits(run.objective.get(), "0.006835650643");
    digits(run.ridge.get(), "0.2726478311");
    digits(run.problem.convexity.get(), "2.0545295662");
    digits(0.25 / (7000.0 * run.problem.convexity.get()), "1.738319e-5");
    let mu = 1.0 / (7000.0 * run.objective.get());
    digits(mu, "0.0208988362");
    digits(run.claimed.epsilon.get(), "1.0271434");
    // As if the noise in the objective were on the output.
    let whole = 30f64.sqrt() * mu;
    digits(gaussian_epsilon(1e-4, 2.0 * whole), "0.700370");
    digits(gaussian_epsilon(1e-4, whole), "0.321236");
}

#[test]
fn theory_2_2_noise_on_the_output() {
    let run = pp::Defaults::new(epsilon(1.0), delta(1e-4)).expect("in range");
    digits(run.output.get(), "0.1144197698");
    let event = pp::output_event(&run.problem, run.output, 30).expect("in range");
    digits(size(&event, Adjacency::Replace) / 30f64.sqrt(), "0.0039057959");
    digits(price(Accountant::Best, &event, Adjacency::Replace, 1e-4), "0.0475755642");
    let needed = size(&event, Adjacency::Replace) / allowed(1.0, 1e-4);
    digits(1.0 / needed, "14.7");
}

#[test]
fn theory_2_2_noise_in_the_objective() {
    let run = pp::Defaults::new(epsilon(1.0), delta(1e-4)).expect("in range");
    let event =
        pp::objective_event(&run.problem, 0.25, run.objective, run.output, 30).expect("in range");
    for (adjacency, expected, limit) in
        [(Adjacency::Replace, 0.784484, 0.700370), (Adjacency::AddRemove, 0.363464, 0.321236)]
    {
        // Both quadratures are pessimistic; ours has fewer cells at the best orders.
        let rdp = price(Accountant::Rdp, &event, adjacency, 1e-4);
        near(rdp, expected, 1e-2);
        assert!(rdp > limit);
        let best = price(Accountant::Best, &event, adjacency, 1e-4);
        assert!(limit <= best && best <= expected, "{best}");
    }
}

#[test]
fn theory_2_3_sensitivity_of_the_query() {
    let problem = pp::Defaults::new(epsilon(1.0), delta(1e-4)).expect("in range").problem;
    digits(
        problem.sensitivity().expect("ok").under(Adjacency::Replace).expect("known"),
        "4.469002699e-4",
    );
    let query = ipp::query_sensitivity(&problem, scale(2.0)).expect("in range");
    digits(query.under(Adjacency::Replace).expect("known"), "1.018264998e-3");
    digits(4.0 / query.under(Adjacency::Replace).expect("known"), "3928.25");
}

#[test]
fn theory_2_3_scales_of_the_sparse_vector() {
    let problem = pp::Defaults::new(epsilon(1.0), delta(1e-4)).expect("in range").problem;
    let (first, second) = ipp::split(epsilon(0.5), 15).expect("in range");
    digits(first.get(), "0.0469267932");
    digits(second.get(), "0.4530732068");
    let scales =
        ipp::scales(&problem, scale(2.0), epsilon(0.5), 15, Adjacency::Replace).expect("ok");
    digits(scales.0.get(), "0.0216990109");
    digits(scales.1.get(), "0.0674238721");
}

#[test]
fn theory_2_3_total_of_the_redesign() {
    digits(gaussian_delta(0.7, 15f64.sqrt() * 0.05), "1.0076987e-5");
    let problem = pp::Defaults::new(epsilon(1.0), delta(1e-4)).expect("in range").problem;
    let scales =
        ipp::scales(&problem, scale(2.0), epsilon(0.5), 15, Adjacency::Replace).expect("ok");
    let moved = problem.sensitivity().expect("ok").under(Adjacency::Replace).expect("known");
    let event =
        ipp::event(&problem, scale(2.0), scales, scale(moved / 0.05), 15).expect("in range");
    digits(price(Accountant::Gdp, &event, Adjacency::Replace, 1e-5), "1.20037261");
    at_most(price(Accountant::Rdp, &event, Adjacency::Replace, 1e-5), 1.2470286);
    let best = price(Accountant::Best, &event, Adjacency::Replace, 1e-5);
    assert!(best <= 1.20037262 && best > 0.5, "{best}");
}

#[test]
fn theory_2_3_as_printed_every_round_is_charged() {
    let problem = pp::Defaults::new(epsilon(1.0), delta(1e-4)).expect("in range").problem;
    let (first, second) = ipp::split(epsilon(0.5), 15).expect("in range");
    let scales = ipp::claimed_scales(first, second, 15, scale(2.0)).expect("in range");
    let event = |rounds| {
        ipp::printed_event(&problem, scale(2.0), scales, scale(1.0), 15, rounds).expect("in range")
    };
    let at = |rounds| price(Accountant::Gdp, &event(rounds), Adjacency::Replace, 1e-4);
    let bit = 1.018264998e-3 / scales.0.get().max(scales.1.get());
    near(at(1030) - at(30), 1000.0 * bit, 1e-6);
}

#[test]
fn a_negative_tolerance_is_refused() {
    let problem = Subproblem { tolerance: -1e-6, ..adult(0.0) };
    assert!(problem.sensitivity().is_err() && problem.tolerance_sensitivity().is_err());
    assert!(ipp::query_sensitivity(&problem, scale(2.0)).is_err());
    let error = problem.sensitivity().expect_err("negative").to_string();
    assert_eq!(error, "tolerance must be at least 0 and finite, got -0.000001");
}
