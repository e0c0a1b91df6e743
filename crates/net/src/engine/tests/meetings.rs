//! Nodes without rounds: they meet as messages come, and are thrown away at any moment.

use serde_json::json;
use undertone_node::Experiment;
use undertone_node::plan::expand;
use undertone_protocol::{Encounters, PairwiseSgd, StepSize, Steps};

use super::*;
use crate::store::{audit, compare};

type Meeting = Engine<f64>;

const NODES: u32 = 3;

fn experiment() -> Experiment {
    let plan = json!({
        "name": "meetings", "seed": 1,
        "network": {"nodes": NODES, "schedule": "fixed", "topology": {"family": "ring"}},
        "data": {"source": "census", "records": 90},
        "model": {"kind": "logistic"},
        "algorithm": {"name": "adp2-sgd", "step": 0.5, "batch": 5, "sampling": "poisson"},
        "privacy": {"delta": 1e-5, "clip": 1.0, "noise": {"sigma": 1.0}},
        "run": {"rounds": ROUNDS, "precision": "f64"},
        "evaluate": {"metrics": ["loss"]},
    });
    Experiment::new(&expand(&plan).unwrap().remove(0).plan, None).unwrap()
}

impl Town {
    fn meeting(&self, experiment: &Experiment, node: u32) -> Result<Meeting, EngineError> {
        let learner = experiment.learners::<f64>(1).unwrap().swap_remove(node as usize);
        let steps = Steps::new(ROUNDS, StepSize::Constant(0.5), learner.divisor);
        let algorithm = PairwiseSgd::new(&experiment.initial::<f64>(1), steps);
        let others = (0..NODES).filter(|other| *other != node).map(NodeId).collect();
        let machine = Encounters::new(algorithm, NodeId(node), others, NODES, 1);
        Engine::open(Box::new(machine), learner.oracle, self.setup(node))
    }
}

/// Greets only those that have nothing to fear: a greeting of a node that was thrown away comes
/// after its restart.
#[test]
fn nodes_that_meet_are_thrown_away_and_every_message_is_paid_for_once() {
    let (town, experiment) = (Town::new("meetings", NODES, forever()), experiment());
    let open = |node| town.meeting(&experiment, node).unwrap();
    let mut engines: Vec<Meeting> = (0..NODES).map(open).collect();
    assert!(engines.iter().all(Engine::is_held));
    for step in 0.. {
        assert!(step < 1000, "they do not come to an end");
        greet(&mut engines).unwrap();
        carry(&mut engines);
        if engines.iter().all(Engine::is_finished) {
            break;
        }
        // The place is empty before the store is opened again.
        let victim = step % NODES;
        let mut rest = engines.split_off(victim as usize);
        drop(rest.remove(0));
        engines.push(open(victim));
        engines.extend(rest);
    }
    for engine in &engines {
        assert_eq!(engine.guarantee().debits, ROUNDS);
        let mut estimate = vec![0.0; engine.machine().dimension()];
        engine.machine().estimate(&mut estimate);
        assert!(estimate.iter().all(|v| v.is_finite()) && estimate.iter().any(|v| *v != 0.0));
    }
    drop(engines);
    let audits: Vec<_> = (0..NODES).map(|node| audit(&town.path(node)).unwrap()).collect();
    // An offer and a reply for every activation.
    assert_eq!(compare(&audits).unwrap(), 2 * ROUNDS * u64::from(NODES));
}

/// A reply is a release: it waits for witnesses, as an offer does.
#[test]
fn nobody_replies_before_its_hearers_have_spoken() {
    let (town, experiment) = (Town::new("replies", NODES, forever()), experiment());
    let open = |node| town.meeting(&experiment, node).unwrap();
    let mut engines: Vec<Meeting> = (0..NODES).map(open).collect();
    for peer in 1..NODES {
        let hello = hello(&engines[peer as usize], 0);
        engines[0].meet(peer, &hello).unwrap();
    }
    let (to, offer) = (1..NODES)
        .find_map(|to| engines[0].reader().next_for(to, 0).unwrap().map(|offer| (to, offer)))
        .unwrap();
    let other = &mut engines[to as usize];
    assert_eq!(
        other.hear(0, &offer.statement, &Payload::new(offer.payload.clone())).unwrap(),
        Heard::Early
    );
    assert!(other.reader().next_for(0, 0).unwrap().is_none());
    greet(&mut engines).unwrap();
    let other = &mut engines[to as usize];
    assert_eq!(
        other.hear(0, &offer.statement, &Payload::new(offer.payload.clone())).unwrap(),
        Heard::Taken
    );
    assert!(other.reader().next_for(0, 0).unwrap().is_some());
    // The same again changes nothing.
    let sent = other.reader().promised().unwrap();
    assert_eq!(
        other.hear(0, &offer.statement, &Payload::new(offer.payload.clone())).unwrap(),
        Heard::Taken
    );
    assert_eq!(other.reader().promised().unwrap(), sent);
}
