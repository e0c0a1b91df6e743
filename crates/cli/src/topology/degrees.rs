//! How many neighbours nodes have.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use undertone_graph::{Graph, NodeId};

/// The least, the mean, the largest, and how many nodes have which.
pub struct Degrees {
    counts: BTreeMap<usize, usize>,
    mean: f64,
}

impl Degrees {
    pub fn inward(graph: &Graph) -> Self {
        Self::new(graph, Graph::in_degree)
    }

    pub fn outward(graph: &Graph) -> Self {
        Self::new(graph, Graph::out_degree)
    }

    fn new(graph: &Graph, degree: fn(&Graph, NodeId) -> usize) -> Self {
        let mut counts = BTreeMap::new();
        graph.nodes().for_each(|node| *counts.entry(degree(graph, node)).or_default() += 1);
        Self { counts, mean: graph.n_edges() as f64 / f64::from(graph.n_nodes()) }
    }

    fn ends(&self) -> (usize, usize) {
        let end = |key: Option<(&usize, &usize)>| *key.expect("a graph has a node").0;
        (end(self.counts.first_key_value()), end(self.counts.last_key_value()))
    }

    pub fn text(&self) -> String {
        let (least, most) = self.ends();
        let mean = (self.mean * 1000.0).round() / 1000.0;
        format!("{least} to {most}, mean {mean}")
    }

    pub fn json(&self) -> Value {
        let (least, most) = self.ends();
        let histogram: Vec<_> = self.counts.iter().map(|(degree, n)| [degree, n]).collect();
        json!({ "min": least, "mean": self.mean, "max": most, "histogram": histogram })
    }

    /// At most twelve bars; neighbouring degrees share one if there are more.
    pub fn histogram(&self) -> String {
        let (least, most) = self.ends();
        let width = (most - least) / 12 + 1;
        let n_bars = (most - least) / width + 1;
        let mut bars = vec![0; n_bars];
        self.counts.iter().for_each(|(degree, n)| bars[(degree - least) / width] += n);
        let tallest = *bars.iter().max().expect("at least one bar");
        let mut out = String::new();
        for (i, n) in bars.iter().enumerate() {
            let low = least + i * width;
            let high = (low + width - 1).min(most);
            let label = if low == high { low.to_string() } else { format!("{low}-{high}") };
            let bar = "#".repeat((n * 30).div_ceil(tallest));
            out += format!("{label:>9}  {n:<7}{bar}").trim_end();
            out.push('\n');
        }
        out
    }
}
