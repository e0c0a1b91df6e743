//! Results for people: charts as pictures, tables as text.
//! It never computes a guarantee; it prints what it is given.
//!
//! ```
//! use undertone_report::{Chart, Series};
//!
//! let residual = Series { name: "q 0".into(), points: vec![(0.0, 1.0), (10.0, 1e-3)] };
//! let chart = Chart {
//!     title: "Agreement".into(),
//!     x: "round".into(),
//!     y: "residual".into(),
//!     log_x: false,
//!     log_y: true,
//!     series: vec![residual],
//! };
//! assert!(chart.to_svg().starts_with("<svg"));
//! ```

#![deny(missing_docs)]

mod axis;
mod chart;
mod plot;
mod table;

pub use chart::{Chart, Series};
pub use table::markdown;
