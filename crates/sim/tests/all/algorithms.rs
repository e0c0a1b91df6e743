//! The gradient algorithms of the papers through plans: what they reach without noise, what they
//! promise and pay, and the same bytes on any number of threads.

use std::sync::Arc;

use serde_json::{Value, json};
use undertone_model::dataset::{Features, Targets};
use undertone_model::{Batch, Dataset, Linear, Loss, Objective, Scratch};
use undertone_node::plan::{Plan, Variant, expand, overlay};
use undertone_node::{Examples, Experiment, Records};
use undertone_sim::{Outcome, run_all, world_of};

const ALL: [&str; 6] =
    ["q-dpsgd-1", "q-dpsgd-2", "sdm", "surplus-gradient", "two-stage", "adp2-sgd"];

/// A plan of one algorithm with what it needs, 10 nodes and 100 records each.
fn plan(algorithm: &str) -> Value {
    let ring = json!({"nodes": 10, "schedule": "fixed", "topology": {"family": "ring"}});
    let mut plan = json!({
        "name": "test", "seed": 1,
        "network": ring,
        "data": {"source": "census", "records": 1_000},
        "model": {"kind": "logistic", "intercept": true},
        "algorithm": {"name": algorithm, "step": 1.0, "batch": 20, "sampling": "poisson"},
        "privacy": {"epsilon": 1.0, "delta": 1e-5, "clip": 1.0, "noise": "sound"},
        "run": {"rounds": 30, "precision": "f64"},
        "evaluate": {"every": 10, "metrics": ["loss", "node-loss", "consensus-error"]},
    });
    let more = match algorithm {
        "q-dpsgd-1" => json!({"bits": 8, "lattice": 0.05, "pace": 0.5}),
        "q-dpsgd-2" => json!({"bits": 16, "lattice": 0.001, "pace": 0.5}),
        "sdm" => json!({"transmit": 0.5}),
        "surplus-gradient" => json!({"sparsity": 0.5, "gamma": 0.1, "window": 3}),
        "two-stage" => json!({"steps": 20, "domain": {"ball": 3.0}}),
        "adp2-sgd" => json!({}),
        _ => panic!("{algorithm} is not of this file"),
    };
    for (key, value) in more.as_object().unwrap() {
        plan["algorithm"][key] = value.clone();
    }
    match algorithm {
        "surplus-gradient" | "adp2-sgd" => {}
        _ => plan["network"]["weights"] = json!("metropolis"),
    }
    if algorithm == "two-stage" {
        plan["algorithm"]["step"] = json!({"first": 1.0, "power": 1.0});
        for key in ["batch", "sampling"] {
            plan["algorithm"].as_object_mut().unwrap().remove(key);
        }
    }
    if algorithm == "adp2-sgd" {
        plan["world"] = json!({"compute": {"model": "uniform", "low": 0.5, "high": 1.5}});
    }
    plan
}

fn with(mut plan: Value, changes: &[(&str, Value)]) -> Value {
    for (key, value) in changes {
        overlay(&mut plan, key, value.clone()).unwrap();
    }
    plan
}

fn checked(plan: &Value, records: Option<Records>) -> Result<(Variant, Experiment), String> {
    let variant = expand(plan).map_err(|e| e.to_string())?.remove(0);
    let experiment = Experiment::new(&variant.plan, records).map_err(|e| e.to_string())?;
    world_of(&experiment).map_err(|e| e.to_string())?;
    Ok((variant, experiment))
}

fn outcome(plan: &Value, threads: usize) -> Outcome {
    let experiment = checked(plan, None).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| run_all(&[experiment], &|_| {})).unwrap().remove(0)
}

