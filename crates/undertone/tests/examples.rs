//! Every example runs, and says what it is meant to show.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

#[path = "../examples/audit.rs"]
mod audit;
#[path = "../examples/budget.rs"]
mod budget;
#[path = "../examples/custom_objective.rs"]
mod custom_objective;
#[path = "../examples/custom_topology.rs"]
mod custom_topology;

/// A number of every line that begins with a word.
fn column(text: &str, word: &str, from_the_right: usize) -> Vec<f64> {
    let lines = text.lines().filter(|line| line.starts_with(word));
    lines
        .map(|l| l.split_whitespace().rev().nth(from_the_right).unwrap().parse().unwrap())
        .collect()
}

#[test]
fn an_attack_finds_planted_mistakes_and_nothing_else() {
    let text = audit::report().unwrap();
    let verdicts: Vec<bool> = text.lines().skip(1).map(|line| line.ends_with("BROKEN")).collect();
    assert_eq!(verdicts, [false, false, true, true], "{text}");
}

#[test]
fn a_ledger_refuses_and_nodes_with_small_budgets_stop_first() {
    let text = budget::report().unwrap();
    assert_eq!(text.matches("refused").count(), 1, "{text}");
    let steps = |node: u32| {
        let nodes = text.split("\n3. ").nth(1).unwrap();
        let line = nodes.lines().find(|l| l.starts_with(&format!("node {node}: "))).unwrap();
        line.split_whitespace().nth(2).unwrap().parse().unwrap_or(u64::MAX)
    };
    assert!(steps(1) < steps(0) && steps(0) < steps(2), "{text}");
}

#[test]
fn an_objective_of_ones_own_learns_more_with_a_larger_budget() {
    let text = custom_objective::report().unwrap();
    let learned: Vec<f64> =
        ["none", "epsilon 1 ", "epsilon 0.1"].iter().flat_map(|w| column(&text, w, 0)).collect();
    let at_zero = column(&text, "none", 1)[0];
    let best = column(&text, "the loss", 0)[0];
    assert!((learned[0] - best).abs() < 0.01 && (learned[1] - best).abs() < 0.01, "{text}");
    assert!(learned[1] < learned[2] && learned[2] < at_zero, "{text}");
}

#[test]
fn more_roads_make_towns_agree_sooner() {
    let text = custom_topology::report().unwrap();
    let rounds: Vec<f64> = ["1 ", "2 ", "3 "]
        .iter()
        .map(|roads| {
            let line = text.lines().find(|line| line.trim_start().starts_with(roads)).unwrap();
            line.split_whitespace().nth(2).unwrap().parse().unwrap()
        })
        .collect();
    assert!(rounds[0] > rounds[1] && rounds[1] > rounds[2], "{text}");
}
