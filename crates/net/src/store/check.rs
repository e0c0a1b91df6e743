//! Whether a store is what its owner wrote: for opening it, and for whoever wants to know.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTable};
use undertone_privacy::ledger::{Entry, Guarantee, Ledger};

use super::bulk;
use super::heap::Heap;
use super::seal::Seal;
use super::{
    About, FORMAT, HEARD, JOURNAL, LEDGER, META, OUTBOX, Outgoing, StoreError, builder, open_error,
    statement,
};
use crate::identity::PublicKey;
use crate::journal::{Event, chain};
use crate::statement::{Statement, digest};

/// What a store holds, after everything in it was checked.
#[derive(Debug)]
pub struct Audit {
    /// What it is about.
    pub about: About,
    /// All debits.
    pub entries: Vec<Entry>,
    /// What the ledger promises.
    pub guarantee: Guarantee,
    /// What the node sent: rounds, debits at that time, digests.
    pub sent: Vec<(u64, u64, [u8; 32])>,
    /// What peers signed about what they sent to it.
    pub heard: Vec<Statement>,
    /// Rounds of promised messages that are not acknowledged by all.
    pub outbox: Vec<u64>,
    /// How many events the journal has.
    pub events: u64,
}

/// Round, debits and digest of a message.
type Sent = (u64, u64, [u8; 32]);

pub(super) enum Fault {
    Database(redb::Error),
    Content(String),
}

impl<E: Into<redb::Error>> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::Database(error.into())
    }
}

/// Opens a store that nobody else has open, checks all of it, and changes nothing.
pub fn audit(path: &Path) -> Result<Audit, StoreError> {
    if !path.is_file() {
        return Err(open_error(path, &"there is no such file"));
    }
    let Opened { database, about, seal, sent, outbox, .. } = open(path)?;
    let damaged = |reason: String| StoreError::Damaged { path: path.display().to_string(), reason };
    let say = |fault| match fault {
        Fault::Database(error) => damaged(error.to_string()),
        Fault::Content(reason) => damaged(reason),
    };
    let entries = entries(&database).map_err(say)?;
    let ledger = Ledger::replay(about.header.clone(), entries.clone());
    let guarantee = ledger.map_err(|error| damaged(error.to_string()))?.guarantee();
    let heard = all_heard(&database).map_err(|error| damaged(error.to_string()))?;
    Ok(Audit { about, entries, guarantee, sent, heard, outbox, events: seal.events })
}

/// A store that was opened and checked.
pub(super) struct Opened {
    pub(super) database: Database,
    pub(super) heap: Heap,
    pub(super) about: About,
    pub(super) seal: Seal,
    sent: Vec<Sent>,
    outbox: Vec<u64>,
}

/// Opens an old store. All of it is checked: what its owner signed, and all bytes that are needed
/// to go on.
pub(super) fn open(path: &Path) -> Result<Opened, StoreError> {
    let damaged = |reason: String| StoreError::Damaged { path: path.display().to_string(), reason };
    // The database takes some damage for a bug of its own and panics.
    let opened = catch_unwind(AssertUnwindSafe(|| -> Result<(Database, bool), redb::Error> {
        let mut database = builder().open(path)?;
        let whole = database.check_integrity()?;
        Ok((database, whole))
    }));
    let database = match opened {
        Ok(Ok((database, true))) => database,
        Ok(Ok((_, false))) => return Err(damaged("pages do not have their checksums".into())),
        Ok(Err(redb::Error::DatabaseAlreadyOpen)) => {
            return Err(open_error(path, &"another process has this store open"));
        }
        Ok(Err(redb::Error::Io(error))) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            return Err(open_error(path, &error));
        }
        Ok(Err(error)) => return Err(damaged(error.to_string())),
        Err(_) => return Err(damaged("its pages make no sense".into())),
    };
    let read = catch_unwind(AssertUnwindSafe(|| -> Result<_, Fault> {
        let (about, seal) = contents(&database)?;
        let transaction = database.begin_read()?;
        let heap = Heap::open(path, bulk::places(&transaction)?).map_err(redb::Error::Io)?;
        let (sent, outbox) = bytes(&transaction, &heap, about.node)?;
        Ok((heap, about, seal, sent, outbox))
    }));
    match read {
        Ok(Ok((heap, about, seal, sent, outbox))) => {
            Ok(Opened { database, heap, about, seal, sent, outbox })
        }
        Ok(Err(Fault::Database(error))) => Err(damaged(error.to_string())),
        Ok(Err(Fault::Content(reason))) => Err(damaged(reason)),
        Err(_) => Err(damaged("its pages make no sense".into())),
    }
}

