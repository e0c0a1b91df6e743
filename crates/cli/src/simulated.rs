//! Ledgers of simulated nodes, which `undertone run --ledgers` writes: a line with the header, and
//! a line for each debit.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use undertone_privacy::ledger::{Entry, Guarantee, Header, Ledger};

use crate::output;

/// A ledger that was replayed: every hash, every link of the chain and every debit was checked.
pub struct Replayed {
    pub header: Header,
    pub entries: Vec<Entry>,
    pub guarantee: Guarantee,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct First {
    header: Header,
}

/// Reads and replays a ledger; nothing if the file is of another kind.
pub fn read(path: &Path) -> Option<Result<Replayed, String>> {
    let bytes = std::fs::read(path).ok().filter(|bytes| bytes.starts_with(b"{"))?;
    let text = String::from_utf8(bytes).ok()?;
    let name = path.display();
    Some(replay(&text).map_err(|error| format!("{name}: {error}")))
}

fn replay(text: &str) -> Result<Replayed, String> {
    let mut lines = text.lines().enumerate();
    let first = lines.next().map_or("", |(_, line)| line);
    let First { header } = serde_json::from_str(first)
        .map_err(|error| format!("line 1: a ledger begins with its header: {error}"))?;
    let entry = |(k, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| format!("line {}: {error}", k + 1))
    };
    let entries: Vec<Entry> = lines.map(entry).collect::<Result<_, _>>()?;
    let ledger = Ledger::replay(header.clone(), entries.clone());
    let ledger = ledger.map_err(|error| format!("the ledger was changed: {error}"))?;
    Ok(Replayed { header, entries, guarantee: ledger.guarantee() })
}

impl Replayed {
    /// For programs.
    pub fn as_json(&self) -> Value {
        json!({
            "node": self.header.node,
            "header": self.header,
            "guarantee": self.guarantee,
            "entries": self.entries,
            "simulated": true,
        })
    }

    /// For people. Equal debits in a row are one line.
    pub fn as_text(&self) -> String {
        let facts = output::facts(&[
            ("node", format!("{} (simulated)", self.header.node)),
            ("debits", self.entries.len().to_string()),
            ("promise", promise(&self.guarantee)),
        ]);
        let mut rows: Vec<Vec<String>> = Vec::new();
        let mut first = 0;
        while let Some(entry) = self.entries.get(first) {
            let same = self.entries[first..].iter().take_while(|e| e.event == entry.event).count();
            let serial = match same {
                1 => entry.serial.to_string(),
                _ => format!("{}-{}", entry.serial, entry.serial + same as u64 - 1),
            };
            let last = &self.entries[first + same - 1];
            let event = serde_json::to_string(&entry.event).unwrap_or_default();
            rows.push(vec![serial, event, last.hash.to_string()[..16].to_string()]);
            first += same;
        }
        format!("{facts}\n{}", output::table(&["serial", "event", "last hash"], rows))
    }
}

fn promise(guarantee: &Guarantee) -> String {
    match guarantee.epsilon.get().is_finite() {
        true => guarantee.to_string(),
        false => "no guarantee: something left the node without noise".into(),
    }
}
