//! Algorithms that take gradients: single steps against numbers of the theory, and convergence
//! without noise.
use undertone_graph::{Family, Mixing, NodeId, Schedule, Weights};
use undertone_privacy::mechanism::Masked;
use undertone_privacy::release::Released;
use undertone_protocol::{
    Answer, Dsgd, Lattice, Mail, PrivSgp, QDpsgd, QDpsgd2, Question, Sdm, Sparsity, StepSize,
    Steps, SurplusGradient, Synchronous, Topology, Wiring,
};

fn close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= tolerance);
    assert!(near, "{found:?} is not {expected:?}");
}

fn estimate<P: Synchronous<f64>>(node: &P) -> Vec<f64> {
    let mut out = vec![0.0; node.dimension()];
    node.estimate(&mut out);
    out
}

fn public(values: &[f64]) -> Released<Vec<f64>> {
    Released::public(values.to_vec())
}

/// Three nodes, of which node 0 hears the others with weight 1/4 each.
fn three() -> Wiring {
    let weight =
        |k: u32| (NodeId(k / 3), NodeId(k % 3), if k.is_multiple_of(4) { 0.5 } else { 0.25 });
    let pull = Some(Mixing::custom(3, (0..9).map(weight)).unwrap());
    Wiring { graph: Family::Complete { nodes: 3 }.build(0).unwrap(), pull, push: None }
}

/// What node 0 makes of an answer when the others send `(0, 0)` and `(.3, .1)`.
fn moved<P: Synchronous<f64>>(mut node: P, answer: Answer<f64>) -> Vec<f64> {
    let (wiring, mut mail) = (three(), Mail::new(3, node.shape()));
    assert!(node.ask(0).is_some());
    node.answer(0, answer);
    let around = wiring.around(NodeId(0));
    node.send(0, &around, &mut mail.slot(NodeId(0)));
    mail.slot(NodeId(1)).send(&public(&[0.0, 0.0]));
    mail.slot(NodeId(2)).send(&public(&[0.3, 0.1]));
    node.receive(0, &around, mail.heard_by(&around));
    estimate(&node)
}

/// Theory 3.1: e = .1, alpha = .3, g = (.2, -.1), noise (.01, .02); a batch of four.
#[test]
fn a_quantised_step_has_the_value_of_the_theory() {
    let steps = Steps::new(9, StepSize::Constant(0.3), 4.0);
    let lattice = Lattice::new(0.1, 8).unwrap();
    let node = || QDpsgd::new(&[0.1, -0.2], steps, 0.1, lattice, 1);
    let sum = || Answer::Released(public(&[0.84, -0.32]));
    close(&moved(node(), sum()), &[0.0962, -0.1851], 1e-15);
    let batches = QDpsgd::with_batches(node(), [4.0, 0.0].into());
    close(&moved(batches.clone(), sum()), &[0.0962, -0.1851], 1e-15);
    // Without a gradient there is no noise either, and a round without a batch asks nothing.
    close(&moved(node(), Answer::Refused), &[0.1025, -0.1875], 1e-15);
    assert_eq!(batches.clone().ask(1), None);
    assert!(matches!(batches.clone().ask(2), Some(Question::Gradient { round: 2, .. })));
    let (size, pace) = QDpsgd::<f64>::rates(1 << 12);
    assert!((size.at(5) - 0.075).abs() < 1e-15 && pace == 11.0 / 64.0);
    assert_eq!(QDpsgd::<f64>::rates(100).1, 1.0);
}

/// The same numbers by hand: x - .5 x + .25 (.3, .1) - .3 (.21, -.08).
#[test]
fn a_step_of_dsgd_mixes_and_moves() {
    let steps = Steps::new(9, StepSize::Constant(0.3), 4.0);
    let node = || Dsgd::new(&[0.1, -0.2], steps);
    close(&moved(node(), Answer::Released(public(&[0.84, -0.32]))), &[0.062, -0.051], 1e-15);
    close(&moved(node(), Answer::Refused), &[0.125, -0.075], 1e-15);
}

