//! What a study refuses, and that it says what to do.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use undertone::model::dataset::{Dataset, Features, Target, Targets};
use undertone::{Examples, PerRecord, RecordLoss, Study};

const PLAN: &str = r#"
name = "own"
seed = 1
network = { nodes = 2, schedule = "fixed", topology = { family = "edges", edges = [[0, 1]] } }
data = {}
model = { kind = "own" }
algorithm = { name = "priv-sgp", step = 0.1, sampling = "full" }
privacy = { epsilon = 1.0, delta = 1e-5, clip = 1.0, noise = "sound" }
run = { rounds = 3, precision = "f64" }
evaluate = { metrics = ["loss"] }
"#;

/// Says that its gradient is a billion.
struct Liar;

impl RecordLoss<f64> for Liar {
    fn dimension(&self) -> usize {
        1
    }

    fn loss(&self, x: &[f64], _: &[f64], _: Target<'_, f64>) -> f64 {
        x[0]
    }

    fn gradient(&self, _: &[f64], _: &[f64], _: Target<'_, f64>, out: &mut [f64]) {
        out[0] = 1e9;
    }

    fn score(&self, x: &[f64], _: &[f64]) -> f64 {
        x[0]
    }
}

fn records() -> Examples<f64> {
    let features = Features::Dense { width: 1, values: vec![1.0; 2000] };
    Examples { train: Dataset::new(features, Targets::None).unwrap(), test: None, split: None }
}

fn refusal(study: &Study) -> String {
    study.run().expect_err("it has to be refused").to_string()
}

#[test]
fn an_objective_of_ones_own_is_clipped_whatever_it_says() {
    let study = Study::from_toml(PLAN).unwrap().with_records(records());
    let outcome = study.with_objective(PerRecord::new(Liar)).run().unwrap().remove(0);
    // Three steps of 0.1 down a mean gradient that the clip norm bounds by 1, and little noise.
    let end = outcome.last("loss").unwrap();
    assert!((-0.35..-0.25).contains(&end), "{end}");
    let epsilon = outcome.weakest().unwrap().epsilon.get();
    assert!(epsilon <= 1.0 && epsilon > 0.999, "{epsilon}");
}

#[test]
fn what_is_missing_is_named() {
    let study = Study::from_toml(PLAN).unwrap();
    assert!(refusal(&study).contains("load them first"));
    let study = study.with_records(records());
    let own = refusal(&study);
    assert!(own.contains("model.kind") && own.contains("given in code"), "{own}");
    let liar = || PerRecord::new(Liar);
    let other = study.clone().set("model.kind", "logistic").unwrap().with_objective(liar());
    assert!(refusal(&other).contains("kind = \"own\""));
    let single = study.clone().set("run.precision", "f32").unwrap().with_objective(liar());
    assert!(refusal(&single).contains("run.precision"));
    let admm = serde_json::json!({ "penalty": 1.0, "ridge": 0.1 });
    let study = study.set("algorithm", serde_json::json!({ "name": "dvp", "admm": admm }));
    let convex = refusal(&study.unwrap().with_objective(liar()));
    assert!(convex.contains("convex loss"), "{convex}");
}

#[test]
fn wrong_keys_words_and_edges_are_refused() {
    let wrong = |from: &str, to: &str| match Study::from_toml(&PLAN.replace(from, to)) {
        Err(error) => error.to_string(),
        Ok(study) => refusal(&study.with_records(records()).with_objective(PerRecord::new(Liar))),
    };
    assert!(wrong("seed", "sede").contains("unknown field `sede`"));
    assert!(wrong("[[0, 1]]", "[[0, 2]]").contains("node 2 is out of range"));
    assert!(
        wrong("[[0, 1]]", "[[0, 1]], directed = true").contains("not everybody reaches everybody")
    );
    assert!(wrong("edges = [[0, 1]]", "edges = [[0, 1]], degree = 2").contains("degree"));
}
