//! Real peers: a node is a process with its own key, data, budget and disk.
//! It never floods, and never sends a byte that is not durable together with its debit.

#![deny(missing_docs)]

mod account;
mod counters;
mod driver;
mod engine;
pub mod frame;
mod identity;
pub mod journal;
mod network;
mod rounds;
mod session;
mod shelf;
mod statement;
mod store;
mod swarm;

pub use counters::{Counter, Counters};
pub use driver::{NodeError, Options, Outcome, Phase, Run, Status};
pub use engine::{AHEAD, Effect, Engine, EngineError, Heard, Keep, Neighbours, Setup, neighbours};
pub use identity::{BadHex, Identity, IdentityError, PublicKey, Signature, hex};
pub use libp2p::Multiaddr;
pub use network::{Member, Network, NetworkError, NetworkFile, Peer, plan_hash};
pub use rounds::Rounds;
pub use statement::{Payload, STATEMENT, Statement, digest};
pub use store::{
    About, Audit, Batch, Contradiction, Outgoing, Reader, Store, StoreError, audit, compare,
};
pub use swarm::Limits;
