//! How answers look: aligned facts, tables and JSON.

use std::io::Write;

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{ContentArrangement, Table};
use serde_json::Value;
use undertone_privacy::units::Epsilon;

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

/// An epsilon for people.
pub fn epsilon(epsilon: Epsilon) -> String {
    let value = epsilon.get();
    if value.is_infinite() { "no guarantee".into() } else { significant(value) }
}

/// Seven significant digits, rounded up: a printed bound stays a bound.
pub fn significant(value: f64) -> String {
    digits(value, f64::ceil)
}

/// Seven significant digits, rounded down.
pub fn significant_below(value: f64) -> String {
    digits(value, f64::floor)
}

/// So many decimals, rounded up: a printed noise keeps its budget.
pub fn decimals_above(value: f64, places: usize) -> String {
    let factor = 10f64.powi(places as i32);
    let rounded = (value * factor).ceil() / factor;
    format!("{:.*}", places, if rounded.is_finite() { rounded } else { value })
}

fn digits(value: f64, round: fn(f64) -> f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let places = 6 - value.abs().log10().floor() as i32;
    let factor = 10f64.powi(places);
    if !factor.is_finite() || factor == 0.0 {
        return format!("{value:e}");
    }
    // A value that has seven digits already must not be pushed up by its own representation.
    let scaled = value * factor;
    let near = scaled.round();
    let exact = (scaled - near).abs() < 1e-7;
    let rounded = if exact { near } else { round(scaled) } / factor;
    if (1e-4..1e7).contains(&rounded.abs()) {
        let text = format!("{rounded:.*}", places.max(0) as usize);
        let text = if text.contains('.') { text.trim_end_matches('0') } else { &text };
        text.trim_end_matches('.').to_string()
    } else {
        format!("{rounded:e}")
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_bounds_are_rounded_against_us() {
        assert_eq!(significant(0.164_602_191_5), "0.1646022");
        assert_eq!(significant_below(0.164_602_191_5), "0.1646021");
        assert_eq!(significant(3.0), "3");
        assert_eq!(significant(1234.56789), "1234.568");
        assert_eq!(significant(1.23e-9), "1.23e-9");
        assert_eq!(significant(0.0), "0");
        assert_eq!(epsilon(Epsilon::INFINITE), "no guarantee");
        assert_eq!(decimals_above(3.730_631_635_3, 9), "3.730631636");
    }
}