/// Invariants I2 and I5: one debit an answer, whatever the threads; nobody exceeds its budget.
#[test]
fn every_algorithm_keeps_its_budget_and_repeats_itself() {
    for algorithm in ALL {
        let outcome = outcome(&plan(algorithm), 1);
        let guarantee = outcome.weakest().unwrap();
        let epsilon = guarantee.epsilon.get();
        assert!(epsilon <= 1.0 && epsilon > 0.99, "{algorithm}: {epsilon}");
        let releases = match algorithm {
            "surplus-gradient" => 10,
            "two-stage" => 20,
            _ => 30,
        };
        for node in &outcome.runs[0].run.guarantees {
            assert_eq!(node.debits, releases, "{algorithm}");
        }
        if algorithm == "adp2-sgd" {
            // As many answers as activations, and as many debits as answers.
            let note = &outcome.runs[0].run.notes[0];
            assert!(note.contains("300 activations, 0 of them refused"), "{note}");
        }
        let adjacency = if algorithm == "two-stage" { "replace" } else { "add-remove" };
        assert_eq!(guarantee.adjacency.to_string(), adjacency, "{algorithm}");
        assert!(outcome.runs[0].run.claims.iter().all(Option::is_none));
        let again = self::outcome(&plan(algorithm), 2);
        assert_eq!(outcome.runs[0].hash, again.runs[0].hash, "{algorithm}");
    }
}

#[test]
fn nodes_with_budgets_of_their_own_get_the_noise_for_it() {
    for algorithm in ALL {
        let own = json!([{"node": 2, "epsilon": 0.3, "delta": 1e-6}]);
        let changes = [("privacy.node", own), ("run.rounds", json!(20))];
        let outcome = outcome(&with(plan(algorithm), &changes), 1);
        for (node, guarantee) in outcome.runs[0].run.guarantees.iter().enumerate() {
            let budget = if node == 2 { 0.3 } else { 1.0 };
            let epsilon = guarantee.epsilon.get();
            assert!(epsilon <= budget && epsilon > 0.98 * budget, "{algorithm}: {epsilon}");
        }
    }
}

/// The noise of a paper is run with its claim beside the price of what ran.
#[test]
fn papers_claim_what_they_claim_and_the_ledger_says_what_is_true() {
    for (algorithm, source, more, least) in [
        ("q-dpsgd-1", "000 Theorem 11", false, 0.165),
        ("q-dpsgd-2", "000 Theorem 15", false, 0.46),
        // Not proportional to the chance of a coordinate: the one that under-reports here.
        ("sdm", "linear rule (baseline of 000, recalled)", true, 1.049),
        ("surplus-gradient", "001 Theorem 2.7 (constant 1)", false, 0.071),
        ("two-stage", "004 Theorem 1", false, 0.657),
    ] {
        let mut paper = with(plan(algorithm), &[("privacy.noise", json!("paper"))]);
        if algorithm == "surplus-gradient" {
            paper["algorithm"]["sampling"] = json!("full");
            paper["algorithm"].as_object_mut().unwrap().remove("batch");
        }
        let (_, experiment) = checked(&paper, None).unwrap();
        let claim = experiment.claim(0).unwrap();
        assert_eq!((claim.source, claim.epsilon.get()), (source, 1.0));
        let learners = experiment.learners::<f64>(1).unwrap();
        let price = learners[0].oracle.guarantee().epsilon.get();
        assert_eq!(price > 1.0, more, "{algorithm}: {price}");
        assert!((least..least + 0.01).contains(&price), "{algorithm}: {price}");
    }
    let missing = checked(&with(plan("adp2-sgd"), &[("privacy.noise", json!("paper"))]), None);
    assert!(missing.err().unwrap().starts_with("privacy.noise: the published formula"));
}

/// A noise of somebody's choice: the claim is the formula turned round.
#[test]
fn a_claim_for_a_noise_asks_for_that_noise() {
    for algorithm in ["q-dpsgd-1", "q-dpsgd-2", "sdm"] {
        let fixed = |sigma: f64| {
            let mut plan = with(plan(algorithm), &[("privacy.noise", json!({"sigma": sigma}))]);
            plan["privacy"].as_object_mut().unwrap().remove("epsilon");
            checked(&plan, None).unwrap().1.claim(0).unwrap().epsilon.get()
        };
        let claimed = fixed(0.3);
        assert!(claimed > fixed(0.6), "{algorithm}");
        let noise = [("privacy.noise", json!("paper")), ("privacy.epsilon", json!(claimed))];
        let paper = checked(&with(plan(algorithm), &noise), None).unwrap().1;
        let price =
            |e: &Experiment| e.learners::<f64>(1).unwrap()[0].oracle.guarantee().epsilon.get();
        let mut plan = with(plan(algorithm), &[("privacy.noise", json!({"sigma": 0.3}))]);
        plan["privacy"].as_object_mut().unwrap().remove("epsilon");
        let (one, other) = (price(&paper), price(&checked(&plan, None).unwrap().1));
        assert!((one / other - 1.0).abs() < 1e-5, "{algorithm}: {one} {other}");
    }
}

