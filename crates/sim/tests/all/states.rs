//! Invariant I5 where states are long, and are handed over in place of rows of mail.

use std::sync::Arc;

use undertone_graph::{Family, NodeId, Schedule, Weights};
use undertone_model::dataset::{Features, Targets};
use undertone_model::{Dataset, Linear, Loss};
use undertone_node::{Noise, Oracle, Private, PrivateGradients};
use undertone_privacy::ledger::{Budget, Filter, Header, Ledger};
use undertone_privacy::noise::Key;
use undertone_privacy::release::Released;
use undertone_privacy::sampler::{PoissonSampler, Sampler};
use undertone_privacy::units::{Adjacency, ClipNorm, Delta, Epsilon, Probability, Scale, Unit};
use undertone_protocol::{
    Answer, Dsgd, Gossip, Machine, Patience, PrivSgp, Question, StepSize, Steps, Synchronous,
    Topology, Wirings,
};
use undertone_sim::World;
use undertone_sim::events::Events;
use undertone_sim::lockstep::{Halt, Lockstep, one_by_one};

const N: u32 = 10;
/// So many numbers that their noise waits until they are sent, and some that fill no block.
const DIMENSION: usize = 8_205;
const ROUNDS: u64 = 7;
const ASKING: u64 = 5;

fn oracle(node: u32, kind: fn(PrivateGradients<f32>) -> PrivateGradients<f32>) -> Oracle<f32> {
    const RECORDS: usize = 6;
    let value = |k: usize| ((node as usize * 97 + k) as f32 * 0.37).sin() * 0.01;
    let values = (0..RECORDS * DIMENSION).map(value).collect();
    let features = Features::Dense { width: DIMENSION, values };
    let data = Dataset::new(features, Targets::Real((0..RECORDS).map(value).collect())).unwrap();
    let probability = Probability::new(0.4).unwrap();
    let sampler = Sampler::Poisson(PoissonSampler { probability });
    let noise = Noise::Gaussian(Scale::new(4.0).unwrap());
    let objective = Arc::new(Linear::new(DIMENSION, false, Loss::Squared));
    let clip = ClipNorm::new(1.0).unwrap();
    let gradients = kind(PrivateGradients::new(objective, data, sampler, clip, noise));
    let header = Header {
        node,
        budget: Budget { epsilon: Epsilon::new(60.0).unwrap(), delta: Delta::new(1e-5).unwrap() },
        adjacency: Adjacency::AddRemove,
        unit: Unit::Record,
        // One less than is asked for: the last answer is a refusal.
        filter: Filter::Planned { event: gradients.plan(ASKING - 1) },
    };
    let ledger = Ledger::open(header, Vec::new()).unwrap();
    Oracle::new(Private::Gradients(gradients), ledger, Key::from_seed(5))
}

fn bits<P: Synchronous<f32>>(nodes: &[P]) -> Vec<u32> {
    let mut estimate = vec![0.0; DIMENSION];
    let mut bits = Vec::new();
    for node in nodes {
        node.estimate(&mut estimate);
        bits.extend(estimate.iter().map(|v| v.to_bits()));
    }
    bits
}

/// One edge to a node, many, and as many in both directions.
fn topologies() -> [Topology; 3] {
    let fixed = |family: Family| Schedule::Fixed(family.build(3).unwrap());
    [
        Schedule::Exponential { nodes: N },
        fixed(Family::OutRegular { nodes: N, degree: 4, connected: true }),
        fixed(Family::Ring { nodes: N }),
    ]
    .map(|schedule| Topology::new(schedule).with_pull(Weights::In, 0.0))
}

/// All rounds at once on one, two and seven threads, one round at a time, and nodes by virtual
/// time, whose messages are rows, end in the same bits and send the same.
fn assert_states_are_as_good_as_rows<P>(
    node: P,
    kind: fn(PrivateGradients<f32>) -> PrivateGradients<f32>,
) where
    P: Synchronous<f32> + Clone + Send + Sync,
{
    let nodes = || vec![node.clone(); N as usize];
    let oracles = || (0..N).map(|i| oracle(i, kind)).collect::<Vec<_>>();
    for topology in topologies() {
        let machine = |(i, node)| Machine::new(node, NodeId(i as u32), ROUNDS, Patience::Forever);
        let machines = nodes().into_iter().enumerate().map(machine).collect();
        let (answer, world) = (Oracle::answer, World::default());
        let mut events = Events::new(machines, oracles(), answer, topology.clone(), world).unwrap();
        let outcome = events.run(&mut |_, _| {}).unwrap();
        let by_time: Vec<P> = events.protocols().cloned().collect();
        assert_ne!(bits(&by_time), bits(&nodes()), "something has to happen");
        for threads in [1, 2, 7] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for at_once in [1, ASKING] {
                let (mut engine, mut oracles) = (Lockstep::new(nodes()), oracles());
                let mut wirings = Wirings::new(topology.clone(), 1);
                pool.install(|| {
                    while engine.round() < ASKING {
                        let answer = Oracle::answer_all;
                        engine.advance_asking(at_once, &mut wirings, &mut oracles, answer).unwrap();
                    }
                    engine.advance(ROUNDS - ASKING, &mut wirings).unwrap();
                });
                assert!(bits(engine.nodes()) == bits(&by_time), "{threads} {at_once}");
                assert_eq!(engine.traffic(), outcome.flow.sent);
                let paid = |oracle: &Oracle<f32>| oracle.ledger().len();
                assert!(oracles.iter().all(|oracle| paid(oracle) < ASKING));
            }
        }
    }
}

