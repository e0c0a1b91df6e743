//! Real peers: a node is a process with its own key, data, budget and disk.
//! It never floods, and never sends a byte that is not durable together with its debit.

#![deny(missing_docs)]

mod account;
mod counters;
mod engine;
pub mod frame;
mod identity;
pub mod journal;
mod network;
mod rounds;
mod statement;
mod store;

pub use counters::{Counter, Counters};
pub use engine::{AHEAD, Effect, Engine, EngineError, Heard, Neighbours, Setup, neighbours};
pub use identity::{BadHex, Identity, IdentityError, PublicKey, Signature, hex};
pub use network::{Member, Network, NetworkError, NetworkFile, Peer};
pub use rounds::Rounds;
pub use statement::{STATEMENT, Statement, digest};
pub use store::{About, Audit, Batch, Outgoing, Reader, Store, StoreError, audit};
