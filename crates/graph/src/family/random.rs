//! Random graphs, each drawn once; whether the draw will do is for the caller to say.

use std::collections::BTreeSet;

use rand::Rng;

use super::{FamilyError, MAX_DRAWS};
use crate::draw::{Skips, below, shuffle, unit};
use crate::graph::Graph;

type Drawn = Result<Graph, FamilyError>;

/// Time goes with the edges drawn, not with the pairs there are.
pub(super) fn directed(nodes: u32, probability: f64, rng: &mut impl Rng) -> Drawn {
    let others = u64::from(nodes - 1);
    let mut edges = Vec::new();
    each_success(u64::from(nodes) * others, probability, rng, |pair| {
        let (a, b) = ((pair / others) as u32, (pair % others) as u32);
        edges.push((a, b + u32::from(b >= a)));
    });
    Ok(Graph::from_edges(nodes, edges)?)
}

pub(super) fn undirected(nodes: u32, probability: f64, rng: &mut impl Rng) -> Drawn {
    let n = u64::from(nodes);
    let mut edges = Vec::new();
    // Pairs (a, b) with a > b, row by row: row a starts at pair a (a - 1) / 2.
    let (mut a, mut start) = (1, 0);
    each_success(n * (n - 1) / 2, probability, rng, |pair| {
        while pair >= start + a {
            start += a;
            a += 1;
        }
        edges.push((a as u32, (pair - start) as u32));
    });
    Ok(Graph::undirected(nodes, edges)?)
}

fn each_success<R, F>(n_trials: u64, probability: f64, rng: &mut R, mut found: F)
where
    R: Rng,
    F: FnMut(u64),
{
    if probability == 0.0 {
        return;
    }
    let skips = Skips::new(probability);
    let mut trial = skips.next(rng);
    while trial < n_trials {
        found(trial);
        trial = trial.saturating_add(1).saturating_add(skips.next(rng));
    }
}

pub(super) fn minus_two(nodes: u32, probability: f64, rng: &mut impl Rng) -> Drawn {
    for _ in 0..MAX_DRAWS {
        let whole = undirected(nodes, probability, rng)?;
        let n_edges = whole.n_edges() as u32;
        if n_edges < 2 || !whole.is_strongly_connected() {
            continue;
        }
        let first = below(rng, n_edges);
        let second = (first + 1 + below(rng, n_edges - 1)) % n_edges;
        let kept = whole.edges().enumerate().filter_map(|(i, (a, b))| {
            (i != first as usize && i != second as usize).then_some((a.0, b.0))
        });
        let graph = Graph::from_edges(nodes, kept)?;
        if graph.is_strongly_connected() {
            return Ok(graph);
        }
    }
    let wanted = "strongly connected without two of its directed edges";
    Err(FamilyError::Unlucky { draws: MAX_DRAWS, wanted })
}

/// Steger and Wormald, "Generating random regular graphs quickly", 1999, with whole rounds of
/// pairing. A dense graph is the complement of a sparse one.
pub(super) fn regular(nodes: u32, degree: u32, rng: &mut impl Rng) -> Drawn {
    let complement = nodes - 1 - degree;
    if degree <= complement {
        return Ok(Graph::undirected(nodes, regular_edges(nodes, degree, rng)?)?);
    }
    let left_out = regular_edges(nodes, complement, rng)?;
    let edges = (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b)));
    Ok(Graph::undirected(nodes, edges.filter(|edge| !left_out.contains(edge)))?)
}

fn regular_edges(
    nodes: u32,
    degree: u32,
    rng: &mut impl Rng,
) -> Result<BTreeSet<(u32, u32)>, FamilyError> {
    for _ in 0..MAX_DRAWS {
        let mut edges = BTreeSet::new();
        let mut stubs: Vec<u32> = (0..nodes).flat_map(|a| (0..degree).map(move |_| a)).collect();
        let mut fruitless = 0;
        // A few leftovers that no longer fit are thrown away with the whole draw.
        while !stubs.is_empty() && fruitless < 50 {
            shuffle(rng, &mut stubs);
            let mut left = Vec::new();
            for pair in stubs.chunks_exact(2) {
                let edge = (pair[0].min(pair[1]), pair[0].max(pair[1]));
                if edge.0 == edge.1 || !edges.insert(edge) {
                    left.extend_from_slice(pair);
                }
            }
            fruitless = if left.len() == stubs.len() { fruitless + 1 } else { 0 };
            stubs = left;
        }
        if stubs.is_empty() {
            return Ok(edges);
        }
    }
    Err(FamilyError::Unlucky { draws: MAX_DRAWS, wanted: "regular" })
}

pub(super) fn small_world(nodes: u32, degree: u32, rewiring: f64, rng: &mut impl Rng) -> Drawn {
    let ordered = |a: u32, b: u32| (a.min(b), a.max(b));
    let mut edges = BTreeSet::new();
    let mut degrees = vec![degree; nodes as usize];
    for hop in 1..=degree / 2 {
        edges.extend((0..nodes).map(|a| ordered(a, super::ahead(a, hop, nodes))));
    }
    for hop in 1..=degree / 2 {
        for a in 0..nodes {
            // A node that everybody hears has nowhere to move an edge to.
            if unit(rng) >= rewiring || degrees[a as usize] >= nodes - 1 {
                continue;
            }
            let old = super::ahead(a, hop, nodes);
            let new = loop {
                let b = below(rng, nodes);
                if b != a && !edges.contains(&ordered(a, b)) {
                    break b;
                }
            };
            edges.remove(&ordered(a, old));
            edges.insert(ordered(a, new));
            degrees[old as usize] -= 1;
            degrees[new as usize] += 1;
        }
    }
    Ok(Graph::undirected(nodes, edges)?)
}

pub(super) fn geometric(nodes: u32, radius: f64, rng: &mut impl Rng) -> Drawn {
    near(&points(nodes, rng), radius)
}

pub(super) fn points(nodes: u32, rng: &mut impl Rng) -> Vec<(f64, f64)> {
    (0..nodes).map(|_| (unit(rng), unit(rng))).collect()
}

/// The graph of points that are no farther apart than the radius.
pub(super) fn near(points: &[(f64, f64)], radius: f64) -> Drawn {
    let nodes = points.len() as u32;
    // Cells no smaller than the radius: only the eight around a point's own can hold neighbours.
    let n_side = (1.0 / radius).floor().clamp(1.0, f64::from(nodes).sqrt().ceil()) as usize;
    let place = |v: f64| ((v * n_side as f64) as usize).min(n_side - 1);
    let mut cells = vec![Vec::new(); n_side * n_side];
    for (i, &(x, y)) in points.iter().enumerate() {
        cells[place(x) * n_side + place(y)].push(i as u32);
    }
    let mut edges = Vec::new();
    for (i, &(x, y)) in points.iter().enumerate() {
        let around = |v: f64| place(v).saturating_sub(1)..(place(v) + 2).min(n_side);
        for cell in around(x).flat_map(|cx| around(y).map(move |cy| cx * n_side + cy)) {
            for &j in cells[cell].iter().filter(|&&j| (j as usize) < i) {
                let (dx, dy) = (points[j as usize].0 - x, points[j as usize].1 - y);
                if dx * dx + dy * dy <= radius * radius {
                    edges.push((i as u32, j));
                }
            }
        }
    }
    Ok(Graph::undirected(nodes, edges)?)
}
