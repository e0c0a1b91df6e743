use std::f64::consts::PI;

use super::*;
use crate::family::Family;
use crate::mixing::Weights;
use crate::schedule::Schedule;

fn modulus(family: Family, rule: Weights) -> f64 {
    second_eigenvalue(&Mixing::new(&family.build(0).unwrap(), rule).unwrap()).unwrap()
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-11, "{a} is not {b}");
}

#[test]
fn a_ring_has_cosines() {
    for nodes in [3, 4, 5, 8, 51, 400] {
        // Metropolis: 1/3 + 2/3 cos(2 pi k / n).
        let lambda =
            |k: u32| 1.0 / 3.0 + 2.0 / 3.0 * (2.0 * PI * f64::from(k) / f64::from(nodes)).cos();
        let expected = (1..nodes).map(|k| lambda(k).abs()).fold(0.0, f64::max);
        close(modulus(Family::Ring { nodes }, Weights::Metropolis), expected);
    }
}

#[test]
fn a_complete_graph_agrees_at_once() {
    for nodes in [1, 2, 3, 30] {
        let mixing =
            Mixing::new(&Family::Complete { nodes }.build(0).unwrap(), Weights::Metropolis)
                .unwrap();
        close(second_eigenvalue(&mixing).unwrap(), 0.0);
        close(spectral_gap(&mixing).unwrap(), 1.0);
    }
}

#[test]
fn a_hypercube_has_gap_two_over_dimension_plus_one() {
    for dimension in 1..9 {
        let expected = if dimension == 1 { 0.0 } else { 1.0 - 2.0 / f64::from(dimension + 1) };
        close(modulus(Family::Hypercube { dimension }, Weights::Metropolis), expected);
        let graph = Family::Hypercube { dimension }.build(0).unwrap();
        close(laplacian_max(&graph).unwrap().estimate, 2.0 * f64::from(dimension));
    }
}

#[test]
fn a_path_has_half_the_angles() {
    for nodes in [2, 3, 10, 200] {
        let angle = PI / f64::from(nodes);
        // L has eigenvalues 2 - 2 cos(k pi / n).
        let rule = Weights::Laplacian { kappa: 3.0 };
        let slow = 1.0 - (2.0 - 2.0 * angle.cos()) / 3.0;
        close(modulus(Family::Path { nodes }, rule), slow);
        let graph = Family::Path { nodes }.build(0).unwrap();
        let max = laplacian_max(&graph).unwrap();
        close(max.estimate, 2.0 + 2.0 * angle.cos());
        assert!(max.upper >= max.estimate);
    }
}

#[test]
fn the_largest_laplacian_eigenvalue_gives_the_weights_of_document_004() {
    // A star has 0, 1 and n; W = I - 2 L / (3 n).
    let graph = Family::Star { nodes: 10 }.build(0).unwrap();
    close(laplacian_max(&graph).unwrap().estimate, 10.0);
    let mixing = Mixing::new(&graph, Weights::LaplacianMax).unwrap();
    close(mixing.weight(NodeId(0), NodeId(4)), 2.0 / 30.0);
    close(second_eigenvalue(&mixing).unwrap(), 1.0 - 2.0 / 30.0);
    let none = Graph::from_edges(3, []).unwrap();
    assert_eq!(laplacian_max(&none), Ok(LaplacianMax { estimate: 0.0, upper: 0.0 }));
    let directed = Graph::from_edges(2, [(0, 1)]).unwrap();
    assert_eq!(laplacian_max(&directed), Err(SpectrumError::NotSymmetric));
}

#[test]
fn a_graph_in_two_parts_never_agrees() {
    let graph = Graph::undirected(4, [(0, 1), (2, 3)]).unwrap();
    let mixing = Mixing::new(&graph, Weights::Metropolis).unwrap();
    close(second_eigenvalue(&mixing).unwrap(), 1.0);
}

#[test]
fn a_turn_of_the_exponential_schedule_is_the_exact_average_for_powers_of_two() {
    let window = |nodes: u32, rounds: u64| {
        let schedule = Schedule::Exponential { nodes };
        let all: Result<Vec<_>, _> =
            (0..rounds).map(|k| schedule.mixing_at(k, Weights::Out)).collect();
        window_contraction(&all.unwrap()).unwrap()
    };
    assert!(window(8, 3) < 1e-14 && window(64, 6) < 1e-14);
    close(window(2, 1), 0.0);
    // Two hops of three: frequencies that the third would kill survive, of 16 nodes too.
    assert!(window(8, 2) > 0.5);
    let twelve = window(12, 4);
    assert!(twelve > 1e-3 && twelve < 0.5, "{twelve}");
}

