//! `undertone compare`.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use undertone_report::{Comparison, Row, Spread, compare, number};

use crate::output;
use crate::report::read;

/// Put runs side by side: results, true and claimed epsilons, bytes, and the settings that differ.
#[derive(Args)]
#[command(after_help = "\
Examples:
  undertone compare undertone-out/dp2 undertone-out/adp2
  undertone compare undertone-out/* --html all.html
  undertone compare before/report.json after/report.json --json")]
pub struct Compare {
    /// Folders of runs, or their report.json
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// Write a report of all of them
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// More runs than this have their settings in lines, not in columns.
const MOST_COLUMNS: usize = 8;

impl Compare {
    pub fn run(self) -> Result<String, String> {
        let reports = self.runs.iter().map(|run| read(run)).collect::<Result<Vec<_>, _>>()?;
        let comparison = compare(&reports);
        if let Some(file) = &self.html {
            std::fs::write(file, comparison.report.to_html()).map_err(|error| {
                format!("--html {}: {error}; name a file in a folder that exists", file.display())
            })?;
        }
        Ok(match self.json {
            true => output::json(&json!(comparison)),
            false => text(&comparison),
        })
    }
}

fn text(comparison: &Comparison) -> String {
    let Comparison { metrics, rows, warnings, .. } = comparison;
    let mut header: Vec<&str> = vec!["", "run"];
    header.extend(metrics.iter().map(String::as_str));
    header.extend(["epsilon", "claimed", "bytes", "rounds"]);
    let row = |(k, row): (usize, &Row)| {
        let mut cells = vec![number_of(k), row.name.clone()];
        let value = |name: &String| row.metrics.get(name).map_or("-".into(), Spread::to_string);
        cells.extend(metrics.iter().map(value));
        cells.push(output::bound(row.epsilon));
        cells.push(row.claimed.map_or("-".into(), number));
        cells.push(number(row.bytes));
        cells.push(number(row.rounds));
        cells
    };
    let table = output::table(&header, rows.iter().enumerate().map(row).collect());
    let mut text = format!("{table}\n{}", settings(comparison));
    for warning in warnings {
        text.push_str(&format!("\nwarning: {warning}\n"));
    }
    text
}

/// The settings that differ, beside each other if there is room.
fn settings(comparison: &Comparison) -> String {
    let Comparison { differing, rows, .. } = comparison;
    if differing.is_empty() {
        return String::new();
    }
    if rows.len() > MOST_COLUMNS {
        let one = |row: &Row, key: &String| format!("{key}={}", word(&row.settings[key]));
        let line = |(k, row): (usize, &Row)| {
            let all: Vec<String> = differing.iter().map(|key| one(row, key)).collect();
            format!("{} {}\n", number_of(k), all.join(", "))
        };
        let lines: String = rows.iter().enumerate().map(line).collect();
        return format!("\nwhat differs:\n{lines}");
    }
    let numbers: Vec<String> = (0..rows.len()).map(number_of).collect();
    let mut header = vec!["what differs"];
    header.extend(numbers.iter().map(String::as_str));
    let line = |key: &String| {
        let values = rows.iter().map(|row| word(&row.settings[key]));
        std::iter::once(key.clone()).chain(values).collect()
    };
    format!("\n{}\n", output::table(&header, differing.iter().map(line).collect()))
}

fn number_of(row: usize) -> String {
    format!("#{}", row + 1)
}

fn word(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(word) => word.clone(),
        other => other.to_string(),
    }
}
