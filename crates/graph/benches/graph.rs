//! What graphs cost to draw and to mix on, as JSON lines: seconds of processor time, the median of
//! several runs. An argument selects the lines whose name contains it.

use cpu_time::ProcessTime;
use undertone_graph::{Family, Graph, Mixing, Schedule, Weights};

fn main() {
    let family = Family::InRegular { nodes: 1000, degree: 10, connected: false };
    let schedule = Schedule::PerRound { family, seed: 1 };
    let mut round = 0;
    report("graph_per_round_1000x10", 9, 1000, || {
        round += 1;
        schedule.graph_at(round).expect("in range").n_edges() as f64
    });
    for (name, connected) in [("graph_out_regular_100k", false), ("graph_out_strong_100k", true)] {
        let family = Family::OutRegular { nodes: 100_000, degree: 10, connected };
        report(name, 3, 1, || family.build(1).expect("in range").n_edges() as f64);
    }
    let family = Family::InRegular { nodes: 100_000, degree: 10, connected: true };
    report("graph_in_strong_100k", 3, 1, || family.build(1).expect("in range").n_edges() as f64);
    // A linear congruence, so that nothing is in order.
    let mut state = 1_u64;
    let mut node = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 40) as u32 % 100_000
    };
    let edges: Vec<(u32, u32)> =
        (0..1_000_000).map(|_| (node(), node())).filter(|(a, b)| a != b).collect();
    report("graph_from_edges_1m", 5, 1, || {
        Graph::from_edges(100_000, edges.iter().copied()).expect("in range").n_edges() as f64
    });
    let graph = schedule.graph_at(0).expect("in range");
    let mixing = Mixing::new(&graph, Weights::In).expect("any graph has in-weights");
    let x: Vec<f32> = (0..1_000_000).map(|k| (k % 97) as f32).collect();
    let mut out = vec![0.0; x.len()];
    report("mix_f32_1000x10_d1000", 5, 10, || {
        mixing.apply(&x, 1000, &mut out);
        f64::from(out[0])
    });
}

fn report(name: &str, runs: usize, repeats: u32, mut work: impl FnMut() -> f64) {
    let mut wanted = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    if wanted.next().is_some_and(|part| !name.contains(&part)) {
        return;
    }
    let mut result = work();
    let mut seconds = Vec::with_capacity(runs);
    for _ in 0..runs {
        let start = ProcessTime::now();
        for _ in 0..repeats {
            result = std::hint::black_box(work());
        }
        seconds.push(start.elapsed().as_secs_f64() / f64::from(repeats));
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds[runs / 2];
    println!("{{\"name\":\"{name}\",\"unit\":\"s\",\"value\":{median:.9},\"result\":{result}}}");
}
