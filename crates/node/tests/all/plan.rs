//! Plans: what is refused and how, what becomes of `vary`, and the noise that is chosen.

use serde_json::{Value, json};
use undertone_node::plan::{DataPlan, Plan, expand, overlay};
use undertone_node::{Algorithm, Experiment};
use undertone_privacy::event::Event;
use undertone_protocol::Question;

fn consensus() -> Value {
    json!({
        "name": "test", "seed": 1,
        "network": {"nodes": 4, "topology": {"family": "ring"}, "schedule": "fixed"},
        "data": {"source": "uniform", "low": -5.0, "high": 5.0, "dimension": 64},
        "algorithm": {"name": "push-sum"},
        "privacy": {"epsilon": 1.0, "delta": 1e-4, "noise": "sound",
                    "clip": {"clip": "box", "radius": 5.0}},
        "run": {"rounds": 10, "precision": "f64"},
        "evaluate": {"metrics": ["residual"]},
    })
}

fn two_stage(steps: u64) -> Value {
    let mut plan = consensus();
    plan["network"]["weights"] = json!("laplacian-max");
    plan["data"] = json!({"source": "truncated-gaussian", "mean": 0.7, "radius": 1.0,
                          "dimension": 1, "records": 100});
    plan["algorithm"] = json!({"name": "two-stage", "steps": steps});
    plan["privacy"] = json!({"epsilon": 4.0, "delta": 1e-3, "noise": "paper",
                             "clip": {"clip": "box", "radius": 1.0}});
    plan["run"]["rounds"] = json!(steps);
    plan["evaluate"]["metrics"] = json!(["mean-error"]);
    plan
}

fn with(mut plan: Value, changes: &[(&str, Value)]) -> Value {
    for (key, value) in changes {
        overlay(&mut plan, key, value.clone()).unwrap();
    }
    plan
}

fn experiment(plan: Value) -> Experiment {
    Experiment::new(&serde_json::from_value::<Plan>(plan).unwrap(), None).unwrap()
}

fn refusal(plan: Value) -> String {
    let plan = serde_json::from_value::<Plan>(plan).unwrap();
    Experiment::new(&plan, None).err().expect("it is refused").to_string()
}

/// The noise that the first answer of node 0 was debited with.
fn sigma(experiment: &Experiment) -> f64 {
    let mut oracle = experiment.oracles::<f64>(1).unwrap().remove(0);
    oracle.answer(Question::Vector).unwrap().released().expect("it is paid for");
    match &oracle.ledger().entries()[0].event {
        Event::Gaussian(gaussian) => gaussian.sigma.get(),
        other => panic!("{other:?}"),
    }
}

fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-9, "{found} is not {expected}");
}

#[test]
fn consensus_noise_is_that_of_theory_5_1() {
    for (epsilon, delta, paper, sound) in
        [(0.9, 1e-5, 215.3246783, 328.5299465), (1.0, 1e-4, 173.7444922, 254.8562392)]
    {
        let budget = [("privacy.epsilon", json!(epsilon)), ("privacy.delta", json!(delta))];
        let plan = with(consensus(), &budget);
        let shipped = experiment(plan.clone());
        near(sigma(&shipped), sound);
        assert!(shipped.claim(0).is_none());
        let claimed = experiment(with(plan, &[("privacy.noise", json!("paper"))]));
        near(sigma(&claimed), paper);
        let claim = claimed.claim(0).expect("the paper claims");
        assert_eq!((claim.epsilon.get(), claim.delta.get()), (epsilon, delta));
        // The ledger holds the true price, which is more.
        let truth = claimed.oracles::<f64>(1).unwrap()[0].guarantee().epsilon.get();
        assert!(truth > epsilon, "{truth}");
    }
}

#[test]
fn a_mean_of_records_needs_less_noise_by_their_number() {
    let whole = sigma(&experiment(consensus()));
    let records = experiment(with(consensus(), &[("data.records", json!(10))]));
    near(sigma(&records), whole / 10.0);
    let unit =
        |e: &Experiment| serde_json::to_value(e.oracles::<f64>(1).unwrap()[0].guarantee().unit);
    assert_eq!(unit(&records).unwrap(), "record");
    assert_eq!(unit(&experiment(consensus())).unwrap(), "node");
}

