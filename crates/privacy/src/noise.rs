//! Randomness.
