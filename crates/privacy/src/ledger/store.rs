//! Where debits go.

use std::sync::Arc;

use super::entry::{Debit, Entry, Hash};
use crate::event::Event;

/// A store that did not take an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the ledger's store did not take the entry: {0}")]
pub struct StoreError(pub String);

/// A place for debits, in order.
///
/// # Guarantee
///
/// When `append` returns `Ok` the debit is as durable as the store promises to make anything: the
/// receipt does not exist before, so no crash can forget a release that was made. When it returns
/// `Err` the entry must not be there; a store that cannot tell has to be replayed before its ledger
/// is used again (an entry without a release costs utility, never privacy).
pub trait Store {
    /// Adds a debit at the end, and says what the next one is chained to: the hash of the
    /// [sealed](Debit::seal) entry.
    fn append(&mut self, debit: &Debit<'_>) -> Result<Hash, StoreError>;

    /// What was debited how often, in order, as far as the store has it in memory.
    fn debited(&self) -> Vec<(Arc<Event>, u64)> {
        Vec::new()
    }
}

/// Memory: for tests, and for whoever wants to replay.
impl Store for Vec<Entry> {
    fn append(&mut self, debit: &Debit<'_>) -> Result<Hash, StoreError> {
        let entry = debit.seal();
        let hash = entry.hash;
        self.push(entry);
        Ok(hash)
    }

    fn debited(&self) -> Vec<(Arc<Event>, u64)> {
        self.iter().map(|entry| (Arc::new(entry.event.clone()), 1)).collect()
    }
}

/// Counts equal debits in a row and keeps no chain: for simulations of many nodes, which nobody
/// replays and nobody could tamper with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// The last event and how often it came. At hand, where most debits find it.
    last: Option<(Arc<Event>, u64)>,
    /// Those before it.
    before: Vec<(Arc<Event>, u64)>,
}

impl Store for Tally {
    #[inline]
    fn append(&mut self, debit: &Debit<'_>) -> Result<Hash, StoreError> {
        match &mut self.last {
            Some((event, times)) if Arc::ptr_eq(event, debit.event()) => *times += 1,
            Some((event, times)) if event == debit.event() => *times += 1,
            last => self.before.extend(last.replace((Arc::clone(debit.event()), 1))),
        }
        Ok(debit.previous())
    }

    fn debited(&self) -> Vec<(Arc<Event>, u64)> {
        self.before.iter().chain(&self.last).cloned().collect()
    }
}