/// Theory 7.2, noisy-mean SAGA with b = 1, J = 3: f_j = |x - c_j|^2 / 2 with c = (1, 0), (0, 1),
/// (-1, 2), the records 1, 1, 0 are drawn, gamma = .1, one node, no noise.
#[test]
fn noisy_mean_saga_has_the_values_of_the_theory() {
    let records = [[1.0, 0.0], [0.0, 1.0], [-1.0, 2.0]];
    let steps = Steps::new(3, StepSize::Constant(0.1), 1.0);
    let mut node = PrivSgp::<f64>::new(&[0.0, 0.0], steps).with_reduction(3);
    let topology = Topology::new(Schedule::Fixed(Family::Complete { nodes: 1 }.build(0).unwrap()));
    let wiring = topology.wiring_at(0).unwrap();
    let (mut table, around) = ([[0.0; 2]; 3], wiring.around(NodeId(0)));
    let expected = [[0.0, 0.1], [0.0, 0.37 / 3.0], [0.1, 0.141]];
    for (round, (drawn, expected)) in (0..).zip([1, 1, 0].into_iter().zip(expected)) {
        let Some(Question::Difference { at, .. }) = node.ask(round) else { panic!("asks") };
        let v = [0, 1].map(|k| at.get()[k] - records[drawn][k]);
        let difference = [0, 1].map(|k| v[k] - table[drawn][k]);
        table[drawn] = v;
        node.answer(round, Answer::Released(public(&difference)));
        let mut mail = Mail::new(1, node.shape());
        node.send(round, &around, &mut mail.slot(NodeId(0)));
        node.receive(round, &around, mail.heard_by(&around));
        close(&estimate(&node), &expected, 1e-15);
    }
}

const N: u32 = 8;
const D: usize = 3;

/// Node `i` minimises `a_i |x - c_i|^2 / 2`.
fn curvature(i: usize) -> f64 {
    1.0 + 0.5 * (i % 3) as f64
}

fn centre(i: usize, k: usize) -> f64 {
    ((i * 3 + k) as f64 * 1.3).sin()
}

fn optimum() -> Vec<f64> {
    let total: f64 = (0..N as usize).map(curvature).sum();
    let sum = |k| (0..N as usize).map(|i| curvature(i) * centre(i, k)).sum::<f64>();
    (0..D).map(|k| sum(k) / total).collect()
}

/// How far the farthest node is from the optimum after so many rounds.
fn error<P: Synchronous<f64>>(make: impl Fn() -> P, topology: &Topology, rounds: u64) -> f64 {
    let mut nodes: Vec<P> = (0..N).map(|_| make()).collect();
    let mut mail = Mail::new(nodes.len(), nodes[0].shape());
    // What is remembered, for algorithms that reduce variance: here one record a node.
    let mut table = vec![vec![0.0; D]; N as usize];
    for round in 0..rounds {
        let wiring = topology.wiring_at(round).unwrap();
        for (i, node) in nodes.iter_mut().enumerate() {
            let gradient = |at: &[f64]| -> Vec<f64> {
                at.iter().enumerate().map(|(k, x)| curvature(i) * (x - centre(i, k))).collect()
            };
            let answer = match node.ask(round) {
                None => None,
                Some(Question::Gradient { at, .. }) => {
                    Some(Answer::Released(public(&gradient(at.get()))))
                }
                Some(Question::Difference { at, .. }) => {
                    let v = gradient(at.get());
                    let difference: Vec<f64> =
                        v.iter().zip(&table[i]).map(|(v, t)| v - t).collect();
                    table[i] = v;
                    Some(Answer::Released(public(&difference)))
                }
                Some(Question::Masked { at, round }) => {
                    let v = gradient(at.get());
                    let sent = |k: &usize| (k + i + round as usize).is_multiple_of(2);
                    let indices: Vec<usize> = (0..D).filter(sent).collect();
                    let values = indices.iter().map(|k| v[*k]).collect();
                    let masked = Masked { dimension: D, indices, values };
                    Some(Answer::Masked(Released::public(masked)))
                }
                Some(Question::Point { at, from, step, .. }) => {
                    let v = gradient(at.get());
                    let moved = from.get().iter().zip(&v).map(|(from, v)| from - step * v);
                    Some(Answer::Released(Released::public(moved.collect())))
                }
                Some(other) => panic!("{other:?}"),
            };
            if let Some(answer) = answer {
                node.answer(round, answer);
            }
            let id = NodeId(i as u32);
            node.send(round, &wiring.around(id), &mut mail.slot(id));
        }
        for (i, node) in nodes.iter_mut().enumerate() {
            let around = wiring.around(NodeId(i as u32));
            node.receive(round, &around, mail.heard_by(&around));
        }
    }
    let optimum = optimum();
    let far = |x: Vec<f64>| x.iter().zip(&optimum).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    nodes.iter().map(|node| far(estimate(node))).fold(0.0, f64::max)
}

