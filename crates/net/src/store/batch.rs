//! What one transaction makes durable.

use redb::{Database, ReadableTableMetadata};
use undertone_privacy::ledger::Entry;

use super::seal::Seal;
use super::{ACKED, HEARD, JOURNAL, LEDGER, META, OUTBOX};
use crate::journal::Event;
use crate::statement::{STATEMENT, Statement};

/// What happened since the last transaction.
#[derive(Debug, Default)]
pub struct Batch {
    /// New debits.
    pub entries: Vec<Entry>,
    /// What came from outside, in order.
    pub events: Vec<Event>,
    /// The message that is promised.
    pub outgoing: Option<Outgoing>,
    /// What peers signed about their messages.
    pub heard: Vec<Statement>,
    /// Up to which round peers have stored what was sent to them.
    pub acked: Vec<(u32, u64)>,
    /// Promised messages that everybody has.
    pub settled: Vec<u64>,
}

/// A message that is promised to its hearers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// To whom, in increasing order.
    pub hearers: Vec<u32>,
    /// The signed word.
    pub statement: Statement,
    /// The message's bytes.
    pub payload: Vec<u8>,
}

impl Batch {
    pub(super) fn seal(&self, before: &Seal) -> Seal {
        let seal = self.events.iter().fold(before.clone(), |seal, e| seal.after(&e.encode()));
        let ledger = self.entries.last().map_or(seal.ledger, |entry| *entry.hash.bytes());
        Seal { debits: seal.debits + self.entries.len() as u64, ledger, ..seal }
    }

    pub(super) fn write(&self, database: &Database, seal: &[u8]) -> Result<(), redb::Error> {
        let mut transaction = database.begin_write()?;
        // A torn write of the first phase cannot pass for a commit.
        transaction.set_two_phase_commit(true);
        {
            let mut ledger = transaction.open_table(LEDGER)?;
            for entry in &self.entries {
                let bytes = serde_json::to_vec(entry).expect("an entry is plain data");
                ledger.insert(entry.serial, &bytes[..])?;
            }
            let mut journal = transaction.open_table(JOURNAL)?;
            let first = journal.len()?;
            for (index, event) in (first..).zip(&self.events) {
                journal.insert(index, &event.encode()[..])?;
            }
            let mut outbox = transaction.open_table(OUTBOX)?;
            for round in &self.settled {
                outbox.remove(round)?;
            }
            if let Some(outgoing) = &self.outgoing {
                outbox.insert(outgoing.statement.round, &outgoing.encode()[..])?;
            }
            let mut heard = transaction.open_table(HEARD)?;
            for statement in &self.heard {
                heard.insert((statement.node, statement.round), &statement.encode()[..])?;
            }
            let mut acked = transaction.open_table(ACKED)?;
            for (peer, round) in &self.acked {
                acked.insert(peer, round + 1)?;
            }
            transaction.open_table(META)?.insert("seal", seal)?;
        }
        transaction.commit()?;
        Ok(())
    }
}

impl Outgoing {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(4 + 4 * self.hearers.len() + STATEMENT);
        bytes.extend((self.hearers.len() as u32).to_le_bytes());
        self.hearers.iter().for_each(|hearer| bytes.extend(hearer.to_le_bytes()));
        bytes.extend(self.statement.encode());
        bytes.extend(&self.payload);
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (hearers, rest) = split(bytes)?;
        let (statement, payload) = rest.split_first_chunk::<STATEMENT>()?;
        let statement = Statement::decode(statement);
        Some(Self { hearers: numbers(hearers).collect(), statement, payload: payload.to_vec() })
    }

    pub(super) fn hearers_of(bytes: &[u8]) -> Vec<u32> {
        split(bytes).map_or_else(Vec::new, |(hearers, _)| numbers(hearers).collect())
    }

    pub(super) fn is_for(bytes: &[u8], peer: u32) -> bool {
        split(bytes).is_some_and(|(hearers, _)| numbers(hearers).any(|hearer| hearer == peer))
    }
}

fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (count, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(4 * u32::from_le_bytes(*count) as usize)
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.as_chunks::<4>().0.iter().map(|number| u32::from_le_bytes(*number))
}
