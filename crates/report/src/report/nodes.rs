//! Sets of nodes, short.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Some nodes, as ranges.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nodes {
    /// How many.
    pub count: u32,
    /// From the first to the last of each range; only the first hundred ranges.
    pub ranges: Vec<[u32; 2]>,
}

const MOST_RANGES: usize = 100;

impl Nodes {
    /// One node.
    pub fn one(node: u32) -> Self {
        Self { count: 1, ranges: vec![[node, node]] }
    }

    /// Adds a node, which is above all others.
    pub fn push(&mut self, node: u32) {
        self.count += 1;
        let n_ranges = self.ranges.len();
        match self.ranges.last_mut() {
            Some([_, last]) if *last + 1 == node => *last = node,
            _ if n_ranges < MOST_RANGES => self.ranges.push([node, node]),
            _ => {}
        }
    }

    /// The first of them.
    pub fn first(&self) -> Option<u32> {
        self.ranges.first().map(|range| range[0])
    }
}

impl fmt::Display for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed: u32 = self.ranges.iter().map(|[first, last]| last - first + 1).sum();
        let Some(first) = self.first() else { return write!(f, "no node") };
        match (self.count, &self.ranges[..]) {
            (1, _) => write!(f, "node {first}"),
            (n, [[first, last]]) if n == listed => write!(f, "nodes {first} to {last}"),
            (n, ranges) if n == listed && ranges.len() <= 6 => {
                let word = |[first, last]: &[u32; 2]| match last - first {
                    0 => format!("{first}"),
                    1 => format!("{first}, {last}"),
                    _ => format!("{first} to {last}"),
                };
                let words: Vec<String> = ranges.iter().map(word).collect();
                write!(f, "nodes {}", words.join(", "))
            }
            (n, _) => write!(f, "node {first} and {} more", n - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_said_shortly() {
        let said = |nodes: &[u32]| {
            let mut set = Nodes::default();
            nodes.iter().for_each(|node| set.push(*node));
            set.to_string()
        };
        assert_eq!(said(&[]), "no node");
        assert_eq!(said(&[7]), "node 7");
        assert_eq!(said(&[0, 1, 2, 3]), "nodes 0 to 3");
        assert_eq!(said(&[0, 2, 3, 5, 6, 7]), "nodes 0, 2, 3, 5 to 7");
        let odd: Vec<u32> = (0..100_000).map(|k| 2 * k + 1).collect();
        assert_eq!(said(&odd), "node 1 and 99999 more");
    }
}
