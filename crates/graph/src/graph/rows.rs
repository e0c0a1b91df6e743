//! Neighbours of all nodes, one row after another.

use pulp::Simd;

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
        let Self { starts, nodes } = &mut self;
        pulp::Arch::new().dispatch(Sort { starts, nodes });
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

struct Sort<'a> {
    starts: &'a [usize],
    nodes: &'a mut [NodeId],
}

/// Rows of at most so many nodes are sorted in vectors.
const FEW: usize = 16;

impl pulp::WithSimd for Sort<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for pair in self.starts.windows(2) {
            let row = &mut self.nodes[pair[0]..];
            let length = pair[1] - pair[0];
            // What lies behind the row is read as well, and not used.
            match row.first_chunk_mut::<FEW>() {
                Some(row) if length <= FEW => {
                    let numbers = row.map(|node| node.0);
                    sort_few(simd, &numbers, length, row);
                }
                _ => row[..length].sort_unstable(),
            }
        }
    }
}

/// Sorts the first numbers, all different, into a row.
#[inline(always)]
fn sort_few<S: Simd>(simd: S, numbers: &[u32; FEW], length: usize, row: &mut [NodeId; FEW]) {
    let places = match FEW / S::U32_LANES {
        1 => places::<S, 1>(simd, numbers, length),
        2 => places::<S, 2>(simd, numbers, length),
        4 => places::<S, 4>(simd, numbers, length),
        _ => places::<S, FEW>(simd, numbers, length),
    };
    for (place, number) in places.iter().zip(numbers).take(length) {
        row[*place as usize % FEW] = NodeId(*number);
    }
}

/// The place of each of the first numbers: as many as are smaller. Found without a branch that
/// could be guessed wrong.
#[inline(always)]
fn places<S: Simd, const VECTORS: usize>(
    simd: S,
    numbers: &[u32; FEW],
    length: usize,
) -> [u32; FEW] {
    let own: [S::u32s; VECTORS] = std::array::from_fn(|v| S::as_simd_u32s(numbers).0[v]);
    let (zero, one) = (simd.splat_u32s(0), simd.splat_u32s(1));
    let mut counts = [zero; VECTORS];
    for other in &numbers[..length] {
        let other = simd.splat_u32s(*other);
        for (count, own) in counts.iter_mut().zip(own) {
            let smaller = simd.less_than_u32s(other, own);
            *count = simd.add_u32s(*count, simd.select_u32s(smaller, one, zero));
        }
    }
    let mut places = [0; FEW];
    S::as_mut_simd_u32s(&mut places).0[..VECTORS].copy_from_slice(&counts);
    places
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

#[cfg(test)]
mod tests {
    use pulp::WithSimd;

    use super::*;

    /// Rows of every length up to some that are too long for vectors, on vectors of every width.
    #[test]
    fn rows_are_sorted_whatever_the_width_of_vectors() {
        // Row k has k nodes.
        let starts: Vec<usize> = (0..FEW + 4).map(|k| k * (k.max(1) - 1) / 2).collect();
        let starts = &starts[..];
        // A multiple of an odd number is different for every index below a power of two.
        let nodes: Vec<_> =
            (0..starts[FEW + 3] as u32).map(|k| NodeId(k.wrapping_mul(0x9e37_79b1))).collect();
        let mut sorted = nodes.clone();
        starts.windows(2).for_each(|pair| sorted[pair[0]..pair[1]].sort_unstable());
        let check = |sort: &dyn Fn(Sort<'_>)| {
            let mut nodes = nodes.clone();
            sort(Sort { starts, nodes: &mut nodes });
            assert_eq!(nodes, sorted);
        };
        check(&|sort| sort.with_simd(pulp::Scalar::new()));
        check(&|sort| pulp::Arch::new().dispatch(sort));
        #[cfg(target_arch = "x86_64")]
        {
            // Four lanes, as on ARM, and eight.
            pulp::x86::V2::try_new().inspect(|simd| check(&|sort| sort.with_simd(*simd)));
            pulp::x86::V3::try_new().inspect(|simd| check(&|sort| sort.with_simd(*simd)));
        }
    }
}
