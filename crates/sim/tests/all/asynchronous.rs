//! A(DP)2SGD by virtual time: it converges, repeats itself, and stops at its caps.

use undertone_graph::{Family, Graph};
use undertone_node::OracleError;
use undertone_privacy::release::Released;
use undertone_protocol::{Answer, PairwiseSgd, Question, StepSize, Steps};
use undertone_sim::Time;
use undertone_sim::asynchronous::{Asynchronous, Outcome};
use undertone_sim::compute::Compute;
use undertone_sim::events::SimError;

const N: u32 = 8;

/// A node's record, and how often it may still be asked.
type Oracle = (f64, u64);

fn answer(oracle: &mut Oracle, asked: Question<f64>) -> Result<Answer<f64>, OracleError> {
    let Question::Gradient { at, .. } = asked else { panic!("asks gradients") };
    if oracle.1 == 0 {
        return Ok(Answer::Refused);
    }
    oracle.1 -= 1;
    Ok(Answer::Released(Released::public(vec![at.get()[0] - oracle.0])))
}

fn ring() -> Graph {
    Family::Ring { nodes: N }.build(0).unwrap()
}

fn stragglers() -> Compute {
    Compute::Straggler { time: Time::from_millis(10), share: 0.3, factor: 7.0 }
}

fn uniform() -> Compute {
    Compute::Uniform { low: Time::from_millis(5), high: Time::from_millis(15) }
}

fn run(steps: Steps, compute: Compute, seed: u64, budget: u64) -> (Vec<f64>, Outcome) {
    let nodes = vec![PairwiseSgd::new(&[0.0], steps); N as usize];
    let oracles = (0..N).map(|i| (f64::from(i), budget)).collect();
    let mut network = Asynchronous::new(nodes, oracles, answer, ring(), compute, seed).unwrap();
    let mut times = Vec::new();
    let outcome = network.run(&mut |now, _, _, _| times.push(now)).unwrap().clone();
    assert!(times.is_sorted());
    assert_eq!(times.len() as u64, u64::from(N) * steps.rounds);
    let mut out = [0.0];
    let estimate = |node: &PairwiseSgd<f64>| {
        node.estimate(&mut out);
        out[0]
    };
    (network.nodes().iter().map(estimate).collect(), outcome)
}

fn farthest(points: &[f64]) -> f64 {
    points.iter().map(|x| (x - 3.5).abs()).fold(0.0, f64::max)
}

/// All are as fast, on average: the mean of all records is the optimum of the sum.
#[test]
fn it_comes_close_to_the_optimum() {
    let steps = Steps::new(4000, StepSize::Decaying { first: 1.0, power: 0.75 }, 1.0);
    let (points, outcome) = run(steps, uniform(), 1, u64::MAX);
    assert!(farthest(&points) < 0.1, "{points:?}");
    assert!(outcome.stalest > 0);
    assert_eq!(outcome.traffic.messages, 2 * 8 * 4000);
    assert_eq!(outcome.traffic.bytes, outcome.traffic.messages * (14 + 8));
}

#[test]
fn nobody_is_active_more_often_than_its_cap_and_stragglers_take_longer() {
    let steps = Steps::new(50, StepSize::Constant(0.1), 1.0);
    let (_, outcome) = run(steps, stragglers(), 4, 30);
    assert_eq!(outcome.activations, [50; N as usize]);
    // The budget of each node pays for 30: the rest is refused, and meetings go on.
    assert_eq!(outcome.refused, u64::from(N) * 20);
    assert_eq!(outcome.traffic.messages, 2 * 8 * 50);
    assert_eq!(outcome.virtual_time, Time::from_millis(50 * 70));
    assert!(outcome.stalest >= 7, "{outcome:?}");
}

/// Meetings alone conserve the sum, and end in the mean.
#[test]
fn meetings_conserve_the_sum() {
    let steps = Steps::new(1, StepSize::Constant(1.0), 1.0);
    let (points, _) = run(steps, Compute::default(), 3, u64::MAX);
    let sum: f64 = points.iter().sum();
    // Everybody steps once, from zero to its own record.
    assert!((sum - 28.0).abs() < 1e-12, "{points:?}");
}

/// Invariant I5: a run is a function of its seed.
#[test]
fn a_run_repeats_itself_and_another_seed_gives_another() {
    let steps = Steps::new(40, StepSize::Constant(0.1), 1.0).with_momentum(0.5);
    let (first, outcome) = run(steps, uniform(), 5, u64::MAX);
    assert_eq!(run(steps, uniform(), 5, u64::MAX), (first.clone(), outcome));
    assert_ne!(run(steps, uniform(), 6, u64::MAX).0, first);
}

#[test]
fn sizes_and_paces_are_checked() {
    let steps = Steps::new(1, StepSize::Constant(1.0), 1.0);
    let make = |nodes: usize, compute| {
        let nodes = vec![PairwiseSgd::<f64>::new(&[0.0], steps); nodes];
        Asynchronous::new(nodes, vec![(0.0, 9); N as usize], answer, ring(), compute, 1).err()
    };
    assert!(matches!(make(3, uniform()), Some(SimError::Sizes { machines: 3, .. })));
    let (low, high) = (Time::from_millis(2), Time::from_millis(1));
    assert!(matches!(make(8, Compute::Uniform { low, high }), Some(SimError::World(_))));
}
