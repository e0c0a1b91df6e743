//! Where to draw the nodes of a graph.

use std::f64::consts::TAU;

use super::{Family, random};
use crate::draw::{Stream, generator};
use crate::graph::{Graph, NodeId};

impl Family {
    /// A place in the unit square for every node of a graph of this family: where a geometric
    /// graph's nodes are, rows and columns of a grid, circles for what is round, and otherwise
    /// neighbours near each other (or a circle, beyond 2000 nodes). The graph has to be what the
    /// family builds from this seed. Always the same places for the same graph.
    pub fn layout(&self, seed: u64, graph: &Graph) -> Vec<(f64, f64)> {
        let n_nodes = graph.n_nodes();
        match *self {
            Self::Complete { .. }
            | Self::Exponential { .. }
            | Self::Ring { .. }
            | Self::SmallWorld { .. } => circle(n_nodes, CENTRE, 0.5),
            Self::Geometric { nodes, connected, radius } => {
                geometric_points(nodes, radius, connected, seed)
            }
            Self::Grid { columns, .. } | Self::Torus { columns, .. } => lattice(n_nodes, columns),
            Self::Path { .. } => snake(n_nodes),
            Self::Star { .. } => {
                let around = circle(n_nodes - 1, CENTRE, 0.5);
                [CENTRE].into_iter().chain(around).collect()
            }
            Self::TwoCliques { clique } => {
                // The bridge runs from the last of the one to the first of the other: both inside.
                let mut places =
                    turned_circle(clique, (0.22, 0.5), 0.22, 1.0 / f64::from(clique) + 0.25);
                let mirrored: Vec<_> = places.iter().rev().map(|&(x, y)| (1.0 - x, y)).collect();
                places.extend(mirrored);
                places
            }
            Self::DirectedErdosRenyi { .. }
            | Self::Edges { .. }
            | Self::ErdosRenyi { .. }
            | Self::ErdosRenyiMinusTwo { .. }
            | Self::Hypercube { .. }
            | Self::InRegular { .. }
            | Self::OutRegular { .. }
            | Self::RandomRegular { .. } => spring_layout(graph),
        }
    }
}

/// Neighbours near each other, for a graph of no family: a place in the unit square for every
/// node. Beyond 2000 nodes they are on a circle.
pub fn spring_layout(graph: &Graph) -> Vec<(f64, f64)> {
    let n_nodes = graph.n_nodes();
    if n_nodes > MAX_SPRUNG {
        return circle(n_nodes, CENTRE, 0.5);
    }
    fill_square(&springs(graph))
}

const MAX_SPRUNG: u32 = 2000;
const CENTRE: (f64, f64) = (0.5, 0.5);

fn circle(n_nodes: u32, centre: (f64, f64), radius: f64) -> Vec<(f64, f64)> {
    turned_circle(n_nodes, centre, radius, 0.0)
}

/// From the top, clockwise (as the second coordinate runs down), ahead by a share of a turn.
fn turned_circle(n_nodes: u32, centre: (f64, f64), radius: f64, turn: f64) -> Vec<(f64, f64)> {
    let place = |i: u32| {
        let (sin, cos) = (TAU * (f64::from(i) / f64::from(n_nodes) + turn)).sin_cos();
        (centre.0 + radius * sin, centre.1 - radius * cos)
    };
    (0..n_nodes).map(place).collect()
}

/// Rows from top to bottom; one distance for both directions.
fn lattice(n_nodes: u32, columns: u32) -> Vec<(f64, f64)> {
    let rows = n_nodes / columns;
    let step = 1.0 / f64::from(rows.max(columns).saturating_sub(1).max(1));
    let margin = |n: u32| (1.0 - step * f64::from(n - 1)) / 2.0;
    (0..n_nodes)
        .map(|i| {
            let (row, column) = (f64::from(i / columns), f64::from(i % columns));
            (margin(columns) + step * column, margin(rows) + step * row)
        })
        .collect()
}

