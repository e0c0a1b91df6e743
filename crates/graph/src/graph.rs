//! Directed graphs in compressed rows; both ways, if somebody asks who hears a node.

mod rows;

use std::collections::VecDeque;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

pub(crate) use rows::Rows;

/// A node, numbered from zero.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The node's place in a slice with one element per node.
    pub fn idx(self) -> usize {
        self.0 as usize
    }
}

impl std::fmt::Display for NodeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Why a list of edges is not a graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// A graph has at least one node.
    #[error("a graph needs at least one node")]
    NoNodes,
    /// Nodes are numbered below the number of nodes.
    #[error("node {node} is out of range: nodes are numbered from 0 to {}", n_nodes - 1)]
    OutOfRange {
        /// The number that was given.
        node: u32,
        /// How many nodes there are.
        n_nodes: u32,
    },
    /// What a node keeps for itself is a matter of weights, not of edges.
    #[error("node {node} has an edge to itself; a node always hears itself, so leave it out")]
    SelfLoop {
        /// The node.
        node: u32,
    },
    /// Graphs of different sizes have no union.
    #[error("a graph of {left} nodes and one of {right} have no union")]
    SizeMismatch {
        /// Nodes of the one.
        left: u32,
        /// Nodes of the other.
        right: u32,
    },
}

/// How far apart two nodes can be, in hops along the edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Diameter {
    /// Distances from all nodes were measured.
    Exact(u32),
    /// Distances from a sample of nodes were measured: the diameter is this or more.
    AtLeast(u32),
    /// Some node cannot reach some other.
    Infinite,
}

/// A directed graph without self loops or parallel edges. An edge `(a, b)` means that `b` hears
/// `a`. Neighbours come in increasing order, so that sums over them have one order.
#[derive(Clone, Debug)]
pub struct Graph {
    inward: Rows,
    out_degrees: Vec<u32>,
    /// Most rounds only ask how many there are, so a graph that is drawn for one round alone does
    /// not list them.
    outward: OnceLock<Rows>,
}

impl PartialEq for Graph {
    fn eq(&self, other: &Self) -> bool {
        self.inward == other.inward
    }
}

impl Eq for Graph {}

impl Graph {
    /// A graph of the directed edges `(sender, receiver)`; an edge given twice counts once.
    pub fn from_edges<E>(n_nodes: u32, edges: E) -> Result<Self, GraphError>
    where
        E: IntoIterator<Item = (u32, u32)>,
    {
        if n_nodes == 0 {
            return Err(GraphError::NoNodes);
        }
        let edges: Vec<(u32, u32)> = edges.into_iter().collect();
        for &(sender, receiver) in &edges {
            for node in [sender, receiver] {
                if node >= n_nodes {
                    return Err(GraphError::OutOfRange { node, n_nodes });
                }
            }
            if sender == receiver {
                return Err(GraphError::SelfLoop { node: sender });
            }
        }
        // Families often give their edges in order; others are sorted by counting, once by
        // receiver in any order and then by sender, which leaves the receivers in order.
        let mut outward = if edges.is_sorted() {
            Rows::by_sender(n_nodes, &edges)
        } else {
            Rows::by_receiver(n_nodes, &edges).transposed()
        };
        outward.dedup();
        Ok(Self::of(outward.transposed(), outward))
    }

    /// A graph of whom every node hears, in any order but without repetition, self loops or
    /// numbers out of range: those are the caller's to avoid.
    pub(crate) fn from_in_rows(senders: Rows) -> Self {
        Self::from_sorted_in_rows(senders.in_order())
    }

    /// The same of rows that are in order.
    pub(crate) fn from_sorted_in_rows(inward: Rows) -> Self {
        Self { out_degrees: inward.counts(), inward, outward: OnceLock::new() }
    }

    fn of(inward: Rows, outward: Rows) -> Self {
        Self { inward, out_degrees: outward.lengths(), outward: outward.into() }
    }

    /// The graph with every edge turned around.
    pub(crate) fn reversed(self) -> Self {
        let outward = self.outward().clone();
        Self::of(outward, self.inward)
    }