fn ring() -> Topology {
    let ring = Schedule::Fixed(Family::Ring { nodes: N }.build(0).unwrap());
    Topology::new(ring).with_pull(Weights::Metropolis, 0.0)
}

fn constant(size: f64, rounds: u64) -> Steps {
    Steps::new(rounds, StepSize::Constant(size), 1.0)
}

fn decaying(first: f64, rounds: u64) -> Steps {
    Steps::new(rounds, StepSize::Decaying { first, power: 1.0 }, 1.0)
}

/// A constant step ends in a ball that shrinks with the step; a decaying one goes on.
#[test]
fn dsgd_reaches_the_optimum() {
    let dsgd = |steps| move || Dsgd::new(&[0.0; D], steps);
    let coarse = error(dsgd(constant(0.1, 2000)), &ring(), 2000);
    let fine = error(dsgd(constant(0.01, 20_000)), &ring(), 20_000);
    assert!(coarse < 0.4 && fine < 0.15 * coarse, "{coarse} {fine}");
    let decayed = error(dsgd(decaying(1.0, 20_000)), &ring(), 20_000);
    assert!(decayed < 1e-3, "{decayed}");
    // Averaging afterwards ends in a consensus.
    let heavy = error(dsgd(decaying(0.3, 20_000).with_momentum(0.7)), &ring(), 20_200);
    assert!(heavy < 1e-3, "{heavy}");
}

#[test]
fn priv_sgp_reaches_the_optimum_over_a_directed_changing_graph() {
    let topology = Topology::new(Schedule::Exponential { nodes: N });
    let plain = |steps| move || PrivSgp::new(&[0.0; D], steps);
    let decayed = error(plain(decaying(1.0, 20_000)), &topology, 20_100);
    assert!(decayed < 1e-3, "{decayed}");
    let reduced = move || PrivSgp::new(&[0.0; D], decaying(0.5, 20_000)).with_reduction(1);
    let reduced = error(reduced, &topology, 20_100);
    assert!(reduced < 1e-3, "{reduced}");
}

/// Quantising leaves a ball of the size of the lattice's step, times the pace.
#[test]
fn quantised_descent_reaches_the_optimum() {
    let run = |step: f64| {
        let lattice = Lattice::new(step, 16).unwrap();
        let make = || QDpsgd::new(&[0.0; D], decaying(5.0, 20_000), 0.2, lattice, 4);
        error(make, &ring(), 20_000)
    };
    let (coarse, fine) = (run(0.02), run(0.0005));
    assert!(coarse < 0.04 && fine < 3e-3, "{coarse} {fine}");
}

