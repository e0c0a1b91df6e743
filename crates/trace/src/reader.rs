//! Reading a trace back.

use std::io::{self, BufRead};

use serde_json::Value;

use crate::record::{Record, SCHEMA};

/// Why lines are not a trace.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The lines cannot be read.
    #[error("line {line}: {source}")]
    Io {
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong.
        source: io::Error,
    },
    /// A line is not a record.
    #[error("line {line}: a record in JSON was expected ({source}); is the file cut off?")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// Written by another version.
    #[error(
        "line {line}: schema {found} is not known, this reads schema {SCHEMA}; run the plan \
             again, or read it with the version that wrote it"
    )]
    Schema {
        /// The number of the line, from 1.
        line: usize,
        /// What it says.
        found: Value,
    },
}

/// All records, in order. Empty lines are none.
pub fn read(lines: impl BufRead) -> Result<Vec<Record>, ReadError> {
    let mut records = Vec::new();
    for (index, text) in lines.lines().enumerate() {
        let line = index + 1;
        let text = text.map_err(|source| ReadError::Io { line, source })?;
        if text.trim().is_empty() {
            continue;
        }
        // The version is looked at first: another one may have other fields.
        let value: Value =
            serde_json::from_str(&text).map_err(|source| ReadError::Line { line, source })?;
        match value.get("schema") {
            Some(found) if *found != SCHEMA => {
                return Err(ReadError::Schema { line, found: found.clone() });
            }
            _ => {}
        }
        let record =
            serde_json::from_value(value).map_err(|source| ReadError::Line { line, source })?;
        records.push(record);
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::writer::Trace;

    #[test]
    fn every_record_comes_back_to_the_last_bit() {
        let awkward = [0.1 + 0.2, 1.0 / 3.0, 5e-324, -0.0, 1e300, f64::INFINITY, f64::MIN];
        let metrics: BTreeMap<_, _> =
            awkward.iter().enumerate().map(|(k, v)| (format!("m{k}"), *v)).collect();
        let records = [
            Record::Start {
                schema: SCHEMA,
                name: "a".into(),
                plan_hash: "0f".into(),
                seed: u64::MAX,
                nodes: 3,
                algorithm: "push-sum".into(),
                precision: "f64".into(),
            },
            Record::Round { round: 1, time: Some(0.1), messages: 6, bytes: 99, metrics },
            Record::Guarantee {
                node: 2,
                guarantee: serde_json::json!({"epsilon": 1.0 / 3.0}),
                claim: None,
            },
            Record::Note { text: "ö\n".into() },
            Record::End { rounds: 1, messages: 6, bytes: 99 },
        ];
        let mut trace = Trace::new(Vec::new());
        records.iter().for_each(|record| trace.write(record).unwrap());
        let lines = trace.into_inner();
        assert_eq!(lines.iter().filter(|byte| **byte == b'\n').count(), records.len());
        let back = read(&lines[..]).unwrap();
        assert_eq!(back, records);
        let Record::Round { metrics, .. } = &back[1] else { panic!("the second is a round") };
        for (k, v) in awkward.iter().enumerate() {
            assert_eq!(metrics[&format!("m{k}")].to_bits(), v.to_bits());
        }
    }

    #[test]
    fn the_hash_depends_on_every_line() {
        let hash = |texts: &[&str]| {
            let mut trace = Trace::new(io::sink());
            texts.iter().for_each(|t| trace.write(&Record::Note { text: (*t).into() }).unwrap());
            trace.hash()
        };
        assert_eq!(hash(&["a", "b"]), hash(&["a", "b"]));
        assert_ne!(hash(&["a", "b"]), hash(&["b", "a"]));
        assert_ne!(hash(&["a"]), hash(&["a", "a"]));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let note = "{\"record\":\"note\",\"text\":\"a\"}\n";
        let message = |text: String| read(text.as_bytes()).unwrap_err().to_string();
        let cut = message(format!("{note}{{\"record\":\"no"));
        assert!(cut.starts_with("line 2: a record in JSON was expected"), "{cut}");
        let unknown = message(note.replace("note", "nota"));
        assert!(unknown.contains("line 1") && unknown.contains("`note`"), "{unknown}");
        let extra = message(note.replace("text", "txt"));
        assert!(extra.contains("txt"), "{extra}");
        let newer = message("{\"record\":\"start\",\"schema\":2,\"shape\":1}".into());
        assert!(newer.contains("schema 2") && newer.contains("reads schema 1"), "{newer}");
    }
}