    /// A graph in which both ends of every edge hear each other.
    pub fn undirected<E>(n_nodes: u32, edges: E) -> Result<Self, GraphError>
    where
        E: IntoIterator<Item = (u32, u32)>,
    {
        Self::from_edges(n_nodes, edges.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]))
    }

    /// How many nodes there are.
    pub fn n_nodes(&self) -> u32 {
        self.inward.n_rows() as u32
    }

    /// How many directed edges there are; an undirected edge counts twice.
    pub fn n_edges(&self) -> usize {
        self.inward.n_nodes()
    }

    /// All nodes, in order.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        (0..self.n_nodes()).map(NodeId)
    }

    /// All directed edges `(sender, receiver)`, in order.
    pub fn edges(&self) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        self.nodes().flat_map(|a| self.out_neighbours(a).iter().map(move |&b| (a, b)))
    }

    /// Who hears this node, in order. Panics if the node is not of this graph.
    #[inline]
    pub fn out_neighbours(&self, node: NodeId) -> &[NodeId] {
        self.outward().row(node)
    }

    /// Whom this node hears, in order. Panics if the node is not of this graph.
    #[inline]
    pub fn in_neighbours(&self, node: NodeId) -> &[NodeId] {
        self.inward.row(node)
    }

    /// How many nodes hear this one.
    #[inline]
    pub fn out_degree(&self, node: NodeId) -> usize {
        self.out_degrees[node.idx()] as usize
    }

    fn outward(&self) -> &Rows {
        self.outward.get_or_init(|| self.inward.transposed())
    }

    /// How many nodes this one hears.
    pub fn in_degree(&self, node: NodeId) -> usize {
        self.in_neighbours(node).len()
    }

    /// The largest out-degree.
    pub fn max_out_degree(&self) -> usize {
        self.nodes().map(|node| self.out_degree(node)).max().unwrap_or(0)
    }

    /// The largest in-degree.
    pub fn max_in_degree(&self) -> usize {
        self.nodes().map(|node| self.in_degree(node)).max().unwrap_or(0)
    }

    /// Does every node hear whoever hears it?
    pub fn is_symmetric(&self) -> bool {
        *self.outward() == self.inward
    }

    /// Is there an edge from `sender` to `receiver`?
    pub fn has_edge(&self, sender: NodeId, receiver: NodeId) -> bool {
        self.out_neighbours(sender).binary_search(&receiver).is_ok()
    }

    /// Can every node reach every other? True of a single node.
    pub fn is_strongly_connected(&self) -> bool {
        // Node 0 reaches all and all reach node 0: two searches decide it.
        let n_nodes = self.n_nodes() as usize;
        let mut search = Search::new(n_nodes);
        search.run(self.outward(), NodeId(0)).n_reached == n_nodes
            && (self.is_symmetric() || search.run(&self.inward, NodeId(0)).n_reached == n_nodes)
    }

    /// The diameter: exact if there are at most `max_sources` nodes, and otherwise a lower bound
    /// from that many searches. Each search costs time linear in nodes and edges.
    pub fn diameter(&self, max_sources: u32) -> Diameter {
        if !self.is_strongly_connected() {
            return Diameter::Infinite;
        }
        let n_nodes = self.n_nodes();
        let mut search = Search::new(n_nodes as usize);
        if n_nodes <= max_sources {
            let depths = self.nodes().map(|node| search.run(self.outward(), node).depth);
            return Diameter::Exact(depths.max().unwrap_or(0));
        }
        // Spread starts, each followed by a search from the farthest node found: on sparse
        // graphs that second sweep is usually the diameter itself.
        let n_starts = (max_sources / 2).max(1);
        let mut depth = 0;
        for start in 0..n_starts {
            let node = (u64::from(start) * u64::from(n_nodes) / u64::from(n_starts)) as u32;
            let first = search.run(self.outward(), NodeId(node));
            let second = search.run(self.outward(), first.farthest);
            depth = depth.max(first.depth).max(second.depth);
        }
        Diameter::AtLeast(depth)
    }

    /// The graph with the edges of both.
    pub fn union(&self, other: &Self) -> Result<Self, GraphError> {
        let (left, right) = (self.n_nodes(), other.n_nodes());
        if left != right {
            return Err(GraphError::SizeMismatch { left, right });
        }
        Self::from_edges(left, self.edges().chain(other.edges()).map(|(a, b)| (a.0, b.0)))
    }
}

