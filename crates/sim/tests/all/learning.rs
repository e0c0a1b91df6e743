//! Learning: what is reached with and without noise, what it costs, and the same bytes on any
//! number of threads.

use std::sync::Arc;

use serde_json::{Value, json};
use undertone_model::dataset::{Features, Targets};
use undertone_model::{Batch, Dataset, Linear, Loss, Objective, Scratch};
use undertone_node::plan::{Variant, expand};
use undertone_node::{Examples, Experiment, Records};
use undertone_sim::{Outcome, run_all};

fn census(algorithm: &str) -> Value {
    let mut plan = json!({
        "name": "test", "seed": 1,
        "network": {"nodes": 10, "schedule": "exponential"},
        "data": {"source": "census", "records": 12_000, "holdout": 2_000},
        "model": {"kind": "logistic", "intercept": true},
        "algorithm": {"name": algorithm, "step": 2.0, "batch": 20, "sampling": "poisson"},
        "run": {"rounds": 200, "precision": "f32"},
        "evaluate": {"every": 100, "metrics": ["loss", "accuracy", "node-loss", "node-accuracy",
                                               "consensus-error"]},
    });
    if ["dsgd", "dp2-sgd"].contains(&algorithm) {
        plan["network"] = json!({"nodes": 10, "schedule": "fixed", "weights": "metropolis",
                                 "topology": {"family": "ring"}});
    }
    if algorithm != "dsgd" {
        plan["privacy"] = json!({"epsilon": 1.0, "delta": 1e-5, "clip": 1.0, "noise": "sound"});
    }
    plan
}

fn outcomes(plan: &Value, threads: usize) -> Vec<Outcome> {
    let check = |variant: Variant| {
        let experiment = Experiment::new(&variant.plan, None).unwrap();
        (variant, experiment)
    };
    let experiments: Vec<_> = expand(plan).unwrap().into_iter().map(check).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| run_all(&experiments, &|_| {})).unwrap()
}

/// Three quarters of all incomes are not high: what a model without features gets right.
const MAJORITY: f64 = 0.77;

#[test]
fn descent_without_noise_learns_and_promises_nothing() {
    let outcome = &outcomes(&census("dsgd"), 2)[0];
    assert!(outcome.last("accuracy").unwrap() > 0.8, "{:?}", outcome.last("accuracy"));
    assert!(outcome.last("node-accuracy") <= outcome.last("accuracy").map(|a| a + 0.05));
    assert!(outcome.last("node-loss") >= outcome.last("loss"));
    assert!(outcome.weakest().unwrap().epsilon.get().is_infinite());
    // At zero every loss is ln 2, and nobody differs.
    let first = &outcome.points()[0];
    assert!((first.metrics["loss"] - std::f64::consts::LN_2).abs() < 1e-6);
    assert_eq!((first.round, first.metrics["consensus-error"]), (0, 0.0));
}

#[test]
fn private_learners_keep_their_budget_and_learn() {
    for algorithm in ["dp2-sgd", "priv-sgp"] {
        let outcome = &outcomes(&census(algorithm), 2)[0];
        let guarantee = outcome.weakest().unwrap();
        assert!(guarantee.epsilon.get() <= 1.0 && guarantee.epsilon.get() > 0.999);
        assert_eq!((guarantee.debits, guarantee.adjacency.to_string()), (200, "add-remove".into()));
        let accuracy = outcome.last("accuracy").unwrap();
        assert!(accuracy > MAJORITY, "{algorithm}: {accuracy}");
    }
    // Twice the sensitivity for the same budget is too much for so few records: what it keeps is
    // the budget.
    let reduced = &outcomes(&census("priv-sgp-vr"), 2)[0];
    assert!(reduced.weakest().unwrap().epsilon.get() <= 1.0);
}

#[test]
fn what_was_spent_on_the_way_grows_to_the_guarantee() {
    let mut plan = census("dp2-sgd");
    plan["data"] = json!({"source": "census", "records": 1_200, "holdout": 200});
    plan["algorithm"]["batch"] = json!(30);
    plan["run"] = json!({"rounds": 40, "precision": "f32", "repeat": 2});
    plan["evaluate"] = json!({"every": 1, "metrics": ["loss"]});
    plan["privacy"]["node"] = json!([{"node": 3, "epsilon": 0.5, "delta": 1e-5}]);
    let outcome = &outcomes(&plan, 2)[0];
    let run = &outcome.runs[0].run;
    assert_eq!(run.spending.nodes.len(), 10);
    // Every other look of 41, and the last.
    assert_eq!(run.spending.points.len(), 21);
    for node in 0..10 {
        let spent: Vec<f64> =
            run.spending.points.iter().map(|p| p.epsilons[node].unwrap().get()).collect();
        assert!(spent[0] == 0.0 && spent.windows(2).all(|w| w[0] <= w[1]), "{spent:?}");
        assert_eq!(spent.last().copied(), Some(run.guarantees[node].epsilon.get()));
        assert!(spent[1] < run.guarantees[node].epsilon.get());
    }
    assert!(outcome.runs[1].run.spending.points.is_empty(), "the first repetition does for all");
}