/// A line while it is short, and otherwise one that turns at the sides.
fn snake(n_nodes: u32) -> Vec<(f64, f64)> {
    let columns = if n_nodes <= 12 { n_nodes } else { f64::from(n_nodes).sqrt().ceil() as u32 };
    let full = n_nodes.div_ceil(columns) * columns;
    let places = lattice(full, columns);
    (0..n_nodes)
        .map(|i| {
            let (row, column) = (i / columns, i % columns);
            let column = if row % 2 == 0 { column } else { columns - 1 - column };
            places[(row * columns + column) as usize]
        })
        .collect()
}

/// The points of the draw that was kept.
fn geometric_points(nodes: u32, radius: f64, connected: bool, seed: u64) -> Vec<(f64, f64)> {
    let rng = &mut generator(seed, Stream::Family);
    let mut points = random::points(nodes, rng);
    for _ in 1..super::MAX_DRAWS {
        let graph = random::near(&points, radius);
        if !connected || graph.is_ok_and(|graph| graph.is_strongly_connected()) {
            break;
        }
        points = random::points(nodes, rng);
    }
    points
}

/// Neighbours pull, all push (T. Fruchterman, E. Reingold, "Graph drawing by force-directed
/// placement", 1991), for a fixed number of ever shorter moves.
fn springs(graph: &Graph) -> Vec<(f64, f64)> {
    let n = graph.n_nodes();
    let mut places = sunflower(n);
    if n < 3 {
        return places;
    }
    let ideal = f64::from(n).sqrt().recip();
    // Time goes with the square of the nodes: about 2e8 pairs in all, or a third of a second.
    let n_moves = (100_000_000 / u64::from(n * n)).clamp(50, 400);
    for step in 0..n_moves {
        let longest = 0.12 * (1.0 - step as f64 / n_moves as f64) + 0.002;
        let mut forces: Vec<(f64, f64)> = (0..n as usize)
            .map(|i| {
                let (x, y) = places[i];
                places.iter().fold((0.0, 0.0), |(fx, fy), &(a, b)| {
                    let (dx, dy) = (x - a, y - b);
                    let push = ideal * ideal / (dx * dx + dy * dy).max(1e-9);
                    (fx + dx * push, fy + dy * push)
                })
            })
            .collect();
        for (NodeId(a), NodeId(b)) in graph.edges() {
            let (a, b) = (a as usize, b as usize);
            let (dx, dy) = (places[b].0 - places[a].0, places[b].1 - places[a].1);
            // A symmetric graph has every edge twice; half the pull each makes them alike.
            let pull = dx.hypot(dy) / ideal / 2.0;
            forces[a] = (forces[a].0 + dx * pull, forces[a].1 + dy * pull);
            forces[b] = (forces[b].0 - dx * pull, forces[b].1 - dy * pull);
        }
        for (place, (fx, fy)) in places.iter_mut().zip(forces) {
            // A little gravity keeps parts that are not connected in sight.
            let (fx, fy) = (fx - 0.1 * (place.0 - 0.5), fy - 0.1 * (place.1 - 0.5));
            let length = fx.hypot(fy).max(1e-12);
            let share = length.min(longest) / length;
            *place = (place.0 + fx * share, place.1 + fy * share);
        }
    }
    places
}

/// Even over a disc, in a spiral: a start without chance and without symmetry to get stuck in.
fn sunflower(n: u32) -> Vec<(f64, f64)> {
    (0..n)
        .map(|i| {
            let (sin, cos) = (f64::from(i) * 2.399_963_229_728_653).sin_cos();
            let radius = 0.5 * ((f64::from(i) + 0.5) / f64::from(n)).sqrt();
            (0.5 + radius * cos, 0.5 + radius * sin)
        })
        .collect()
}

