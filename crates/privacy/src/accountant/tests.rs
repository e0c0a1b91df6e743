use super::*;
use crate::units::{Probability, Rho, Scale, Sensitivity};

fn delta(value: f64) -> Delta {
    Delta::new(value).unwrap()
}

fn gaussian(z: f64) -> Event {
    let one = Sensitivity::under_only(Adjacency::AddRemove, 1.0).unwrap();
    Event::gaussian(one, Scale::new(z).unwrap())
}

fn poisson(q: f64, z: f64) -> Event {
    gaussian(z).poisson_sampled(Probability::new(q).unwrap())
}

fn near(value: f64, expected: f64, tolerance: f64) {
    assert!((value / expected - 1.0).abs() < tolerance, "{value} is not {expected}");
}

#[test]
fn pld_interval_holds_the_value_of_theory_e4() {
    let run = poisson(0.02, 12.40021959).repeated(1000);
    let bound = Accountant::Pld.epsilon(&run, Adjacency::AddRemove, delta(1e-5)).unwrap();
    let (low, high) = (bound.epsilon_lower.unwrap().get(), bound.epsilon.get());
    assert!(low <= 0.1646025 && 0.1646015 <= high, "{low} {high}");
    assert!(high / low < 1.005);
    let rdp = Accountant::Rdp.epsilon(&run, Adjacency::AddRemove, delta(1e-5)).unwrap();
    near(rdp.epsilon.get(), 0.182609, 1e-5);
}

#[test]
fn fixed_size_and_replace_match_theory_3_1() {
    let one = Sensitivity::under_only(Adjacency::AddRemove, 1.0).unwrap();
    let swap = Sensitivity::under_only(Adjacency::Replace, 1.0).unwrap();
    let at = |accountant: Accountant, event: &Event, adjacency| {
        accountant.epsilon(event, adjacency, delta(1e-5)).unwrap().epsilon.get()
    };
    let s = 0.6200109796;
    for (batch, add_remove, replace, fixed) in
        [(20.0, 0.182609, 0.383438, 0.412796), (4.0, 0.195381, 0.384903, 0.708162)]
    {
        let q = Probability::new(batch / 1000.0).unwrap();
        let sigma = Scale::new(s * batch).unwrap();
        let poisson = Event::gaussian(one, sigma).poisson_sampled(q).repeated(1000);
        let halved = Scale::new(s * batch / 2.0).unwrap();
        let whole = Event::gaussian(swap, halved).fixed_size_sampled(q).repeated(1000);
        // Theory's quadrature is as fine as ours or coarser, and its orders are integers.
        for (ours, theirs) in [
            (at(Accountant::Rdp, &poisson, Adjacency::AddRemove), add_remove),
            (at(Accountant::Rdp, &poisson, Adjacency::Replace), replace),
            (at(Accountant::Rdp, &whole, Adjacency::Replace), fixed),
        ] {
            assert!(ours <= theirs * 1.0001 && ours > 0.96 * theirs, "{ours} is not {theirs}");
        }
        // The loss distribution is tighter still, and certified from below.
        let pld = Accountant::Pld.epsilon(&poisson, Adjacency::Replace, delta(1e-5)).unwrap();
        assert!(pld.epsilon.get() < replace && pld.epsilon_lower.unwrap() <= pld.epsilon);
    }
    let sparse = poisson(0.004, s * 4.0).repeated(1000);
    near(at(Accountant::Pld, &sparse, Adjacency::AddRemove), 0.175294, 1e-3);
    let single = poisson(0.001, s).repeated(1000);
    near(at(Accountant::Pld, &single, Adjacency::AddRemove), 1.198758, 1e-3);
}

#[test]
fn masked_run_matches_theory_3_3() {
    use crate::event::SdmMask;
    for (c, expected) in [(0.3, 0.785384), (1.0, 1.458470)] {
        let event = Event::SdmMask(SdmMask {
            transmit: Probability::new(c).unwrap(),
            event: Box::new(poisson(0.02, 2.0)),
        });
        let run = event.repeated(1000);
        let bound = Accountant::Best.epsilon(&run, Adjacency::AddRemove, delta(1e-5)).unwrap();
        near(bound.epsilon.get(), expected, 1e-3);
        assert_eq!(bound.accountant, Accountant::Rdp);
        assert!(Accountant::Best.supports(&run, Adjacency::AddRemove).is_ok());
        assert!(Accountant::Best.supports(&run, Adjacency::Replace).is_err());
        // Replacing is priced as removing and adding over the whole run.
        let replace = Accountant::Best.epsilon(&run, Adjacency::Replace, delta(1e-5)).unwrap();
        let one = 0.5 * replace.epsilon.get();
        let share = 1e-5 / (1.0 + one.exp());
        let direct = Accountant::Best.epsilon(&run, Adjacency::AddRemove, delta(share)).unwrap();
        near(one, direct.epsilon.get(), 1e-3);
        assert!(one >= direct.epsilon.get() && replace.theorem.contains("E6"));
    }
}

