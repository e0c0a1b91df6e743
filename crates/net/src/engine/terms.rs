//! What an engine is given, what it wants, and why it cannot go on.

use std::path::PathBuf;
use std::sync::Arc;

use undertone_node::OracleError;
use undertone_privacy::ledger::OpenError;
use undertone_protocol::{Topology, TopologyError};

use super::Keep;
use crate::counters::Counters;
use crate::identity::Identity;
use crate::network::Network;
use crate::rounds::Rounds;
use crate::store::StoreError;

/// What a node needs beside its algorithm and its data.
#[derive(Clone)]
pub struct Setup {
    /// Its number.
    pub node: u32,
    /// Its key.
    pub identity: Identity,
    /// Everybody.
    pub network: Arc<Network>,
    /// The rules of time.
    pub rounds: Rounds,
    /// Who hears whom.
    pub topology: Topology,
    /// For how many rounds.
    pub n_rounds: u64,
    /// Where it keeps what it must not forget.
    pub store: PathBuf,
    /// How much may be heard before the algorithm's state is kept.
    pub keep: Keep,
    /// For tests only: noise from a public seed, which hides nothing.
    pub test_seed: Option<u64>,
    /// What is counted.
    pub counters: Arc<Counters>,
}

/// Why a node cannot go on. It has not sent what it could not store.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The ledger does not open.
    #[error("the ledger does not open: {0}")]
    Open(#[from] OpenError),
    /// The oracle failed.
    #[error("round {round}: {source}")]
    Oracle {
        /// When.
        round: u64,
        /// Why.
        source: OracleError,
    },
    /// A round has no wiring.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// Messages that come late would be lost, and the algorithm cannot bear that.
    #[error(
        "the algorithm loses what is late, so its result would be wrong; take running-sum or dsgd, \
         or leave out rounds.deadline"
    )]
    NeedsDelivery,
    /// The replay of the journal did not lead to the bytes that were promised.
    #[error(
        "round {round}: after the restart the node would send other bytes than it promised; its \
         data, plan or program changed. It must not release anything: bring them back as they were"
    )]
    Diverged {
        /// When.
        round: u64,
    },
    /// A peer has a later word of this node than its own store.
    #[error(
        "node {witness} holds a message of round {seen} that this store does not know ({own}): the \
         store was lost or put back, and what it released since is not in its ledger. It must not \
         release anything; bring back the newest store"
    )]
    RolledBack {
        /// Who has it.
        witness: u32,
        /// The round of the peer's copy.
        seen: u64,
        /// What the store knows instead.
        own: String,
    },
    /// The operating system has no randomness.
    #[error("the operating system gives no randomness: {0}")]
    NoRandomness(String),
}

/// What the driver has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Tell a peer that its messages are stored.
    Ack {
        /// Whom.
        peer: u32,
        /// Up to which round.
        round: u64,
    },
    /// There is a new promised message.
    News,
    /// Start the clock of this round, if there is one.
    Wait {
        /// Which.
        round: u64,
    },
    /// All rounds are over.
    Finished,
}
