//! Fair classification from sums over records: a quadratic stand-in for the logistic loss, and the
//! covariance of a group with the score.
//!
//! Everything that is minimised is a function of [`Statistics`], which are sums: whoever adds noise
//! to those, at one place or at many, may do the rest in the open.

mod eigen;
mod groups;
mod parity;
mod polynomial;
mod statistics;

pub use groups::{Estimate, Groups};
pub use parity::Parity;
pub use polynomial::Polynomial;
pub use statistics::{Coefficients, Norm, Statistics};
