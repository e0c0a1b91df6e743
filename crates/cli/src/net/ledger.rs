//! `undertone ledger`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use undertone_net::{Audit, audit, hex};

use crate::output;
use crate::simulated;

/// Look at a node's store, and check that nothing in it was changed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  undertone ledger show node.store
  undertone ledger verify node.store --json
  undertone ledger verify a.store b.store c.store      and what they heard of each other
  undertone ledger show undertone-out/quickstart/ledgers/private-together/node-0.jsonl

A store is read while its node is stopped; a ledger of a simulated node (`undertone run --ledgers`)
is read in the same way. Exit code 2 means that a check failed.")]
pub struct Ledger {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The debits and what they promise
    Show {
        /// The store of a node
        store: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// The chain, the seal, the filter, the journal; and among several, what each heard of others
    Verify {
        /// Stores of nodes
        #[arg(required = true)]
        stores: Vec<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl Ledger {
    /// The text to print.
    pub fn run(self) -> Result<String, String> {
        match self.command {
            Command::Show { store, json } => {
                if let Some(replayed) = simulated::read(&store) {
                    let replayed = replayed?;
                    let value = || output::json(&replayed.as_json());
                    return Ok(if json { value() } else { replayed.as_text() });
                }
                let audit = audit(&store).map_err(|error| error.to_string())?;
                Ok(if json { output::json(&facts(&audit)) } else { text(&audit) })
            }
            Command::Verify { stores, json } => {
                let (mut kept, mut chains, mut chained) = (Vec::new(), 0, 0);
                for store in &stores {
                    match simulated::read(store) {
                        Some(replayed) => {
                            (chains, chained) = (chains + 1, chained + replayed?.entries.len())
                        }
                        None => kept.push(store),
                    }
                }
                if kept.is_empty() {
                    return Ok(match json {
                        true => output::json(&json!({
                            "ledgers": chains,
                            "debits": chained,
                            "verified": true,
                        })),
                        false => format!("verified: {chains} simulated ledgers, {chained} debits"),
                    });
                }
                let audits = kept.into_iter().map(|store| audit(store));
                let audits: Vec<Audit> =
                    audits.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
                let compared = undertone_net::compare(&audits).map_err(|e| e.to_string())?;
                let debits: usize = audits.iter().map(|audit| audit.entries.len()).sum();
                let sent: usize = audits.iter().map(|audit| audit.sent.len()).sum();
                Ok(match json {
                    true => output::json(&json!({
                        "stores": audits.len(),
                        "debits": debits,
                        "messages-sent": sent,
                        "messages-compared": compared,
                        "verified": true,
                    })),
                    false => format!(
                        "verified: {} stores, {debits} debits, {sent} messages sent, {compared} \
                         of them compared with what others heard",
                        audits.len()
                    ),
                })
            }
        }
    }
}

fn facts(audit: &Audit) -> Value {
    json!({
        "node": audit.about.node,
        "key": audit.about.key,
        "network": hex(&audit.about.network),
        "header": audit.about.header,
        "guarantee": audit.guarantee,
        "entries": audit.entries,
        "events": audit.events,
        "sent": audit.sent.iter().map(|(round, debits, digest)| {
            json!({ "round": round, "debits": debits, "digest": hex(digest) })
        }).collect::<Vec<_>>(),
        "heard": audit.heard.len(),
        "outbox": audit.outbox,
    })
}

fn text(audit: &Audit) -> String {
    let rows = audit.entries.iter().map(|entry| {
        let event = serde_json::to_string(&entry.event).unwrap_or_default();
        vec![entry.serial.to_string(), event, entry.hash.to_string()[..16].to_string()]
    });
    let facts = output::facts(&[
        ("node", audit.about.node.to_string()),
        ("key", audit.about.key.to_string()),
        ("debits", audit.entries.len().to_string()),
        ("messages sent", audit.sent.len().to_string()),
        ("messages heard", audit.heard.len().to_string()),
        ("not acknowledged", audit.outbox.len().to_string()),
        ("promise", audit.guarantee.to_string()),
    ]);
    format!("{facts}\n{}", output::table(&["serial", "event", "hash"], rows.collect()))
}
