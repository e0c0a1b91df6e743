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
    // The order in which a row was drawn matters to repairs only.
    if !connected && degree as usize <= FEW && 2 * u64::from(degree) < u64::from(nodes) {
        let rows = pulp::Arch::new().dispatch(InOrder { nodes, degree, rng });
        return Ok(Graph::from_sorted_in_rows(Rows::regular(nodes, degree, rows)));
    }
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
    let mut drawn: Vec<NodeId> = drawn.into_iter().map(NodeId).collect();
    let mut chosen_by = vec![u32::MAX; nodes as usize];
    for (a, row) in (0..nodes).zip(drawn.chunks_exact_mut(n_drawn.max(1))) {
        let mut is_repeated = false;
        for other in row.iter_mut() {
            other.0 += u32::from(other.0 >= a);
            let last = &mut chosen_by[other.idx()];
            is_repeated |= *last == a;
            *last = a;
        }
        if is_repeated {
            redraw_repeated(row, a, &mut chosen_by, rng);
        }
    }
    if n_drawn == degree as usize {
        return drawn;
    }
    let mut rows = Vec::with_capacity(nodes as usize * degree as usize);
    for a in 0..nodes {
        let left_out = &drawn[a as usize * n_drawn..][..n_drawn];
        left_out.iter().for_each(|b| chosen_by[b.idx()] = a);
        let taken = (0..nodes).filter(|&b| b != a && chosen_by[b as usize] != a);
        rows.extend(taken.map(NodeId));
    }
    rows
}

/// As [`rejection`], with every row in order, if rows are short and less than half of all others:
/// what is drawn twice is found by sorting.
struct InOrder<'a, R> {
    nodes: u32,
    degree: u32,
    rng: &'a mut R,
}

/// Rows of at most so many are sorted as they are drawn.
const FEW: usize = 16;

/// Rows that are sorted side by side.
const ABREAST: usize = 64;

impl<R: Rng> pulp::NullaryFnOnce for InOrder<'_, R> {
    type Output = Vec<NodeId>;

    #[inline(always)]
    fn call(self) -> Vec<NodeId> {
        let Self { nodes, degree, rng } = self;
        let degree = degree as usize;
        let mut rows = vec![NodeId(0); nodes as usize * degree];
        let pairs = merge_exchange(degree);
        let columns = &mut [[0; ABREAST]; FEW][..degree];
        // No rows at all have nothing to sort.
        for (some, rows) in rows.chunks_mut((ABREAST * degree).max(1)).enumerate() {
            let first = (some * ABREAST) as u32;
            fill_below(rng, (nodes - 1).max(1), columns.as_flattened_mut());
            let repeats = sort_abreast(columns, &pairs, first);
            for (lane, row) in rows.chunks_exact_mut(degree).enumerate() {
                columns.iter().zip(&mut *row).for_each(|(column, node)| node.0 = column[lane]);
                if repeats[lane] > 0 {
                    redraw_few(row, first + lane as u32, nodes, rng);
                }
            }
        }
        rows
    }
}

/// Steps over the number of each row's own node, the first's being given, and sorts all rows.
/// Returns in which of them something is repeated.
#[inline(always)]
fn sort_abreast(
    columns: &mut [[u32; ABREAST]],
    pairs: &[(usize, usize)],
    first: u32,
) -> [u32; ABREAST] {
    for column in &mut *columns {
        for (other, own) in column.iter_mut().zip(first..) {
            *other += u32::from(*other >= own);
        }
    }
    for (low, high) in pairs {
        let (before, after) = columns.split_at_mut(*high);
        for (low, high) in before[*low].iter_mut().zip(&mut after[0]) {
            (*low, *high) = ((*low).min(*high), (*low).max(*high));
        }
    }
    let mut repeats = [0; ABREAST];
    for pair in columns.windows(2) {
        for lane in 0..ABREAST {
            repeats[lane] |= u32::from(pair[0][lane] == pair[1][lane]);
        }
    }
    repeats
}

