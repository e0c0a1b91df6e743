//! Private learning: rounds a second of all nodes together, with batches, clipped gradients, noise,
//! ledgers and messages, and without looks at the result.

use serde_json::{Value, json};
use undertone_node::plan::Plan;
use undertone_node::{Algorithm, Experiment, Learner, Oracle};
use undertone_protocol::{PrivSgp, Steps, Wirings};
use undertone_sim::lockstep::Lockstep;

use super::{median, peak_memory, report, wanted};

const RUNS: usize = 7;

pub(super) fn all() {
    let digits = json!({"kind": "mlp", "hidden": [50]});
    let images = |nodes: u64, each: u64| json!({"source": "images", "records": nodes * each});
    let logistic = json!({"kind": "logistic"});
    let people = json!({"source": "census", "records": 32_000});
    for (name, nodes, data, model, algorithm, rounds) in [
        ("priv_sgp_16_mlp_784_50_10_b1", 16, images(16, 1200), &digits, "priv-sgp", 300),
        ("priv_sgp_100_mlp_784_50_10_b1", 100, images(100, 600), &digits, "priv-sgp", 60),
        ("priv_sgp_1000_logistic_105_b1", 1000, people, &logistic, "priv-sgp", 300),
        (
            "priv_sgp_vr_50_mlp_784_50_10_b1_j1200",
            50,
            images(50, 1200),
            &digits,
            "priv-sgp-vr",
            100,
        ),
    ] {
        let Some(name) = wanted(name) else { continue };
        let experiment = experiment(nodes, data, model, algorithm, rounds);
        measure(&name, &experiment, rounds);
    }
}

fn experiment(nodes: u64, data: Value, model: &Value, algorithm: &str, rounds: u64) -> Experiment {
    // One record a round; remembered gradients need Poisson batches, of one on average.
    let drawing = match algorithm {
        "priv-sgp-vr" => {
            json!({"name": algorithm, "step": 0.01, "sampling": "poisson", "batch": 1})
        }
        _ => json!({"name": algorithm, "step": 0.01, "sampling": "single"}),
    };
    let plan = json!({
        "name": "bench", "seed": 1,
        "network": {"nodes": nodes, "schedule": "exponential"},
        "data": data,
        "model": model,
        "algorithm": drawing,
        "privacy": {"delta": 1e-5, "clip": 1.0, "noise": {"sigma": 1.0}},
        "run": {"rounds": rounds, "precision": "f32"},
        "evaluate": {"metrics": ["loss"]},
    });
    let plan: Plan = serde_json::from_value(plan).expect("a plan");
    Experiment::new(&plan, None).expect("a plan that does")
}

fn measure(name: &str, experiment: &Experiment, rounds: u64) {
    let Algorithm::PrivSgp { steps, reduced } = experiment.algorithm() else {
        unreachable!("all lines are of one algorithm");
    };
    let topology = experiment.topology(1).expect("a schedule without parameters");
    let start = experiment.initial::<f32>(1);
    let prepare = || {
        let learners = experiment.learners::<f32>(1).expect("checked");
        let split = |learner: Learner<f32>| {
            let steps = Steps { divisor: learner.divisor, ..steps };
            let node = PrivSgp::new(&start, steps);
            let node = if reduced { node.with_reduction(learner.records) } else { node };
            (node, learner.oracle)
        };
        let (nodes, oracles): (Vec<_>, Vec<_>) = learners.into_iter().map(split).unzip();
        (Lockstep::new(nodes), oracles, Wirings::new(topology.clone(), 1))
    };
    let time = median(RUNS, prepare, |(nodes, oracles, wirings)| {
        nodes.advance_asking(rounds, wirings, oracles, Oracle::answer_all).expect("budget");
    });
    let (rate, n) = (rounds as f64 / time.as_secs_f64(), f64::from(experiment.nodes()));
    let note = format!(
        "{:.2} us a node and round; median of {RUNS} runs of {rounds} rounds; peak memory so far \
         {:.0} MB",
        1e6 / (rate * n),
        peak_memory() / 1e6
    );
    report(name, "rounds/s", rate, &note);
}
