//! Makes rows of one length strongly connected by replacing as few of their edges as that takes.
//!
//! An edge runs from the owner of a row to a node in it; whether that is who hears whom or the
//! other way does not matter here. All rows keep their length.

use std::collections::VecDeque;
use std::ops::Range;

use rand::Rng;

use crate::draw::below;
use crate::graph::NodeId;

/// Repairs rows of at least two different others each.
///
/// First every component that nobody can leave gets one edge out, to a node that reaches the
/// root: the edge replaced starts where all of the component still arrives without it. Then every
/// component that nobody can enter gets one edge in, from a node that the root reaches, in place
/// of an edge that is in neither of two trees, out of the root and into it. A tree has one edge
/// less than nodes, so two edges for every node reached leave at least two in neither.
pub(super) fn connect(rows: &mut [NodeId], degree: u32, rng: &mut impl Rng) {
    assert!(degree >= 2, "two trees need two edges for every node");
    let degree = degree as usize;
    let parts = Parts::of(rows, degree);
    if parts.ranges.len() == 1 {
        return;
    }
    let largest = parts.ranges.iter().max_by_key(|range| range.len());
    let root = parts.members[largest.expect("nodes have components").start];
    open_sinks(rows, degree, &parts, root, rng);
    let ways = ways_to(root, rows, degree);
    open_sources(rows, degree, &parts, root, &ways, rng);
}

fn open_sinks(rows: &mut [NodeId], degree: usize, parts: &Parts, root: NodeId, rng: &mut impl Rng) {
    // Components come after all those that they lead to.
    let mut arrives = vec![false; parts.ranges.len()];
    let mut is_sink = vec![true; parts.ranges.len()];
    for (part, range) in parts.ranges.iter().enumerate() {
        arrives[part] = part == parts.part_of[root.idx()];
        for &node in &parts.members[range.clone()] {
            for next in &rows[node.idx() * degree..][..degree] {
                let onward = parts.part_of[next.idx()];
                arrives[part] |= arrives[onward];
                is_sink[part] &= onward == part;
            }
        }
    }
    let goals: Vec<NodeId> = (0..parts.part_of.len() as u32)
        .map(NodeId)
        .filter(|node| arrives[parts.part_of[node.idx()]])
        .collect();
    for (part, range) in parts.ranges.iter().enumerate() {
        if is_sink[part] && !arrives[part] {
            let node = *pick(&parts.members[range.clone()], rng);
            let slot = below(rng, degree as u32) as usize;
            rows[node.idx() * degree + slot] = *pick(&goals, rng);
        }
    }
}

/// The edge by which each node comes nearer to the root, all of which arrive there.
fn ways_to(root: NodeId, rows: &[NodeId], degree: usize) -> Vec<usize> {
    let n_nodes = rows.len() / degree;
    let mut starts = vec![0; n_nodes + 2];
    for node in rows {
        starts[node.idx() + 2] += 1;
    }
    for i in 1..starts.len() {
        starts[i] += starts[i - 1];
    }
    let mut edges_into = vec![0; rows.len()];
    for (edge, node) in rows.iter().enumerate() {
        edges_into[starts[node.idx() + 1]] = edge;
        starts[node.idx() + 1] += 1;
    }
    let mut ways = vec![NONE; n_nodes];
    let mut queue = VecDeque::from([root]);
    while let Some(node) = queue.pop_front() {
        for &edge in &edges_into[starts[node.idx()]..starts[node.idx() + 1]] {
            let from = NodeId((edge / degree) as u32);
            if from != root && ways[from.idx()] == NONE {
                ways[from.idx()] = edge;
                queue.push_back(from);
            }
        }
    }
    ways
}

fn open_sources(
    rows: &mut [NodeId],
    degree: usize,
    parts: &Parts,
    root: NodeId,
    ways: &[usize],
    rng: &mut impl Rng,
) {
    let mut reach = Reach { is_reached: vec![false; ways.len()], spare: Vec::new() };
    reach.extend(root, rows, degree, ways);
    // From the back a component comes before all those that it leads to: one that is not reached
    // by now is led to by none.
    for range in parts.ranges.iter().rev() {
        let members = &parts.members[range.clone()];
        if reach.is_reached[members[0].idx()] {
            continue;
        }
        let start = *pick(members, rng);
        let chosen = below(rng, reach.spare.len() as u32) as usize;
        rows[reach.spare.swap_remove(chosen)] = start;
        reach.extend(start, rows, degree, ways);
    }
}

/// What the root reaches, and the edges from there that neither tree needs.
struct Reach {
    is_reached: Vec<bool>,
    spare: Vec<usize>,
}

