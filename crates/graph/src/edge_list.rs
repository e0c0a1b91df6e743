//! Graphs written down by people: one edge a line.

use crate::graph::{Graph, GraphError};

/// What is wrong with an edge list, and on which line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EdgeListError {
    /// A line is neither an edge nor a comment.
    #[error(
        "line {line}: expected two node numbers, \"sender receiver\" (or \"a - b\" for both ways), \
         found {found:?}"
    )]
    NotAnEdge {
        /// Counted from one.
        line: usize,
        /// The line, cut short if it is long.
        found: String,
    },
    /// A node number has no place.
    #[error("line {line}: {source}")]
    Edge {
        /// Counted from one.
        line: usize,
        /// What is wrong with the edge.
        source: GraphError,
    },
    /// There is no edge at all.
    #[error("no line holds an edge")]
    Empty,
}

/// Reads one edge a line: `sender receiver` (blanks or a comma between), or `a - b` for both
/// directions. Anything after `#` is a comment. Nodes are numbered from zero; there are as many
/// as `n_nodes` says, or else one more than the highest number seen.
///
/// ```
/// let graph = undertone_graph::parse_edge_list("0 1\n1 2 # one way\n2 - 0\n", None)?;
/// assert_eq!((graph.n_nodes(), graph.n_edges()), (3, 4));
/// # Ok::<(), undertone_graph::EdgeListError>(())
/// ```
pub fn parse_edge_list(text: &str, n_nodes: Option<u32>) -> Result<Graph, EdgeListError> {
    let mut edges = Vec::new();
    let mut n_seen = 0;
    let bound = n_nodes.unwrap_or(MAX_NODES);
    for (idx, whole) in text.lines().enumerate() {
        let line = idx + 1;
        let written = whole.split('#').next().unwrap_or_default().trim();
        if written.is_empty() {
            continue;
        }
        let Some((a, b, both)) = parse_line(written) else {
            let found = written.chars().take(40).collect();
            return Err(EdgeListError::NotAnEdge { line, found });
        };
        if let Some(node) = [a, b].into_iter().find(|&node| node >= bound) {
            let source = GraphError::OutOfRange { node, n_nodes: bound };
            return Err(EdgeListError::Edge { line, source });
        }
        if a == b {
            return Err(EdgeListError::Edge { line, source: GraphError::SelfLoop { node: a } });
        }
        n_seen = n_seen.max(a + 1).max(b + 1);
        edges.push((a, b));
        if both {
            edges.push((b, a));
        }
    }
    if edges.is_empty() && n_nodes.is_none() {
        return Err(EdgeListError::Empty);
    }
    Graph::from_edges(n_nodes.unwrap_or(n_seen), edges).map_err(|_| EdgeListError::Empty)
}

/// A file may not make us allocate more than this many rows by naming one high number.
const MAX_NODES: u32 = 1 << 26;

fn parse_line(written: &str) -> Option<(u32, u32, bool)> {
    let mut words =
        written.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
    let a = words.next()?.parse().ok()?;
    let second = words.next()?;
    let both = second == "-";
    let b = if both { words.next()? } else { second }.parse().ok()?;
    words.next().is_none().then_some((a, b, both))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::NodeId;

    #[test]
    fn both_notations_and_comments_are_read() {
        let graph = parse_edge_list("# a triangle\n\n0,1\n1\t2\n 2 - 0 # back\r\n", None).unwrap();
        assert_eq!((graph.n_nodes(), graph.n_edges()), (3, 4));
        assert!(graph.has_edge(NodeId(0), NodeId(2)) && graph.has_edge(NodeId(2), NodeId(0)));
        assert_eq!(parse_edge_list("0 1", Some(5)).unwrap().n_nodes(), 5);
        assert_eq!(parse_edge_list("", Some(1)).unwrap().n_edges(), 0);
    }

    #[test]
    fn errors_name_the_line() {
        let message = |text, n| parse_edge_list(text, n).unwrap_err().to_string();
        assert!(message("0 1\n\n1 x", None).starts_with("line 3: expected two node numbers"));
        assert!(message("0 1 2", None).starts_with("line 1: expected"));
        assert!(message("0 -1", None).starts_with("line 1: expected"));
        assert!(message("0 1\n1 1", None).starts_with("line 2: node 1 has an edge to itself"));
        assert!(message("0 1\n1 3", Some(3)).starts_with("line 2: node 3 is out of range"));
        assert!(message("0 4294967295", None).starts_with("line 1: node 4294967295 is out"));
        assert_eq!(message("# nothing", None), "no line holds an edge");
        assert_eq!(parse_edge_list("", Some(0)), Err(EdgeListError::Empty));
    }
}
