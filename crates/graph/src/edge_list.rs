//! Graphs written down by people: one edge a line.

use crate::graph::{Graph, GraphError};

/// What is wrong with an edge list, and on which line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EdgeListError {
    /// A line is neither an edge nor a comment.
    #[error(
        "line {line}: expected two node numbers, \"sender receiver\" (or \"a - b\" for both ways), \
         found {found:?}, amiss at column {column}"
    )]
    NotAnEdge {
        /// Counted from one.
        line: usize,
        /// Where the line stops being an edge, counted from one.
        column: usize,
        /// The line, cut short if it is long.
        found: String,
    },
    /// A node number has no place.
    #[error("line {line}: {source} (column {column})")]
    Edge {
        /// Counted from one.
        line: usize,
        /// Of the node, counted from one.
        column: usize,
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
        let written = whole.split('#').next().unwrap_or_default().trim_end();
        if written.is_empty() {
            continue;
        }
        let (a, b, both) = parse_line(written).map_err(|column| {
            let found = written.trim_start().chars().take(40).collect();
            EdgeListError::NotAnEdge { line, column, found }
        })?;
        if let Some(place) = [&a, &b].into_iter().find(|place| place.node >= bound) {
            let source = GraphError::OutOfRange { node: place.node, n_nodes: bound };
            return Err(EdgeListError::Edge { line, column: place.column, source });
        }
        let column = b.column;
        let (a, b) = (a.node, b.node);
        if a == b {
            let source = GraphError::SelfLoop { node: a };
            return Err(EdgeListError::Edge { line, column, source });
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

/// A node and where it is written.
struct Place {
    node: u32,
    column: usize,
}

/// Both ends and whether both ways, or the column where the line stops being an edge.
fn parse_line(written: &str) -> Result<(Place, Place, bool), usize> {
    let blank = |c: char| c.is_whitespace() || c == ',';
    let mut words = Vec::new();
    let mut column = 1;
    for word in written.split(blank) {
        if !word.is_empty() {
            words.push((column, word));
        }
        column += word.chars().count() + 1;
    }
    // Where a word would be if there were one more.
    let end = column - 1;
    let mut words = words.into_iter();
    let place = |word: Option<(usize, &str)>| {
        let (column, word) = word.ok_or(end)?;
        word.parse().map(|node| Place { node, column }).map_err(|_| column)
    };
    let a = place(words.next())?;
    let second = words.next();
    let both = second.is_some_and(|(_, word)| word == "-");
    let b = place(if both { words.next() } else { second })?;
    words.next().map_or(Ok((a, b, both)), |(column, _)| Err(column))
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
    #[test]
    fn errors_name_the_column() {
        let message = |text| parse_edge_list(text, Some(9)).unwrap_err().to_string();
        for (text, column) in
            [("0 1\n  1  x", 6), ("0 1 2", 5), ("7", 2), ("0 -", 4), ("\u{e9} 1", 1), ("0,,y", 4)]
        {
            assert!(message(text).ends_with(&format!("amiss at column {column}")), "{text:?}");
        }
        assert!(message("3  3").ends_with("(column 4)"));
        assert!(message("1 - 9").ends_with("(column 5)"));
        assert!(message("9 1").ends_with("(column 1)"));
    }
}