fn contents(database: &Database) -> Result<(About, Seal), Fault> {
    let content = |reason: &str| Fault::Content(reason.into());
    let transaction = database.begin_read()?;
    let meta = transaction.open_table(META)?;
    let read = |key: &str| -> Result<Vec<u8>, Fault> {
        let value = meta.get(key)?;
        value.map(|value| value.value().to_vec()).ok_or(Fault::Content(format!("it has no {key}")))
    };
    if read("format")? != FORMAT {
        return Err(content("it is not a store of this version"));
    }
    let key = String::from_utf8(read("key")?).ok().and_then(|key| PublicKey::try_from(key).ok());
    let key = key.ok_or(content("it has no key"))?;
    let about = About {
        node: read("node")?.try_into().map(u32::from_le_bytes).map_err(|_| content("no node"))?,
        key,
        network: read("network")?.try_into().map_err(|_| content("it has no network"))?,
        header: serde_json::from_slice(&read("header")?).map_err(|_| content("no header"))?,
    };
    let seal = Seal::read(&read("seal")?, &key).ok_or(content("the seal is not the node's"))?;
    let (mut head, mut length) = ([0; 32], 0);
    let journal = transaction.open_table(JOURNAL)?;
    for row in journal.iter()? {
        let (index, bytes) = row?;
        if index.value() != length || Event::decode(bytes.value()).is_none() {
            return Err(Fault::Content(format!("event {length} of the journal is missing")));
        }
        head = chain(&head, bytes.value());
        length += 1;
    }
    if (length, head) != (seal.events, seal.journal) {
        return Err(content("the journal does not end where the seal says"));
    }
    let entries = entries(database)?;
    let last = entries.last().map_or([0; 32], |entry| *entry.hash.bytes());
    if (entries.len() as u64, last) != (seal.debits, seal.ledger) {
        return Err(content("the ledger does not end where the seal says"));
    }
    Ok((about, seal))
}

/// What was sent (rounds, debits, digests), and the rounds of the outbox, if all bytes are there
/// that a restart needs: the checkpoint, messages that were heard after it or for later rounds, and
/// promised messages.
fn bytes(
    transaction: &ReadTransaction,
    heap: &Heap,
    node: u32,
) -> Result<(Vec<Sent>, Vec<u64>), Fault> {
    let kept = |key, wanted: &[u8; 32], what: &dyn Fn() -> String| -> Result<(), Fault> {
        match bulk::get(transaction, heap, key) {
            Ok(Some(bytes)) if digest(&bytes) == *wanted => Ok(()),
            Ok(_) => Err(Fault::Content(what())),
            Err(redb::Error::Io(error)) => Err(Fault::Content(format!("{}: {error}", what()))),
            Err(error) => Err(error.into()),
        }
    };
    let journal = transaction.open_table(JOURNAL)?;
    let last = last_checkpoint(transaction)?;
    let since = match last {
        None => None,
        Some(index) => match journal.get(index)?.and_then(|bytes| Event::decode(bytes.value())) {
            Some(Event::Checkpoint { round, digest, .. }) => {
                let what = || "the checkpoint is not the one in the journal".to_string();
                kept(bulk::CHECKPOINT, &digest, &what)?;
                Some((index, round))
            }
            _ => return Err(Fault::Content("there is no checkpoint where one is named".into())),
        },
    };
    let mut sent = Vec::new();
    for row in journal.iter()? {
        let (index, bytes) = row?;
        let is_after = since.is_none_or(|(last, _)| index.value() > last);
        match Event::decode(bytes.value()) {
            Some(Event::Sent { round, debits, digest }) => {
                sent.push((round, debits, digest));
            }
            Some(Event::Heard { from, round, digest })
                if is_after || since.is_some_and(|(_, first)| round >= first) =>
            {
                let what =
                    || format!("the message of node {from} in round {round} is not the one heard");
                kept((from, round), &digest, &what)?;
            }
            _ => {}
        }
    }
    let mut outbox = Vec::new();
    for row in transaction.open_table(OUTBOX)?.iter()? {
        let (round, row) = row?;
        let round = round.value();
        let what = || format!("message {round} is not the one promised");
        let statement = Outgoing::statement_of(row.value()).ok_or(Fault::Content(what()))?;
        let known = sent.iter().any(|(of, _, digest)| (*of, digest) == (round, &statement.digest));
        if !known || statement.round != round {
            return Err(Fault::Content(what()));
        }
        kept((node, round), &statement.digest, &what)?;
        outbox.push(round);
    }
    Ok((sent, outbox))
}

