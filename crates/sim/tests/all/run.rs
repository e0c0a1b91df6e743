//! Runs: the same bytes on any number of threads, results against closed forms.

use serde_json::{Value, json};
use undertone_node::Experiment;
use undertone_node::plan::{Expected, Variant, expand};
use undertone_sim::{Outcome, judge, run_all};
use undertone_trace::{Record, hash_of, read};

fn plan(algorithm: Value) -> Value {
    json!({
        "name": "test", "seed": 5,
        "network": {"nodes": 200, "schedule": "fixed",
                    "topology": {"family": "random-regular", "degree": 4, "connected": true}},
        "data": {"source": "uniform", "low": -5.0, "high": 5.0, "dimension": 7},
        "algorithm": algorithm,
        "privacy": {"epsilon": 1.0, "delta": 1e-4, "noise": "sound",
                    "clip": {"clip": "box", "radius": 5.0}},
        "run": {"rounds": 30, "precision": "f32", "repeat": 2},
        "evaluate": {"every": 7, "target": "released",
                     "metrics": ["residual", "relative-residual", "consensus-error", "mean-error",
                                 "node-error"]},
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

fn hashes(outcomes: &[Outcome]) -> Vec<String> {
    outcomes.iter().flat_map(|o| o.runs.iter().map(|traced| traced.hash.clone())).collect()
}

/// Invariant I5.
#[test]
fn the_trace_does_not_depend_on_the_number_of_threads() {
    let mut gossip = plan(json!({"name": "gossip"}));
    gossip["network"]["weights"] = json!("metropolis");
    let mut two_stage = plan(json!({"name": "two-stage", "steps": 20}));
    two_stage["network"]["weights"] = json!("laplacian-max");
    two_stage["evaluate"]["target"] = json!("data");
    let plans = [
        plan(json!({"name": "push-sum"})),
        plan(json!({"name": "running-sum"})),
        plan(json!({"name": "sparse-push-sum", "sparsity": 0.5})),
        plan(json!({"name": "surplus", "sparsity": 0.5, "gamma": 0.1})),
        gossip,
        two_stage,
    ];
    let mut seen = Vec::new();
    for plan in &plans {
        let one = outcomes(plan, 1);
        for traced in &one[0].runs {
            assert_eq!(traced.hash, hash_of(&traced.lines));
        }
        for threads in [2, 7] {
            assert_eq!(hashes(&outcomes(plan, threads)), hashes(&one), "{}", plan["algorithm"]);
        }
        seen.extend(hashes(&one));
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 2 * plans.len(), "seeds and algorithms differ");
}

/// Invariant I7: what the evaluator measures is in the rounds of the trace, which only the
/// simulator writes, and its numbers are those of an independent sum over the data.
#[test]
fn the_evaluator_measures_from_the_true_data() {
    let plan = json!({
        "name": "tiny", "seed": 1,
        "network": {"nodes": 3, "schedule": "fixed", "topology": {"family": "complete"}},
        "data": {"dimension": 2, "values": [[1.0, 0.0], [2.0, 0.0], [6.0, 3.0]]},
        "algorithm": {"name": "push-sum"},
        "run": {"rounds": 2, "precision": "f64"},
        "evaluate": {"metrics": ["residual", "relative-residual", "consensus-error", "mean-error",
                                 "node-error"]},
    });
    let outcome = &outcomes(&plan, 1)[0];
    let records = read(&outcome.runs[0].lines[..]).unwrap();
    assert!(matches!(&records[0], Record::Start { nodes: 3, .. }));
    let Record::Round { round: 0, metrics, .. } = &records[1] else { panic!("round 0 is first") };
    // The mean is (3, 1); the squares of what is off are 4+1, 1+1 and 9+4.
    assert!((metrics["residual"] - 20f64.sqrt()).abs() < 1e-12);
    assert_eq!(metrics["relative-residual"], 1.0);
    assert!((metrics["consensus-error"] - 20f64.sqrt()).abs() < 1e-12);
    assert!(metrics["mean-error"] < 1e-30);
    assert!((metrics["node-error"] - 5.0 / 10.0).abs() < 1e-12);
    // Everybody hears everybody: one round suffices.
    assert!(outcome.last("residual").unwrap() < 1e-12);
    assert!(matches!(records.last(), Some(Record::End { rounds: 2, messages: 12, .. })));
    let guarantees = records.iter().filter(|r| matches!(r, Record::Guarantee { .. })).count();
    assert_eq!(guarantees, 3);
    assert!(outcome.weakest().unwrap().epsilon.get().is_infinite());
}

#[test]
fn a_run_stops_when_it_is_close_enough() {
    let mut plan = plan(json!({"name": "push-sum"}));
    plan["run"] = json!({"rounds": 500, "precision": "f64", "stop-below": 1e-6});
    plan["evaluate"]["every"] = json!(1);
    let outcome = &outcomes(&plan, 2)[0];
    let points = outcome.points();
    let (last, before) = (points.last().unwrap(), &points[points.len() - 2]);
    assert!(last.metrics["residual"] < 1e-6 && before.metrics["residual"] >= 1e-6);
    assert_eq!(outcome.rounds(), last.round as f64);
    assert!(last.round < 500);
}

/// The mean of noisy vectors is off by `sigma^2 d/n` in the mean (squared, absolute).
#[test]
fn the_error_of_a_private_mean_is_that_of_its_noise() {
    let mut plan = plan(json!({"name": "push-sum"}));
    plan["run"] = json!({"rounds": 60, "precision": "f64", "repeat": 40});
    plan["data"] = json!({"dimension": 7, "values": vec![vec![1.0; 7]; 200]});
    plan["privacy"]["noise"] = json!({"sigma": 2.0});
    plan["privacy"].as_object_mut().unwrap().remove("epsilon");
    let error = outcomes(&plan, 2)[0].last("mean-error").unwrap();
    // Relative to |truth|^2 = 7. A chi-square with 280 degrees of freedom is within 46% of its
    // mean but for one time in a million.
    let expected = 4.0 / 200.0;
    assert!((error / expected - 1.0).abs() < 0.46, "{error} {expected}");
}

#[test]
fn bands_hold_or_do_not() {
    let mut plan = plan(json!({"name": "push-sum"}));
    plan["vary"] = json!([{"key": "data.dimension", "values": [2, 8]}]);
    plan["run"]["precision"] = json!("f64");
    let outcomes = outcomes(&plan, 2);
    let verdict = |band: Value| {
        let band: Expected = serde_json::from_value(band).unwrap();
        judge(&[band], &outcomes)
    };
    let all = verdict(json!({"metric": "relative-residual", "max": 0.1}));
    assert!(all.len() == 2 && all.iter().all(|v| v.passed));
    let none = verdict(json!({"metric": "relative-residual", "min": 0.1}));
    assert!(none.iter().all(|v| !v.passed));
    let one = json!({"data.dimension": 8});
    let slope = json!({"metric": "residual", "slope-of-log": [7, 14], "where": one, "max": 0.0});
    let slope = verdict(slope);
    let points = outcomes[1].points();
    let at = |k: usize| points[k].metrics["residual"].ln();
    assert_eq!((slope.len(), slope[0].found), (1, Some((at(2) - at(1)) / 7.0)));
    // Entries have the same law, so residuals go with the root of the dimension.
    let ratio = json!({"metric": "residual", "at": 0, "of": one, "over": {"data.dimension": 2},
                       "min": 0.0});
    let noise = 4.0; // the sensitivity, and with it sigma, goes with that root, too
    let found = verdict(ratio)[0].found.unwrap();
    assert!((found / noise - 1.0).abs() < 0.2, "{found}");
    let absent = verdict(json!({"metric": "residual", "at": 3, "max": 1e9}));
    assert!(absent.iter().all(|v| v.found.is_none() && !v.passed));
    let epsilon = verdict(json!({"metric": "epsilon", "min": 1.0, "max": 1.0}));
    assert!(epsilon.iter().all(|v| v.passed));
}