#[test]
fn two_stage_schedules_cost_what_theory_8_says() {
    let paper = experiment(two_stage(1000));
    let truth = paper.oracles::<f64>(1).unwrap()[0].guarantee().epsilon.get();
    assert!((truth - 2.7651833).abs() < 1e-7, "{truth}");
    assert_eq!(paper.claim(0).unwrap().epsilon.get(), 4.0);
    let sound = experiment(with(two_stage(1000), &[("privacy.noise", json!("sound"))]));
    assert_eq!(sound.oracles::<f64>(1).unwrap()[0].guarantee().epsilon.get(), 4.0);
    let printed = experiment(with(two_stage(10), &[("algorithm.printed", json!(true))]));
    assert!(printed.oracles::<f64>(1).unwrap()[0].guarantee().epsilon.get().is_infinite());
    assert!(printed.claim(0).is_some());
    let Algorithm::TwoStage { first_step, .. } = paper.algorithm() else { panic!("two stages") };
    assert_eq!(first_step, 0.01);
}

#[test]
fn nodes_have_budgets_of_their_own() {
    let own = json!([{"node": 3, "epsilon": 0.5, "delta": 1e-6}]);
    let experiment = experiment(with(consensus(), &[("privacy.node", own)]));
    let epsilon =
        |node: usize| experiment.oracles::<f64>(1).unwrap()[node].guarantee().epsilon.get();
    assert_eq!((epsilon(2), epsilon(3)), (1.0, 0.5));
}

#[test]
fn what_does_not_do_is_said_with_its_key_and_a_remedy() {
    let own = |node: u32| json!([{"node": node, "epsilon": 0.5, "delta": 1e-6}]);
    for (key, value, message) in [
        ("network.nodes", json!(0), "network.nodes: must be at least 1"),
        (
            "network.window",
            json!(3),
            "network.window: only the schedule \"window\" takes it; leave it out",
        ),
        (
            "network.topology.degree",
            json!(3),
            "network.topology.degree: this family does not take it",
        ),
        (
            "network.weights",
            json!("metropolis"),
            "network.weights: \"push-sum\" does not take it; leave it out",
        ),
        ("algorithm.name", json!("gossip"), "network.weights: \"gossip\" needs it"),
        (
            "algorithm.gamma",
            json!(0.1),
            "algorithm.gamma: \"push-sum\" does not take it; leave it out",
        ),
        ("data.low", json!(9.0), "data.low: must be below high (5), got 9"),
        ("data.mean", json!(0.0), "data.mean: this source does not take it"),
        ("privacy.epsilon", json!(-1.0), "privacy.epsilon: must be positive and finite, got -1"),
        (
            "privacy.delta",
            json!(1.5),
            "privacy.delta: must be above 0 and below 1, got 1.5; try 1e-5",
        ),
        (
            "privacy.noise",
            json!({"sigma": 1.0}),
            "privacy.epsilon: the noise has a fixed sigma, so epsilon follows; leave one out",
        ),
        ("privacy.node", own(4), "privacy.node.0.node: there are only nodes 0 to 3"),
        ("run.rounds", json!(0), "run.rounds: must be at least 1"),
        ("name", json!("../up"), "name: names a folder: letters, digits, - and _ only"),
    ] {
        assert_eq!(refusal(with(consensus(), &[(key, value)])), message);
    }
    let sparse = json!({"family": "erdos-renyi", "probability": 0.2, "connected": false});
    let windows = [
        ("network.schedule", json!("window")),
        ("network.window", json!(3)),
        ("network.topology", sparse),
    ];
    let apart = refusal(with(consensus(), &windows));
    assert!(apart.contains("rounds 3 to 5 together are not strongly connected"), "{apart}");
    assert!(apart.ends_with("add connected = true to the topology, or more edges"), "{apart}");
    let steps = refusal(with(two_stage(5), &[("algorithm.steps", json!(6))]));
    assert_eq!(steps, "algorithm.steps: must be at least 1 and at most run.rounds (5), got 6");
    let mut none = consensus();
    none["privacy"].as_object_mut().unwrap().remove("epsilon");
    let needed = "privacy.epsilon: is needed to choose the noise; there is no default";
    assert_eq!(refusal(none), needed);
}

#[test]
fn privacy_parameters_have_no_default() {
    for key in ["delta", "clip", "noise"] {
        let mut plan = consensus();
        plan["privacy"].as_object_mut().unwrap().remove(key);
        let error = serde_json::from_value::<Plan>(plan).unwrap_err().to_string();
        assert!(error.contains(&format!("missing field `{key}`")), "{error}");
    }
}