impl Reach {
    fn extend(&mut self, start: NodeId, rows: &[NodeId], degree: usize, ways: &[usize]) {
        let mut stack = vec![start];
        self.is_reached[start.idx()] = true;
        while let Some(node) = stack.pop() {
            let first = node.idx() * degree;
            for (slot, &next) in rows[first..][..degree].iter().enumerate() {
                let edge = first + slot;
                if !self.is_reached[next.idx()] {
                    self.is_reached[next.idx()] = true;
                    stack.push(next);
                } else if ways[node.idx()] != edge {
                    self.spare.push(edge);
                }
            }
        }
    }
}

fn pick<'a, T>(items: &'a [T], rng: &mut impl Rng) -> &'a T {
    &items[below(rng, items.len() as u32) as usize]
}

const NONE: usize = usize::MAX;

/// The strongly connected components, each after all those that it leads to (R. Tarjan,
/// "Depth-first search and linear graph algorithms", 1972, without recursion).
struct Parts {
    members: Vec<NodeId>,
    ranges: Vec<Range<usize>>,
    part_of: Vec<usize>,
}

impl Parts {
    fn of(rows: &[NodeId], degree: usize) -> Self {
        let n_nodes = rows.len() / degree;
        let mut parts =
            Self { members: Vec::new(), ranges: Vec::new(), part_of: vec![NONE; n_nodes] };
        // When each node was found, and the earliest that it is known to lead back to.
        let (mut found, mut back) = (vec![NONE; n_nodes], vec![NONE; n_nodes]);
        let mut n_found = 0;
        let (mut open, mut path) = (Vec::new(), Vec::new());
        for start in 0..n_nodes {
            if found[start] != NONE {
                continue;
            }
            path.push((start, 0));
            while let Some(&mut (node, ref mut slot)) = path.last_mut() {
                if *slot == 0 {
                    (found[node], back[node]) = (n_found, n_found);
                    n_found += 1;
                    open.push(node);
                }
                if *slot < degree {
                    let next = rows[node * degree + *slot].idx();
                    *slot += 1;
                    if found[next] == NONE {
                        path.push((next, 0));
                    } else if parts.part_of[next] == NONE {
                        back[node] = back[node].min(found[next]);
                    }
                    continue;
                }
                path.pop();
                if let Some(&(parent, _)) = path.last() {
                    back[parent] = back[parent].min(back[node]);
                }
                if back[node] == found[node] {
                    parts.close(node, &mut open);
                }
            }
        }
        parts
    }

    /// Takes the component of its first node off the open ones.
    fn close(&mut self, first: usize, open: &mut Vec<usize>) {
        let start = self.members.len();
        while let Some(node) = open.pop() {
            self.part_of[node] = self.ranges.len();
            self.members.push(NodeId(node as u32));
            if node == first {
                break;
            }
        }
        self.ranges.push(start..self.members.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(nodes: &[u32]) -> Vec<NodeId> {
        nodes.iter().copied().map(NodeId).collect()
    }

    #[test]
    fn components_come_after_those_they_lead_to() {
        // 0 and 1 both lead into the triangle 2, 3, 4; 5 leads to 0 and 1.
        let rows = ids(&[2, 3, 3, 4, 3, 4, 4, 2, 2, 3, 0, 1]);
        let parts = Parts::of(&rows, 2);
        let mut sets: Vec<Vec<NodeId>> =
            parts.ranges.iter().map(|range| parts.members[range.clone()].to_vec()).collect();
        sets.iter_mut().for_each(|set| set.sort());
        assert_eq!(sets, [ids(&[2, 3, 4]), ids(&[0]), ids(&[1]), ids(&[5])]);
    }

    #[test]
    fn only_as_many_edges_are_replaced_as_components_are_shut() {
        // Two triangles that nobody leaves, and nodes 6 and 7 that nobody enters.
        let rows = ids(&[1, 2, 0, 2, 0, 1, 4, 5, 3, 5, 3, 4, 0, 3, 1, 4]);
        for seed in 0..50 {
            let rng = &mut crate::draw::generator(seed, crate::draw::Stream::Family);
            let mut repaired = rows.clone();
            connect(&mut repaired, 2, rng);
            assert_eq!(Parts::of(&repaired, 2).ranges.len(), 1);
            let n_changed = rows.iter().zip(&repaired).filter(|(a, b)| a != b).count();
            // One for the triangle that is not the root's, and one each for nodes 6 and 7, unless
            // the way out of the triangle leads to one of them.
            assert!((2..=3).contains(&n_changed), "{n_changed}");
            for (i, row) in repaired.chunks(2).enumerate() {
                assert!(row[0] != row[1] && row.iter().all(|node| node.idx() != i));
            }
        }
    }
}
