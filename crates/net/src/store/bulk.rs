//! Messages and checkpoints: cut into rows that fill the database's pages.

use redb::{ReadableTable, StorageError, Table, TableDefinition};

/// By whose message it is, its round, and the part.
pub(super) const BULK: TableDefinition<Key, &[u8]> = TableDefinition::new("bulk");

/// The checkpoint is here; no node has this number.
pub(super) const CHECKPOINT: (u32, u64) = (u32::MAX, 0);

type Key = (u32, u64, u32);

/// A row has a page of the next power of two, which is written as a whole. With what stands beside
/// it, this fills one.
const PART: usize = (64 << 10) - 128;

pub(super) fn put(
    table: &mut Table<'_, Key, &'static [u8]>,
    (node, round): (u32, u64),
    bytes: &[u8],
) -> Result<(), StorageError> {
    let first = bytes.len().min(PART);
    table.insert((node, round, 0), &bytes[..first])?;
    for (part, bytes) in (1..).zip(bytes[first..].chunks(PART)) {
        table.insert((node, round, part), bytes)?;
    }
    Ok(())
}

pub(super) fn get(
    table: &impl ReadableTable<Key, &'static [u8]>,
    (node, round): (u32, u64),
) -> Result<Option<Vec<u8>>, StorageError> {
    let mut found = None;
    for row in table.range((node, round, 0)..=(node, round, u32::MAX))? {
        let (_, part) = row?;
        found.get_or_insert_with(Vec::new).extend_from_slice(part.value());
    }
    Ok(found)
}

pub(super) fn remove(
    table: &mut Table<'_, Key, &'static [u8]>,
    (node, round): (u32, u64),
) -> Result<(), StorageError> {
    for part in 0.. {
        if table.remove((node, round, part))?.is_none() {
            break;
        }
    }
    Ok(())
}
