//! Speed of private learning, one JSON line each: rounds a second of all nodes together, with
//! batches, clipped gradients, noise, ledgers and messages, and without looks at the result.
//! The number of threads is in the name: as many as the process may use, so pin it to one core for
//! figures of one thread. An argument selects the lines whose name contains it.

use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use serde_json::{Value, json};
use undertone_node::plan::Plan;
use undertone_node::{Algorithm, Experiment, Learner};
use undertone_protocol::{PrivSgp, Steps, Wirings};
use undertone_sim::lockstep::Lockstep;

const RUNS: usize = 7;

fn main() {
    let digits = json!({"kind": "mlp", "hidden": [50]});
    let images = |nodes: u64, each: u64| json!({"source": "images", "records": nodes * each});
    let logistic = json!({"kind": "logistic"});
    let people = json!({"source": "census", "records": 100_000});
    for (name, nodes, data, model, algorithm, rounds) in [
        ("priv_sgp_16_mlp_784_50_10_b1", 16, images(16, 100), &digits, "priv-sgp", 300),
        ("priv_sgp_100_mlp_784_50_10_b1", 100, images(100, 100), &digits, "priv-sgp", 60),
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
        report(&name, &experiment, rounds);
    }
}

fn experiment(nodes: u64, data: Value, model: &Value, algorithm: &str, rounds: u64) -> Experiment {
    let plan = json!({
        "name": "bench", "seed": 1,
        "network": {"nodes": nodes, "schedule": "exponential"},
        "data": data,
        "model": model,
        "algorithm": {"name": algorithm, "step": 0.01, "sampling": "single"},
        "privacy": {"delta": 1e-5, "clip": 1.0, "noise": {"sigma": 1.0}},
        "run": {"rounds": rounds, "precision": "f32"},
        "evaluate": {"metrics": ["loss"]},
    });
    let plan: Plan = serde_json::from_value(plan).expect("a plan");
    Experiment::new(&plan, None).expect("a plan that does")
}

fn report(name: &str, experiment: &Experiment, rounds: u64) {
    let Algorithm::PrivSgp { steps, reduced } = experiment.algorithm() else {
        unreachable!("all lines are of one algorithm");
    };
    let topology = experiment.topology(1).expect("a schedule without parameters");
    let start = experiment.initial::<f32>(1);
    let mut runs: Vec<(Duration, Duration)> = Vec::new();
    for _ in 0..RUNS {
        let learners = experiment.learners::<f32>(1).expect("checked");
        let split = |learner: Learner<f32>| {
            let steps = Steps::new(rounds, steps.size, learner.divisor);
            let node = PrivSgp::new(&start, steps);
            let node = if reduced { node.with_reduction(learner.records) } else { node };
            (node, learner.oracle)
        };
        let (nodes, mut oracles): (Vec<_>, Vec<_>) = learners.into_iter().map(split).unzip();
        let (mut nodes, mut wirings) = (Lockstep::new(nodes), Wirings::new(topology.clone(), 1));
        let (wall, processor) = (Instant::now(), ProcessTime::now());
        for _ in 0..rounds {
            nodes.ask(&mut oracles, |oracle, question| oracle.answer(question)).expect("budget");
            nodes.advance(1, &mut wirings).expect("a schedule without parameters");
        }
        runs.push((wall.elapsed(), processor.elapsed()));
    }
    runs.sort_unstable();
    let (wall, processor) = runs[runs.len() / 2];
    // On one core the processor's time is what counts: others may be using it too.
    let time = if rayon::current_num_threads() == 1 { processor } else { wall };
    let (rate, n) = (rounds as f64 / time.as_secs_f64(), f64::from(experiment.nodes()));
    let note = format!(
        "{:.2} us a node and round; median of {RUNS} runs of {rounds} rounds",
        1e6 / (rate * n)
    );
    println!(r#"{{"name":"{name}","unit":"rounds/s","value":{rate:.1},"note":"{note}"}}"#);
}

/// The full name of a line, if it is asked for.
fn wanted(name: &str) -> Option<String> {
    let mut parts = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    let left_out = parts.next().is_some_and(|part| !name.contains(&part));
    (!left_out).then(|| format!("{name}_{}t", rayon::current_num_threads()))
}