#[test]
fn the_contraction_of_a_symmetric_window_is_a_power() {
    let mixing =
        Mixing::new(&Family::Ring { nodes: 9 }.build(0).unwrap(), Weights::Metropolis).unwrap();
    let lambda = second_eigenvalue(&mixing).unwrap();
    close(window_contraction(&vec![mixing; 3]).unwrap(), lambda.powi(3));
}

#[test]
fn directed_fixed_weights_contract_in_the_long_run() {
    let family = Family::OutRegular { nodes: 40, degree: 4, connected: true };
    let graph = family.build(5).unwrap();
    for rule in [Weights::In, Weights::Out] {
        let mixing = Mixing::new(&graph, rule).unwrap();
        assert_eq!(second_eigenvalue(&mixing), Err(SpectrumError::NotSymmetric));
        let (ten, twenty) = (
            window_contraction(&vec![mixing.clone(); 10]).unwrap(),
            window_contraction(&vec![mixing; 20]).unwrap(),
        );
        assert!(twenty <= ten * ten * (1.0 + 1e-9) && ten < 0.1, "{ten} {twenty}");
    }
}

#[test]
fn windows_that_make_no_sense_are_refused() {
    assert_eq!(window_contraction(&[]), Err(SpectrumError::EmptyWindow));
    let graph = Graph::from_edges(3, [(0, 1), (1, 2), (2, 0), (0, 2)]).unwrap();
    let rows = Mixing::new(&graph, Weights::In).unwrap();
    let columns = Mixing::new(&graph, Weights::Out).unwrap();
    assert_eq!(window_contraction(&[rows, columns]), Err(SpectrumError::Mixed));
}

#[test]
fn rounds_are_counted() {
    assert_eq!(rounds_to(0.5, 1e-6), Some(20));
    assert_eq!(rounds_to(0.0, 1e-6), Some(1));
    assert_eq!(rounds_to(0.5, 1.0), Some(0));
    assert_eq!(rounds_to(1.0, 1e-6), None);
    assert_eq!(rounds_to(f64::NAN, 1e-6), None);
    assert_eq!(rounds_to(0.5, 0.0), None);
}

#[test]
fn the_gap_of_a_long_path_has_six_digits() {
    let nodes = 5000;
    let mixing =
        Mixing::new(&Family::Path { nodes }.build(0).unwrap(), Weights::Laplacian { kappa: 3.0 });
    let gap = spectral_gap(&mixing.unwrap()).unwrap();
    let half = (PI / f64::from(nodes) / 2.0).sin();
    let expected = 4.0 * half * half / 3.0;
    assert!((gap / expected - 1.0).abs() < 1e-6, "{gap} is not {expected}");
}

fn circle(nodes: u32, hops: &[u32]) -> Graph {
    let edges = hops.iter().flat_map(|hop| (0..nodes).map(move |i| (i, (i + hop) % nodes)));
    Graph::from_edges(nodes, edges).unwrap()
}

/// On a circle the eigenvalues are (1 + sum of w^(k hop)) / (1 + hops), w a root of one.
fn circle_modulus(nodes: u32, hops: &[u32]) -> f64 {
    let modulus = |k: u32| {
        let angle = |hop: u32| 2.0 * PI * f64::from(k) * f64::from(hop) / f64::from(nodes);
        let re = 1.0 + hops.iter().map(|&hop| angle(hop).cos()).sum::<f64>();
        let im = hops.iter().map(|&hop| angle(hop).sin()).sum::<f64>();
        re.hypot(im) / (1 + hops.len()) as f64
    };
    (1..nodes).map(modulus).fold(0.0, f64::max)
}

#[test]
fn directed_circles_have_roots_of_one() {
    for (nodes, hops) in [
        (2, &[1][..]),
        (3, &[1]),
        (5, &[1]),
        (40, &[1]),
        (150, &[1]),
        (200, &[1]),
        (8, &[1, 2, 4]),
        (100, &[1, 2, 4, 8, 16, 32, 64]),
        (1000, &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512]),
        (301, &[1, 7]),
    ] {
        let graph = circle(nodes, hops);
        for rule in [Weights::In, Weights::Out] {
            let modulus = second_modulus(&Mixing::new(&graph, rule).unwrap()).unwrap();
            let expected = circle_modulus(nodes, hops);
            assert!((modulus - expected).abs() < 1e-9, "{nodes} {hops:?}: {modulus} {expected}");
        }
    }
    // (1 + w) / 2 has modulus cos(pi / n).
    close(circle_modulus(40, &[1]), (PI / 40.0).cos());
}