#[test]
fn every_combination_is_a_variant_and_the_last_key_runs_fastest() {
    let vary = json!([{"key": "data.dimension", "values": [2, 3]},
                      {"key": "privacy.noise", "values": ["sound", {"sigma": 1.5}]}]);
    let variants = expand(&with(consensus(), &[("vary", vary)])).unwrap();
    let labels: Vec<_> = variants.iter().map(|variant| variant.label()).collect();
    let expected = [
        "dimension-2-noise-sound",
        "dimension-2-noise-sigma-1.5",
        "dimension-3-noise-sound",
        "dimension-3-noise-sigma-1.5",
    ];
    assert_eq!(labels, expected);
    let DataPlan::Numbers(numbers) = &variants[2].plan.data else { panic!("no model") };
    assert_eq!(numbers.dimension, 3);
    let three = json!({"data.dimension": 3.0});
    let matching: Vec<_> = variants.iter().map(|v| v.matches(three.as_object().unwrap())).collect();
    assert_eq!(matching, [false, false, true, true]);
    assert_eq!(expand(&consensus()).unwrap().len(), 1);
}

#[test]
fn keys_that_vary_together_do_not_multiply() {
    let vary = json!([{"key": ["data.dimension", "run.rounds"], "values": [[2, 5], [3, 7]]}]);
    let variants = expand(&with(consensus(), &[("vary", vary)])).unwrap();
    let labels: Vec<_> = variants.iter().map(|variant| variant.label()).collect();
    assert_eq!(labels, ["dimension-2-rounds-5", "dimension-3-rounds-7"]);
    assert_eq!(variants[1].plan.run.rounds, 7);
    let vary = json!([{"key": ["data.dimension", "run.rounds"], "values": [[2, 5], [3]]}]);
    let error = expand(&with(consensus(), &[("vary", vary)])).unwrap_err().to_string();
    assert!(error.starts_with("vary.0.values: 2 keys vary together"), "{error}");
}

#[test]
fn variants_and_bands_that_mean_nothing_are_refused() {
    let message = |key: &str, value: Value| {
        expand(&with(consensus(), &[(key, value)])).unwrap_err().to_string()
    };
    let empty = message("vary", json!([{"key": "seed", "values": []}]));
    assert_eq!(empty, "vary.0.values: needs at least one value");
    let unknown = message("vary", json!([{"key": "run.round", "values": [1]}]));
    assert!(unknown.starts_with("run.round: unknown field `round`"), "{unknown}");
    let band = |band: Value| message("expected", json!([band]));
    assert_eq!(band(json!({"metric": "residual"})), "expected.0: needs min, max or both");
    let metric = band(json!({"metric": "resdual", "max": 1.0}));
    assert_eq!(metric, "expected.0: metric \"resdual\" is not in evaluate.metrics");
    let nobody = band(json!({"metric": "residual", "max": 1.0, "where": {"seed": 7}}));
    assert_eq!(nobody, "expected.0: {\"seed\":7} matches no variant");
    let half = band(json!({"metric": "residual", "max": 1.0, "of": {"seed": 1}}));
    assert_eq!(half, "expected.0: a ratio needs both `of` and `over`");
}

fn learning() -> Value {
    json!({
        "name": "test", "seed": 1,
        "network": {"nodes": 4, "schedule": "exponential"},
        "data": {"source": "census", "records": 400, "holdout": 40},
        "model": {"kind": "logistic"},
        "algorithm": {"name": "priv-sgp", "step": 0.5, "batch": 10, "sampling": "poisson"},
        "privacy": {"epsilon": 1.0, "delta": 1e-5, "clip": 1.0, "noise": "sound"},
        "run": {"rounds": 50, "precision": "f64"},
        "evaluate": {"metrics": ["loss", "accuracy"]},
    })
}

