use super::*;
use crate::graph::{Diameter, NodeId};

fn shape(family: Family) -> (u32, usize, Diameter) {
    let graph = family.build(7).unwrap();
    assert!(graph.is_symmetric());
    (graph.n_nodes(), graph.n_edges(), graph.diameter(1000))
}

#[test]
fn shapes_are_known() {
    use Diameter::Exact;
    assert_eq!(shape(Family::Ring { nodes: 9 }), (9, 18, Exact(4)));
    assert_eq!(shape(Family::Path { nodes: 9 }), (9, 16, Exact(8)));
    assert_eq!(shape(Family::Star { nodes: 9 }), (9, 16, Exact(2)));
    assert_eq!(shape(Family::Complete { nodes: 9 }), (9, 72, Exact(1)));
    assert_eq!(shape(Family::Grid { rows: 3, columns: 4 }), (12, 34, Exact(5)));
    assert_eq!(shape(Family::Torus { rows: 3, columns: 4 }), (12, 48, Exact(3)));
    assert_eq!(shape(Family::Hypercube { dimension: 5 }), (32, 160, Exact(5)));
    assert_eq!(shape(Family::TwoCliques { clique: 4 }), (8, 26, Exact(3)));
}

#[test]
fn edges_that_are_named_run_both_ways_unless_they_are_directed() {
    let edges = vec![(0, 1), (1, 2), (2, 0), (1, 2)];
    let both = Family::Edges { nodes: 4, edges: edges.clone(), directed: false };
    assert_eq!(shape(both), (4, 6, Diameter::Infinite));
    let directed = Family::Edges { nodes: 3, edges, directed: true }.build(0).unwrap();
    assert_eq!((directed.n_edges(), directed.is_symmetric()), (3, false));
    assert_eq!(directed.in_neighbours(NodeId(2)), [NodeId(1)]);
    let outside = Family::Edges { nodes: 2, edges: vec![(0, 2)], directed: false };
    assert_eq!(outside.build(0), Err(GraphError::OutOfRange { node: 2, n_nodes: 2 }.into()));
}

#[test]
fn the_smallest_of_each_shape() {
    use Diameter::Exact;
    for family in [
        Family::Ring { nodes: 1 },
        Family::Path { nodes: 1 },
        Family::Star { nodes: 1 },
        Family::Complete { nodes: 1 },
        Family::Grid { rows: 1, columns: 1 },
        Family::Torus { rows: 1, columns: 1 },
        Family::Hypercube { dimension: 0 },
        Family::Exponential { nodes: 1 },
        Family::ErdosRenyi { nodes: 1, probability: 0.5, connected: true },
        Family::DirectedErdosRenyi { nodes: 1, probability: 0.5, connected: true },
        Family::RandomRegular { nodes: 1, degree: 0, connected: true },
        Family::InRegular { nodes: 1, degree: 0, connected: true },
        Family::OutRegular { nodes: 1, degree: 0, connected: true },
        Family::SmallWorld { nodes: 1, degree: 0, rewiring: 0.5, connected: true },
        Family::Geometric { nodes: 1, radius: 0.1, connected: true },
    ] {
        assert_eq!(shape(family), (1, 0, Exact(0)));
    }
    for family in [
        Family::Ring { nodes: 2 },
        Family::Torus { rows: 2, columns: 1 },
        Family::TwoCliques { clique: 1 },
        Family::Exponential { nodes: 2 },
        Family::InRegular { nodes: 2, degree: 1, connected: true },
        Family::OutRegular { nodes: 2, degree: 1, connected: true },
    ] {
        assert_eq!(shape(family), (2, 2, Exact(1)));
    }
    assert_eq!(Family::Ring { nodes: 0 }.build(0), Err(GraphError::NoNodes.into()));
    assert_eq!(Family::TwoCliques { clique: 0 }.build(0), Err(GraphError::NoNodes.into()));
    assert_eq!(Family::Torus { rows: 0, columns: 3 }.build(0), Err(GraphError::NoNodes.into()));
}