/// The index of the last checkpoint's event.
pub(super) fn checkpoint(database: &Database) -> Result<Option<u64>, redb::Error> {
    last_checkpoint(&database.begin_read()?)
}

fn last_checkpoint(transaction: &ReadTransaction) -> Result<Option<u64>, redb::Error> {
    let meta = transaction.open_table(META)?;
    let index = meta.get("checkpoint")?.and_then(|index| index.value().try_into().ok());
    Ok(index.map(u64::from_le_bytes))
}

pub(super) fn entries(database: &Database) -> Result<Vec<Entry>, Fault> {
    let transaction = database.begin_read()?;
    let ledger = transaction.open_table(LEDGER)?;
    let mut entries = Vec::new();
    for row in ledger.iter()? {
        let (serial, bytes) = row?;
        let entry = serde_json::from_slice(bytes.value());
        let entry = entry.map_err(|_| {
            Fault::Content(format!("entry {} of the ledger cannot be read", serial.value()))
        })?;
        entries.push(entry);
    }
    Ok(entries)
}

pub(super) fn all_heard(database: &Database) -> Result<Vec<Statement>, redb::Error> {
    let heard = database.begin_read()?.open_table(HEARD)?;
    let mut statements = Vec::new();
    for row in heard.iter()? {
        let (_, bytes) = row?;
        statements.extend(statement(bytes.value()));
    }
    Ok(statements)
}

/// Two stores that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("node {hearer} heard a message of node {sender} in round {round} that {complaint}")]
pub struct Contradiction {
    /// Who heard it.
    pub hearer: u32,
    /// Who signed it.
    pub sender: u32,
    /// When.
    pub round: u64,
    /// What is wrong.
    pub complaint: &'static str,
}

/// Compares what each node sent with what the others heard of it, and counts the messages.
pub fn compare(audits: &[Audit]) -> Result<u64, Contradiction> {
    let mut compared = 0;
    for hearer in audits {
        for word in &hearer.heard {
            let Some(sender) = audits.iter().find(|audit| audit.about.node == word.node) else {
                continue;
            };
            let contradiction = |complaint| Contradiction {
                hearer: hearer.about.node,
                sender: word.node,
                round: word.round,
                complaint,
            };
            let own = sender.sent.binary_search_by_key(&word.round, |(round, _, _)| *round);
            let (_, debits, digest) = own
                .map(|place| sender.sent[place])
                .map_err(|_| contradiction("is not in the sender's store"))?;
            if digest != word.digest {
                return Err(contradiction("has other bytes in the sender's store"));
            }
            let last = word.debits.checked_sub(1).map(|k| sender.entries.get(k as usize));
            let paid = match last {
                None => true,
                Some(entry) => entry.is_some_and(|entry| *entry.hash.bytes() == word.head),
            };
            if debits != word.debits || !paid {
                return Err(contradiction("was paid for otherwise by the sender's ledger"));
            }
            compared += 1;
        }
    }
    Ok(compared)
}
