use proptest::prelude::*;

use super::*;
use crate::family::Family;

const SYMMETRIC: [Weights; 3] =
    [Weights::Metropolis, Weights::LaplacianMax, Weights::Laplacian { kappa: 64.0 }];

fn sum(x: &[f64], d: usize, k: usize) -> f64 {
    x.iter().skip(k).step_by(d).sum()
}

proptest! {
    #[test]
    fn doubly_stochastic_weights_keep_the_mean(
        nodes in 1_u32..30,
        p in 0.0..1.0,
        seed: u64,
        values in prop::collection::vec(-5.0..5.0, 90),
    ) {
        let family = Family::ErdosRenyi { nodes, probability: p, connected: false };
        let graph = family.build(seed).unwrap();
        let x = &values[..3 * nodes as usize];
        for rule in SYMMETRIC {
            let plain = Mixing::new(&graph, rule).unwrap();
            for mixing in [plain.lazy(0.5).unwrap(), plain] {
                let properties = mixing.properties();
                prop_assert!(properties.symmetric && properties.doubly_stochastic());
                prop_assert!(properties.nonnegative);
                let mut out = vec![0.0; x.len()];
                mixing.apply(x, 3, &mut out);
                for k in 0..3 {
                    prop_assert!((sum(x, 3, k) - sum(&out, 3, k)).abs() < 1e-11);
                }
            }
        }
    }

    #[test]
    fn out_weights_keep_the_sum_and_in_weights_keep_constants(
        nodes in 1_u32..30,
        p in 0.0..1.0,
        seed: u64,
        values in prop::collection::vec(-5.0..5.0, 60),
    ) {
        let family = Family::DirectedErdosRenyi { nodes, probability: p, connected: false };
        let graph = family.build(seed).unwrap();
        let x = &values[..2 * nodes as usize];
        let mut out = vec![0.0; x.len()];
        let columns = Mixing::new(&graph, Weights::Out).unwrap();
        prop_assert!(columns.properties().column_stochastic && columns.properties().nonnegative);
        columns.apply(x, 2, &mut out);
        for k in 0..2 {
            prop_assert!((sum(x, 2, k) - sum(&out, 2, k)).abs() < 1e-11);
        }
        let rows = Mixing::new(&graph, Weights::In).unwrap();
        prop_assert!(rows.properties().row_stochastic && rows.properties().nonnegative);
        rows.apply(&vec![values[0]; 2 * nodes as usize], 2, &mut out);
        prop_assert!(out.iter().all(|v| (v - values[0]).abs() < 1e-13));
    }

    #[test]
    fn the_transpose_is_the_transpose(
        nodes in 1_u32..20, seed: u64, values in prop::collection::vec(-5.0..5.0, 40),
    ) {
        let family = Family::DirectedErdosRenyi { nodes, probability: 0.3, connected: false };
        let mixing = Mixing::new(&family.build(seed).unwrap(), Weights::In).unwrap();
        let n = nodes as usize;
        let (x, y) = (&values[..n], &values[20..20 + n]);
        let (mut wx, mut wy) = (vec![0.0; n], vec![0.0; n]);
        mixing.apply(x, 1, &mut wx);
        mixing.apply_transposed(y, 1, &mut wy);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        prop_assert!((dot(&wx, y) - dot(x, &wy)).abs() < 1e-10);
    }
}

#[test]
fn weights_of_a_path_are_as_computed_by_hand() {
    let graph = Family::Path { nodes: 3 }.build(0).unwrap();
    let row = |rule, i| {
        Mixing::new(&graph, rule).unwrap().row(NodeId(i)).map(|entry| entry.1).collect::<Vec<_>>()
    };
    let third = 1.0 / 3.0;
    assert_eq!(row(Weights::Metropolis, 0), [1.0 - third, third]);
    assert_eq!(row(Weights::In, 0), [0.5, 0.5]);
    assert_eq!(row(Weights::Out, 0), [0.5, third]);
    assert_eq!(row(Weights::Laplacian { kappa: 4.0 }, 1), [0.25, 0.5, 0.25]);
    // lambda_max of a path of three is 3.
    let max = row(Weights::LaplacianMax, 0);
    assert!((max[0] - 7.0 / 9.0).abs() < 1e-12 && (max[1] - 2.0 / 9.0).abs() < 1e-12);
}

