//! Averaging.

use std::time::Instant;

use rayon::prelude::*;
use undertone_graph::{Family, Graph, Schedule};
use undertone_privacy::release::Released;
use undertone_protocol::{
    Answer, PushSum, SparsePushSum, Sparsity, Synchronous, Topology, Wirings,
};
use undertone_sim::lockstep::Lockstep;

use super::{median, peak_memory, report, wanted};

pub(super) fn all() {
    sparse_push_sum();
    large_push_sum();
    cost_per_node();
}

/// The peers' work F: 1,000 nodes, 64 coordinates, 500 iterations, each with a fresh random digraph
/// of in-degree 10 and half of the coordinates sent; graphs and masks included.
fn sparse_push_sum() {
    const ITERATIONS: u32 = 500;
    let Some(name) = wanted("sparse_push_sum_1000x64") else { return };
    let family = Family::InRegular { nodes: 1000, degree: 10, connected: false };
    let topology = Topology::new(Schedule::PerRound { family, seed: 1 });
    let prepare = || {
        let node = |_| SparsePushSum::<f32>::new(64, Sparsity::Half, 1);
        let nodes = Lockstep::new(started((0..1000).map(node).collect()));
        (nodes, Wirings::new(topology.clone(), 1))
    };
    let work = |(nodes, wirings): &mut (Lockstep<SparsePushSum<f32>, f32>, Wirings)| {
        nodes.advance(ITERATIONS.into(), wirings).expect("in-degree 10 of 1,000 nodes");
    };
    let mut first = prepare();
    work(&mut first);
    assert!(worst_error(first.0.nodes()) < 1e-5, "the mean is not reached");
    let time = median(11, prepare, work);
    let rate = f64::from(ITERATIONS) / time.as_secs_f64();
    report(&name, "iterations/s", rate, "median of 11");
}

/// 100,000 nodes, 64 coordinates, a random digraph of out-degree 10, 100 rounds.
fn large_push_sum() {
    let Some(name) = wanted("push_sum_100k_x64_100_rounds") else { return };
    let (n_nodes, dimension, degree, rounds) = (100_000, 64, 10, 100);
    let mut wirings = out_regular(n_nodes, degree);
    let node = |_| PushSum::<f32>::new(dimension);
    let mut nodes = Lockstep::new(started((0..n_nodes).map(node).collect()));
    let start = Instant::now();
    nodes.advance(rounds, &mut wirings).expect(FIXED);
    let seconds = start.elapsed().as_secs_f64();
    assert!(worst_error(nodes.nodes()) < 1e-4, "the mean is not reached");
    // A round reads and writes every state twice, writes every row of mail, and reads as many rows
    // as there are edges.
    let row = 4 * (dimension + 1);
    let bytes = (rounds as usize * n_nodes as usize * row) as f64 * (4.0 + 1.0 + f64::from(degree));
    let (reached, machine) = (bytes / seconds / 1e9, bandwidth());
    let note = format!(
        "{reached:.1} GB/s, {:.0}% of the {machine:.1} GB/s of a triad; peak memory {:.0} MB",
        100.0 * reached / machine,
        peak_memory() / 1e6
    );
    report(&name, "s", seconds, &note);
}

/// Seconds for one node and round, from a thousand to a million nodes of 16 coordinates: with
/// neighbours that are near, where only our own work could grow, and with neighbours anywhere,
/// where every message is read from wherever it lies.
fn cost_per_node() {
    for (rows, columns) in [(25, 40), (100, 100), (250, 400), (1000, 1000)] {
        let n_nodes = rows * columns;
        let torus = || Family::Torus { rows, columns }.build(1).expect("a torus");
        time_node("push_sum_torus", n_nodes, || fixed(torus()));
        time_node("push_sum", n_nodes, || out_regular(n_nodes, 10));
    }
}

fn time_node(name: &str, n_nodes: u32, wirings: impl Fn() -> Wirings) {
    let Some(name) = wanted(&format!("{name}_{n_nodes}_x16_node_round")) else { return };
    let mut wirings = wirings();
    let mut nodes = Lockstep::new(started((0..n_nodes).map(|_| PushSum::<f32>::new(16)).collect()));
    let rounds = (20_000_000 / n_nodes).clamp(20, 5000);
    // The first rounds meet memory that nobody has touched yet.
    nodes.advance(2, &mut wirings).expect(FIXED);
    let start = Instant::now();
    nodes.advance(rounds.into(), &mut wirings).expect(FIXED);
    let seconds = start.elapsed().as_secs_f64() / f64::from(rounds) / f64::from(n_nodes);
    let note = format!("{rounds} rounds; peak memory so far {:.0} MB", peak_memory() / 1e6);
    report(&name, "s", seconds, &note);
}

const FIXED: &str = "a fixed graph without weights";

fn out_regular(nodes: u32, degree: u32) -> Wirings {
    let family = Family::OutRegular { nodes, degree, connected: true };
    fixed(family.build(1).expect("a digraph of that degree"))
}

fn fixed(graph: Graph) -> Wirings {
    Wirings::new(Topology::new(Schedule::Fixed(graph)), 1)
}

/// Node `i` has `sin(i + k)` at coordinate `k`.
fn started<P: Synchronous<f32>>(mut nodes: Vec<P>) -> Vec<P> {
    for (i, node) in nodes.iter_mut().enumerate() {
        let values = (0..node.dimension()).map(|k| value(i, k)).collect();
        let _ = node.ask(0);
        node.answer(0, Answer::Released(Released::public(values)));
    }
    nodes
}

fn value(node: usize, coordinate: usize) -> f32 {
    ((node + coordinate) as f64).sin() as f32
}

fn worst_error<P: Synchronous<f32> + Sync>(nodes: &[P]) -> f32 {
    let n = nodes.len();
    let mean = |k| (0..n).map(|i| f64::from(value(i, k))).sum::<f64>() / n as f64;
    let means: Vec<f32> = (0..nodes[0].dimension()).map(|k| mean(k) as f32).collect();
    let error = |node: &P| {
        let mut out = vec![0.0; means.len()];
        node.estimate(&mut out);
        out.iter().zip(&means).fold(0.0_f32, |worst, (a, b)| worst.max((a - b).abs()))
    };
    nodes.par_iter().map(error).reduce(|| 0.0, f32::max)
}

/// What the machine's memory gives to `a = b + s c` on all our threads, in GB/s.
fn bandwidth() -> f64 {
    const LENGTH: usize = 16 << 20;
    let (mut a, b, c) = (vec![0.0_f32; LENGTH], vec![1.0_f32; LENGTH], vec![2.0_f32; LENGTH]);
    let mut best = f64::INFINITY;
    for _ in 0..7 {
        let start = Instant::now();
        a.par_chunks_mut(1 << 16).zip(b.par_chunks(1 << 16).zip(c.par_chunks(1 << 16))).for_each(
            |(a, (b, c))| {
                a.iter_mut().zip(b.iter().zip(c)).for_each(|(a, (b, c))| *a = b + 3.0 * c);
            },
        );
        best = best.min(start.elapsed().as_secs_f64());
    }
    assert_eq!(a[LENGTH / 2], 7.0);
    3.0 * 4.0 * LENGTH as f64 / best / 1e9
}