/// A breadth-first search whose memory is used again.
struct Search {
    depths: Vec<u32>,
    queue: VecDeque<NodeId>,
}

struct Reach {
    n_reached: usize,
    depth: u32,
    farthest: NodeId,
}

impl Search {
    const UNSEEN: u32 = u32::MAX;

    fn new(n_nodes: usize) -> Self {
        Self { depths: vec![Self::UNSEEN; n_nodes], queue: VecDeque::new() }
    }

    fn run(&mut self, rows: &Rows, start: NodeId) -> Reach {
        self.depths.fill(Self::UNSEEN);
        self.depths[start.idx()] = 0;
        self.queue.push_back(start);
        let mut reach = Reach { n_reached: 0, depth: 0, farthest: start };
        while let Some(node) = self.queue.pop_front() {
            let depth = self.depths[node.idx()];
            reach = Reach { n_reached: reach.n_reached + 1, depth, farthest: node };
            for &next in rows.row(node) {
                if self.depths[next.idx()] == Self::UNSEEN {
                    self.depths[next.idx()] = depth + 1;
                    self.queue.push_back(next);
                }
            }
        }
        reach
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_sorted_and_merged() {
        let graph = Graph::from_edges(4, [(3, 1), (0, 3), (0, 1), (3, 1), (2, 1)]).unwrap();
        assert_eq!(graph.n_edges(), 4);
        assert_eq!(graph.out_neighbours(NodeId(0)), [NodeId(1), NodeId(3)]);
        assert_eq!(graph.in_neighbours(NodeId(1)), [NodeId(0), NodeId(2), NodeId(3)]);
        assert_eq!((graph.max_out_degree(), graph.max_in_degree()), (2, 3));
        assert!(graph.has_edge(NodeId(2), NodeId(1)) && !graph.has_edge(NodeId(1), NodeId(2)));
        assert!(!graph.is_symmetric() && !graph.is_strongly_connected());
        assert_eq!(graph.diameter(10), Diameter::Infinite);
    }

    #[test]
    fn bad_edges_are_refused() {
        assert_eq!(Graph::from_edges(0, []), Err(GraphError::NoNodes));
        let out = GraphError::OutOfRange { node: 2, n_nodes: 2 };
        assert_eq!(out.to_string(), "node 2 is out of range: nodes are numbered from 0 to 1");
        assert_eq!(Graph::from_edges(2, [(0, 2)]), Err(out));
        assert_eq!(Graph::undirected(2, [(1, 1)]), Err(GraphError::SelfLoop { node: 1 }));
    }

    #[test]
    fn one_node_is_connected_and_two_without_edges_are_not() {
        let one = Graph::from_edges(1, []).unwrap();
        assert!(one.is_strongly_connected() && one.is_symmetric());
        assert_eq!(one.diameter(1), Diameter::Exact(0));
        let two = Graph::from_edges(2, []).unwrap();
        assert!(!two.is_strongly_connected() && two.is_symmetric());
        assert!(Graph::undirected(2, [(0, 1)]).unwrap().is_strongly_connected());
    }

    #[test]
    fn a_directed_cycle_is_strong_and_long() {
        let cycle = Graph::from_edges(5, (0..5).map(|i| (i, (i + 1) % 5))).unwrap();
        assert!(cycle.is_strongly_connected());
        assert_eq!(cycle.diameter(5), Diameter::Exact(4));
        assert_eq!(cycle.diameter(4), Diameter::AtLeast(4));
        let sink = Graph::from_edges(3, [(0, 1), (1, 0), (1, 2)]).unwrap();
        assert!(!sink.is_strongly_connected());
        let source = Graph::from_edges(3, [(0, 1), (1, 0), (2, 1)]).unwrap();
        assert!(!source.is_strongly_connected());
    }

    #[test]
    fn a_union_has_the_edges_of_both() {
        let there = Graph::from_edges(2, [(0, 1)]).unwrap();
        let back = Graph::from_edges(2, [(1, 0)]).unwrap();
        assert_eq!(there.union(&back), Graph::undirected(2, [(0, 1)]));
        let one = Graph::from_edges(1, []).unwrap();
        assert_eq!(there.union(&one), Err(GraphError::SizeMismatch { left: 2, right: 1 }));
    }
}
