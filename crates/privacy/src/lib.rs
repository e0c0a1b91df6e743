//! What a release of private data costs, and the only way to make one.
//! It never does I/O, reads a clock or knows a model.

#![deny(missing_docs)]

pub mod accountant;
pub mod calibrate;
pub mod claims;
pub mod event;
pub mod ledger;
pub mod mechanism;
pub mod noise;
pub mod release;
pub mod sampler;
mod special;
#[cfg(test)]
mod testing;
pub mod units;
