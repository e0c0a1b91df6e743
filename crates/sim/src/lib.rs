//! Many nodes on one machine: all in step, or by virtual time over links that delay and lose.
//! It never uses an async runtime or the wall clock; the number of threads changes no bit.

#![deny(missing_docs)]

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
pub use batch::{Outcome, Traced, run_all};
pub use run::{Point, Run, RunError, Watch, run, world_of};
pub use time::{BadTime, Time};
pub use world::{World, WorldError};
