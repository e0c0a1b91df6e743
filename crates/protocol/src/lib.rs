//! Algorithms as state machines: told what happened, asked what they want, until they wait.
//! It never sees local data, reads a clock, draws entropy or opens a socket.
//!
//! An algorithm in rounds is a [`Synchronous`]: it asks its node's oracle a [`Question`], writes a
//! message, and takes in what it hears, in order of nodes. [`Machine`] makes a state machine of it
//! that takes messages in any order; the simulator and the network drive that one.
//!
//! ```
//! use undertone_graph::{Family, NodeId, Schedule};
//! use undertone_privacy::release::Released;
//! use undertone_protocol::{Answer, Mail, PushSum, Synchronous, Topology};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let topology = Topology::new(Schedule::Fixed(Family::Ring { nodes: 3 }.build(1)?));
//! let wiring = topology.wiring_at(0)?;
//! let mut nodes: Vec<_> = (0..3).map(|_| PushSum::<f64>::new(1)).collect();
//! for (node, value) in nodes.iter_mut().zip([1.0, 2.0, 6.0]) {
//!     assert!(node.ask(0).is_some());
//!     node.answer(0, Answer::Released(Released::public(vec![value])));
//! }
//! let mut mail = Mail::new(3, nodes[0].shape());
//! for (id, node) in nodes.iter_mut().enumerate() {
//!     node.send(0, &wiring.around(NodeId(id as u32)), &mut mail.slot(NodeId(id as u32)));
//! }
//! for (id, node) in nodes.iter_mut().enumerate() {
//!     let around = wiring.around(NodeId(id as u32));
//!     node.receive(0, &around, mail.heard_by(&around));
//!     let mut mean = [0.0];
//!     node.estimate(&mut mean);
//!     assert!((mean[0] - 3.0_f64).abs() < 1e-12);
//! }
//! # Ok(())
//! # }
//! ```

#![deny(missing_docs)]

mod admm;
mod aligned;
mod automaton;
mod blocks;
mod carried;
mod domain;
mod dsgd;
mod encounters;
mod gossip;
mod initial;
mod lattice;
mod machine;
mod mail;
mod pairwise;
mod priv_sgp;
mod push_sum;
mod q_dpsgd;
mod q_dpsgd2;
mod question;
mod running_sum;
mod sdm;
mod sparse_push_sum;
mod sparsify;
mod step;
mod surplus;
mod surplus_gradient;
mod synchronous;
mod topology;
mod two_stage;
pub mod wire;

pub use admm::{Admm, Penalty, PrAdmm, RAdmm};
pub use automaton::{Automaton, Timing};
pub use carried::Carried;
pub use domain::Domain;
pub use dsgd::Dsgd;
pub use encounters::Encounters;
pub use gossip::Gossip;
pub use lattice::{Lattice, NotALattice};
pub use machine::{Drops, Input, LOOKAHEAD, Machine, Output, Patience};
pub use mail::{Letter, Letters, Mail, MailPart, Message, Shape, Slot};
pub use pairwise::PairwiseSgd;
pub use priv_sgp::PrivSgp;
pub use push_sum::PushSum;
pub use q_dpsgd::QDpsgd;
pub use q_dpsgd2::QDpsgd2;
pub use question::{Answer, Exchange, Question};
pub use running_sum::RunningSum;
pub use sdm::Sdm;
pub use sparse_push_sum::SparsePushSum;
pub use sparsify::{Mask, PublicBits, Sparsity};
pub use step::{StepSize, Steps};
pub use surplus::Surplus;
pub use surplus_gradient::SurplusGradient;
pub use synchronous::{LinkNeeds, Synchronous, send_state};
pub use topology::{Neighbourhood, Topology, TopologyError, Wiring, Wirings};
pub use two_stage::TwoStage;
