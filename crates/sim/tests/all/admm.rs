//! ADMM: what it reaches without noise, what is kept with it, and what lost messages do.

use std::sync::Arc;

use serde_json::{Value, json};
use undertone_model::dataset::{Features, Targets};
use undertone_model::solve::{RecordBounds, Solver, Terms};
use undertone_model::{Dataset, Linear, Loss};
use undertone_node::plan::expand;
use undertone_node::{Examples, Experiment, Minimiser, Records};
use undertone_protocol::{Synchronous, Wirings};
use undertone_sim::lockstep::Lockstep;
use undertone_sim::{Outcome, run_all};

const NODES: usize = 5;
const EACH: usize = 24;
const WIDTH: usize = 3;
const RIDGE: f64 = 0.05;

/// A few records with signs.
fn people(loss: Loss) -> Dataset<f64> {
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1_u64 << 53) as f64 * 2.0 - 1.0
    };
    let n = NODES * EACH;
    let values: Vec<f64> = (0..n * WIDTH).map(|_| 0.57 * next()).collect();
    let scores = values.chunks(WIDTH).map(|z| 2.0 * z[0] - z[1] + 0.3 * next());
    let targets = match loss {
        Loss::Squared => Targets::Real(scores.collect()),
        _ => Targets::Sign(scores.map(f64::signum).collect()),
    };
    Dataset::new(Features::Dense { width: WIDTH, values }, targets).unwrap()
}

fn plan(name: &str, admm: Value, rounds: u64) -> Value {
    json!({
        "name": "test", "seed": 1,
        "network": {"nodes": NODES, "schedule": "fixed", "topology": {"family": "ring"}},
        "data": {"file": "in memory"},
        "model": {"kind": "logistic"},
        "algorithm": {"name": name, "admm": admm},
        "run": {"rounds": rounds, "precision": "f64"},
        "evaluate": {"every": rounds, "metrics": ["loss", "accuracy", "consensus-error"]},
    })
}

fn admm(more: Value) -> Value {
    let mut all = json!({"penalty": 0.2, "ridge": RIDGE, "tolerance": 1e-11});
    let more = more.as_object().unwrap().clone();
    all.as_object_mut().unwrap().extend(more);
    all
}

fn experiment(plan: &Value, loss: Loss) -> Experiment {
    let examples = Examples { train: people(loss), test: None, split: None };
    let plan = expand(plan).unwrap().remove(0).plan;
    Experiment::new(&plan, Some(Records::F64(Arc::new(examples)))).unwrap()
}

/// The minimum of the sum of all objectives.
fn optimum(loss: Loss) -> Vec<f64> {
    let model = Linear::new(WIDTH, false, loss);
    let whole = RecordBounds { features: f64::INFINITY, slope: f64::INFINITY };
    let mut solver = Solver::new(&model, &people(loss), whole, 1.0 / EACH as f64);
    let terms = Terms { quadratic: NODES as f64 * RIDGE, linear: &[0.0; WIDTH] };
    solver.minimise(&terms, 1e-12).unwrap().point
}

/// How far any node is from a point after every round from `from` on, at most.
fn farthest(experiment: &Experiment, rounds: u64, from: u64, point: &[f64]) -> f64 {
    let nodes: Vec<Minimiser<f64>> = experiment.minimisers(1).unwrap();
    let (nodes, mut oracles): (Vec<_>, Vec<_>) = nodes.into_iter().unzip();
    let mut wirings = Wirings::new(experiment.topology(1).unwrap(), 1);
    let mut nodes = Lockstep::new(nodes);
    let mut most = 0.0_f64;
    for round in 0..rounds {
        nodes.ask(&mut oracles, |oracle, question| oracle.answer(question)).unwrap();
        nodes.advance(1, &mut wirings).unwrap();
        for node in nodes.nodes().iter().filter(|_| round >= from) {
            let mut x = vec![0.0; WIDTH];
            node.estimate(&mut x);
            most = x.iter().zip(point).map(|(a, b)| (a - b).abs()).fold(most, f64::max);
        }
    }
    most
}

