//! Private learning without a server, as a library: the rooms of the project, and a short way in.
//! It never contains logic of its own: it reads a plan, asks the rooms, and hands on their answers.
//!
//! # The short way
//!
//! A [`Study`] is a plan that can be run. It ends in [`Outcome`]s: what was measured,
//! and the [guarantee](privacy::ledger::Guarantee) of every node, which is an upper bound for what
//! actually ran.
//!
//! ```
//! use undertone::Study;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let study = Study::from_toml(
//!     r#"
//!     name = "clinics"
//!     seed = 1
//!     network = { nodes = 8, schedule = "exponential" }
//!     data = { source = "uniform", low = 0.0, high = 1.0, dimension = 3, records = 400 }
//!     algorithm = { name = "push-sum" }
//!     run = { rounds = 40, precision = "f64" }
//!     evaluate = { metrics = ["mean-error"] }
//!     [privacy]
//!     epsilon = 1.0
//!     delta = 1e-6
//!     clip = { clip = "box", radius = 1.0 }
//!     noise = "sound"
//!     "#,
//! )?;
//! let outcome = &study.run()?[0];
//! assert!(outcome.last("mean-error").is_some_and(|error| error < 0.01));
//! let guarantee = outcome.weakest().ok_or("there are nodes")?;
//! assert_eq!(guarantee.epsilon.get(), 1.0);
//! assert!(guarantee.to_string().contains("one record"));
//! # Ok(())
//! # }
//! ```
//!
//! # The rooms
//!
//! | room | is |
//! |---|---|
//! | [`privacy`] | units, events, accountants, calibration, mechanisms, the ledger, claims |
//! | [`graph`] | who hears whom, with which weights, and how fast they agree |
//! | [`model`] | objectives, clipped gradients, data sets, export |
//! | [`data`] | files of records, read by recipes |
//! | [`plan`] | plans as they are written |
//! | [`node`] | checked experiments, and the oracle where data meets a protocol |
//! | [`protocol`] | one state machine per algorithm |
//! | [`sim`] | runs in step, or by virtual time over links that lose |
//! | [`report`] | charts and tables |
//! | `net` | nodes that are processes; with the feature `net` |
//!
//! # What is yours to bring
//!
//! - an objective: [`RecordLoss`], see [`Study::with_objective`]
//! - records: [`Study::with_records`]
//! - a topology: `family = "edges"` in a plan ([`graph::Family::Edges`]), or several in turn with
//!   `schedule = "cycle"`
//! - budgets: `[[privacy.node]]` in a plan, or a [ledger](privacy::ledger::Ledger) of your own
//!
//! The folder `examples` has one program for each, and one that attacks what is released.

#![deny(missing_docs)]

mod study;

pub use study::{Study, StudyError};
pub use undertone_model::{PerRecord, RecordLoss};
pub use undertone_node::plan::{self, Plan};
pub use undertone_node::{Examples, Experiment, OwnObjective, Records};
pub use undertone_sim::{Outcome, Run};

pub use undertone_data as data;
pub use undertone_graph as graph;
pub use undertone_model as model;
#[cfg(feature = "net")]
pub use undertone_net as net;
pub use undertone_node as node;
pub use undertone_privacy as privacy;
pub use undertone_protocol as protocol;
pub use undertone_report as report;
pub use undertone_sim as sim;

/// The Rust of the book, and of the README, as doc-tests.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../../../docs/book/src/rust.md")]
    struct Rust;
    #[doc = include_str!("../../../README.md")]
    struct Readme;
}