#[test]
fn the_matrices_of_document_001_are_row_and_column_stochastic() {
    let of = |w: [[f64; 2]; 2]| {
        let entry = |k: u32| (NodeId(k / 2), NodeId(k % 2), w[k as usize / 2][k as usize % 2]);
        Mixing::custom(2, (0..4).rev().map(entry))
    };
    let rows = of([[0.6, 0.4], [0.3, 0.7]]).unwrap();
    assert!(rows.properties().row_stochastic && !rows.properties().column_stochastic);
    assert!(!rows.properties().symmetric);
    let columns = of([[0.5, 0.2], [0.5, 0.8]]).unwrap();
    assert!(columns.properties().column_stochastic && !columns.properties().row_stochastic);
    let negative = of([[1.5, -0.5], [-0.5, 1.5]]).unwrap();
    assert!(negative.properties().symmetric && negative.properties().doubly_stochastic());
    assert!(!negative.properties().nonnegative);
    let message = of([[0.5, 0.1], [0.1, 0.9]]).unwrap_err().to_string();
    assert!(message.contains("row 0 sums to 0.6"), "{message}");
}

#[test]
fn bad_weights_are_refused() {
    let one_way = Graph::from_edges(2, [(0, 1)]).unwrap();
    for rule in SYMMETRIC {
        assert_eq!(Mixing::new(&one_way, rule), Err(MixingError::NotSymmetric));
    }
    let star = Family::Star { nodes: 5 }.build(0).unwrap();
    for kappa in [3.9, 0.0, -1.0, f64::NAN, f64::INFINITY] {
        let result = Mixing::new(&star, Weights::Laplacian { kappa });
        assert!(matches!(result, Err(MixingError::Kappa { degree: 4, .. })));
    }
    let mixing = Mixing::new(&star, Weights::Metropolis).unwrap();
    assert_eq!(mixing.lazy(1.0), Err(MixingError::Share(1.0)));
    let entry =
        |i, j, w| Mixing::custom(2, [(NodeId(i), NodeId(j), w), (NodeId(1), NodeId(1), 1.0)]);
    assert!(matches!(entry(0, 2, 1.0), Err(MixingError::Entry { .. })));
    assert!(matches!(entry(0, 0, f64::NAN), Err(MixingError::Entry { .. })));
    assert_eq!(entry(1, 1, 1.0), Err(MixingError::Twice { receiver: 1, sender: 1 }));
    assert!(entry(0, 0, 1.0).unwrap().properties().symmetric);
}

#[test]
fn one_node_and_nodes_without_edges_keep_their_own() {
    for nodes in [1, 3] {
        let graph = Graph::from_edges(nodes, []).unwrap();
        for rule in [Weights::In, Weights::Out, Weights::Metropolis, Weights::LaplacianMax] {
            let mixing = Mixing::new(&graph, rule).unwrap();
            let x: Vec<f64> = (0..nodes).map(f64::from).collect();
            let mut out = vec![9.0; x.len()];
            mixing.apply(&x, 1, &mut out);
            assert_eq!(out, x);
        }
    }
}

#[test]
fn a_large_star_is_stochastic_in_spite_of_rounding() {
    let graph = Family::Star { nodes: 100_001 }.build(0).unwrap();
    assert!(Mixing::new(&graph, Weights::Metropolis).unwrap().properties().doubly_stochastic());
    assert!(Mixing::new(&graph, Weights::Out).unwrap().properties().column_stochastic);
}

#[test]
fn both_precisions_equal_the_sum_written_out() {
    let family = Family::DirectedErdosRenyi { nodes: 23, probability: 0.4, connected: false };
    let mixing = Mixing::new(&family.build(5).unwrap(), Weights::In).unwrap();
    // Rows of 2 to 15 senders and lengths that fill whole registers or do not.
    for d in [0, 1, 2, 7, 8, 33] {
        let x: Vec<f64> = (0..23 * d).map(|k| (k as f64 * 0.37).sin()).collect();
        let single: Vec<f32> = x.iter().map(|&v| v as f32).collect();
        let (mut out, mut out_single) = (vec![9.0; x.len()], vec![9.0_f32; x.len()]);
        let (mut back, mut back_single) = (out.clone(), out_single.clone());
        mixing.apply(&x, d, &mut out);
        mixing.apply(&single, d, &mut out_single);
        mixing.apply_transposed(&x, d, &mut back);
        mixing.apply_transposed(&single, d, &mut back_single);
        for (i, k) in (0..23).flat_map(|i| (0..d).map(move |k| (i, k))) {
            let node = |j: usize| NodeId(j as u32);
            let (mut sum, mut sum_single, mut sum_back) = (0.0, 0.0_f32, 0.0);
            for j in 0..23 {
                let weight = mixing.weight(node(i), node(j));
                sum += weight * x[j * d + k];
                sum_single += weight as f32 * single[j * d + k];
                sum_back += mixing.weight(node(j), node(i)) * x[j * d + k];
            }
            // To the last bit: the order of the senders is part of the promise.
            assert_eq!(out[i * d + k], sum);
            assert_eq!(out_single[i * d + k], sum_single);
            assert_eq!(back[i * d + k], sum_back);
            assert!((f64::from(back_single[i * d + k]) - sum_back).abs() < 1e-5);
        }
    }
}
