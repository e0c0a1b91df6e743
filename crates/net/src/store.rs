//! What a node must not forget: one embedded database, written in one transaction a round.
//!
//! The ledger's entries, the bytes that were promised, what was heard, the checkpoint and what was
//! acknowledged are on disk together, or none of them is, and they are there before the first byte
//! leaves (invariant I12). The noise key is there, too: whoever loses the store loses the noise, so
//! a lost store can waste budget but cannot repeat a noise stream.
//!
//! What is large is in a file beside the database, which says where it is.
//!
//! Every transaction ends with a seal, the node's signature over the lengths and heads of ledger
//! and journal. What was changed, cut or swapped is found when the store is opened; a whole store
//! that was put back to an earlier state is found by the peers' statements.

mod batch;
mod bulk;
mod check;
mod heap;
mod reader;
mod recent;
mod seal;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use redb::{Database, ReadableDatabase, TableDefinition};
use undertone_privacy::ledger::{Entry, Header};

use crate::identity::{Identity, PublicKey};
use crate::journal::Event;
use crate::statement::{STATEMENT, Statement};

pub use batch::{Batch, Outgoing};
use bulk::Bulk;
pub use check::{Audit, Contradiction, audit, compare};
use heap::Heap;
pub use reader::Reader;
use recent::Recent;
use seal::Seal;

const META: TableDefinition<&str, &[u8]> = TableDefinition::new("meta");
const LEDGER: TableDefinition<u64, &[u8]> = TableDefinition::new("ledger");
const JOURNAL: TableDefinition<u64, &[u8]> = TableDefinition::new("journal");
/// By round.
const OUTBOX: TableDefinition<u64, &[u8]> = TableDefinition::new("outbox");
/// Statements of others, by node and round.
const HEARD: TableDefinition<(u32, u64), &[u8]> = TableDefinition::new("heard");
/// One past the last round that a peer has stored.
const ACKED: TableDefinition<u32, u64> = TableDefinition::new("acked");

const FORMAT: &[u8] = b"undertone store v4";

/// Pages kept in memory; a node reads little of what it wrote.
const CACHE: usize = 4 << 20;

/// A node's store. Only one process at a time can have it open.
pub struct Store {
    disk: Arc<Disk>,
    identity: Identity,
    about: About,
    seal: Seal,
}

/// What engine and sessions share.
struct Disk {
    database: Database,
    /// Locked while a transaction is written, and while bytes are looked up and read: a place is
    /// not used again under a reader.
    heap: Mutex<Heap>,
    recent: Mutex<Recent>,
}

/// What a store is about; fixed when it is made.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// The node's number.
    pub node: u32,
    /// Its key.
    pub key: PublicKey,
    /// The hash of its network.
    pub network: [u8; 32],
    /// The terms of its ledger.
    pub header: Header,
}

/// Why a store cannot be used. Nothing is released then.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It cannot be opened: missing folder, no permission, or another process has it.
    #[error("{path}: {reason}")]
    Open {
        /// Where.
        path: String,
        /// Why.
        reason: String,
    },
    /// What is in it was changed or cut.
    #[error(
        "{path}: the store is damaged: {reason}; bring it back whole, or begin anew with a new \
         store, a new key and a new budget"
    )]
    Damaged {
        /// Where.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// It belongs to something else.
    #[error("{path}: the store belongs to another {what}; give each node and network its own")]
    Other {
        /// Where.
        path: String,
        /// What differs.
        what: &'static str,
    },
    /// The disk did not take it.
    #[error("the store cannot be written: {0}; nothing was sent")]
    Write(String),
    /// The disk did not give it.
    #[error("the store cannot be read: {0}")]
    Read(String),
}

impl Store {
    /// Opens a store, or makes one with the given noise key.
    pub fn open(
        path: &Path,
        identity: &Identity,
        about: &About,
        noise: &[u8; 32],
    ) -> Result<Self, StoreError> {
        let new = std::fs::metadata(path).map_or(true, |file| file.len() == 0);
        if new {
            Self::create(path, identity, about, noise)
        } else {
            Self::reopen(path, identity, about)
        }
    }

    fn create(
        path: &Path,
        identity: &Identity,
        about: &About,
        noise: &[u8; 32],
    ) -> Result<Self, StoreError> {
        restrict(path)?;
        let database = builder().create(path).map_err(|e| open_error(path, &e))?;
        let mut heap = Heap::open(path, Vec::new()).map_err(|e| open_error(path, &e))?;
        let seal = Seal::first();
        let mut write = || -> Result<(), redb::Error> {
            let transaction = database.begin_write()?;
            {
                let mut meta = transaction.open_table(META)?;
                let header = serde_json::to_vec(&about.header).expect("plain data");
                meta.insert("format", FORMAT)?;
                meta.insert("node", &about.node.to_le_bytes()[..])?;
                meta.insert("key", about.key.to_string().as_bytes())?;
                meta.insert("network", &about.network[..])?;
                meta.insert("header", &header[..])?;
                meta.insert("noise", &noise[..])?;
                meta.insert("seal", &seal.sign(identity)[..])?;
                transaction.open_table(LEDGER)?;
                transaction.open_table(JOURNAL)?;
                Bulk::new(&transaction, &mut heap)?;
                transaction.open_table(OUTBOX)?;
                transaction.open_table(HEARD)?;
                transaction.open_table(ACKED)?;
            }
            transaction.commit()?;
            Ok(())
        };
        write().map_err(|error| StoreError::Write(error.to_string()))?;
        Ok(Self::of(database, heap, identity, about.clone(), seal))
    }