#[test]
fn three_nodes_by_hand() {
    // Trace 1.5 and determinant 0.06: the other two solve x^2 - 0.5 x + 0.06 = 0, so 0.3 and 0.2.
    let rows: [[f64; 3]; 3] = [[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.15, 0.45, 0.4]];
    let trace = rows[0][0] + rows[1][1] + rows[2][2];
    let minor = |a: usize, b: usize| rows[a][a] * rows[b][b] - rows[a][b] * rows[b][a];
    let others = (trace - 1.0, minor(0, 1) + minor(0, 2) + minor(1, 2) - (trace - 1.0));
    let root = (others.0 * others.0 / 4.0 - others.1).sqrt();
    let entry = |k: usize| (NodeId(k as u32 / 3), NodeId(k as u32 % 3), rows[k / 3][k % 3]);
    let mixing = Mixing::custom(3, (0..9).map(entry)).unwrap();
    close(second_modulus(&mixing).unwrap(), others.0 / 2.0 + root);
    let turned = |k: usize| (NodeId(k as u32 % 3), NodeId(k as u32 / 3), rows[k / 3][k % 3]);
    let columns = Mixing::custom(3, (0..9).map(turned)).unwrap();
    assert!(!columns.properties().row_stochastic);
    close(second_modulus(&columns).unwrap(), others.0 / 2.0 + root);
}

#[test]
fn both_iterations_agree_on_symmetric_weights() {
    let families = [
        Family::Ring { nodes: 60 },
        Family::Torus { rows: 20, columns: 21 },
        Family::Hypercube { dimension: 8 },
        Family::RandomRegular { nodes: 500, degree: 4, connected: true },
        Family::Complete { nodes: 300 },
        Family::TwoCliques { clique: 100 },
        Family::Path { nodes: 1 },
    ];
    for family in families {
        let mixing = Mixing::new(&family.build(2).unwrap(), Weights::Metropolis).unwrap();
        let lanczos = second_eigenvalue(&mixing).unwrap();
        assert_eq!(second_modulus(&mixing), Ok(lanczos));
        let n_nodes = mixing.n_nodes() as usize;
        let arnoldi =
            super::arnoldi::largest_modulus(n_nodes, |x, out| mixing.apply(x, 1, out)).unwrap();
        assert!((arnoldi - lanczos).abs() < 1e-8, "{family:?}: {arnoldi} {lanczos}");
    }
}

#[test]
fn the_second_modulus_is_the_rate_of_long_windows() {
    let family = Family::InRegular { nodes: 120, degree: 3, connected: true };
    let graph = family.build(5).unwrap();
    for rule in [Weights::In, Weights::Out] {
        let mixing = Mixing::new(&graph, rule).unwrap();
        let modulus = second_modulus(&mixing).unwrap();
        // Gelfand's formula: the norm of a power is at least the power of the modulus, and not much
        // more if the power is high.
        let shrunk = |rounds| window_contraction(&vec![mixing.clone(); rounds]).unwrap();
        let rate = shrunk(60).powf(1.0 / 60.0);
        assert!(rate >= modulus * (1.0 - 1e-9) && rate < 1.2 * modulus, "{rate} {modulus}");
        assert!(shrunk(60) <= shrunk(30).powi(2) * (1.0 + 1e-9));
        let lazy = second_modulus(&mixing.lazy(0.5).unwrap()).unwrap();
        assert!(lazy <= 0.5 + 0.5 * modulus + 1e-12);
    }
}

#[test]
fn an_iteration_that_does_not_end_says_so() {
    // A long directed circle has thousands of eigenvalues within a millionth of the first.
    let mixing = Mixing::new(&circle(30_000, &[1]), Weights::In).unwrap();
    let Err(SpectrumError::Slow { steps, estimate }) = second_modulus(&mixing) else {
        panic!("has converged");
    };
    assert!(steps > 100 && estimate > 0.9 && estimate <= 1.0 + 1e-12, "{steps} {estimate}");
}

/// Numbers that nothing seems to be left of; of the digraph by mpmath with 60 digits.
#[test]
fn long_windows_keep_their_digits() {
    let contraction =
        |mixing: &Mixing, rounds| window_contraction(&vec![mixing.clone(); rounds]).unwrap();
    let circle = Mixing::new(&circle(12, &[1, 11]), Weights::Metropolis).unwrap();
    let rate = 1.0 / 3.0 + 2.0 / 3.0 * (std::f64::consts::TAU / 12.0).cos();
    for rounds in [1, 10, 100, 300] {
        let (found, expected) = (contraction(&circle, rounds), rate.powi(rounds as i32));
        assert!((found / expected - 1.0).abs() < 1e-9, "{rounds}: {found} {expected}");
    }
    let edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2), (3, 1)];
    let digraph = Mixing::new(&Graph::from_edges(5, edges).unwrap(), Weights::In).unwrap();
    let known = [(1, 0.7071067811865475), (10, 0.01596369698413402), (40, 4.567766130576334e-8)];
    for (rounds, expected) in known {
        let found = contraction(&digraph, rounds);
        assert!((found / expected - 1.0).abs() < 1e-9, "{rounds}: {found} {expected}");
    }
}
