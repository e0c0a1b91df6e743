//! Single steps against numbers worked out by hand (theory 5 and 8), and convergence to the mean.
use undertone_graph::{Family, Graph, Mixing, NodeId, Schedule, Weights};
use undertone_privacy::release::Released;
use undertone_protocol::{
    Answer, Domain, Gossip, Input, Machine, Mail, Message, Patience, PushSum, Question, RunningSum,
    Shape, SparsePushSum, Sparsity, Surplus, Synchronous, Topology, TwoStage, Wiring,
};

fn close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= tolerance);
    assert!(near, "{found:?} is not {expected:?}");
}

fn started<P: Synchronous<f64>>(mut nodes: Vec<P>, values: &[Vec<f64>]) -> Vec<P> {
    for (node, value) in nodes.iter_mut().zip(values) {
        assert_eq!(node.ask(0), Some(Question::Vector));
        node.answer(0, Answer::Released(Released::public(value.clone())));
    }
    nodes
}

fn step<P: Synchronous<f64>>(nodes: &mut [P], wiring: &Wiring, round: u64) {
    let mut mail = Mail::new(nodes.len(), nodes[0].shape());
    for (id, node) in (0..).map(NodeId).zip(&mut *nodes) {
        node.send(round, &wiring.around(id), &mut mail.slot(id));
    }
    for (id, node) in (0..).map(NodeId).zip(nodes) {
        let around = wiring.around(id);
        node.receive(round, &around, mail.heard_by(&around));
    }
}

fn estimates<P: Synchronous<f64>>(nodes: &[P]) -> Vec<Vec<f64>> {
    let one = |node: &P| {
        let mut out = vec![0.0; node.dimension()];
        node.estimate(&mut out);
        out
    };
    nodes.iter().map(one).collect()
}

fn conserved<P: Synchronous<f64>>(nodes: &[P], length: usize) -> Vec<f64> {
    let mut sum = vec![0.0; length];
    nodes.iter().for_each(|node| node.add_conserved(&mut sum));
    sum
}

fn matrix(entries: [[f64; 2]; 2]) -> Mixing {
    let cells = [(0, 0), (0, 1), (1, 0), (1, 1)];
    let entry = |(i, j)| (NodeId(i), NodeId(j), entries[i as usize][j as usize]);
    Mixing::custom(2, cells.map(entry)).unwrap()
}

/// Theory 5: two nodes, two coordinates; node 0 sends its first, node 1 its second.
#[test]
fn one_step_of_surplus_consensus() {
    let wiring = Wiring {
        graph: Graph::undirected(2, [(0, 1)]).unwrap(),
        pull: Some(matrix([[0.6, 0.4], [0.3, 0.7]])),
        push: Some(matrix([[0.5, 0.2], [0.5, 0.8]])),
    };
    let sends = |seed, node| Sparsity::Exactly(1).mask(2, seed, NodeId(node), 0, 0).words()[0];
    let seed = (0..).find(|seed| sends(*seed, 0) == 1 && sends(*seed, 1) == 2).unwrap();
    let nodes = (0..2).map(|_| Surplus::<f64>::new(2, Sparsity::Exactly(1), seed, 5, 0.1));
    let mut nodes = started(nodes.collect(), &[vec![1.0, 2.0], vec![3.0, -1.0]]);
    step(&mut nodes, &wiring, 0);
    let x = estimates(&nodes);
    close(&x[0], &[1.0, 0.8], 1e-15);
    close(&x[1], &[2.4, -1.0], 1e-15);
    let surplus = |node: usize| {
        let both = conserved(&nodes[node..=node], 2);
        [both[0] - x[node][0], both[1] - x[node][1]]
    };
    close(&surplus(0), &[0.0, 1.2], 1e-15);
    close(&surplus(1), &[0.6, 0.0], 1e-15);
}

