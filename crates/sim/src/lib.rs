//! Many nodes on one machine: all in step, or by virtual time over links that delay and lose.
//! It never uses an async runtime or the wall clock; the number of threads changes no bit.
//!
//! ```
//! use undertone_graph::{Family, Schedule};
//! use undertone_privacy::release::Released;
//! use undertone_protocol::{Answer, PushSum, Synchronous, Topology, Wirings};
//! use undertone_sim::evaluate::residual;
//! use undertone_sim::lockstep::Lockstep;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let family = Family::InRegular { nodes: 100, degree: 5, connected: true };
//! let mut wirings = Wirings::new(Topology::new(Schedule::PerRound { family, seed: 1 }), 1);
//! let mut nodes = Lockstep::new((0..100).map(|_| PushSum::<f64>::new(1)).collect());
//! let mut values: Vec<f64> = (0..100).map(f64::from).collect();
//! nodes.ask(&mut values, |value, _| {
//!     Ok::<_, std::convert::Infallible>(Answer::Released(Released::public(vec![*value])))
//! })?;
//! nodes.advance(40, &mut wirings)?;
//! assert!(residual(nodes.nodes(), &[49.5]) < 1e-9);
//! assert_eq!(nodes.traffic().messages, 40 * 500);
//! # Ok(())
//! # }
//! ```

#![deny(missing_docs)]

pub mod asynchronous;
mod bands;
mod batch;
pub mod compute;
mod draw;
pub mod evaluate;
pub mod events;
pub mod faults;
pub mod invariants;
pub mod links;
pub mod lockstep;
mod run;
mod time;
mod world;

pub use bands::{Verdict, judge};
pub use batch::{Outcome, Shelf, Traced, run_all, run_rest};
pub use run::{
    Account, Point, Run, RunError, Spending, Spent, Trained, Watch, plan_hash, run, world_of,
};
pub use time::{BadTime, Time};
pub use world::{World, WorldError};
