//! What one transaction makes durable.

use bytes::Bytes;
use redb::{Database, ReadableTableMetadata};
use undertone_privacy::ledger::Entry;

use super::bulk::{self, Bulk};
use super::heap::Heap;
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
    /// Messages that were taken in: from whom, of which round, their bytes.
    pub taken: Vec<(u32, u64, Bytes)>,
    /// Such messages that are not needed any more.
    pub forgotten: Vec<(u32, u64)>,
    /// The algorithm's state, and the place of its event among `events`.
    pub checkpoint: Option<(usize, Vec<u8>)>,
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
    pub payload: Bytes,
}

impl Batch {
    pub(super) fn seal(&self, before: &Seal) -> Seal {
        let seal = self.events.iter().fold(before.clone(), |seal, e| seal.after(&e.encode()));
        let ledger = self.entries.last().map_or(seal.ledger, |entry| *entry.hash.bytes());
        Seal { debits: seal.debits + self.entries.len() as u64, ledger, ..seal }
    }

    /// One phase: a torn write does not have the database's checksums, and if it had, the chain
    /// would not end in the seal.
    pub(super) fn write(
        &self,
        database: &Database,
        heap: &mut Heap,
        node: u32,
        seal: &[u8],
    ) -> Result<(), redb::Error> {
        let transaction = database.begin_write()?;
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
            let mut bulk = Bulk::new(&transaction, heap)?;
            let mut meta = transaction.open_table(META)?;
            for (from, round) in &self.forgotten {
                bulk.remove((*from, *round))?;
            }
            for (from, round, payload) in &self.taken {
                bulk.put((*from, *round), payload)?;
            }
            if let Some((place, state)) = &self.checkpoint {
                bulk.remove(bulk::CHECKPOINT)?;
                bulk.put(bulk::CHECKPOINT, state)?;
                let index = first + *place as u64;
                meta.insert("checkpoint", &index.to_le_bytes()[..])?;
            }
            let mut outbox = transaction.open_table(OUTBOX)?;
            for round in &self.settled {
                outbox.remove(round)?;
                bulk.remove((node, *round))?;
            }
            if let Some(outgoing) = &self.outgoing {
                let round = outgoing.statement.round;
                bulk.put((node, round), &outgoing.payload)?;
                outbox.insert(round, &outgoing.encode()[..])?;
            }
            let mut heard = transaction.open_table(HEARD)?;
            for statement in &self.heard {
                heard.insert((statement.node, statement.round), &statement.encode()[..])?;
            }
            let mut acked = transaction.open_table(ACKED)?;
            for (peer, round) in &self.acked {
                acked.insert(peer, round + 1)?;
            }
            meta.insert("seal", seal)?;
            bulk.sync()?;
        }
        transaction.commit()?;
        heap.reuse();
        Ok(())
    }
}

impl Outgoing {
    /// Without the message's bytes, which are apart.
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(4 + 4 * self.hearers.len() + STATEMENT);
        bytes.extend((self.hearers.len() as u32).to_le_bytes());
        self.hearers.iter().for_each(|hearer| bytes.extend(hearer.to_le_bytes()));
        bytes.extend(self.statement.encode());
        bytes
    }

    pub(super) fn decode(bytes: &[u8], payload: Bytes) -> Option<Self> {
        let statement = Self::statement_of(bytes)?;
        Some(Self { hearers: Self::hearers_of(bytes), statement, payload })
    }

    pub(super) fn statement_of(bytes: &[u8]) -> Option<Statement> {
        let (_, statement) = split(bytes)?;
        Some(Statement::decode(statement.try_into().ok()?))
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
