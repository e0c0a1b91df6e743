//! What is seen of a cluster: a line for each node while it runs, a table at the end.

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde_json::Value;

use crate::output;

/// A line for each node.
pub struct Screen {
    all: MultiProgress,
    bars: Vec<ProgressBar>,
}

impl Screen {
    /// Hidden if nobody wants to see it.
    pub fn new(nodes: u32, rounds: u64, hidden: bool) -> Self {
        let all = MultiProgress::new();
        let style = ProgressStyle::with_template("{prefix} {bar:24} {pos}/{len} {wide_msg}");
        let style = style.expect("the template is right");
        let bar = |node| {
            let bar = match hidden {
                true => ProgressBar::hidden(),
                false => all.add(ProgressBar::new(rounds)),
            };
            bar.set_style(style.clone());
            bar.set_prefix(format!("node {node:>3}"));
            bar
        };
        let bars = (0..nodes).map(bar).collect();
        Self { all, bars }
    }

    /// Where a node stands.
    pub fn show(&mut self, node: u32, status: &Value) {
        let (Some(bar), Some(round)) = (self.bars.get(node as usize), status["round"].as_u64())
        else {
            return;
        };
        bar.set_position(round);
        let spent = 100.0 * status["spent"].as_f64().unwrap_or(0.0);
        let epsilon = match status["epsilon"].as_f64() {
            Some(epsilon) => format!("of epsilon {}", output::significant(epsilon)),
            None => "of no guarantee".into(),
        };
        let left = match status["seconds-left"].as_f64() {
            Some(seconds) => format!(", {seconds:.0} s left"),
            None => String::new(),
        };
        bar.set_message(format!(
            "{}, {} peers, {:.1} kB in, {:.1} kB out, {spent:.1}% {epsilon} spent{left}",
            status["phase"].as_str().unwrap_or_default(),
            status["peers"],
            status["bytes-in"].as_f64().unwrap_or(0.0) / 1e3,
            status["bytes-out"].as_f64().unwrap_or(0.0) / 1e3,
        ));
    }

    /// Away with it.
    pub fn clear(self) {
        let _ = self.all.clear();
    }
}

/// How it ended.
pub fn summary(outcomes: &[Value], failures: &[String], test_mode: bool) -> String {
    let rows = outcomes.iter().enumerate().map(|(node, outcome)| {
        let status = &outcome["status"];
        let word = |value: &Value| value.as_str().unwrap_or("-").to_string();
        let digest = word(&outcome["estimate-digest"]);
        vec![
            node.to_string(),
            word(&status["phase"]),
            status["round"].to_string(),
            status["debits"].to_string(),
            status["bytes-out"].to_string(),
            match status["epsilon"].as_f64().filter(|_| !test_mode) {
                Some(epsilon) => output::significant(epsilon),
                None => "no guarantee".into(),
            },
            digest.get(..16).unwrap_or("-").to_string(),
        ]
    });
    let head = ["node", "ended", "rounds", "debits", "bytes out", "epsilon", "estimate (hash)"];
    let mut text = output::table(&head, rows.collect());
    if test_mode {
        text += "\ntest mode: the noise comes from a public seed and hides nothing";
    }
    for failure in failures {
        text += &format!("\n{failure}");
    }
    text
}
