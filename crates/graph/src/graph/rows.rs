//! Neighbours of all nodes, one row after another.

use super::NodeId;

/// As many rows as there are nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    /// Where each node's neighbours start; one more than there are nodes.
    starts: Vec<usize>,
    nodes: Vec<NodeId>,
}

impl Rows {
    /// Rows of one length, the nodes of the first row first.
    pub(crate) fn regular(n_rows: u32, length: u32, nodes: Vec<NodeId>) -> Self {
        let starts: Vec<usize> = (0..=n_rows as usize).map(|i| i * length as usize).collect();
        assert_eq!(starts[n_rows as usize], nodes.len(), "rows of one length");
        Self { starts, nodes }
    }

    /// The receivers of each sender; the edges have to be in order.
    pub(super) fn by_sender(n_rows: u32, edges: &[(u32, u32)]) -> Self {
        let starts = count(n_rows as usize, edges.iter().map(|&(a, _)| a));
        Self { starts, nodes: edges.iter().map(|&(_, b)| NodeId(b)).collect() }
    }

    /// The senders of each receiver, in the order in which they come.
    pub(super) fn by_receiver(n_rows: u32, edges: &[(u32, u32)]) -> Self {
        let starts = count(n_rows as usize, edges.iter().map(|&(_, b)| b));
        let mut scatter = Scatter::new(starts, edges.len());
        for &(a, b) in edges {
            scatter.put(b, NodeId(a));
        }
        scatter.finish()
    }

    /// The rows of the reversed edges. Every row of the result is in order, even if those of the
    /// original are not: they are read by rising number. Time goes with nodes and edges.
    pub(super) fn transposed(&self) -> Self {
        let starts = count(self.n_rows(), self.nodes.iter().map(|node| node.0));
        self.transposed_into(Scatter::new(starts, self.nodes.len()))
    }

    /// The same edges with every row in order; `transposed` are the reversed ones. The memory is
    /// used again, so that a graph drawn in every round stays within what the allocator keeps.
    pub(super) fn in_order(self, transposed: &Self) -> Self {
        transposed.transposed_into(Scatter { next: self.starts, nodes: self.nodes })
    }

    fn transposed_into(&self, mut scatter: Scatter) -> Self {
        for (i, pair) in self.starts.windows(2).enumerate() {
            for &node in &self.nodes[pair[0]..pair[1]] {
                scatter.put(node.0, NodeId(i as u32));
            }
        }
        scatter.finish()
    }

    /// Drops what is repeated; the rows have to be in order.
    pub(super) fn dedup(&mut self) {
        let mut kept = 0;
        for i in 0..self.n_rows() {
            let range = self.starts[i]..self.starts[i + 1];
            self.starts[i] = kept;
            for k in range.clone() {
                if k == range.start || self.nodes[k] != self.nodes[k - 1] {
                    self.nodes[kept] = self.nodes[k];
                    kept += 1;
                }
            }
        }
        self.nodes.truncate(kept);
        let n_rows = self.n_rows();
        self.starts[n_rows] = kept;
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// How many nodes all rows have together.
    pub(crate) fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn row(&self, node: NodeId) -> &[NodeId] {
        &self.nodes[self.starts[node.idx()]..self.starts[node.idx() + 1]]
    }
}

/// Where the rows start that have as many nodes as their number is among the keys.
fn count(n_rows: usize, keys: impl Iterator<Item = u32>) -> Vec<usize> {
    let mut starts = vec![0; n_rows + 1];
    for key in keys {
        starts[key as usize] += 1;
    }
    let mut total = 0;
    for slot in &mut starts {
        let length = *slot;
        *slot = total;
        total += length;
    }
    starts
}

/// Fills rows whose lengths are known, in any order.
struct Scatter {
    /// Where the next node of each row goes; in the end, where the next row starts.
    next: Vec<usize>,
    nodes: Vec<NodeId>,
}

impl Scatter {
    fn new(starts: Vec<usize>, n_nodes: usize) -> Self {
        Self { next: starts, nodes: vec![NodeId(0); n_nodes] }
    }

    #[inline]
    fn put(&mut self, row: u32, node: NodeId) {
        // The counter is written before the node, or else it would have to be read again.
        let next = &mut self.next[row as usize];
        let place = *next;
        *next = place + 1;
        self.nodes[place] = node;
    }

    fn finish(mut self) -> Rows {
        self.next.rotate_right(1);
        self.next[0] = 0;
        Rows { starts: self.next, nodes: self.nodes }
    }
}
