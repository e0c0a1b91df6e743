//! The program as a person or a script would use it. One test program, because each would be linked
//! with all of the product.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod book;
mod browser;
#[cfg(feature = "net")]
mod cluster;
mod commands;
mod compare;
mod data;
#[cfg(all(feature = "net", unix))]
mod faults;
mod front;
mod plan;
mod run;
mod support;
#[cfg(all(feature = "net", unix))]
mod ten_tasks;
