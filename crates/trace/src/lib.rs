//! The record of a run: what an observer may read, one JSON object a line.
//! It never holds what was not released, but for what the simulator's evaluator measured.

#![deny(missing_docs)]
