//! The bytes of messages and of the checkpoint: small ones in the database, large ones beside it.

use redb::{Error, ReadTransaction, ReadableTable, Table, TableDefinition, WriteTransaction};

use super::heap::{Heap, Place};

/// By whose message it is, and its round.
type Key = (u32, u64);

const SMALL: TableDefinition<Key, &[u8]> = TableDefinition::new("small");
/// Where it begins, and how long it is.
const LARGE: TableDefinition<Key, (u64, u64)> = TableDefinition::new("large");

/// The checkpoint is here; no node has this number.
pub(super) const CHECKPOINT: Key = (u32::MAX, 0);

/// Shorter ones are in the database, so that there is one file to make durable, and not two.
pub(super) const LIMIT: usize = 16 << 10;

/// Within a transaction that writes.
pub(super) struct Bulk<'t> {
    small: Table<'t, Key, &'static [u8]>,
    large: Table<'t, Key, (u64, u64)>,
    heap: &'t mut Heap,
}

impl<'t> Bulk<'t> {
    pub(super) fn new(
        transaction: &'t WriteTransaction,
        heap: &'t mut Heap,
    ) -> Result<Self, Error> {
        let (small, large) = (transaction.open_table(SMALL)?, transaction.open_table(LARGE)?);
        Ok(Self { small, large, heap })
    }

    /// Nothing may be there.
    pub(super) fn put(&mut self, key: Key, bytes: &[u8]) -> Result<(), Error> {
        if bytes.len() < LIMIT {
            self.small.insert(key, bytes)?;
            return Ok(());
        }
        let Place { start, length } = self.heap.put(bytes).map_err(Error::Io)?;
        self.large.insert(key, (start, length))?;
        Ok(())
    }

    pub(super) fn remove(&mut self, key: Key) -> Result<(), Error> {
        if self.small.remove(key)?.is_some() {
            return Ok(());
        }
        if let Some(place) = self.large.remove(key)? {
            let (start, length) = place.value();
            self.heap.forget(Place { start, length });
        }
        Ok(())
    }

    /// What was put is durable after this, but nothing names it yet.
    pub(super) fn sync(self) -> Result<(), Error> {
        self.heap.sync().map_err(Error::Io)
    }
}

/// All places that count.
pub(super) fn places(transaction: &ReadTransaction) -> Result<Vec<Place>, Error> {
    let mut places = Vec::new();
    for row in transaction.open_table(LARGE)?.iter()? {
        let (start, length) = row?.1.value();
        places.push(Place { start, length });
    }
    Ok(places)
}

/// The bytes, which the caller compares with their digest.
pub(super) fn get(
    transaction: &ReadTransaction,
    heap: &Heap,
    key: Key,
) -> Result<Option<Vec<u8>>, Error> {
    if let Some(bytes) = transaction.open_table(SMALL)?.get(key)? {
        return Ok(Some(bytes.value().to_vec()));
    }
    let Some(place) = transaction.open_table(LARGE)?.get(key)? else { return Ok(None) };
    let (start, length) = place.value();
    heap.get(Place { start, length }).map(Some).map_err(Error::Io)
}
