use super::*;
use crate::graph::NodeId;

#[test]
fn the_exponential_schedule_hops_by_powers_of_two() {
    let schedule = Schedule::Exponential { nodes: 8 };
    assert_eq!(schedule.period(), Some(3));
    for (round, hop) in [1, 2, 4, 1, 2, 4].into_iter().enumerate() {
        let graph = schedule.graph_at(round as u64).unwrap();
        assert_eq!(graph.n_edges(), 8);
        for r in 0..8 {
            assert_eq!(graph.out_neighbours(NodeId(r)), [NodeId((r + hop) % 8)]);
        }
        let mixing = schedule.mixing_at(round as u64, Weights::Out).unwrap();
        assert!(mixing.properties().doubly_stochastic());
        assert_eq!(mixing.weight(NodeId(0), NodeId(0)), 0.5);
        assert_eq!(mixing.weight(NodeId(hop % 8), NodeId(0)), 0.5);
    }
    // The static one is the union of a turn.
    for nodes in [1, 2, 3, 8, 11] {
        let whole = Family::Exponential { nodes }.build(0).unwrap();
        assert_eq!(Schedule::Exponential { nodes }.union_over(5, 9).unwrap(), whole);
    }
}

#[test]
fn windows_of_a_cycle_are_checked_for_good() {
    let halves = vec![
        Graph::from_edges(3, [(0, 1), (1, 0)]).unwrap(),
        Graph::from_edges(3, [(1, 2), (2, 1)]).unwrap(),
    ];
    let schedule = Schedule::Cycle(Cycle::new(halves).unwrap());
    assert_eq!(schedule.check_windows(2, 0), Ok(WindowCheck::Always));
    assert_eq!(schedule.check_windows(1, 0), Err(ScheduleError::NotConnected { start: 0, end: 0 }));
    assert_eq!(schedule.check_windows(0, 0), Err(ScheduleError::EmptyWindow));
    assert_eq!(Cycle::new(vec![]), Err(ScheduleError::NoGraphs));
    let sizes = vec![Graph::from_edges(1, []).unwrap(), Graph::from_edges(2, []).unwrap()];
    assert!(matches!(Cycle::new(sizes), Err(ScheduleError::Graph(_))));
}

#[test]
fn matchings_pair_everybody_who_can_be() {
    for nodes in [1, 2, 7, 10] {
        let schedule = Schedule::Matching { nodes, seed: 4 };
        for round in 0..20 {
            let graph = schedule.graph_at(round).unwrap();
            assert!(graph.is_symmetric() && graph.max_out_degree() <= 1);
            assert_eq!(graph.n_edges() as u32, nodes / 2 * 2);
            assert_eq!(graph, schedule.graph_at(round).unwrap());
        }
    }
    let schedule = Schedule::Matching { nodes: 10, seed: 4 };
    assert_ne!(schedule.graph_at(0), schedule.graph_at(1));
    assert_ne!(schedule.graph_at(0), Schedule::Matching { nodes: 10, seed: 5 }.graph_at(0));
    assert_eq!(schedule.check_windows(20, 5), Ok(WindowCheck::Before(5)));
}

#[test]
fn neighbours_are_paired_until_no_pair_is_left() {
    let base = Family::Grid { rows: 4, columns: 5 }.build(0).unwrap();
    let schedule = Schedule::NeighbourMatching { graph: base.clone(), seed: 9 };
    for round in 0..20 {
        let graph = schedule.graph_at(round).unwrap();
        assert!(graph.is_symmetric() && graph.max_out_degree() <= 1);
        let free = |node| graph.out_degree(node) == 0;
        assert!(graph.edges().all(|(a, b)| base.has_edge(a, b)));
        assert!(base.edges().all(|(a, b)| !(free(a) && free(b))));
    }
    assert_eq!(schedule.check_windows(60, 3), Ok(WindowCheck::Before(3)));
}

#[test]
fn every_round_can_draw_its_own() {
    let family = Family::ErdosRenyi { nodes: 12, probability: 0.3, connected: true };
    let schedule = Schedule::PerRound { family, seed: 2 };
    assert_eq!(schedule.graph_at(7), schedule.graph_at(7));
    assert_ne!(schedule.graph_at(7), schedule.graph_at(8));
    assert_eq!(schedule.check_windows(1, 10), Ok(WindowCheck::Before(10)));
    assert_eq!(schedule.n_nodes(), Ok(12));
}

#[test]
fn weights_that_do_not_fit_name_the_round() {
    let error = Schedule::Exponential { nodes: 5 }.mixing_at(3, Weights::Metropolis).unwrap_err();
    assert!(error.to_string().starts_with("round 3: these weights need a symmetric graph"));
    assert!(Schedule::Exponential { nodes: 0 }.graph_at(0).is_err());
    let one = Schedule::Exponential { nodes: 1 };
    assert_eq!(one.graph_at(3).unwrap().n_edges(), 0);
    assert_eq!(one.check_windows(1, 1), Ok(WindowCheck::Always));
}
