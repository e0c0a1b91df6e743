//! One test program: each would be linked with all of the crate.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod extremes;
mod golden;
mod invariants;