/// Moved and stretched, the same both ways, to fill the unit square.
fn fill_square(places: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let bounds = |values: &dyn Fn(&(f64, f64)) -> f64| {
        places
            .iter()
            .map(values)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
    };
    let ((left, right), (top, bottom)) = (bounds(&|p| p.0), bounds(&|p| p.1));
    let size = (right - left).max(bottom - top);
    if size <= 0.0 {
        return vec![CENTRE; places.len()];
    }
    let move_x = |x: f64| 0.5 + (x - (left + right) / 2.0) / size;
    let move_y = |y: f64| 0.5 + (y - (top + bottom) / 2.0) / size;
    // Rounding must not lead out of the square.
    places.iter().map(|&(x, y)| (move_x(x).clamp(0.0, 1.0), move_y(y).clamp(0.0, 1.0))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(a: (f64, f64), b: (f64, f64)) -> f64 {
        (a.0 - b.0).hypot(a.1 - b.1)
    }

    fn layout(family: &Family) -> (Graph, Vec<(f64, f64)>) {
        let graph = family.build(3).unwrap();
        let places = family.layout(3, &graph);
        (graph, places)
    }

    #[test]
    fn every_node_has_its_own_place_in_the_square() {
        for family in super::super::tests::one_of_each() {
            let (graph, places) = layout(&family);
            assert_eq!(places.len(), graph.n_nodes() as usize, "{family:?}");
            assert_eq!(places, family.layout(3, &graph));
            for (i, &place) in places.iter().enumerate() {
                let inside = -1e-12..=1.0 + 1e-12;
                assert!(inside.contains(&place.0) && inside.contains(&place.1), "{family:?}");
                for &other in &places[..i] {
                    assert!(distance(place, other) > 1e-3, "{family:?}");
                }
            }
        }
    }

    #[test]
    fn a_geometric_graph_is_drawn_where_it_is() {
        // Connected at the second draw or later for some of these seeds.
        let family = Family::Geometric { nodes: 40, radius: 0.25, connected: true };
        for seed in 0..10 {
            let graph = family.build(seed).unwrap();
            let places = family.layout(seed, &graph);
            for (a, b) in graph.nodes().flat_map(|a| graph.nodes().map(move |b| (a, b))) {
                let near = distance(places[a.idx()], places[b.idx()]) <= 0.25;
                assert!(a == b || near == graph.has_edge(a, b));
            }
        }
    }

    #[test]
    fn neighbours_of_shapes_are_at_one_distance() {
        for family in [
            Family::Ring { nodes: 17 },
            Family::Grid { rows: 3, columns: 5 },
            Family::Path { nodes: 5 },
            Family::Path { nodes: 30 },
            Family::Star { nodes: 9 },
        ] {
            let (graph, places) = layout(&family);
            let lengths: Vec<f64> =
                graph.edges().map(|(a, b)| distance(places[a.idx()], places[b.idx()])).collect();
            assert!(lengths.iter().all(|length| (length - lengths[0]).abs() < 1e-12), "{family:?}");
        }
    }

    #[test]
    fn springs_put_neighbours_near() {
        for family in [
            Family::Hypercube { dimension: 5 },
            Family::RandomRegular { nodes: 60, degree: 3, connected: true },
        ] {
            let (graph, places) = layout(&family);
            let mean = |pairs: Vec<(NodeId, NodeId)>| {
                let total: f64 =
                    pairs.iter().map(|&(a, b)| distance(places[a.idx()], places[b.idx()])).sum();
                total / pairs.len() as f64
            };
            let all = graph.nodes().flat_map(|a| graph.nodes().map(move |b| (a, b)));
            let apart = all.filter(|&(a, b)| a != b && !graph.has_edge(a, b)).collect();
            let (near, far) = (mean(graph.edges().collect()), mean(apart));
            assert!(near < 0.75 * far, "{family:?}: {near} {far}");
        }
    }

    #[test]
    fn the_bridge_of_two_cliques_is_between_them() {
        for clique in [1, 2, 5, 6, 7] {
            let (_, places) = layout(&Family::TwoCliques { clique });
            let (left, right) = places.split_at(clique as usize);
            let (a, b) = (left[clique as usize - 1], right[0]);
            assert!(a.0 < b.0 && (a.1 - b.1).abs() < 1e-12);
            assert!(left.iter().all(|p| p.0 <= a.0 + 1e-12));
            assert!(right.iter().all(|p| p.0 >= b.0 - 1e-12));
        }
    }
}
