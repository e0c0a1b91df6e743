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
        let mut scatter = Scatter::new(starts, self.nodes.len());
        for (i, pair) in self.starts.windows(2).enumerate() {
            for &node in &self.nodes[pair[0]..pair[1]] {
                scatter.put(node.0, NodeId(i as u32));
            }
        }
        scatter.finish()
    }

    /// The same edges with every row in order; nothing may be repeated in a row.
    pub(super) fn in_order(mut self) -> Self {
        for pair in self.starts.windows(2) {
            sort(&mut self.nodes[pair[0]..pair[1]]);
        }
        self
    }

    /// How often each node is in a row.
    pub(super) fn counts(&self) -> Vec<u32> {
        let mut counts = vec![0; self.n_rows()];
        self.nodes.iter().for_each(|node| counts[node.idx()] += 1);
        counts
    }

    /// How many nodes each row has.
    pub(super) fn lengths(&self) -> Vec<u32> {
        self.starts.windows(2).map(|pair| (pair[1] - pair[0]) as u32).collect()
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

    #[inline]
    pub(crate) fn row(&self, node: NodeId) -> &[NodeId] {
        &self.nodes[self.starts[node.idx()]..self.starts[node.idx() + 1]]
    }
}

/// Nodes that are different. Few have the place of as many as are smaller, which is found without
/// a branch that could be guessed wrong, and for several at once.
fn sort(nodes: &mut [NodeId]) {
    const FEW: usize = 16;
    if nodes.len() > FEW {
        return nodes.sort_unstable();
    }
    // As signed numbers they compare faster; none comes near the limit.
    let mut numbers = [i32::MAX; FEW];
    numbers.iter_mut().zip(&*nodes).for_each(|(number, node)| *number = node.0 as i32);
    let mut places = [0_i32; FEW];
    for other in &numbers[..nodes.len()] {
        for (place, number) in places.iter_mut().zip(&numbers) {
            *place += i32::from(number > other);
        }
    }
    for (place, number) in places.iter().zip(&numbers).take(nodes.len()) {
        nodes[*place as usize] = NodeId(*number as u32);
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