fn start() -> Vec<f32> {
    (0..DIMENSION).map(|k| (k as f32).cos()).collect()
}

fn steps() -> Steps {
    Steps::new(ASKING, StepSize::Constant(0.1), 3.0)
}

#[test]
fn i5_long_states_of_priv_sgp() {
    assert_states_are_as_good_as_rows(PrivSgp::new(&start(), steps()), |plain| plain);
}

#[test]
fn i5_long_states_of_priv_sgp_with_momentum() {
    let node = PrivSgp::new(&start(), steps().with_momentum(0.3));
    assert_states_are_as_good_as_rows(node, |plain| plain);
}

#[test]
fn i5_long_states_of_priv_sgp_vr() {
    let node = PrivSgp::new(&start(), steps()).with_reduction(6);
    assert_states_are_as_good_as_rows(node, |plain| plain.with_table().unwrap());
}

#[test]
fn i5_long_states_of_dsgd() {
    assert_states_are_as_good_as_rows(Dsgd::new(&start(), steps()), |plain| plain);
}

/// Averages, whose states come from an answer.
#[test]
fn i5_long_states_of_gossip() {
    let vector = |i: u32| (0..DIMENSION).map(|k| ((k as u32 ^ i) as f32).sin()).collect();
    let answer = |own: &mut Vec<f32>, _: Question<f32>| {
        Ok::<_, std::convert::Infallible>(Answer::Released(Released::public(own.clone())))
    };
    for topology in topologies() {
        let ended = [1, 2].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut engine = Lockstep::new(vec![Gossip::<f32>::new(DIMENSION); N as usize]);
            let mut wirings = Wirings::new(topology.clone(), 1);
            let mut oracles: Vec<Vec<f32>> = (0..N).map(vector).collect();
            pool.install(|| {
                engine.ask(&mut oracles, answer).unwrap();
                engine.advance(ROUNDS, &mut wirings).unwrap();
            });
            bits(engine.nodes())
        });
        // By hand, without an engine.
        let mut nodes = vec![Gossip::<f32>::new(DIMENSION); N as usize];
        for (i, node) in (0..N).zip(&mut nodes) {
            let _ = node.ask(0);
            node.answer(0, Answer::Released(Released::public(vector(i))));
        }
        let mut mail = undertone_protocol::Mail::new(N as usize, nodes[0].shape());
        for round in 0..ROUNDS {
            let wiring = topology.wiring_at(round).unwrap();
            for (i, node) in (0..N).zip(&mut nodes) {
                node.send(round, &wiring.around(NodeId(i)), &mut mail.slot(NodeId(i)));
            }
            for (i, node) in (0..N).zip(&mut nodes) {
                let around = wiring.around(NodeId(i));
                node.receive(round, &around, mail.heard_by(&around));
            }
        }
        let [one, two] = ended;
        assert!(one == bits(&nodes) && two == one);
    }
}

#[test]
fn an_oracle_that_fails_among_long_states_is_named_with_its_round() {
    for fails in [0, 2] {
        let answer = |_: &mut (), asked: Question<f32>| match asked {
            Question::Gradient { round, .. } if round == fails => Err(round),
            Question::Gradient { at, .. } => Ok(Answer::Released(at)),
            other => unreachable!("{other:?}"),
        };
        let mut engine = Lockstep::new(vec![PrivSgp::new(&start(), steps()); N as usize]);
        let mut wirings = Wirings::new(topologies()[0].clone(), 1);
        let mut oracles = vec![(); N as usize];
        let halt = engine.advance_asking(ASKING, &mut wirings, &mut oracles, one_by_one(answer));
        assert_eq!(halt, Err(Halt::Oracle { round: fails, source: fails }));
    }
}
