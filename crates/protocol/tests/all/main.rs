//! One test program: each would be linked with all of the crate.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod descent;
mod laws;
mod vectors;
