//! What happened.

use undertone_graph::NodeId;
use undertone_protocol::{Answer, Drops};
use undertone_real::Real;

use crate::lockstep::Traffic;
use crate::time::Time;

/// Something that has happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Happening<R: Real> {
    /// A node has asked its oracle. The account is settled now, the answer takes its time.
    Asked {
        /// Who.
        node: NodeId,
        /// In which round.
        round: u64,
        /// Whether the budget sufficed.
        released: bool,
    },
    /// The answer has come.
    Answered {
        /// To whom.
        node: NodeId,
        /// To the question of which round.
        round: u64,
        /// What it is.
        answer: Answer<R>,
    },
    /// A message has left, for the first time or again.
    Sent(Copy),
    /// A message has arrived.
    Delivered(Copy),
    /// A message has not arrived.
    Lost(Copy),
    /// A node has mixed.
    RoundDone {
        /// Who.
        node: NodeId,
        /// Which round is over.
        round: u64,
    },
    /// All rounds of a node are over.
    Finished {
        /// Who.
        node: NodeId,
    },
    /// A node has crashed.
    Crashed {
        /// Who.
        node: NodeId,
    },
    /// A node has left for good.
    Left {
        /// Who.
        node: NodeId,
    },
    /// A node is back.
    Rejoined {
        /// Who.
        node: NodeId,
        /// The round that the others are in.
        present: u64,
    },
}

/// One copy of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy {
    /// Who sent it.
    pub from: NodeId,
    /// Who was to hear it.
    pub to: NodeId,
    /// Of which round.
    pub round: u64,
    /// How large it is.
    pub bytes: u64,
}

/// All that was on the links. Every copy is counted where it begins and where it ends:
/// `sent + retransmitted + duplicated == delivered + lost + in flight`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Messages that left for the first time, one for each hearer.
    pub sent: Traffic,
    /// Further attempts of reliable links.
    pub retransmitted: Traffic,
    /// Copies that a link made.
    pub duplicated: Traffic,
    /// Copies that were handed to a node.
    pub delivered: Traffic,
    /// Copies that a link lost, or that found nobody at home.
    pub lost: Traffic,
    /// Messages that a reliable link gave up. Their copies are counted above.
    pub abandoned: Traffic,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// When the last node finished or left; with nodes that are stuck, when the last event was.
    pub virtual_time: Time,
    /// What was on the links.
    pub flow: Flow,
    /// How often each node has mixed. A node that was away has mixed less often than others.
    pub rounds: Vec<u64>,
    /// Nodes that neither finished nor left, in order.
    pub stuck: Vec<Stuck>,
    /// Messages that nodes did not use, over all nodes.
    pub drops: Drops,
    /// Answers that were paid for, over all nodes.
    pub releases: u64,
}

/// A node that will never finish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Who.
    pub node: NodeId,
    /// In which round.
    pub round: u64,
    /// Whose messages it waits for.
    pub missing: Vec<NodeId>,
    /// Whether it has crashed and not come back.
    pub is_down: bool,
}

impl std::fmt::Display for Stuck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "node {} is stuck in round {}", self.node, self.round)?;
        if self.is_down {
            return write!(f, ": it crashed and did not rejoin");
        }
        let missing: Vec<String> = self.missing.iter().map(|node| node.to_string()).collect();
        write!(f, ": it waits for {}", missing.join(", "))
    }
}

pub(super) fn count(traffic: &mut Traffic, bytes: usize) {
    traffic.messages += 1;
    traffic.bytes += bytes as u64;
}

pub(super) fn add_drops(sum: &mut Drops, drops: Drops) {
    let Drops { late, doubled, malformed, unheard, early } = drops;
    sum.late += late;
    sum.doubled += doubled;
    sum.malformed += malformed;
    sum.unheard += unheard;
    sum.early += early;
}