/// What is printed has no guarantee, and says what was claimed for it.
#[test]
fn printed_algorithms_run_without_a_guarantee() {
    for (algorithm, source) in [("q-dpsgd-2", "000 Theorem 15"), ("two-stage", "004 Algorithm 1")] {
        for noise in ["sound", "paper"] {
            let changes = [("algorithm.printed", json!(true)), ("privacy.noise", json!(noise))];
            let outcome = outcome(&with(plan(algorithm), &changes), 1);
            assert!(outcome.weakest().unwrap().epsilon.get().is_infinite(), "{algorithm}");
            match outcome.runs[0].run.claims[0] {
                Some(claim) => assert_eq!((claim.source, claim.epsilon.get()), (source, 1.0)),
                None => assert_eq!((algorithm, noise), ("q-dpsgd-2", "sound")),
            }
        }
    }
}

/// Batches of a deadline: their sizes are public, change, and are all paid for.
#[test]
fn deadlines_give_batches_that_change_and_are_priced() {
    let deadline = json!({"time": 0.4, "speed": {"law": "uniform", "low": 10.0, "high": 90.0}});
    for algorithm in ["q-dpsgd-1", "q-dpsgd-2"] {
        let mut plan = with(plan(algorithm), &[("algorithm.deadline", deadline.clone())]);
        plan["algorithm"].as_object_mut().unwrap().remove("batch");
        let (_, experiment) = checked(&plan, None).unwrap();
        let learners = experiment.learners::<f64>(1).unwrap();
        let sizes: Vec<Vec<u64>> = learners
            .iter()
            .map(|learner| learner.batches.iter().map(|size| size.round() as u64).collect())
            .collect();
        assert_ne!(sizes[0], sizes[1]);
        let sorted = |node: usize| {
            let mut sizes = sizes[node].clone();
            sizes.sort_unstable();
            sizes
        };
        assert_eq!(sorted(0), sorted(1));
        // floor(0.4 (10 + 80 (k + 1/2)/8)) for k from 0 to 7.
        let mut levels = sorted(0);
        levels.dedup();
        assert_eq!(levels, [6, 10, 14, 18, 22, 26, 30, 34]);
        let outcome = outcome(&plan, 1);
        let guarantee = outcome.weakest().unwrap();
        let epsilon = guarantee.epsilon.get();
        assert!(epsilon <= 1.0 && epsilon > 0.99, "{epsilon}");
        assert_eq!(guarantee.debits, 30);
    }
}

#[test]
fn momentum_changes_the_way_and_nothing_about_the_price() {
    for algorithm in ["q-dpsgd-1", "sdm", "surplus-gradient", "adp2-sgd"] {
        let plain = outcome(&plan(algorithm), 1);
        let heavy = outcome(&with(plan(algorithm), &[("algorithm.momentum", json!(0.5))]), 1);
        assert_ne!(plain.last("loss"), heavy.last("loss"), "{algorithm}");
        let epsilon = |outcome: &Outcome| outcome.weakest().unwrap().epsilon;
        assert_eq!(epsilon(&plain), epsilon(&heavy));
    }
}