/// Invariant I5.
#[test]
fn the_trace_does_not_depend_on_the_number_of_threads() {
    for algorithm in ["dsgd", "dp2-sgd", "priv-sgp", "priv-sgp-vr"] {
        let mut plan = census(algorithm);
        plan["run"] = json!({"rounds": 12, "precision": "f32", "repeat": 2});
        plan["evaluate"]["every"] = json!(5);
        plan["data"] = json!({"source": "images", "image": [1, 8, 8], "records": 605});
        plan["model"] = json!({"kind": "mlp", "hidden": [9]});
        plan["algorithm"]["batch"] = json!(3);
        let hashes = |threads| -> Vec<String> {
            let outcomes = outcomes(&plan, threads);
            outcomes[0].runs.iter().map(|traced| traced.hash.clone()).collect()
        };
        let one = hashes(1);
        assert_ne!(one[0], one[1]);
        for threads in [2, 7] {
            assert_eq!(hashes(threads), one, "{algorithm}");
        }
    }
}

/// In step and by virtual time over good links, the end is the same.
#[test]
fn virtual_time_changes_nothing_about_what_is_learned() {
    let mut plan = census("priv-sgp");
    plan["run"]["rounds"] = json!(20);
    let in_step = outcomes(&plan, 1)[0].last("loss");
    plan["world"] = json!({"links": {
        "delivery": "reliable",
        "link": {"latency": {"model": "uniform", "low": 0.005, "high": 0.05}, "loss": 0.2},
    }});
    let by_time = outcomes(&plan, 1)[0].last("loss");
    assert_eq!(in_step, by_time);
}

/// Sixteen records of two numbers and noisy signs, so that the optimum is finite.
fn tiny() -> Dataset<f64> {
    let values: Vec<f64> =
        (0..32).map(|k| ((k * k * 7 + 3 * k) % 11) as f64 / 11.0 - 0.5).collect();
    let sign = |k: usize| if (k * 5 + k / 3).is_multiple_of(3) { -1.0 } else { 1.0 };
    let signs = (0..16).map(sign).collect();
    Dataset::new(Features::Dense { width: 2, values }, Targets::Sign(signs)).unwrap()
}

/// Newton's method on all records at once.
fn optimum(data: &Dataset<f64>) -> Vec<f64> {
    let objective = Linear::new(2, false, Loss::Logistic);
    let gradient = |x: &[f64]| {
        let mut out = [0.0; 2];
        objective.gradient(x, Batch::all(data), &mut Scratch::default(), &mut out);
        out
    };
    let mut x = vec![0.0; 2];
    for _ in 0..100 {
        let (g, h) = (gradient(&x), 1e-6);
        let column = |k: usize| {
            let mut to = x.clone();
            to[k] += h;
            let there = gradient(&to);
            [(there[0] - g[0]) / h, (there[1] - g[1]) / h]
        };
        let ([a, c], [b, d]) = (column(0), column(1));
        let determinant = a * d - b * c;
        x[0] -= (d * g[0] - b * g[1]) / determinant;
        x[1] -= (a * g[1] - c * g[0]) / determinant;
    }
    assert!(gradient(&x).iter().all(|g| g.abs() < 1e-9));
    x
}

#[test]
fn gradient_push_without_noise_reaches_the_optimum_of_all_records() {
    let data = tiny();
    let best = optimum(&data);
    let objective = Linear::new(2, false, Loss::Logistic);
    let least = objective.loss(&best, Batch::all(&data), &mut Scratch::default()) / 16.0;
    let plan = json!({
        "name": "test", "seed": 1,
        "network": {"nodes": 4, "schedule": "exponential"},
        "data": {"file": "given"},
        "model": {"kind": "logistic"},
        "algorithm": {"name": "priv-sgp", "step": {"first": 5.0, "power": 0.5}, "sampling": "full"},
        "privacy": {"delta": 1e-5, "clip": 10.0, "noise": {"sigma": 0.0}},
        "run": {"rounds": 20_000, "precision": "f64"},
        "evaluate": {"every": 20_000, "metrics": ["loss", "node-loss"]},
    });
    let variant = expand(&plan).unwrap().remove(0);
    let examples = Examples { train: data, test: None, split: None };
    let records = Some(Records::F64(Arc::new(examples)));
    let experiment = Experiment::new(&variant.plan, records).unwrap();
    let outcome = run_all(&[(variant, experiment)], &|_| {}).unwrap().remove(0);
    let excess = outcome.last("node-loss").unwrap() - least;
    assert!((0.0..1e-6).contains(&excess), "{excess}");
    assert!(outcome.weakest().unwrap().epsilon.get().is_infinite());
}