/// The same step with surpluses on the way, against the matrices written out for each coordinate.
#[test]
fn surplus_consensus_is_the_product_with_its_matrices() {
    let (n, d, window, gamma) = (4_u32, 3, 2, 0.05);
    let graph = Graph::from_edges(n, [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (2, 0)]).unwrap();
    let pull = Mixing::new(&graph, Weights::In).unwrap();
    let push = Mixing::new(&graph, Weights::Out).unwrap();
    let wiring = Wiring { graph, pull: Some(pull.clone()), push: Some(push.clone()) };
    let start: Vec<Vec<f64>> =
        (0..4).map(|i| (0..3).map(|m| f64::from(3 * i + m * m) - 4.0).collect()).collect();
    let sparsity = Sparsity::Exactly(2);
    let nodes = (0..n).map(|_| Surplus::<f64>::new(d, sparsity, 9, window, gamma)).collect();
    let mut nodes = started(nodes, &start);

    // z = (x, y) for each coordinate, and the dense 2n x 2n matrix of the paper.
    let size = 2 * n as usize;
    let mut z: Vec<Vec<f64>> =
        (0..d).map(|m| start.iter().map(|x| x[m]).chain([0.0; 4]).collect()).collect();
    let mut kept = z.clone();
    for round in 0..7 {
        if round % window == 0 {
            kept = z.clone();
        }
        step(&mut nodes, &wiring, round);
        for m in 0..d {
            let sent =
                |j: u32, lane| sparsity.mask(d, 9, NodeId(j), round, lane).words()[0] >> m & 1 == 1;
            let mut matrix = vec![vec![0.0; size]; size];
            for i in 0..n {
                let heard =
                    |j: u32| i == j || (sent(j, 0) && pull.weight(NodeId(i), NodeId(j)) > 0.0);
                let total: f64 =
                    (0..n).filter(|j| heard(*j)).map(|j| pull.weight(NodeId(i), NodeId(j))).sum();
                for j in 0..n {
                    let (row, column) = (i as usize, j as usize);
                    let a = if heard(j) { pull.weight(NodeId(i), NodeId(j)) / total } else { 0.0 };
                    let own = f64::from(u8::from(i == j));
                    matrix[row][column] = a;
                    matrix[row + 4][column] = own - a;
                    let b = if sent(j, 1) { push.weight(NodeId(i), NodeId(j)) } else { own };
                    matrix[row + 4][column + 4] = b;
                }
            }
            let mut next: Vec<f64> =
                matrix.iter().map(|row| row.iter().zip(&z[m]).map(|(a, z)| a * z).sum()).collect();
            if round % window == window - 1 {
                for i in 0..4 {
                    next[i] += gamma * kept[m][i + 4];
                    next[i + 4] -= gamma * kept[m][i + 4];
                }
            }
            z[m] = next;
        }
        for (i, x) in estimates(&nodes).iter().enumerate() {
            let expected: Vec<f64> = (0..d).map(|m| z[m][i]).collect();
            close(x, &expected, 1e-13);
        }
    }
}

/// Theory 8: w = (.5, .25, .25), X = [-.2, .2]^2.
#[test]
fn averaging_before_a_step_of_two_stage_descent() {
    let entry = |i: u32, j: u32| {
        let weight = if i == j { 0.5 } else { 0.25 };
        (NodeId(i), NodeId(j), weight)
    };
    let pull = Mixing::custom(3, (0..9).map(|k| entry(k / 3, k % 3))).unwrap();
    let graph = Family::Complete { nodes: 3 }.build(0).unwrap();
    let wiring = Wiring { graph, pull: Some(pull), push: None };
    let domain = Domain::Box { radius: 0.2 };
    let mut nodes: Vec<_> = (0..3).map(|_| TwoStage::<f64>::new(2, domain, 9, 0.1)).collect();
    for (node, y) in nodes.iter_mut().zip([[0.1, -0.2], [0.0, 0.0], [0.3, 0.1]]) {
        node.answer(0, Answer::Released(Released::public(y.to_vec())));
    }
    step(&mut nodes, &wiring, 0);
    let Some(Question::Step { t: 2, at, step }) = nodes[0].ask(1) else { panic!("asks a step") };
    close(at.get(), &[0.125, -0.075], 1e-15);
    assert_eq!(step, 0.05);
}

#[test]
fn stage_two_asks_nothing_and_does_not_project() {
    let mut node = TwoStage::<f64>::new(1, Domain::Box { radius: 1.0 }, 2, 0.5);
    assert!(node.ask(0).is_some() && node.ask(1).is_some() && node.ask(2).is_none());
    node.answer(1, Answer::Refused);
    close(&estimates(&[node])[0], &[0.0], 0.0);
}

fn values(n: u32, d: usize) -> Vec<Vec<f64>> {
    let value = |i: u32, k: usize| (f64::from(i) * 1.7 + k as f64 * 0.9).sin() * 5.0;
    (0..n).map(|i| (0..d).map(|k| value(i, k)).collect()).collect()
}

fn means(values: &[Vec<f64>]) -> Vec<f64> {
    let n = values.len() as f64;
    (0..values[0].len()).map(|k| values.iter().map(|v| v[k]).sum::<f64>() / n).collect()
}