    fn reopen(path: &Path, identity: &Identity, about: &About) -> Result<Self, StoreError> {
        let check::Opened { database, heap, about: found, seal, .. } = check::open(path)?;
        let other = |what| Err(StoreError::Other { path: path.display().to_string(), what });
        match &found {
            found if found.network != about.network => return other("network"),
            found if found.node != about.node => return other("node"),
            found if found.key != about.key => return other("key"),
            found if found.header != about.header => return other("budget or plan"),
            _ => {}
        }
        Ok(Self::of(database, heap, identity, found, seal))
    }

    fn of(database: Database, heap: Heap, identity: &Identity, about: About, seal: Seal) -> Self {
        let disk = Disk { database, heap: Mutex::new(heap), recent: Mutex::default() };
        Self { disk: Arc::new(disk), identity: identity.clone(), about, seal }
    }

    /// The secret of all noise.
    pub(crate) fn noise(&self) -> Result<[u8; 32], StoreError> {
        let read = || -> Result<Option<[u8; 32]>, redb::Error> {
            let meta = self.disk.database.begin_read()?.open_table(META)?;
            Ok(meta.get("noise")?.and_then(|noise| noise.value().try_into().ok()))
        };
        let missing = || StoreError::Read("there is no noise key".into());
        read().map_err(read_error)?.ok_or_else(missing)
    }

    /// What it is about.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// All debits.
    pub fn entries(&self) -> Result<Vec<Entry>, StoreError> {
        check::entries(&self.disk.database).map_err(|error| match error {
            check::Fault::Database(error) => read_error(error),
            check::Fault::Content(reason) => StoreError::Read(reason),
        })
    }

    /// How many events the journal has.
    pub fn events(&self) -> u64 {
        self.seal.events
    }

    /// An event of the journal.
    pub fn event(&self, index: u64) -> Result<Event, StoreError> {
        let read = || -> Result<Option<Event>, redb::Error> {
            let journal = self.disk.database.begin_read()?.open_table(JOURNAL)?;
            Ok(journal.get(index)?.and_then(|bytes| Event::decode(bytes.value())))
        };
        let missing = || StoreError::Read(format!("event {index} of the journal is missing"));
        read().map_err(read_error)?.ok_or_else(missing)
    }

    /// The events before this one, in order.
    pub fn for_each_event(
        &self,
        before: u64,
        mut tell: impl FnMut(Event),
    ) -> Result<(), StoreError> {
        let mut read = || -> Result<(), redb::Error> {
            let journal = self.disk.database.begin_read()?.open_table(JOURNAL)?;
            for row in journal.range(..before)? {
                let (_, bytes) = row?;
                Event::decode(bytes.value()).into_iter().for_each(&mut tell);
            }
            Ok(())
        };
        read().map_err(read_error)
    }

    /// The bytes of a message that was taken in, if they are still needed.
    pub fn message(&self, from: u32, round: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.disk.bytes((from, round)).map_err(read_error)
    }

    /// The last checkpoint: the index of its event, and its bytes.
    pub fn checkpoint(&self) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        let index = check::checkpoint(&self.disk.database).map_err(read_error)?;
        let Some(index) = index else { return Ok(None) };
        let state = self.disk.bytes(bulk::CHECKPOINT).map_err(read_error)?;
        Ok(Some((index, state.unwrap_or_default())))
    }

    /// What a peer signed in a round.
    pub fn heard(&self, from: u32, round: u64) -> Result<Option<Statement>, StoreError> {
        let read = || -> Result<Option<Statement>, redb::Error> {
            let heard = self.disk.database.begin_read()?.open_table(HEARD)?;
            Ok(heard.get((from, round))?.and_then(|bytes| statement(bytes.value())))
        };
        read().map_err(read_error)
    }

    /// All that peers signed, in order of nodes and rounds.
    pub fn all_heard(&self) -> Result<Vec<Statement>, StoreError> {
        check::all_heard(&self.disk.database).map_err(read_error)
    }

    /// A handle that reads what is committed, from any thread.
    pub fn reader(&self) -> Reader {
        Reader { node: self.about.node, disk: Arc::clone(&self.disk) }
    }

    /// Makes all of it durable, or nothing.
    pub fn commit(&mut self, batch: &Batch) -> Result<(), StoreError> {
        let seal = batch.seal(&self.seal);
        let (node, signed) = (self.about.node, seal.sign(&self.identity));
        // Whoever finds its round in the database finds its bytes here. Nobody looks before.
        self.disk.recent().take_up(batch);
        batch
            .write(&self.disk.database, &mut self.disk.heap(), node, &signed)
            .map_err(|error| StoreError::Write(error.to_string()))?;
        self.seal = seal;
        Ok(())
    }
}

impl Disk {
    fn heap(&self) -> MutexGuard<'_, Heap> {
        self.heap.lock().expect("nobody panics with it")
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().expect("nobody panics with it")
    }

    fn bytes(&self, key: (u32, u64)) -> Result<Option<Vec<u8>>, redb::Error> {
        let heap = self.heap();
        bulk::get(&self.database.begin_read()?, &heap, key)
    }
}

fn builder() -> redb::Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE);
    builder
}

/// Makes the file, for its owner only: it holds the noise key.
fn restrict(path: &Path) -> Result<(), StoreError> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let made = options.open(path);
    made.map(|_| ()).map_err(|error| open_error(path, &error))
}

fn statement(bytes: &[u8]) -> Option<Statement> {
    <&[u8; STATEMENT]>::try_from(bytes).ok().map(Statement::decode)
}

fn open_error(path: &Path, error: &dyn std::fmt::Display) -> StoreError {
    StoreError::Open { path: path.display().to_string(), reason: error.to_string() }
}

fn read_error(error: redb::Error) -> StoreError {
    StoreError::Read(error.to_string())
}

#[cfg(test)]
mod tests;