/// Re-anchored: the answer of this oracle is rounded to the nearest point, so steps below half of
/// the lattice's step vanish; a constant step ends in a ball of both.
#[test]
fn re_anchored_descent_comes_close_to_the_optimum() {
    let lattice = Lattice::new(1e-5, 24).unwrap();
    let run = |size| {
        let make = || QDpsgd2::new(&[0.0; D], constant(size, 5000), 0.2, lattice, 4);
        error(make, &ring(), 5000)
    };
    let (coarse, fine) = (run(0.2), run(0.02));
    assert!(coarse < 0.5 && fine < 0.2 * coarse, "{coarse} {fine}");
}

/// Theory 3.2: z+ = Q(z + e sum_j w_ij (z_j - z) - alpha e g(z)) with the numbers of 3.1.
#[test]
fn a_re_anchored_step_begins_at_what_was_sent() {
    let steps = Steps::new(9, StepSize::Constant(0.3), 4.0);
    let lattice = Lattice::new(0.1, 8).unwrap();
    let mut node = QDpsgd2::<f64>::new(&[0.1, -0.2], steps, 0.1, lattice, 1);
    let mixed = moved(node.clone(), Answer::Refused);
    close(&mixed, &[0.1025, -0.1875], 1e-15);
    let Some(Question::Point { round: 0, at, from, step, keep: 0.0 }) = node.ask(0) else {
        panic!("asks")
    };
    assert_eq!((at.get(), from.get()), (&vec![0.1, -0.2], &vec![0.1, -0.2]));
    assert!((step - 0.3 * 0.1 / 4.0).abs() < 1e-18);
    // An answer beyond the bits is cut, after the noise.
    let answer = Answer::Released(public(&[99.0, 0.3 + 1e-12]));
    let cut = moved(node, answer);
    close(&cut, &[12.7 - 0.05 * 12.7 + 0.1 * 0.25 * 0.3, 0.3 - 0.05 * 0.3 + 0.0025], 1e-12);
}

#[test]
fn sdm_reaches_the_optimum() {
    let make = || Sdm::new(&[0.0; D], decaying(1.0, 20_000), 0.6, 0.5, 4);
    let far = error(make, &ring(), 20_100);
    assert!(far < 3e-3, "{far}");
}

#[test]
fn surplus_gradients_reach_the_optimum_with_sparse_messages() {
    let dense = Family::ErdosRenyiMinusTwo { nodes: N, probability: 0.9 };
    let topology = Topology::new(Schedule::PerRound { family: dense, seed: 3 })
        .with_pull(Weights::In, 0.0)
        .with_push(Weights::Out);
    for sparsity in [Sparsity::Full, Sparsity::Exactly(2)] {
        let steps = decaying(1.0, 5000);
        let make = || SurplusGradient::new(&[0.0; D], steps, sparsity, 2, 2, 0.05);
        let far = error(make, &topology, 10_400);
        assert!(far < 3e-3, "{sparsity:?} {far}");
    }
}

/// A gradient is asked for where the window begins and used where it ends.
#[test]
fn surplus_gradients_come_once_a_window() {
    let steps = Steps::new(2, StepSize::Constant(0.5), 1.0);
    let mut node = SurplusGradient::<f64>::new(&[1.0], steps, Sparsity::Full, 1, 3, 0.1);
    assert_eq!(node.asking_rounds(), 4);
    let topology = Topology::new(Schedule::Fixed(Family::Complete { nodes: 1 }.build(0).unwrap()))
        .with_pull(Weights::In, 0.0)
        .with_push(Weights::Out);
    let wiring = topology.wiring_at(0).unwrap();
    let around = wiring.around(NodeId(0));
    let mut asked = Vec::new();
    for (round, expected) in (0..9).zip([1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25]) {
        if let Some(Question::Gradient { round: window, at }) = node.ask(round) {
            asked.push((round, window));
            node.answer(round, Answer::Released(at));
        }
        let mut mail = Mail::new(1, node.shape());
        node.send(round, &around, &mut mail.slot(NodeId(0)));
        node.receive(round, &around, mail.heard_by(&around));
        close(&estimate(&node), &[expected], 1e-15);
    }
    assert_eq!(asked, [(0, 0), (3, 1)]);
}
