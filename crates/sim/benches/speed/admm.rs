//! Private ADMM: whole runs a second, with local minima that are certified to 1e-8, noise, ledgers
//! and messages, and without looks at the result.

use std::sync::Arc;

use serde_json::json;
use undertone_model::Dataset;
use undertone_model::dataset::{Features, Targets};
use undertone_node::plan::Plan;
use undertone_node::{Examples, Experiment, Minimiser, Records};
use undertone_protocol::Wirings;
use undertone_sim::lockstep::Lockstep;

use super::{median, report, wanted};

const RUNS: usize = 5;
const WIDTH: usize = 105;

pub(super) fn all() {
    for (name, nodes, each, rounds, family) in [
        ("admm_5_d105_m8000_t50", 5, 8000, 50, "complete"),
        // The same records in all at ten and a hundred times as many nodes.
        ("admm_50_d105_m800_t50", 50, 800, 50, "ring"),
        ("admm_500_d105_m80_t50", 500, 80, 50, "ring"),
    ] {
        let Some(name) = wanted(name) else { continue };
        measure(&name, &experiment(nodes, each, rounds, family), rounds);
    }
}

/// The work of the peer: noise of 1e-3 in the objective, drawn anew in every round.
fn experiment(nodes: usize, each: usize, rounds: u64, family: &str) -> Experiment {
    let plan = json!({
        "name": "bench", "seed": 1,
        "network": {"nodes": nodes, "schedule": "fixed", "topology": {"family": family}},
        "data": {"file": "in memory"},
        "model": {"kind": "logistic"},
        "algorithm": {"name": "pp-admm", "admm": {
            "penalty": 0.01, "ridge": 1e-3, "tolerance": 1e-8, "mode": "objective"}},
        "privacy": {"delta": 1e-5, "clip": 1.0, "noise": {"sigma": 1e-3}},
        "run": {"rounds": rounds, "precision": "f64"},
        "evaluate": {"metrics": ["loss"]},
    });
    let plan: Plan = serde_json::from_value(plan).expect("a plan");
    let examples = Examples { train: people(nodes * each), test: None, split: None };
    let records = Records::F64(Arc::new(examples));
    Experiment::new(&plan, Some(records)).expect("a plan that does")
}

/// Rows of indicators and six numbers, as the peer's script draws them.
fn people(records: usize) -> Dataset<f64> {
    let mut state = 1_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let normal =
        |u: f64, v: f64| (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos();
    let truth: Vec<f64> = (0..WIDTH).map(|_| normal(uniform(), uniform())).collect();
    let (mut values, mut signs) = (Vec::with_capacity(records * WIDTH), Vec::new());
    for _ in 0..records {
        let first = values.len();
        for k in 0..WIDTH {
            let u = uniform();
            values.push(if k < 6 { u } else { f64::from(u8::from(u < 0.12)) });
        }
        let row = &mut values[first..];
        let norm = row.iter().map(|v| v * v).sum::<f64>().sqrt().max(1.0);
        row.iter_mut().for_each(|v| *v /= norm);
        let score: f64 = row.iter().zip(&truth).map(|(v, t)| v * t).sum();
        signs.push(if 3.0 * score + normal(uniform(), uniform()) < 0.0 { -1.0 } else { 1.0 });
    }
    Dataset::new(Features::Dense { width: WIDTH, values }, Targets::Sign(signs)).expect("signs")
}

fn measure(name: &str, experiment: &Experiment, rounds: u64) {
    let topology = experiment.topology(1).expect("a plan that does");
    let prepare = || {
        let nodes: Vec<Minimiser<f64>> = experiment.minimisers(1).expect("checked");
        let (nodes, oracles): (Vec<_>, Vec<_>) = nodes.into_iter().unzip();
        (Lockstep::new(nodes), oracles, Wirings::new(topology.clone(), 1))
    };
    let time = median(RUNS, prepare, |(nodes, oracles, wirings)| {
        for _ in 0..rounds {
            nodes.ask(oracles, |oracle, question| oracle.answer(question)).expect("solved");
            nodes.advance(1, wirings).expect("a fixed graph");
        }
    });
    let note = format!("median of {RUNS} runs of {rounds} rounds");
    report(name, "runs/s", 1.0 / time.as_secs_f64(), &note);
}
