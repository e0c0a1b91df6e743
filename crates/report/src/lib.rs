//! Results for people: charts as pictures, tables as text, and all of a run on one page.
//! It never computes a guarantee; it prints what it is given.
//!
//! ```
//! use undertone_report::{Chart, Series};
//!
//! let residual = Series {
//!     name: "q 0".into(),
//!     points: vec![(0.0, 1.0), (10.0, 1e-3)],
//!     band: Vec::new(),
//! };
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
mod bars;
mod chart;
mod compare;
mod drawing;
mod frame;
mod html;
mod network;
mod numbers;
mod pictures;
mod plot;
mod report;
mod scatter;
mod svg;
mod table;

pub use chart::{Chart, Series};
pub use compare::{Comparison, Row, compare};
pub use drawing::Picture;
pub use numbers::{decimals_above, epsilon, number, significant, significant_below};
pub use report::{
    ChartAsked, Claim, Metric, Network, Nodes, PlanText, Point, Promise, ReadError, Report, SCHEMA,
    SIMULATED, ShownNode, Spending, Spent, Spread, Stopped, Trace, Variant, Verdict,
};
pub use table::markdown;
