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

#[test]
fn the_rounds_of_a_window_share_out_its_graph() {
    let family = Family::ErdosRenyi { nodes: 15, probability: 0.4, connected: true };
    let per_round = Schedule::PerRound { family: family.clone(), seed: 6 };
    for window in [1, 2, 3, 7] {
        let schedule = Schedule::windowed(family.clone(), window, 6).unwrap();
        for k in 0..4 {
            let whole = per_round.graph_at(k).unwrap();
            // Backwards: any round can be asked for without those before.
            let rounds: Vec<Graph> = (k * window..(k + 1) * window)
                .rev()
                .map(|round| schedule.graph_at(round).unwrap().into_owned())
                .collect();
            let n_dealt: usize = rounds.iter().map(Graph::n_edges).sum();
            assert_eq!(n_dealt, whole.n_edges(), "no edge is dealt twice");
            assert_eq!(schedule.union_over(k * window, window).unwrap(), *whole);
        }
        let checked = schedule.check_aligned_windows(window, 4 * window);
        assert_eq!(checked, Ok(WindowCheck::Before(4 * window)));
        assert_eq!(schedule.period(), None);
    }
}

#[test]
fn edges_are_dealt_evenly_and_apart_from_the_draw() {
    let complete = Family::Complete { nodes: 40 };
    let schedule = Schedule::windowed(complete, 5, 1).unwrap();
    let n_edges = 40.0 * 39.0;
    let sd = (n_edges * 0.2 * 0.8_f64).sqrt();
    for round in 0..20 {
        let count = schedule.graph_at(round).unwrap().n_edges() as f64;
        assert!((count - n_edges / 5.0).abs() < 5.5 * sd, "round {round}: {count}");
    }
    assert_ne!(schedule.graph_at(0), schedule.graph_at(5), "each window deals anew");
    let other = Schedule::windowed(Family::Complete { nodes: 40 }, 5, 2).unwrap();
    assert_ne!(schedule.graph_at(0), other.graph_at(0));
    // Of a symmetric graph, about a fifth of the edges meet their way back.
    let round = schedule.graph_at(3).unwrap();
    let n_back = round.edges().filter(|&(a, b)| round.has_edge(b, a)).count() as f64;
    assert!((0.1..0.3).contains(&(n_back / round.n_edges() as f64)));
}

#[test]
fn empty_windows_are_refused() {
    let family = Family::Ring { nodes: 4 };
    assert_eq!(Schedule::windowed(family.clone(), 0, 1), Err(ScheduleError::EmptyWindow));
    let unchecked = Schedule::Window { family, window: 0, seed: 1 };
    let message = unchecked.graph_at(0).unwrap_err().to_string();
    assert_eq!(message, "window is 0, but has to be at least 1 round");
    assert_eq!(unchecked.check_aligned_windows(0, 9), Err(ScheduleError::EmptyWindow));
}

#[test]
fn alternating_graphs_are_connected_together_but_not_alone() {
    for nodes in [2, 3, 4, 5, 6, 7, 10, 11, 12, 51] {
        let schedule = Schedule::alternating(nodes).unwrap();
        assert_eq!(schedule.period(), Some(2));
        for round in [0, 1] {
            let graph = schedule.graph_at(round).unwrap();
            assert!(!graph.is_strongly_connected(), "{nodes} nodes, round {round}");
            assert!(graph.max_out_degree() <= 2);
        }
        assert_eq!(schedule.check_windows(2, 0), Ok(WindowCheck::Always));
    }
    assert!(Schedule::alternating(0).is_err());
    assert_eq!(Schedule::alternating(1).unwrap().graph_at(0).unwrap().n_edges(), 0);
}

#[test]
fn aligned_windows_ask_less_than_all_windows() {
    // Rounds 0 and 1 are connected together, and so are 2 and 3, but 1 and 2 are not.
    let (there, back) = ([(0, 1)], [(1, 0)]);
    let graphs = [there, back, back, there].map(|edges| Graph::from_edges(2, edges).unwrap());
    let schedule = Schedule::Cycle(Cycle::new(graphs.to_vec()).unwrap());
    assert_eq!(schedule.check_aligned_windows(2, 0), Ok(WindowCheck::Always));
    assert_eq!(schedule.check_windows(2, 0), Err(ScheduleError::NotConnected { start: 1, end: 2 }));
    // Windows of three are aligned with the fourfold cycle only after twelve rounds.
    let graphs = [there, back, there, there].map(|edges| Graph::from_edges(2, edges).unwrap());
    let schedule = Schedule::Cycle(Cycle::new(graphs.to_vec()).unwrap());
    let late = ScheduleError::NotConnected { start: 6, end: 8 };
    let first = Graph::from_edges(2, there).unwrap();
    assert_eq!(schedule.graph_at(6).unwrap().as_ref(), &first);
    assert_eq!(schedule.check_aligned_windows(3, 0), Err(late));
}