/// Runs to the mean, and checks on the way that what should be conserved is.
fn reaches_the_mean<P: Synchronous<f64>>(nodes: Vec<P>, topology: &Topology, rounds: u64) {
    let d = nodes[0].dimension();
    let values = values(nodes.len() as u32, d);
    let mut nodes = started(nodes, &values);
    let before = conserved(&nodes, d);
    for round in 0..rounds {
        step(&mut nodes, &topology.wiring_at(round).unwrap(), round);
    }
    close(&conserved(&nodes, d), &before, 1e-10);
    let mean = means(&values);
    estimates(&nodes).iter().for_each(|x| close(x, &mean, 1e-10));
}

#[test]
fn every_way_of_averaging_reaches_the_mean() {
    let (n, d) = (12, 5);
    let directed = Family::DirectedErdosRenyi { nodes: n, probability: 0.3, connected: true };
    let fixed = Topology::new(Schedule::Fixed(directed.build(1).unwrap()));
    let varying = Topology::new(Schedule::PerRound { family: directed, seed: 3 });
    reaches_the_mean((0..n).map(|_| PushSum::new(d)).collect(), &varying, 60);
    let half = |_| SparsePushSum::new(d, Sparsity::Half, 4);
    reaches_the_mean((0..n).map(half).collect(), &varying, 150);
    let two = |_| SparsePushSum::new(d, Sparsity::Exactly(2), 4);
    reaches_the_mean((0..n).map(two).collect(), &varying, 200);
    reaches_the_mean((0..n).map(|_| RunningSum::new(d)).collect(), &fixed, 120);
    let ring = Schedule::Fixed(Family::Ring { nodes: n }.build(0).unwrap());
    let ring = Topology::new(ring).with_pull(Weights::Metropolis, 0.0);
    reaches_the_mean((0..n).map(|_| Gossip::new(d)).collect(), &ring, 300);
    let dense = Family::ErdosRenyiMinusTwo { nodes: n, probability: 0.9 };
    let dense = Topology::new(Schedule::PerRound { family: dense, seed: 3 })
        .with_pull(Weights::In, 0.0)
        .with_push(Weights::Out);
    let surplus = |sparsity| move |_| Surplus::new(d, sparsity, 2, 1, 0.05);
    reaches_the_mean((0..n).map(surplus(Sparsity::Full)).collect(), &dense, 600);
    reaches_the_mean((0..n).map(surplus(Sparsity::Exactly(2))).collect(), &dense, 600);
}

/// A refused node takes part with weight zero, so the mean is that of the others.
#[test]
fn push_sum_leaves_refused_nodes_out() {
    let family = Family::Ring { nodes: 5 };
    let topology = Topology::new(Schedule::Fixed(family.build(0).unwrap()));
    let values = values(5, 2);
    let mut nodes: Vec<_> = (0..5).map(|_| PushSum::<f64>::new(2)).collect();
    for (i, (node, value)) in nodes.iter_mut().zip(&values).enumerate() {
        let released = Answer::Released(Released::public(value.clone()));
        node.answer(0, if i == 3 { Answer::Refused } else { released });
    }
    for round in 0..200 {
        step(&mut nodes, &topology.wiring_at(round).unwrap(), round);
    }
    let others: Vec<_> = [0, 1, 2, 4].map(|i| values[i].clone()).to_vec();
    estimates(&nodes).iter().for_each(|x| close(x, &means(&others), 1e-12));
}

/// Silence is no vector of zeros: of those who always have something to say it is refused.
#[test]
fn silence_of_a_peer_is_not_taken_in() {
    let graph = Graph::from_edges(2, [(0, 1), (1, 0)]).unwrap();
    let topology = Topology::new(Schedule::Fixed(graph)).with_pull(Weights::Metropolis, 0.0);
    let mut machine = Machine::new(Gossip::new(1), NodeId(0), 1, Patience::Deadline);
    machine.handle(Input::Wiring { round: 0, wiring: topology.wiring_at(0).unwrap().into() });
    let answer = Answer::Released(Released::public(vec![4.0]));
    machine.handle(Input::Answer { round: 0, answer });
    let silent = Message::<f64>::write(0, Shape::dense(1), |slot| slot.stay_silent());
    machine.handle(Input::Message { from: NodeId(1), message: silent.into() });
    assert_eq!(machine.drops().malformed, 1);
    machine.handle(Input::Deadline { round: 0 });
    assert_eq!(estimates(&[machine.protocol().clone()]), [[4.0]]);
}
