//! Choosing noise and rounds, stopping on a budget, and SAGA as printed: from a plan to its price.

use serde_json::{Value, json};
use undertone_node::plan::{Plan, overlay};
use undertone_node::{Experiment, Forecast, Origin};

fn plan() -> Value {
    json!({
        "name": "test", "seed": 1,
        "network": {"nodes": 4, "schedule": "exponential"},
        "data": {"source": "gaussian-mixture", "records": 800, "features": 3, "classes": 2,
                 "separation": 2.0},
        "model": {"kind": "softmax"},
        "algorithm": {"name": "priv-sgp", "step": 0.2, "sampling": "full"},
        "privacy": {"epsilon": 1.0, "delta": 1e-5, "clip": 1.0, "noise": "sound"},
        "run": {"rounds": 60, "precision": "f64"},
        "evaluate": {"every": 60, "metrics": ["loss"]},
        "plan": {"smoothness": 1.0, "gap": 0.7, "heterogeneity": 0.01, "least-rounds": 4,
                 "most-rounds": 4096, "points": 4},
    })
}

fn with(changes: &[(&str, Value)]) -> Value {
    let mut plan = plan();
    for (key, value) in changes {
        overlay(&mut plan, key, value.clone()).unwrap();
    }
    plan
}

fn experiment(plan: Value) -> Result<Experiment, String> {
    let plan = serde_json::from_value::<Plan>(plan).unwrap();
    Experiment::new(&plan, None).map_err(|error| error.to_string())
}

fn forecast(changes: &[(&str, Value)]) -> Forecast {
    experiment(with(changes)).unwrap().forecast(None).unwrap()
}

fn refusal(changes: &[(&str, Value)]) -> String {
    match experiment(with(changes)) {
        Ok(experiment) => experiment.forecast(None).unwrap_err().to_string(),
        Err(error) => error,
    }
}

/// With all records in every round the price is exact: K rounds of a Gaussian, replace-one.
#[test]
fn noise_is_the_least_that_keeps_the_budget_and_the_best_rounds_have_the_least_error() {
    let found = forecast(&[]);
    for row in &found.rows {
        let sigma = 2.0 * 3.730_631_635 * (row.rounds as f64).sqrt() / 200.0;
        let (least, most) = row.sigmas();
        assert!((most / sigma - 1.0).abs() < 1e-6 && least == most, "{} {most}", row.rounds);
        let epsilon = row.worst().epsilon.get();
        assert!(epsilon <= 1.0 && epsilon > 0.999_999, "{epsilon}");
        // The paper's noise is priced as it is: too little.
        assert!(row.paper_epsilon().get() > 1.0 && row.worst().paper_sigma < most);
        assert!(row.theorem_1 > row.equation_14);
    }
    let rounds: Vec<u64> = found.rows.iter().map(|row| row.rounds).collect();
    assert!(rounds.contains(&4) && rounds.contains(&60) && rounds.contains(&4096), "{rounds:?}");
    assert!(rounds.contains(&found.paper.rounds.unwrap()) && rounds.is_sorted(), "{rounds:?}");
    let best = found.rows.iter().min_by(|a, b| a.error.unwrap().total_cmp(&b.error.unwrap()));
    assert_eq!(found.ours, best.map(|row| row.rounds));
    // Few rounds do not arrive, many need too much noise.
    let ours = found.ours.unwrap();
    assert!(ours > 4 && ours < 4096, "{ours}");
    assert_eq!(found.constants.smoothness.origin, Origin::Given);
    assert_eq!(found.constants.variance.origin, Origin::Generator);
}

#[test]
fn every_node_has_its_own_noise() {
    let found = forecast(&[
        ("data.split", json!({"sizes": [100, 300, 200, 200]})),
        ("privacy.node", json!([{"node": 3, "epsilon": 0.5, "delta": 1e-6}])),
        ("plan.points", json!(1)),
        ("plan.least-rounds", json!(60)),
        ("plan.variance", json!(1.0)),
    ]);
    for row in &found.rows {
        let groups: Vec<_> = row.groups.iter().map(|g| (g.node, g.nodes, g.records)).collect();
        assert_eq!(groups, [(0, 1, 100), (1, 1, 300), (2, 1, 200), (3, 1, 200)]);
        let sigma = |k: usize| row.groups[k].sigma;
        assert!((sigma(0) / sigma(1) - 3.0).abs() < 1e-6);
        // Theory E1: 8.0576 for (0.5, 1e-6), 3.7306 for (1, 1e-5).
        assert!((sigma(3) / sigma(2) - 8.057_618_481 / 3.730_631_635).abs() < 1e-6);
        assert_eq!(row.worst().node, 3);
        assert!(row.groups.iter().all(|group| group.epsilon <= group.budget));
    }
}

