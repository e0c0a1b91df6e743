//! Who hears whom: graph families, mixing weights, schedules, and how fast they agree.
//! It never knows anything else of ours, does I/O, reads a clock or draws an unseeded number.
//!
//! ```
//! use undertone_graph::{Family, Mixing, Weights, rounds_to, second_eigenvalue};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let graph = Family::Hypercube { dimension: 4 }.build(1)?;
//! let mixing = Mixing::new(&graph, Weights::Metropolis)?;
//! let rate = second_eigenvalue(&mixing)?;
//! assert!((rate - 0.6).abs() < 1e-12);
//! assert_eq!(rounds_to(rate, 1e-6), Some(28));
//! # Ok(())
//! # }
//! ```

#![deny(missing_docs)]

mod draw;
mod edge_list;
mod family;
mod graph;
mod mixing;
mod schedule;
mod spectrum;

pub use draw::scramble;
pub use edge_list::{EdgeListError, parse_edge_list};
pub use family::{Family, FamilyError, spring_layout};
pub use graph::{Diameter, Graph, GraphError, NodeId};
pub use mixing::{Mixing, MixingError, Properties, Weights};
pub use schedule::{Cycle, Schedule, ScheduleError, WindowCheck};
pub use spectrum::{
    LaplacianMax, SpectrumError, laplacian_max, rounds_to, second_eigenvalue, second_modulus,
    spectral_gap, window_contraction,
};
