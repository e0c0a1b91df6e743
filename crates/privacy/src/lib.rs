//! What a release of private data costs, and the only way to make one.
//! It never does I/O, reads a clock or knows a model.

#![deny(missing_docs)]

pub mod accountant;
pub mod claims;
pub mod event;
pub mod noise;
mod special;
pub mod units;