#[test]
fn what_does_not_do_is_said_with_a_remedy() {
    let refusal = |plan: Value| {
        let read = serde_json::from_value::<Plan>(plan.clone());
        read.map_err(|e| e.to_string()).unwrap();
        checked(&plan, None).err().expect("it is refused")
    };
    let deadline = |time: f64| json!({"time": time, "speed": {"law": "constant", "speed": 50.0}});
    for (algorithm, key, value, expected) in [
        ("q-dpsgd-2", "algorithm.momentum", json!(0.5), "does not take it; leave it out"),
        ("q-dpsgd-1", "algorithm.printed", json!(true), "does not take it; leave it out"),
        ("q-dpsgd-1", "algorithm.bits", Value::Null, "algorithm.bits: \"q-dpsgd-1\" needs it"),
        ("q-dpsgd-1", "algorithm.bits", json!(99), "algorithm.lattice: a lattice has"),
        ("q-dpsgd-1", "algorithm.pace", json!(1.5), "algorithm.pace: must be above 0"),
        ("q-dpsgd-1", "algorithm.deadline", deadline(0.4), "algorithm.batch: follows from the"),
        ("q-dpsgd-2", "algorithm.sampling", json!("fixed-size"), "drawn by themselves; take"),
        ("sdm", "algorithm.sampling", json!("fixed-size"), "drawn by themselves; take"),
        ("sdm", "algorithm.transmit", json!(0.0), "algorithm.transmit: is a chance"),
        ("sdm", "network.schedule", json!("per-round"), "the graph has to stay; take \"fixed\""),
        ("surplus-gradient", "algorithm.sparsity", json!(1.0), "algorithm.sparsity: is the share"),
        ("surplus-gradient", "network.weights", json!("in"), "does not take it; leave it out"),
        ("surplus-gradient", "algorithm.rounds-of-gradients", json!(11), "the windows in it (10)"),
        ("surplus-gradient", "privacy.noise", json!("paper"), "is about all records; take"),
        ("two-stage", "algorithm.step", json!(0.1), "take { first = 1.0, power = 1.0 }"),
        ("two-stage", "algorithm.domain", json!({"ball": -1.0}), "algorithm.domain: must be pos"),
        ("two-stage", "algorithm.sampling", json!("poisson"), "does not take it; leave it out"),
        ("two-stage", "run.precision", json!("f32"), "take \"f64\""),
        ("two-stage", "privacy.adjacency", json!("add-remove"), "hide replacement; take"),
        ("adp2-sgd", "algorithm.momentum", json!(1.0), "algorithm.momentum: must be at least 0"),
        ("adp2-sgd", "world.deadline", json!(1.0), "over ideal links"),
        ("adp2-sgd", "run.stop-below", json!(0.5), "run.stop-below: adp2-sgd"),
        ("adp2-sgd", "network.schedule", json!("per-round"), "has no rounds, so the graph"),
        ("adp2-sgd", "world", Value::Null, "add [world.compute]"),
    ] {
        let found = refusal(with(plan(algorithm), &[(key, value)]));
        assert!(found.contains(expected), "{algorithm}: {found}\n{expected}");
    }
    let mut slow = with(plan("q-dpsgd-1"), &[("algorithm.deadline", deadline(0.01))]);
    slow["algorithm"].as_object_mut().unwrap().remove("batch");
    assert!(refusal(slow.clone()).contains("no time for a record; take a longer one"));
    let changes = [
        ("algorithm.deadline", deadline(0.4)),
        ("algorithm.name", json!("q-dpsgd-2")),
        ("algorithm.step", json!({"first": 1.0, "power": 0.5})),
    ];
    assert!(refusal(with(slow, &changes)).contains("take steps of one size"));
}

/// Twenty records of two numbers and a number to predict: least squares is strongly convex.
fn least_squares() -> (Dataset<f64>, f64) {
    let values: Vec<f64> = (0..40).map(|k| ((k * k * 7 + 3 * k) % 11) as f64 / 5.0 - 1.0).collect();
    let targets: Vec<f64> = (0..20).map(|k| ((k * 5 + 2) % 7) as f64 / 3.0 - 1.0).collect();
    // Normal equations of two unknowns.
    let (mut a, mut b, mut d, mut p, mut q) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (row, y) in values.chunks(2).zip(&targets) {
        (a, b, d) = (a + row[0] * row[0], b + row[0] * row[1], d + row[1] * row[1]);
        (p, q) = (p + row[0] * y, q + row[1] * y);
    }
    let best = [(d * p - b * q) / (a * d - b * b), (a * q - b * p) / (a * d - b * b)];
    let data = Dataset::new(Features::Dense { width: 2, values }, Targets::Real(targets)).unwrap();
    let objective = Linear::new(2, false, Loss::Squared);
    let least = objective.loss(&best, Batch::all(&data), &mut Scratch::default()) / 20.0;
    (data, least)
}