#[test]
fn without_noise_every_variant_reaches_the_optimum() {
    let periodic = json!({"ratio": 0.9, "period": 2});
    for (name, more, loss) in [
        ("admm", json!({}), Loss::Logistic),
        ("admm", json!({}), Loss::SmoothedHinge { width: 0.5 }),
        ("admm", json!({}), Loss::Squared),
        ("admm", json!({"penalty": [0.1, 0.2, 0.3, 0.2, 0.1]}), Loss::Logistic),
        ("r-admm", json!({"gamma": 0.5}), Loss::Logistic),
        ("r-admm", json!({"gamma": 0.5}), Loss::Squared),
        ("mr-admm", json!({"gamma": 0.5, "growth": 1.002}), Loss::Logistic),
        ("mr-admm", json!({"gamma": 0.5, "growth": 1.002, "dual-step": 0.2}), Loss::Logistic),
        ("private-r-admm", json!({"gamma": 0.5}), Loss::Logistic),
        ("private-mr-admm", json!({"gamma": 0.5, "growth": 1.002}), Loss::Logistic),
        ("dvp", json!({}), Loss::Logistic),
        ("m-admm", json!({"growth": 1.002}), Loss::Logistic),
        ("pr-admm-periodic", periodic, Loss::Logistic),
        ("pr-admm-iteration", json!({"decay": 0.01, "ignore-beyond": 1e9}), Loss::Logistic),
        ("pp-admm", json!({}), Loss::Logistic),
        ("pp-admm", json!({"mode": "objective"}), Loss::Logistic),
    ] {
        let mut plan = plan(name, admm(more.clone()), 500);
        plan["model"] = match loss {
            Loss::Squared => json!({"kind": "linear"}),
            Loss::SmoothedHinge { width } => json!({"kind": "smoothed-hinge", "width": width}),
            _ => json!({"kind": "logistic"}),
        };
        plan["evaluate"]["metrics"] = json!(["loss"]);
        let experiment = experiment(&plan, loss);
        // The last two rounds: an odd and an even step.
        let far = farthest(&experiment, 500, 498, &optimum(loss));
        assert!(far < 1e-8, "{name} {more}: {far:e}");
    }
}

/// Paper 002 lets every node choose its penalty, and the dual steps with it. Duals divided by
/// penalties then sum to zero, so that the limit minimises the sum of the objectives over their
/// penalties. A common dual step mends it.
#[test]
fn own_penalties_as_printed_reach_another_point() {
    let penalties = json!([0.1, 0.2, 0.4, 0.2, 0.1]);
    let regression = |mut plan: Value| {
        plan["model"] = json!({"kind": "linear"});
        plan["evaluate"]["metrics"] = json!(["loss"]);
        plan
    };
    let shipped = plan("r-admm", admm(json!({"gamma": 0.5, "penalty": penalties})), 900);
    let shipped = regression(shipped);
    let far = farthest(&experiment(&shipped, Loss::Squared), 900, 899, &optimum(Loss::Squared));
    assert!(far < 1e-8, "{far:e}");
    // As printed, by hand: nodes that know no common step.
    let plan = regression(plan("admm", admm(json!({"penalty": 0.2})), 900));
    let experiment = experiment(&plan, Loss::Squared);
    let minimisers: Vec<Minimiser<f64>> = experiment.minimisers(1).unwrap();
    let wiring = experiment.topology(1).unwrap().wiring_at(0).unwrap();
    let nodes = (0..NODES as u32).map(|id| {
        let penalty = undertone_protocol::Penalty::constant([0.1, 0.2, 0.4, 0.2, 0.1][id as usize]);
        let around = wiring.around(undertone_graph::NodeId(id)).heard.to_vec();
        undertone_protocol::Admm::new(&[0.0; WIDTH], &around, penalty, 900)
    });
    let mut nodes = Lockstep::new(nodes.collect());
    let mut oracles: Vec<_> = minimisers.into_iter().map(|(_, oracle)| oracle).collect();
    let mut wirings = Wirings::new(experiment.topology(1).unwrap(), 1);
    for _ in 0..900 {
        nodes.ask(&mut oracles, |oracle, question| oracle.answer(question)).unwrap();
        nodes.advance(1, &mut wirings).unwrap();
    }
    let [mut first, mut last] = [[0.0; WIDTH]; 2];
    nodes.nodes()[0].estimate(&mut first);
    nodes.nodes()[4].estimate(&mut last);
    let optimum = optimum(Loss::Squared);
    let apart =
        |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    // They agree, but not on the optimum.
    assert!(apart(&first, &last) < 1e-8);
    assert!(apart(&first, &optimum) > 1e-3, "{first:?} {optimum:?}");
}

