//! Every node has the same number of others in its row: those who hear it, or whom it hears.

use rand::Rng;

use super::repair::connect;
use super::{FamilyError, parameter};
use crate::draw::{Stream, below, fast_generator, fill_below, generator, shuffle};
use crate::graph::{Graph, NodeId, Rows};

pub(super) fn out_regular(
    nodes: u32,
    degree: u32,
    connected: bool,
    seed: u64,
) -> Result<Graph, FamilyError> {
    let rng = &mut generator(seed, Stream::Family);
    let rows = rows(nodes, degree, connected, rng, floyd)?;
    Ok(Graph::from_in_rows(Rows::regular(nodes, degree, rows)).reversed())
}

pub(super) fn in_regular(
    nodes: u32,
    degree: u32,
    connected: bool,
    seed: u64,
) -> Result<Graph, FamilyError> {
    let rng = &mut fast_generator(seed, Stream::Family);
    let rows = rows(nodes, degree, connected, rng, rejection)?;
    Ok(Graph::from_in_rows(Rows::regular(nodes, degree, rows)))
}

fn rows<R: Rng>(
    nodes: u32,
    degree: u32,
    connected: bool,
    rng: &mut R,
    draw: fn(u32, u32, &mut R) -> Vec<NodeId>,
) -> Result<Vec<NodeId>, FamilyError> {
    if degree >= nodes {
        return Err(parameter("degree", degree, "below the number of nodes"));
    }
    if !connected || nodes == 1 {
        return Ok(draw(nodes, degree, rng));
    }
    match degree {
        0 => Err(parameter("degree", degree, "at least 1 for nodes to be connected")),
        1 => Ok(cycle(nodes, rng)),
        _ => {
            let mut rows = draw(nodes, degree, rng);
            connect(&mut rows, degree, rng);
            Ok(rows)
        }
    }
}

/// With one edge each, strongly connected means a single cycle: drawn uniformly, exactly.
fn cycle(nodes: u32, rng: &mut impl Rng) -> Vec<NodeId> {
    let mut order: Vec<u32> = (0..nodes).collect();
    shuffle(rng, &mut order);
    let mut rows = vec![NodeId(0); nodes as usize];
    for i in 0..nodes as usize {
        rows[order[i] as usize] = NodeId(order[(i + 1) % nodes as usize]);
    }
    rows
}

/// Floyd's sampling of `degree` out of the nodes - 1 others.
fn floyd(nodes: u32, degree: u32, rng: &mut impl Rng) -> Vec<NodeId> {
    let mut rows = Vec::with_capacity(nodes as usize * degree as usize);
    let mut chosen_by = vec![u32::MAX; nodes as usize];
    for a in 0..nodes {
        for last in nodes - 1 - degree..nodes - 1 {
            let drawn = below(rng, last + 1);
            let other = if chosen_by[drawn as usize] == a { last } else { drawn };
            chosen_by[other as usize] = a;
            rows.push(NodeId(other + u32::from(other >= a)));
        }
    }
    rows
}

/// Others drawn until there are `degree` different ones, or, if that is most of them, until
/// those that are left out are.
fn rejection(nodes: u32, degree: u32, rng: &mut impl Rng) -> Vec<NodeId> {
    let n_left_out = nodes - 1 - degree;
    let n_drawn = degree.min(n_left_out) as usize;
    let mut drawn = vec![0; nodes as usize * n_drawn];
    fill_below(rng, (nodes - 1).max(1), &mut drawn);
    let mut chosen_by = vec![u32::MAX; nodes as usize];
    for (a, row) in (0..nodes).zip(drawn.chunks_exact_mut(n_drawn.max(1))) {
        let mut is_repeated = false;
        for other in row.iter_mut() {
            *other += u32::from(*other >= a);
            let last = &mut chosen_by[*other as usize];
            is_repeated |= *last == a;
            *last = a;
        }
        if is_repeated {
            redraw_repeated(row, a, &mut chosen_by, rng);
        }
    }
    if n_drawn == degree as usize {
        return drawn.into_iter().map(NodeId).collect();
    }
    let mut rows = Vec::with_capacity(nodes as usize * degree as usize);
    for a in 0..nodes {
        let left_out = &drawn[a as usize * n_drawn..][..n_drawn];
        left_out.iter().for_each(|&b| chosen_by[b as usize] = a);
        let taken = (0..nodes).filter(|&b| b != a && chosen_by[b as usize] != a);
        rows.extend(taken.map(NodeId));
    }
    rows
}

/// Keeps the first of those drawn twice, and draws others in place of the rest. Rare, and out of
/// the way of the loop that finds nothing repeated.
#[cold]
#[inline(never)]
fn redraw_repeated(row: &mut [u32], a: u32, chosen_by: &mut [u32], rng: &mut impl Rng) {
    let nodes = chosen_by.len() as u32;
    // Sizes are far below 2^31, so this is the number of no row.
    let kept = nodes + a;
    for other in row {
        while chosen_by[*other as usize] == kept {
            let again = below(rng, nodes - 1);
            *other = again + u32::from(again >= a);
        }
        chosen_by[*other as usize] = kept;
    }
}
