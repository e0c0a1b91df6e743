//! Objectives: what nodes minimise together, and data sets to try them on.
//! It never knows privacy or the network, and offers what others decide to release.
//!
//! ```
//! use undertone_model::Mean;
//!
//! let mean = Mean::new(2, &[1.0, 2.0, 3.0, 6.0]);
//! let mut gradient = [0.0; 2];
//! mean.gradient(&[2.0, 2.0], &mut gradient);
//! assert_eq!(gradient, [0.0, -4.0]);
//! ```

#![deny(missing_docs)]

mod clip;
mod convex;
pub mod dataset;
mod exponential;
pub mod export;
pub mod fair;
#[cfg(test)]
pub(crate) mod laws;
mod linear;
mod loss;
mod mean;
pub mod measure;
mod model;
pub mod network;
mod objective;
mod part;
pub mod partition;
mod per_record;
mod row;
mod softmax;
pub mod solve;
pub mod synthetic;
mod table;
mod vectorised;

pub use convex::{Constants, Convex};
pub use dataset::Dataset;
pub use linear::Linear;
pub use loss::Loss;
pub use mean::{Mean, MeanEstimation};
pub use model::{Model, ModelError};
pub use network::Network;
pub use objective::{At, Batch, Clipped, Objective, Scratch, factor};
pub use part::Part;
pub use per_record::{PerRecord, RecordLoss};
pub use softmax::Softmax;
pub use table::{Table, Tabled};