fn outcome(plan: &Value) -> Outcome {
    let variant = expand(plan).unwrap().remove(0);
    let experiments = [(variant, experiment(plan, Loss::Logistic))];
    run_all(&experiments, &|_| {}).unwrap().remove(0)
}

fn private(name: &str, more: Value, rounds: u64, delta: f64) -> Value {
    let mut plan = plan(name, admm(more), rounds);
    plan["privacy"] = json!({"epsilon": 8.0, "delta": delta, "clip": 1.0, "noise": "sound"});
    plan
}

#[test]
fn private_variants_keep_their_budget() {
    for (name, more, delta, debits) in [
        ("pr-admm-periodic", json!({"ratio": 0.9, "period": 1, "ignore-beyond": 1.0}), 1e-4, 8),
        ("pr-admm-iteration", json!({"decay": 0.02, "ignore-beyond": 1.0}), 1e-4, 8),
        ("pp-admm", json!({}), 1e-4, 8),
        ("pp-admm", json!({"mode": "objective"}), 1e-4, 8),
        ("private-r-admm", json!({"gamma": 0.5}), 1e-4, 4),
        ("private-mr-admm", json!({"gamma": 0.5, "growth": 1.04}), 0.0, 4),
        ("dvp", json!({}), 0.0, 8),
        ("m-admm", json!({"growth": 1.04}), 0.0, 8),
    ] {
        let outcome = outcome(&private(name, more.clone(), 8, delta));
        let guarantee = outcome.weakest().unwrap();
        let epsilon = guarantee.epsilon.get();
        assert!(epsilon <= 8.0 && epsilon > 7.99, "{name} {more}: {epsilon}");
        assert_eq!((guarantee.debits, guarantee.delta.get()), (debits, delta), "{name}");
        assert_eq!(guarantee.adjacency.to_string(), "replace");
    }
}

/// A sparing node sends at most as often as it may, and pays for what it sent.
#[test]
fn ipp_admm_is_silent_when_it_is_not_worth_it() {
    let more = json!({"threshold": 1e-3, "cutoff": 3, "loss-clip": 2.0});
    let sparing = outcome(&private("ipp-admm", more, 12, 1e-4));
    let guarantee = sparing.weakest().unwrap();
    assert!(guarantee.epsilon.get() <= 8.0 && guarantee.debits <= 4 && guarantee.debits > 1);
    let all = outcome(&private("pp-admm", json!({}), 12, 1e-4));
    assert_eq!(sparing.messages(), all.messages());
    // Three vectors of at most twelve; the others are a header.
    let header = undertone_protocol::wire::HEADER as f64;
    let full = header + 8.0 * WIDTH as f64;
    assert!(all.bytes() == all.messages() * full);
    let most = all.messages() * (header + 8.0 * WIDTH as f64 * 3.0 / 12.0);
    assert!(sparing.bytes() <= most, "{} {most}", sparing.bytes());
}

/// Reliable links end in the bits of ideal ones. Datagrams that are lost count as silence: nobody
/// waits for ever, and the result is near.
#[test]
fn lost_messages_count_as_silence() {
    let ideal = plan("admm", admm(json!({})), 200);
    let mut reliable = ideal.clone();
    let latency = json!({"model": "uniform", "low": 0.005, "high": 0.02});
    let link = |loss: f64| json!({"latency": latency, "loss": loss});
    reliable["world"] = json!({"seed": 1, "links": {
        "delivery": "reliable", "retry": {"timeout": 0.05, "attempts": 32}, "link": link(0.2)}});
    let mut datagram = ideal.clone();
    datagram["world"] = json!({"seed": 1, "deadline": 0.1, "links": {
        "delivery": "datagram", "link": link(0.1)}});
    let [ideal, reliable, datagram] = [&ideal, &reliable, &datagram].map(outcome);
    let last = |outcome: &Outcome| outcome.runs[0].run.points.last().unwrap().metrics.clone();
    assert_eq!(last(&ideal)["loss"], last(&reliable)["loss"]);
    let off = last(&datagram)["loss"] - last(&ideal)["loss"];
    assert_eq!(datagram.rounds(), 200.0);
    // One message in ten is lost, and what the ends of a link add to their duals differs.
    assert!(off.abs() < 0.1 && off != 0.0, "{off}");
    assert!(last(&datagram)["consensus-error"] < 1e-6);
}