/// Which places of a row to put in order, one pair after the other, until all of it is: by
/// Batcher's merge exchange (Knuth, volume 3, 5.2.2, algorithm M), which asks for the same pairs
/// whatever the numbers are.
fn merge_exchange(length: usize) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let top = length.next_power_of_two() / 2;
    let halves = |from: usize| std::iter::successors(Some(from), |n| Some(n / 2));
    for p in halves(top).take_while(|p| *p > 0) {
        // Distances are p at first, and then what is left of ever smaller powers of two.
        let distances =
            std::iter::once((p, 0)).chain(halves(top).take_while(|q| *q > p).map(|q| (q - p, p)));
        for (distance, bit) in distances {
            let lows = (0..length.saturating_sub(distance)).filter(|low| low & p == bit);
            pairs.extend(lows.map(|low| (low, low + distance)));
        }
    }
    pairs
}

/// Draws others in place of what is repeated in a row, which is in order and stays so.
#[cold]
#[inline(never)]
fn redraw_few(row: &mut [NodeId], a: u32, nodes: u32, rng: &mut impl Rng) {
    let mut kept = 1;
    for k in 1..row.len() {
        if row[k] != row[kept - 1] {
            row[kept] = row[k];
            kept += 1;
        }
    }
    while kept < row.len() {
        let other = below(rng, nodes - 1);
        let other = NodeId(other + u32::from(other >= a));
        if let Err(place) = row[..kept].binary_search(&other) {
            row.copy_within(place..kept, place + 1);
            row[place] = other;
            kept += 1;
        }
    }
}

/// Keeps the first of those drawn twice, and draws others in place of the rest. Rare, and out of
/// the way of the loop that finds nothing repeated.
#[cold]
#[inline(never)]
fn redraw_repeated(row: &mut [NodeId], a: u32, chosen_by: &mut [u32], rng: &mut impl Rng) {
    let nodes = chosen_by.len() as u32;
    // Sizes are far below 2^31, so this is the number of no row.
    let kept = nodes + a;
    for other in row {
        while chosen_by[other.idx()] == kept {
            let again = below(rng, nodes - 1);
            *other = NodeId(again + u32::from(again >= a));
        }
        chosen_by[other.idx()] = kept;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The rows of [`InOrder`], one number after the other.
    fn one_by_one(nodes: u32, degree: u32, rng: &mut impl Rng) -> Vec<NodeId> {
        let mut rows = Vec::new();
        for first in (0..nodes).step_by(ABREAST) {
            let mut drawn = vec![0; ABREAST * degree as usize];
            fill_below(rng, (nodes - 1).max(1), &mut drawn);
            for a in first..nodes.min(first + ABREAST as u32) {
                let past_own = |other: u32| NodeId(other + u32::from(other >= a));
                let own = drawn.iter().skip((a - first) as usize).step_by(ABREAST);
                let mut row: BTreeSet<NodeId> = own.map(|other| past_own(*other)).collect();
                while row.len() < degree as usize {
                    row.insert(past_own(below(rng, nodes - 1)));
                }
                rows.extend(row);
            }
        }
        rows
    }

    #[test]
    fn rows_that_are_sorted_side_by_side_are_those_that_are_drawn() {
        // From hardly a row with a repetition to hardly one without.
        for (nodes, degree) in
            [(1, 0), (2, 0), (3, 1), (7, 3), (21, 10), (33, 16), (130, 13), (1000, 10)]
        {
            for seed in 0..20 {
                let generator = || fast_generator(seed, Stream::Family);
                let rng = &mut generator();
                let in_order = pulp::Arch::new().dispatch(InOrder { nodes, degree, rng });
                let rows = one_by_one(nodes, degree, &mut generator());
                assert_eq!(in_order, rows, "{degree} of {nodes}");
            }
        }
    }
}