#[test]
fn what_does_not_go_with_a_model_is_said() {
    let without = |key: &str| {
        let mut plan = learning();
        plan.as_object_mut().unwrap().remove(key);
        plan
    };
    for (plan, expected) in [
        (without("model"), "model: priv-sgp learns one; add [model]"),
        (with(learning(), &[("algorithm.name", json!("push-sum"))]), "has no gradients; take"),
        (
            with(learning(), &[("algorithm.batch", json!(91))]),
            "algorithm.batch: is 91, but node 0 has \
         only 90 records",
        ),
        (with(learning(), &[("algorithm.batch", Value::Null)]), "algorithm.batch: is needed"),
        (
            with(learning(), &[("algorithm.step", Value::Null)]),
            "algorithm.step: \"priv-sgp\" needs",
        ),
        (with(learning(), &[("algorithm.step", json!(-1.0))]), "algorithm.step: steps must be pos"),
        (
            with(learning(), &[("algorithm.sampling", json!("full"))]),
            "algorithm.batch: the batch is",
        ),
        (with(learning(), &[("algorithm.sampling", Value::Null)]), "algorithm.sampling: priv-sgp"),
        (
            with(learning(), &[("algorithm.rounds-of-gradients", json!(51))]),
            "at most run.rounds (50)",
        ),
        (with(learning(), &[("algorithm.name", json!("dsgd"))]), "network.weights: \"dsgd\" needs"),
        (
            with(learning(), &[("model.kind", json!("softmax"))]),
            "model.kind: is not for these records, \
         whose targets are signs; take logistic",
        ),
        (
            with(learning(), &[("model.kind", json!("forest"))]),
            "model.kind: \"forest\" is no model",
        ),
        (
            with(learning(), &[("model.features", json!(7))]),
            "model.features: is 7, but the records have \
         105",
        ),
        (with(learning(), &[("model.kind", json!("cnn"))]), "model: "),
        (
            with(learning(), &[("privacy.clip", json!({"clip": "box", "radius": 1.0}))]),
            "privacy.clip: with a model it is the norm",
        ),
        (with(learning(), &[("privacy.clip", json!(0.0))]), "privacy.clip: "),
        (with(learning(), &[("privacy.epsilon", Value::Null)]), "privacy.epsilon: is needed"),
        (with(learning(), &[("privacy.noise", json!("paper"))]), "privacy.noise: theorem 2"),
        (
            with(
                learning(),
                &[
                    ("privacy.adjacency", json!("add-remove")),
                    ("algorithm.sampling", json!("fixed-size")),
                ],
            ),
            "privacy.adjacency: batches",
        ),
        (
            with(learning(), &[("evaluate.metrics", json!(["residual"]))]),
            "residual is a metric of aver",
        ),
        (with(learning(), &[("data.holdout", json!(400))]), "data.holdout: 400 of 400"),
        (with(learning(), &[("data.classes", json!(3))]), "data.classes: this source does not"),
        (
            with(learning(), &[("data", json!({"file": "people.csv"}))]),
            "data: its records are in files",
        ),
        (with(learning(), &[("data", consensus()["data"].clone())]), "data.source: a model learns"),
        (
            with(
                learning(),
                &[
                    (
                        "data",
                        json!({"source": "linear-regression", "records": 40,
                                            "features": 3}),
                    ),
                    ("model.kind", json!("linear")),
                ],
            ),
            "accuracy is of signs and classes",
        ),
        (with(consensus(), &[("data", learning()["data"].clone())]), "data: averages need numbers"),
        (
            with(consensus(), &[("privacy.clip", json!(1.0))]),
            "privacy.clip: records are clipped to a",
        ),
        (
            with(consensus(), &[("evaluate.metrics", json!(["accuracy"]))]),
            "accuracy is a metric of mod",
        ),
    ] {
        let found = refusal(plan);
        assert!(found.contains(expected), "{found}\n{expected}");
    }
}

#[test]
fn learners_have_the_noise_of_their_own_budgets() {
    let plan =
        with(learning(), &[("privacy.node", json!([{"node": 2, "epsilon": 0.1, "delta": 1e-6}]))]);
    let experiment = experiment(plan);
    let learners = experiment.learners::<f64>(1).unwrap();
    let epsilons: Vec<f64> =
        learners.iter().map(|learner| learner.oracle.guarantee().epsilon.get()).collect();
    for (node, epsilon) in epsilons.iter().enumerate() {
        let budget = if node == 2 { 0.1 } else { 1.0 };
        assert!(*epsilon <= budget && *epsilon > 0.999 * budget, "{epsilons:?}");
    }
    assert_eq!((learners[0].records, learners[0].divisor), (90, 10.0));
    assert_eq!(experiment.dimension(), 105);
}

/// What paper 003 takes for the noise of its run on CIFAR-10, and claims for another noise.
#[test]
fn the_paper_s_noise_comes_with_its_claim_and_its_price() {
    let paper = with(
        learning(),
        &[
            ("algorithm.sampling", json!("single")),
            ("algorithm.batch", json!(1)),
            ("privacy.noise", json!("paper")),
        ],
    );
    let found = experiment(paper.clone());
    assert_eq!(found.claim(0).unwrap().epsilon.get(), 1.0);
    let price = found.learners::<f64>(1).unwrap()[0].oracle.guarantee().epsilon.get();
    assert!(price > 1.0, "{price}");
    let fixed =
        with(paper, &[("privacy.noise", json!({"sigma": 2.0})), ("privacy.epsilon", Value::Null)]);
    // 0.372403 sqrt(50 ln 1e5) / (90 * 2)
    let claimed = experiment(fixed).claim(0).unwrap().epsilon.get();
    assert!((claimed - 0.049_638_2).abs() < 1e-5, "{claimed}");
}
