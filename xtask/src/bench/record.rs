//! What a benchmark says: one JSON object a line, `{"name", "unit", "value", "result"?}`.

use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;

/// One measured figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What was measured.
    pub name: String,
    /// `s` for a time or `bytes` for memory (less is better), otherwise a rate such as `samples/s`.
    pub unit: String,
    /// The figure.
    pub value: f64,
    /// What the timed work answered, where that can be compared.
    pub result: Option<f64>,
    /// A word on how it was measured.
    pub note: Option<String>,
}

impl Record {
    /// Whether less is better.
    pub fn is_cost(&self) -> bool {
        matches!(self.unit.as_str(), "s" | "bytes")
    }

    fn parse(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line.trim()).ok()?;
        Some(Self {
            name: value["name"].as_str()?.to_string(),
            unit: value["unit"].as_str()?.to_string(),
            value: value["value"].as_f64()?,
            result: value["result"].as_f64(),
            note: value["note"].as_str().map(str::to_string),
        })
    }
}

/// Runs a command and reads the records among its output. All of it is shown as it comes, since a
/// peer may take minutes.
pub fn from_command(command: &mut Command) -> Result<Vec<Record>, String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("a benchmark did not start: {e}"))?;
    let output = child.stdout.take().ok_or("a benchmark has no output")?;
    let mut records = Vec::new();
    for line in BufReader::new(output).lines() {
        let line = line.map_err(|e| format!("cannot read what a benchmark says: {e}"))?;
        records.extend(Record::parse(&line));
        eprintln!("{line}");
    }
    let status = child.wait().map_err(|e| format!("a benchmark was lost: {e}"))?;
    if status.success() { Ok(records) } else { Err(format!("it gave {status}")) }
}

/// Puts the records of one more run to those of earlier ones; of two with one name the better
/// stays. A share compares two figures already, so its best would flatter: there the lower stays.
pub fn keep_best(best: &mut Vec<Record>, run: Vec<Record>) {
    for record in run {
        let less = record.is_cost() || record.unit == "share";
        match best.iter_mut().find(|known| known.name == record.name) {
            None => best.push(record),
            Some(known) if less && record.value < known.value => *known = record,
            Some(known) if !less && record.value > known.value => *known = record,
            Some(_) => {}
        }
    }
}

/// The records as aligned lines.
pub fn table(title: &str, records: &[Record]) -> String {
    let mut out = format!("\n{title}\n");
    for record in records {
        let result = record.result.map_or(String::new(), |r| format!("result {r:.6}"));
        let note = record.note.as_deref().unwrap_or_default();
        let value = if record.unit == "s" && record.value >= 1.0 {
            format!("{:.3}", record.value)
        } else {
            human(record.value)
        };
        // Writing to a string cannot fail.
        let _ =
            writeln!(out, "  {:<34}{value:>12} {:<10} {result} {note}", record.name, record.unit);
    }
    out
}

/// Four digits, with M or k for rates.
pub fn human(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{:.1} M", v / 1e6),
        v if v >= 1e3 => format!("{:.1} k", v / 1e3),
        v if v >= 1.0 => format!("{v:.3}"),
        v => format!("{v:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_found_among_other_lines() {
        let mut command = Command::new("printf");
        command.arg(r#"warming up\n{"name":"a","unit":"s","value":0.5,"result":2}\n{"name":1}\n"#);
        let records = from_command(&mut command).expect("printf works");
        assert_eq!(records.len(), 1);
        assert!(records[0].is_cost());
        assert_eq!(records[0].result, Some(2.0));
    }

    #[test]
    fn the_better_of_two_runs_stays() {
        let record = |name: &str, unit: &str, value| {
            let (name, unit) = (name.to_string(), unit.to_string());
            Record { name, unit, value, result: None, note: None }
        };
        let mut best = Vec::new();
        let three = |a, b, c| {
            vec![record("a", "s", a), record("b", "samples/s", b), record("c", "share", c)]
        };
        for (time, rate, share) in [(2.0, 5.0, 0.7), (1.0, 7.0, 0.8), (3.0, 6.0, 0.6)] {
            keep_best(&mut best, three(time, rate, share));
        }
        assert_eq!(best, three(1.0, 7.0, 0.6));
    }

    #[test]
    fn a_failed_benchmark_is_an_error() {
        assert!(from_command(&mut Command::new("false")).is_err());
    }

    #[test]
    fn figures_are_short() {
        assert_eq!(human(263e6), "263.0 M");
        assert_eq!(human(93_000.0), "93.0 k");
        assert_eq!(human(0.00042), "4.200e-4");
    }
}
