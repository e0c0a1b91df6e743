//! How answers look: aligned facts, tables and JSON.

use std::io::Write;

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{ContentArrangement, Table};
use serde_json::Value;
use undertone_privacy::units::Epsilon;

pub use undertone_report::{decimals_above, epsilon, significant, significant_below};

/// Writes to standard output; a closed pipe is no error.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{}", text.trim_end());
}

/// Writes a line to standard error.
pub fn warn(text: &str) {
    let mut out = std::io::stderr().lock();
    let _ = writeln!(out, "{}", text.trim_end());
}

/// Pretty JSON.
pub fn json(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("a JSON value can be printed")
}

/// An epsilon in JSON; null where there is no guarantee.
pub fn json_epsilon(epsilon: Epsilon) -> Value {
    serde_json::json!(epsilon.get().is_finite().then_some(epsilon.get()))
}

/// A bound on epsilon for people, rounded up.
pub fn bound(epsilon: Option<f64>) -> String {
    epsilon.map_or("no guarantee".into(), significant)
}

/// Aligned lines of name and value.
pub fn facts(facts: &[(&str, String)]) -> String {
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    facts.iter().map(|(name, value)| format!("{name:width$}  {value}\n")).collect()
}

/// A table as wide as the terminal, or 120 columns.
pub fn table(header: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(width());
    table.set_header(header.to_vec());
    table.add_rows(rows);
    table.to_string()
}

fn width() -> u16 {
    std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).unwrap_or(120)
}
