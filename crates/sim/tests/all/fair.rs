//! Fair classification without a server: what is reached, and the same bytes on any number of
//! threads.

use serde_json::{Value, json};
use undertone_node::Experiment;
use undertone_node::plan::{Variant, expand};
use undertone_sim::{Outcome, run_all};

/// A census in which men have a high income much more often.
fn plan() -> Value {
    json!({
        "name": "test", "seed": 1,
        "network": {"nodes": 4, "topology": {"family": "ring"}, "schedule": "fixed"},
        "data": {"source": "census", "records": 12_000, "holdout": 4_000, "bias": 1.0},
        "model": {"kind": "fair-logistic", "method": "adfc"},
        "algorithm": {"name": "push-sum"},
        "privacy": {"epsilon": 4.0, "delta": 1e-5, "noise": "sound",
                    "clip": {"clip": "ball", "radius": 1.0}},
        "run": {"rounds": 40, "precision": "f64"},
        "evaluate": {"every": 40, "metrics": ["accuracy", "risk-difference", "equalised-odds",
                     "disparate-impact", "group-accuracy", "node-accuracy", "consensus-error"]},
        "vary": [{"key": "model.method", "values": ["rfm", "adfc"]}],
    })
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

#[test]
fn fairness_costs_accuracy_and_mends_the_difference() {
    let outcomes = outcomes(&plan(), 2);
    let last = |k: usize, metric: &str| outcomes[k].last(metric).unwrap();
    let figures: Vec<_> = (0..2).map(|k| outcomes[k].points().pop().unwrap().metrics).collect();
    assert!(last(0, "accuracy") > 0.78, "{figures:?}");
    assert!(last(0, "risk-difference") > 0.15, "{figures:?}");
    assert!(last(1, "risk-difference") < 0.05, "{figures:?}");
    assert!(last(1, "accuracy") > 0.74, "{figures:?}");
    assert!(last(1, "consensus-error") < 1e-6, "{figures:?}");
    // All nodes ended with the same sums, so with the same classifier.
    assert_eq!(last(1, "node-accuracy"), last(1, "accuracy"));
    for outcome in &outcomes {
        assert!((outcome.weakest().unwrap().epsilon.get() - 4.0).abs() < 1e-6);
    }
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let hashes = |threads| {
        let outcomes = outcomes(&plan(), threads);
        outcomes.iter().map(|outcome| outcome.runs[0].hash.clone()).collect::<Vec<_>>()
    };
    assert_eq!(hashes(1), hashes(3));
}