#[test]
fn gaussians_match_theory_e1() {
    for (d, mu, expected) in
        [(1e-5, 1.0, 4.3771780957), (1e-5, 0.2, 0.7255217509), (1e-6, 3.0, 18.1634457591)]
    {
        let epsilon = gdp::epsilon(delta(d), Mu::new(mu).unwrap()).get();
        assert!((epsilon - expected).abs() < 1e-9, "{epsilon} is not {expected}");
        // The loss distribution brackets the exact value of the same mechanism.
        let pld = Accountant::Pld.epsilon(&gaussian(1.0 / mu), Adjacency::AddRemove, delta(d));
        let pld = pld.unwrap();
        assert!(pld.epsilon.get() >= epsilon && pld.epsilon.get() < epsilon * 1.0001);
        assert!(pld.epsilon_lower.unwrap().get() <= epsilon);
    }
    for (epsilon, mu, expected) in [
        (0.0, 1.0, 0.382924922548),
        (1.0, 1.0, 0.126936737507),
        (1.0, 0.5, 0.00682959498311),
        (4.0, 1.0, 4.71224120079e-5),
        (10.0, 2.0, 9.94020281612e-6),
        (0.5, 0.1, 6.85658245584e-9),
    ] {
        let d = gdp::delta(Epsilon::new(epsilon).unwrap(), Mu::new(mu).unwrap()).get();
        near(d, expected, 5e-12);
    }
}

#[test]
fn zcdp_matches_theory_e3() {
    let rho = zcdp::rho(Epsilon::new(10.0).unwrap(), delta(1e-4)).get();
    near(rho, 1.8173897079, 1e-10);
    let back = zcdp::epsilon(Rho::new(rho).unwrap(), delta(1e-4)).get();
    assert!(back <= 10.0 && back > 9.0, "{back}");
    // The shortcut of the literature is not enough.
    let shortcut: f64 = 100.0 / (4.0 * 1e4_f64.ln());
    near(shortcut, 2.714340512, 1e-9);
    let truth = gdp::delta(Epsilon::new(10.0).unwrap(), Mu::new((2.0 * shortcut).sqrt()).unwrap());
    near(truth.get(), 3.4954675417e-4, 1e-8);
}

#[test]
fn pure_composition_matches_theory_e9() {
    use crate::event::Pure;
    let epsilon = Epsilon::new(0.4754).unwrap();
    let run = Event::Pure(Pure { epsilon, adjacency: Adjacency::Replace }).repeated(25);
    let bound = Accountant::Pld.epsilon(&run, Adjacency::Replace, delta(1e-5)).unwrap();
    let (low, high) = (bound.epsilon_lower.unwrap().get(), bound.epsilon.get());
    assert!(low <= 10.85858395 && 10.85858385 <= high && high / low < 1.0001, "{low} {high}");
    let none = Accountant::Best.epsilon(&run, Adjacency::AddRemove, delta(1e-5));
    assert!(matches!(none, Err(AccountError::Unpriced { .. })));
    let zero = Accountant::Gdp.epsilon(&run, Adjacency::Replace, delta(0.0)).unwrap();
    near(zero.epsilon.get(), 25.0 * 0.4754, 1e-12);
}

#[test]
fn a_sampler_that_errs_costs_delta() {
    use crate::event::Imprecise;
    let at = |tau: f64| {
        let total_variation = Probability::new(tau).unwrap();
        let event = Event::Imprecise(Imprecise { total_variation, event: Box::new(gaussian(1.0)) });
        Accountant::Best.epsilon(&event, Adjacency::AddRemove, delta(1e-5)).unwrap().epsilon.get()
    };
    let ideal = 4.3771780957;
    assert!((at(1e-30) - ideal).abs() < 1e-9);
    // (1 + e^epsilon) tau eats about an eighth of delta here.
    let worse = at(1e-8);
    let spent = (1.0 + worse.exp()) * 1e-8;
    let rest = gdp::delta(Epsilon::new(worse).unwrap(), Mu::new(1.0).unwrap()).get();
    assert!(worse > ideal + 0.01 && rest + spent <= 1e-5 && rest + spent > 0.97e-5);
    assert_eq!(at(1e-5), f64::INFINITY);
}

#[test]
fn delta_inverts_epsilon_and_data_without_noise_has_no_guarantee() {
    let run = poisson(0.02, 2.0).repeated(100);
    let bound = Accountant::Pld.epsilon(&run, Adjacency::AddRemove, delta(1e-5)).unwrap();
    let back = Accountant::Pld.delta(&run, Adjacency::AddRemove, bound.epsilon).unwrap();
    near(back.delta.get(), 1e-5, 2e-3);
    let open = Event::Composed(vec![gaussian(1.0), Event::NonPrivate]);
    for accountant in Accountant::ALL {
        let bound = accountant.epsilon(&open, Adjacency::AddRemove, delta(1e-5)).unwrap();
        assert_eq!((bound.epsilon, bound.theorem), (Epsilon::INFINITE, "no guarantee"));
    }
}

#[test]
fn a_smaller_replace_sensitivity_leaves_no_lower_bound() {
    let q = Probability::new(0.1).unwrap();
    let at = |replace: f64| {
        let sensitivity = Sensitivity::both(1.0, replace).unwrap();
        let event = Event::gaussian(sensitivity, Scale::new(2.0).unwrap()).poisson_sampled(q);
        Accountant::Pld.epsilon(&event, Adjacency::Replace, delta(1e-5)).unwrap()
    };
    assert!(at(2.0).epsilon_lower.is_some());
    assert_eq!(at(1.2).epsilon_lower, None);
    assert_eq!(at(1.2).epsilon, at(2.0).epsilon);
}
