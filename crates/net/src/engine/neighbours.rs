//! Whom a node talks to over a whole run.

use std::collections::BTreeSet;

use undertone_graph::NodeId;
use undertone_protocol::{TopologyError, Wirings};

/// Whom a node talks to over all rounds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// Those who hear it in some round.
    pub hearers: BTreeSet<u32>,
    /// Those, and those whom it hears.
    pub all: BTreeSet<u32>,
}

/// More rounds of a schedule that does not repeat itself are not looked at: everybody may be met.
const LOOKED_AT: u64 = 512;

/// Whom a node talks to.
pub fn neighbours(
    wirings: &mut Wirings,
    node: u32,
    n_rounds: u64,
) -> Result<Neighbours, TopologyError> {
    let period = wirings.topology().schedule().period().unwrap_or(u64::MAX).min(n_rounds);
    let mut found = Neighbours::default();
    for round in 0..period.min(LOOKED_AT) {
        let wiring = wirings.at(round)?;
        let (node, hearers) = (NodeId(node), wiring.hearers(NodeId(node)));
        found.hearers.extend(hearers.iter().map(|node| node.0));
        found.all.extend(wiring.around(node).heard.iter().chain(hearers).map(|node| node.0));
    }
    if period > LOOKED_AT {
        let n_nodes = wirings.at(0)?.graph.n_nodes();
        found.all = (0..n_nodes).filter(|other| *other != node).collect();
        found.hearers = found.all.clone();
    }
    Ok(found)
}
