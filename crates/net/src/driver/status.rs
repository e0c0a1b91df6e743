//! What a driver is given, and what it says of its node.

use std::net::SocketAddr;
use std::time::Duration;

use libp2p::Multiaddr;
use serde::Serialize;
use undertone_privacy::ledger::Guarantee;

use crate::engine::EngineError;
use crate::swarm::Limits;

/// Where a node listens, and how long it stays.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where peers reach it.
    pub listen: Multiaddr,
    /// Where `/metrics` and `/status` are served, if anywhere.
    pub metrics: Option<SocketAddr>,
    /// The hash of the plan.
    pub plan: [u8; 32],
    /// How much it bears.
    pub limits: Limits,
    /// How long a node that has finished stays for peers that still need something from it.
    pub linger: Duration,
}

/// What a node does at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Waits for witnesses before its first release.
    Joining,
    /// Runs rounds.
    Running,
    /// Has finished and stays until everybody has its messages.
    Settling,
    /// Is done.
    Finished,
    /// Was asked to stop before the end; it can be started again.
    Stopped,
}

/// Where a node stands; nothing of it depends on data.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Status {
    /// Which node.
    pub node: u32,
    /// What it does.
    pub phase: Phase,
    /// The round it is in.
    pub round: u64,
    /// How many there are.
    pub rounds: u64,
    /// Connected peers.
    pub peers: u64,
    /// Whom it waits for.
    pub waits_for: Vec<u32>,
    /// Bytes from peers.
    pub bytes_in: u64,
    /// Bytes to peers.
    pub bytes_out: u64,
    /// Debits of its ledger.
    pub debits: u64,
    /// The share of the budget, or of the plan's events, that is spent.
    pub spent: f64,
    /// What the ledger promises for the whole run; null if that is no guarantee.
    pub epsilon: Option<f64>,
    /// At this delta.
    pub delta: f64,
    /// Since the process began.
    pub seconds: f64,
    /// Until the last round, at the pace so far.
    pub seconds_left: Option<f64>,
}

impl Status {
    /// What counters do not say, in the text format of Prometheus.
    pub fn prometheus(&self) -> String {
        let mut text = String::new();
        let mut gauge = |name: &str, help: &str, value: f64| {
            text += &format!(
                "# HELP undertone_{name} {help}\n# TYPE undertone_{name} gauge\n\
                 undertone_{name}{{node=\"{}\"}} {value}\n",
                self.node
            );
        };
        gauge("rounds", "Rounds of the plan", self.rounds as f64);
        gauge("budget_spent_ratio", "Share of the privacy budget that is spent", self.spent);
        gauge("delta", "Delta of the ledger's promise for the whole run", self.delta);
        // No line if there is no guarantee: a number would be taken for one.
        if let Some(epsilon) = self.epsilon {
            gauge("epsilon", "Epsilon of the ledger's promise for the whole run", epsilon);
        }
        gauge("uptime_seconds", "Time since the process began", self.seconds);
        if let Some(seconds) = self.seconds_left {
            gauge("remaining_seconds", "Time to the last round at the pace so far", seconds);
        }
        text
    }
}

/// How a node ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Where it stood.
    pub status: Status,
    /// Its estimate: what it agreed on, or its model.
    pub estimate: Vec<f64>,
    /// What its ledger promises.
    pub guarantee: Guarantee,
    /// Peers that had not acknowledged everything when it went.
    pub unacknowledged: bool,
}

/// Why a node did not run to an end.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// Its engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Its sockets.
    #[error("{0}")]
    Network(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gauge_has_its_lines_and_no_guarantee_has_no_epsilon() {
        let mut status = Status {
            node: 3,
            phase: Phase::Running,
            round: 1,
            rounds: 4,
            peers: 2,
            waits_for: Vec::new(),
            bytes_in: 0,
            bytes_out: 0,
            debits: 1,
            spent: 0.25,
            epsilon: Some(1.5),
            delta: 1e-5,
            seconds: 2.0,
            seconds_left: Some(6.0),
        };
        let text = status.prometheus();
        assert!(
            text.contains("# TYPE undertone_epsilon gauge\nundertone_epsilon{node=\"3\"} 1.5\n")
        );
        assert!(text.contains("undertone_budget_spent_ratio{node=\"3\"} 0.25\n"));
        let lines = |kind: &str| text.lines().filter(|line| line.starts_with(kind)).count();
        assert_eq!((lines("# HELP"), lines("# TYPE"), lines("undertone_")), (6, 6, 6));
        status.epsilon = None;
        assert!(!status.prometheus().contains("undertone_epsilon"));
    }
}
