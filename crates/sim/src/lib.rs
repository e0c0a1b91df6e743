//! Many nodes on one machine: all in step, or by virtual time over links that delay and lose.
//! It never uses an async runtime or the wall clock; the number of threads changes no bit.

#![deny(missing_docs)]

pub mod lockstep;
