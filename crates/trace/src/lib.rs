//! The record of a run: what an observer may read, one JSON object a line.
//! It never holds what was not released, but for what the simulator's evaluator measured.
//!
//! ```
//! use undertone_trace::{Record, Trace, read};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut trace = Trace::new(Vec::new());
//! trace.write(&Record::Note { text: "ideal links".into() })?;
//! let hash = trace.hash();
//! let lines = trace.into_inner();
//! assert_eq!(read(&lines[..])?, [Record::Note { text: "ideal links".into() }]);
//! assert_eq!(hash, undertone_trace::hash_of(&lines));
//! # Ok(())
//! # }
//! ```

#![deny(missing_docs)]

mod reader;
mod record;
mod writer;

pub use reader::{ReadError, read};
pub use record::{Record, SCHEMA};
pub use writer::{Trace, hash_of};