#[test]
fn the_exponential_graph_of_eight() {
    let graph = Family::Exponential { nodes: 8 }.build(0).unwrap();
    for r in 0..8 {
        let mut heard_by = [1, 2, 4].map(|hop| NodeId((r + hop) % 8));
        heard_by.sort();
        assert_eq!(graph.out_neighbours(NodeId(r)), heard_by);
    }
    assert!(graph.is_strongly_connected() && !graph.is_symmetric());
    assert_eq!(graph.diameter(8), Diameter::Exact(3));
}

#[test]
fn regular_graphs_are_regular() {
    for (nodes, degree) in
        [(10, 3), (11, 4), (10, 8), (10, 9), (50, 20), (41, 20), (100, 49), (51, 40), (2000, 10)]
    {
        let family = Family::RandomRegular { nodes, degree, connected: true };
        for seed in 0..3 {
            let graph = family.build(seed).unwrap();
            assert!(graph.is_symmetric() && graph.is_strongly_connected());
            assert!(graph.nodes().all(|node| graph.out_degree(node) == degree as usize));
        }
    }
    let family = Family::OutRegular { nodes: 60, degree: 5, connected: true };
    let graph = family.build(1).unwrap();
    assert!(graph.is_strongly_connected() && !graph.is_symmetric());
    assert!(graph.nodes().all(|node| graph.out_degree(node) == 5));
}

fn random_families() -> Vec<Family> {
    vec![
        Family::ErdosRenyi { nodes: 30, probability: 0.2, connected: true },
        Family::DirectedErdosRenyi { nodes: 30, probability: 0.2, connected: true },
        Family::ErdosRenyiMinusTwo { nodes: 10, probability: 0.9 },
        Family::RandomRegular { nodes: 30, degree: 3, connected: true },
        Family::InRegular { nodes: 30, degree: 3, connected: true },
        Family::OutRegular { nodes: 30, degree: 3, connected: true },
        Family::SmallWorld { nodes: 30, degree: 4, rewiring: 0.3, connected: true },
        Family::Geometric { nodes: 30, radius: 0.4, connected: true },
    ]
}

pub(super) fn one_of_each() -> Vec<Family> {
    let shapes = [
        Family::Complete { nodes: 7 },
        Family::Exponential { nodes: 12 },
        Family::Grid { rows: 2, columns: 5 },
        Family::Hypercube { dimension: 4 },
        Family::Path { nodes: 20 },
        Family::Ring { nodes: 6 },
        Family::Star { nodes: 6 },
        Family::Torus { rows: 4, columns: 3 },
        Family::TwoCliques { clique: 5 },
        Family::Star { nodes: 1 },
        Family::Path { nodes: 1 },
        Family::Hypercube { dimension: 0 },
        Family::Hypercube { dimension: 1 },
        Family::TwoCliques { clique: 1 },
    ];
    shapes.into_iter().chain(random_families()).collect()
}

#[test]
fn the_seed_decides_the_draw() {
    for family in random_families() {
        let graph = family.build(1).unwrap();
        assert_eq!(graph, family.build(1).unwrap());
        assert_ne!(graph, family.build(2).unwrap());
        assert!(graph.is_strongly_connected());
    }
}

#[test]
fn a_graph_less_two_edges_lacks_two() {
    for seed in 0..20 {
        let graph = Family::ErdosRenyiMinusTwo { nodes: 10, probability: 1.0 }.build(seed).unwrap();
        assert_eq!(graph.n_edges(), 88);
        assert!(graph.is_strongly_connected());
    }
    let tree = Family::ErdosRenyiMinusTwo { nodes: 2, probability: 1.0 };
    assert!(matches!(tree.build(0), Err(FamilyError::Unlucky { draws: MAX_DRAWS, .. })));
}