#[test]
fn what_is_not_given_is_estimated_from_other_records_of_the_generator() {
    let found = forecast(&[("plan", json!({"points": 1}))]);
    let constants = &found.constants;
    for constant in
        [constants.smoothness, constants.gap, constants.heterogeneity, constants.variance]
    {
        assert_eq!(constant.origin, Origin::Generator);
        assert!(constant.value.is_finite() && constant.value >= 0.0);
    }
    // At zero both classes are as likely.
    assert!((constants.gap.value - std::f64::consts::LN_2).abs() < 1e-9);
    assert!(found.estimated.is_none());
}

/// The estimate is charged before noise is calibrated: basic composition, adaptive choices allowed.
#[test]
fn an_estimate_from_the_nodes_own_records_is_charged() {
    let private = json!({"private": {"noise": 30.0, "loss": 2.0}});
    let changes = [
        ("plan", json!({"points": 1, "smoothness": 1.0})),
        ("plan.estimate", private),
        ("plan.least-rounds", json!(60)),
        ("plan.most-rounds", json!(60)),
    ];
    let found = forecast(&changes);
    let estimated = found.estimated.as_ref().unwrap();
    assert!(estimated.epsilon.get() > 0.0 && estimated.epsilon.get() < 0.5);
    assert!((estimated.delta.get() - 1e-6).abs() < 1e-18);
    assert!(estimated.guarantee.contains("one record"), "{}", estimated.guarantee);
    let worst = found.rows[0].worst();
    let total = worst.epsilon.get() + estimated.epsilon.get();
    assert!(total <= 1.0 && total > 0.999_99, "{total}");
    assert!(worst.delta.get() + estimated.delta.get() <= 1e-5);
    let free = forecast(&[("plan.points", json!(1))]);
    assert!(worst.sigma > 1.05 * free.rows.iter().find(|r| r.rounds == 60).unwrap().worst().sigma);
    assert_eq!(found.constants.gap.origin, Origin::Private);
    assert!((found.constants.gap.value - std::f64::consts::LN_2).abs() < 0.5);
    // The run itself keeps to the rest, and says so.
    let run = experiment(with(&changes)).unwrap();
    let promised = run.learners::<f64>(1).unwrap()[0].oracle.guarantee().epsilon.get();
    assert!((promised - worst.epsilon.get()).abs() < 1e-9);
    assert!(run.notes()[0].contains("basic composition"), "{:?}", run.notes());
}

#[test]
fn what_cannot_be_planned_is_refused_with_its_key() {
    for (changes, expected) in [
        (
            vec![("privacy.noise", json!({"sigma": 1.0})), ("privacy.epsilon", Value::Null)],
            "privacy.noise: is fixed",
        ),
        (vec![("plan.smoothness", json!(-1.0))], "plan.smoothness: must be finite and at least"),
        (vec![("plan.least-rounds", json!(5000))], "plan.least-rounds: must be at least 1"),
        (vec![("plan.most-rounds", json!(1e12 as u64))], "plan.most-rounds: must be at most"),
        (vec![("plan.points", json!(0))], "plan.points: must be between"),
        (vec![("plan.constant", json!(0.0))], "plan.constant: must be positive"),
        (
            vec![("plan.estimate", json!({"private": {"noise": 0.1, "loss": 2.0}}))],
            "plan.estimate.private.noise: costs epsilon",
        ),
        (
            vec![("plan.estimate", json!({"private": {"noise": 9.0, "loss": 0.0}}))],
            "plan.estimate.private.loss: must be positive",
        ),
    ] {
        let message = refusal(&changes);
        assert!(message.contains(expected), "no {expected:?} in {message}");
    }
    let mut open = plan();
    open.as_object_mut().unwrap().remove("privacy");
    let message = experiment(open).unwrap().forecast(None).unwrap_err().to_string();
    assert!(message.starts_with("privacy: there is no budget"), "{message}");
}

#[test]
fn steps_that_are_too_long_are_said_to_be() {
    let found = forecast(&[("algorithm.step", json!(5.0)), ("plan.points", json!(1))]);
    assert!(found.rows.iter().all(|row| row.error.is_none()));
    assert!(found.rows.iter().all(|row| row.best_step.unwrap() <= 1.0));
    let best = found.rows.iter().min_by(|a, b| a.best_error.partial_cmp(&b.best_error).unwrap());
    assert_eq!(found.ours, best.map(|row| row.rounds));
    assert!(found.unpredicted.unwrap().contains("above 1/L"));
}

fn learner_guarantee(changes: &[(&str, Value)]) -> (f64, f64, u64) {
    let experiment = experiment(with(changes)).unwrap();
    let guarantee = experiment.learners::<f64>(1).unwrap()[0].oracle.guarantee();
    let rounds = match &experiment.learners::<f64>(1).unwrap()[0].oracle.ledger().header().filter {
        undertone_privacy::ledger::Filter::Planned {
            event: undertone_privacy::event::Event::Repeated(repeated),
        } => repeated.times,
        other => panic!("{other:?}"),
    };
    (guarantee.epsilon.get(), guarantee.budget.epsilon.get(), rounds)
}

