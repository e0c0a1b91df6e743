//! Nodes that stopped because their budgets were spent.

use std::collections::BTreeMap;

use undertone_node::Experiment;
use undertone_privacy::ledger::Guarantee;

/// A step is a debit: a node that spent all it had on fewer than it was asked for has stopped.
pub(super) fn stopped(
    experiment: &Experiment,
    rounds: u64,
    ledgers: &[Guarantee],
) -> Vec<Option<u64>> {
    let plan = experiment.plan();
    let asked = plan.algorithm.rounds_of_gradients.unwrap_or(plan.run.rounds).min(rounds);
    let stop = |ledger: &Guarantee| {
        let is_spent = ledger.spent >= 1.0 && ledger.debits < asked;
        (plan.run.stop_on_budget && is_spent).then_some(ledger.debits)
    };
    ledgers.iter().map(stop).collect()
}

/// One line for all nodes that stopped after as many steps.
pub(super) fn say_stopped(stopped: &[Option<u64>]) -> Vec<String> {
    let mut groups: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (node, steps) in stopped.iter().enumerate() {
        steps.iter().for_each(|steps| groups.entry(*steps).or_default().push(node));
    }
    let say = |(steps, nodes): (u64, Vec<usize>)| {
        let others = match nodes.len() {
            1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        let first = nodes[0];
        format!("node {first}{others} stopped on budget after {steps} gradient steps, then mixed")
    };
    groups.into_iter().map(say).collect()
}