#[test]
fn edge_counts_are_those_of_the_law() {
    // Binomial counts, five standard deviations.
    let (nodes, p) = (2000, 0.01);
    let pairs = f64::from(nodes * (nodes - 1) / 2);
    let graph = Family::ErdosRenyi { nodes, probability: p, connected: false }.build(8).unwrap();
    let sd = (pairs * p * (1.0 - p)).sqrt();
    assert!((graph.n_edges() as f64 / 2.0 - pairs * p).abs() < 5.0 * sd);
    let family = Family::DirectedErdosRenyi { nodes, probability: p, connected: false };
    let count = family.build(8).unwrap().n_edges() as f64;
    assert!((count - 2.0 * pairs * p).abs() < 5.0 * sd * 2_f64.sqrt());
    for (p, edges) in [(0.0, 0), (1.0, 20 * 19)] {
        let family = Family::ErdosRenyi { nodes: 20, probability: p, connected: false };
        assert_eq!(family.build(0).unwrap().n_edges(), edges);
        let family = Family::DirectedErdosRenyi { nodes: 20, probability: p, connected: false };
        assert_eq!(family.build(0).unwrap().n_edges(), edges);
    }
}

#[test]
fn a_small_world_keeps_its_edges() {
    for rewiring in [0.0, 0.5, 1.0] {
        let family = Family::SmallWorld { nodes: 40, degree: 6, rewiring, connected: false };
        assert_eq!(family.build(5).unwrap().n_edges(), 240);
    }
    let full = Family::SmallWorld { nodes: 5, degree: 4, rewiring: 1.0, connected: true };
    assert_eq!(full.build(0).unwrap().n_edges(), 20);
}

#[test]
fn a_geometric_graph_with_a_long_radius_is_complete() {
    let family = Family::Geometric { nodes: 20, radius: 1.5, connected: true };
    assert_eq!(family.build(0).unwrap().n_edges(), 380);
}

#[test]
fn parameters_out_of_range_are_refused() {
    let message = |family: Family| family.build(0).unwrap_err().to_string();
    let er = |probability| Family::ErdosRenyi { nodes: 5, probability, connected: true };
    assert_eq!(message(er(1.5)), "probability is 1.5, but has to be between 0 and 1");
    assert!(matches!(er(f64::NAN).build(0), Err(FamilyError::Parameter { .. })));
    assert!(message(er(0.0)).starts_with("no draw of 1000 was connected"));
    let regular = |nodes, degree| Family::RandomRegular { nodes, degree, connected: false };
    assert!(message(regular(5, 3)).contains("has to be even"));
    assert!(message(regular(5, 5)).contains("below the number of nodes"));
    assert!(message(Family::Complete { nodes: u32::MAX }).contains("too many"));
    assert!(message(Family::Hypercube { dimension: 400 }).contains("too many"));
    assert!(message(Family::Torus { rows: u32::MAX, columns: 3 }).contains("too many"));
    let world = Family::SmallWorld { nodes: 9, degree: 3, rewiring: 0.1, connected: false };
    assert!(message(world).contains("even and below"));
    let geometric = Family::Geometric { nodes: 9, radius: f64::NAN, connected: false };
    assert!(message(geometric).contains("positive and finite"));
}

#[test]
fn out_regular_draws_are_those_of_earlier_versions() {
    // Floyd's sampling written out with a set, as it was before it was made fast.
    let (nodes, degree) = (40, 6);
    let rng = &mut generator(11, Stream::Family);
    let mut edges = Vec::new();
    for a in 0..nodes {
        let mut chosen = std::collections::BTreeSet::new();
        for last in nodes - 1 - degree..nodes - 1 {
            let other = crate::draw::below(rng, last + 1);
            if !chosen.insert(other) {
                chosen.insert(last);
            }
        }
        edges.extend(chosen.iter().map(|&b| (a, b + u32::from(b >= a))));
    }
    let family = Family::OutRegular { nodes, degree, connected: false };
    assert_eq!(family.build(11), Ok(Graph::from_edges(nodes, edges).unwrap()));
}

