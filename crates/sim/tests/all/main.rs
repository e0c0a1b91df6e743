//! One test program: each would be linked with all of the crate.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod admm;
mod algorithms;
mod asynchronous;
mod engines;
mod fair;
mod faults;
mod learning;
mod run;
mod states;