/// (1, 1e-5) lasts for (sigma mu / Delta)^2 rounds of a Gaussian on all records.
#[test]
fn nodes_stop_when_their_budget_is_spent() {
    let changes = |sigma: f64| {
        [("run.stop-on-budget", json!(true)), ("privacy.noise", json!({"sigma": sigma}))]
    };
    // Sum over 200 records, replace-one moves it by 2.
    let sigma: f64 = 0.2;
    let lasts = (sigma * 200.0 / 2.0 / 3.730_631_635).powi(2).floor() as u64;
    let (epsilon, budget, rounds) = learner_guarantee(&changes(sigma));
    assert_eq!(rounds, lasts);
    assert!(epsilon <= 1.0 && epsilon > 0.98 && budget == 1.0, "{epsilon}");
    // More noise than all rounds need.
    assert_eq!(learner_guarantee(&changes(10.0)).2, 60);
    for (changes, expected) in [
        (vec![("run.stop-on-budget", json!(true))], "run.stop-on-budget: the noise is calibrated"),
        (changes(0.001).to_vec(), "privacy.epsilon: does not last for a single round"),
    ] {
        let message = experiment(with(&changes)).err().unwrap();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn saga_as_printed_is_charged_and_claimed() {
    let printed = |sampling: &str, batch: Value| {
        let mut plan = with(&[
            ("algorithm.name", json!("priv-sgp-vr")),
            ("algorithm.printed", json!(true)),
            ("algorithm.sampling", json!(sampling)),
            ("privacy.noise", json!("sound")),
        ]);
        plan["algorithm"]["batch"] = batch;
        plan
    };
    for (sampling, adjacency) in [("poisson", "add-remove"), ("single", "replace")] {
        let experiment = experiment(printed(sampling, json!(1))).unwrap();
        let learner = &experiment.learners::<f64>(1).unwrap()[0];
        let guarantee = learner.oracle.guarantee();
        let epsilon = guarantee.epsilon.get();
        assert!(epsilon <= 1.0 && epsilon > 0.99, "{sampling}: {epsilon}");
        assert_eq!((guarantee.adjacency.to_string().as_str(), learner.divisor), (adjacency, 1.0));
        // For so much noise the paper claims far less than is true.
        let claimed = experiment.claim(0).unwrap().epsilon.get();
        assert!(claimed < 0.5 * epsilon, "{claimed}");
    }
    let mut paper = printed("single", json!(1));
    paper["privacy"]["noise"] = json!("paper");
    let experiment = experiment(paper).unwrap();
    let claim = experiment.claim(0).unwrap();
    assert_eq!((claim.source, claim.epsilon.get()), ("003 Theorem 2", 1.0));
    let promised = experiment.learners::<f64>(1).unwrap()[0].oracle.guarantee().epsilon.get();
    assert!(promised > 10.0, "{promised}");
    let plan = serde_json::from_value::<Plan>(printed("fixed-size", json!(5))).unwrap();
    let message = Experiment::new(&plan, None).err().unwrap().to_string();
    assert!(
        message.contains("algorithm.sampling: SAGA as printed has a proved price"),
        "{message}"
    );
}

#[test]
fn a_clip_norm_that_adapts_is_priced_with_its_counts() {
    let adaptive = |noise: f64| json!({"start": 1.0, "quantile": 0.5, "rate": 0.2, "noise": noise});
    let sigma = |clip: Value| {
        let found = forecast(&[("privacy.clip", clip), ("plan.points", json!(1))]);
        found.rows.iter().find(|row| row.rounds == 60).unwrap().worst().sigma
    };
    let (plain, with_counts) = (sigma(json!(1.0)), sigma(adaptive(40.0)));
    // 1/z^2 = 1/total^2 - 1/(2 s)^2, in units of what a record adds to the sum.
    let total = 200.0 * plain;
    let expected = (total.powi(-2) - (2.0 * 40.0_f64).powi(-2)).powf(-0.5) / 200.0;
    assert!((with_counts / expected - 1.0).abs() < 1e-6, "{with_counts} {expected}");
    for (changes, expected) in [
        (vec![("privacy.clip", adaptive(1.0))], "privacy.clip.noise: the noisy counts alone"),
        (
            vec![("privacy.clip", adaptive(40.0)), ("algorithm.name", json!("priv-sgp-vr"))],
            "privacy.clip: gradients are remembered as they were clipped",
        ),
    ] {
        let message = experiment(with(&changes)).err().unwrap();
        assert!(message.contains(expected), "{message}");
    }
}