#[test]
fn a_fixed_degree_is_kept_whether_repaired_or_not() {
    for (nodes, degree) in [
        (1, 0),
        (2, 1),
        (3, 1),
        (9, 1),
        (3, 2),
        (4, 2),
        (5, 3),
        (200, 2),
        (300, 3),
        (70, 40),
        (50, 49),
    ] {
        for (connected, seed) in [(false, 0), (true, 0), (true, 1), (true, 2)] {
            let heard = Family::InRegular { nodes, degree, connected }.build(seed).unwrap();
            let hearers = Family::OutRegular { nodes, degree, connected }.build(seed).unwrap();
            assert!(heard.nodes().all(|node| heard.in_degree(node) == degree as usize));
            assert!(hearers.nodes().all(|node| hearers.out_degree(node) == degree as usize));
            for graph in [heard, hearers] {
                assert!(!connected || graph.is_strongly_connected(), "{nodes} {degree}");
                // Independent of how the rows were made: the same edges, sorted and checked anew.
                let edges = graph.edges().map(|(a, b)| (a.0, b.0));
                assert_eq!(Graph::from_edges(nodes, edges).unwrap(), graph);
            }
        }
    }
    for family in [
        Family::InRegular { nodes: 3, degree: 0, connected: true },
        Family::OutRegular { nodes: 3, degree: 0, connected: true },
    ] {
        let message = family.build(0).unwrap_err().to_string();
        assert_eq!(message, "degree is 0, but has to be at least 1 for nodes to be connected");
    }
    let family = Family::InRegular { nodes: 3, degree: 3, connected: false };
    assert!(family.build(0).unwrap_err().to_string().contains("below the number of nodes"));
}

#[test]
fn rows_of_a_fixed_degree_are_drawn_evenly() {
    // Sparse rows are drawn, dense ones are what a draw leaves: every pair has the same chance.
    for degree in [2, 5] {
        let family = Family::InRegular { nodes: 8, degree, connected: false };
        let mut counts = [0_u32; 64];
        let n_draws = 7000;
        for seed in 0..n_draws {
            for (a, b) in family.build(seed).unwrap().edges() {
                counts[a.idx() * 8 + b.idx()] += 1;
            }
        }
        let p = f64::from(degree) / 7.0;
        let sd = (n_draws as f64 * p * (1.0 - p)).sqrt();
        for (k, &count) in counts.iter().enumerate() {
            if k / 8 == k % 8 {
                assert_eq!(count, 0);
            } else {
                // 112 counts, a false alarm in a million.
                assert!((f64::from(count) - n_draws as f64 * p).abs() < 5.8 * sd, "{k} {count}");
            }
        }
    }
}

#[test]
fn a_repair_changes_little_and_a_connected_draw_not_at_all() {
    let family = |connected| Family::OutRegular { nodes: 2000, degree: 4, connected };
    let (drawn, repaired) = (family(false).build(3).unwrap(), family(true).build(3).unwrap());
    let n_deaf = drawn.nodes().filter(|&node| drawn.in_degree(node) == 0).count();
    assert!(n_deaf > 10 && repaired.is_strongly_connected());
    let n_lost = drawn.edges().filter(|&(a, b)| !repaired.has_edge(a, b)).count();
    assert!((n_deaf..n_deaf + 5).contains(&n_lost), "{n_lost} edges for {n_deaf} nodes");
    let dense = |connected| Family::InRegular { nodes: 100, degree: 30, connected };
    assert_eq!(dense(false).build(1), dense(true).build(1));
}

#[test]
fn one_edge_each_and_connected_is_a_single_cycle() {
    let graph = Family::InRegular { nodes: 12, degree: 1, connected: true }.build(4).unwrap();
    assert_eq!((graph.n_edges(), graph.diameter(12)), (12, Diameter::Exact(11)));
}
