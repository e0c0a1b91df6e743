//! `undertone compare`.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use undertone_report::{Comparison, compare, number};

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

/// More columns than this are left to --json.
const MOST_SETTINGS: usize = 6;

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
    let Comparison { metrics, differing, rows, warnings, .. } = comparison;
    let shown = &differing[..differing.len().min(MOST_SETTINGS)];
    let mut header: Vec<&str> = vec!["run"];
    header.extend(metrics.iter().map(String::as_str));
    header.extend(["epsilon", "claimed", "bytes", "rounds"]);
    header.extend(shown.iter().map(String::as_str));
    let row = |row: &undertone_report::Row| {
        let mut cells = vec![row.name.clone()];
        let value = |name: &String| row.metrics.get(name).map_or("-".into(), |s| number(s.mean));
        cells.extend(metrics.iter().map(value));
        cells.push(output::bound(row.epsilon));
        cells.push(row.claimed.map_or("-".into(), number));
        cells.push(number(row.bytes));
        cells.push(number(row.rounds));
        cells.extend(shown.iter().map(|key| word(&row.settings[key])));
        cells
    };
    let rows = rows.iter().map(row).collect();
    let mut text = format!("{}\n", output::table(&header, rows));
    if differing.len() > shown.len() {
        let rest = differing[shown.len()..].join(", ");
        text.push_str(&format!("\nthese differ, too (--json has them): {rest}\n"));
    }
    for warning in warnings {
        text.push_str(&format!("\nwarning: {warning}\n"));
    }
    text
}

fn word(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(word) => word.clone(),
        other => other.to_string(),
    }
}
