//! One test program: each would be linked with all of the crate.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod admm;
mod admm_plan;
mod fair;
mod forecast;
mod oracle;
mod oracle_gradients;
mod oracle_points;
mod plan;
mod sampling_laws;
mod together;
