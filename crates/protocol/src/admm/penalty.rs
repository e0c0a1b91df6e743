//! How much disagreement costs.

use serde::{Deserialize, Serialize};

/// The penalty `first * growth^k` of iteration `k`, from 0. MR-ADMM and M-ADMM let it grow, which
/// shortens the steps and so the effect of noise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Penalty {
    /// That of the first iteration; positive.
    pub first: f64,
    /// Times so much from one to the next; at least one.
    pub growth: f64,
}

impl Penalty {
    /// Always the same.
    pub const fn constant(first: f64) -> Self {
        Self { first, growth: 1.0 }
    }

    /// That of one iteration.
    pub fn at(&self, iteration: u64) -> f64 {
        self.first * self.growth.powf(iteration as f64)
    }

    /// What it adds to the strong convexity of the local problem of a node with so many neighbours.
    pub fn quadratic(&self, iteration: u64, neighbours: usize) -> f64 {
        2.0 * self.at(iteration) * neighbours as f64
    }
}