/// How much the worst node has above the least loss, without noise.
fn excess(algorithm: &str, changes: &[(&str, Value)]) -> f64 {
    let (train, least) = least_squares();
    let mut plan = plan(algorithm);
    plan["network"]["nodes"] = json!(4);
    plan["data"] = json!({"file": "given"});
    plan["model"] = json!({"kind": "linear"});
    plan["privacy"] = json!({"delta": 1e-5, "clip": 1e3, "noise": {"sigma": 0.0}});
    plan["run"]["rounds"] = json!(6000);
    plan["evaluate"]["every"] = json!(6000);
    if algorithm != "two-stage" {
        plan["algorithm"]["sampling"] = json!("full");
        plan["algorithm"].as_object_mut().unwrap().remove("batch");
        plan["algorithm"]["step"] = json!({"first": 1.0, "power": 1.0});
    }
    let records = Records::F64(Arc::new(Examples { train, test: None, split: None }));
    let experiment = checked(&with(plan, changes), Some(records)).unwrap();
    let outcome = run_all(&[experiment], &|_| {}).unwrap().remove(0);
    assert!(outcome.weakest().unwrap().epsilon.get().is_infinite());
    outcome.last("node-loss").unwrap() - least
}

/// Each reaches the optimum of all records, or a ball that shrinks with its step or its lattice.
#[test]
fn without_noise_every_algorithm_reaches_the_optimum_of_all_records() {
    let decaying = |first: f64, power: f64| json!({"first": first, "power": power});
    let late = ("algorithm.rounds-of-gradients", json!(5800));
    for (algorithm, changes, ball) in [
        (
            "q-dpsgd-1",
            vec![
                ("algorithm.step", decaying(8.0, 1.0)),
                ("algorithm.lattice", json!(1e-4)),
                ("algorithm.bits", json!(20)),
            ],
            1e-4,
        ),
        (
            "q-dpsgd-2",
            vec![
                ("algorithm.step", decaying(8.0, 1.0)),
                ("algorithm.lattice", json!(1e-6)),
                ("algorithm.bits", json!(24)),
            ],
            1e-4,
        ),
        ("sdm", vec![("algorithm.step", decaying(6.0, 1.0)), late.clone()], 1e-4),
        (
            "surplus-gradient",
            vec![
                ("algorithm.step", decaying(4.0, 1.0)),
                ("algorithm.window", json!(2)),
                ("algorithm.rounds-of-gradients", json!(2900)),
            ],
            1e-4,
        ),
        (
            "two-stage",
            vec![("algorithm.steps", json!(5800)), ("algorithm.step", decaying(4.0, 1.0))],
            1e-4,
        ),
        ("adp2-sgd", vec![("algorithm.step", decaying(1.0, 0.75))], 1e-3),
    ] {
        let found = excess(algorithm, &changes);
        println!("{algorithm}: {found:e}");
        assert!((-1e-12..ball).contains(&found), "{algorithm}: {found:e}");
    }
}

/// A constant step ends in a ball, and a smaller step in a smaller one.
#[test]
fn the_ball_shrinks_with_the_step() {
    for algorithm in ["q-dpsgd-1", "sdm", "surplus-gradient", "adp2-sgd"] {
        let fine = ("algorithm.lattice", json!(1e-5));
        let bits = ("algorithm.bits", json!(24));
        let run = |step: f64| {
            let mut changes = vec![("algorithm.step", json!(step))];
            if algorithm == "q-dpsgd-1" {
                changes.extend([fine.clone(), bits.clone()]);
            }
            excess(algorithm, &changes)
        };
        let (coarse, fine) = (run(0.2), run(0.02));
        assert!(fine < 0.3 * coarse && fine < 1e-2, "{algorithm}: {coarse:e} {fine:e}");
    }
}
