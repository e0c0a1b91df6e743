//! Where a node's ledger puts its debits: aside, until the transaction that also has the bytes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use undertone_privacy::ledger::{Debit, Entry, Hash, Store, StoreError};

/// Debits on their way to the store. The oracle's ledger has one handle, the engine another.
///
/// # Guarantee
///
/// After a restart the debits that are on disk are made again, in order, and must be the same to
/// the last bit; then the receipts are, too, and with them batches and noise. A new debit is not
/// durable when its receipt is made: its release stays in memory until the engine has committed
/// the debit together with the bytes to send (invariant I12), and if the process ends before, it
/// never was.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// On disk, not yet made again.
    known: VecDeque<Entry>,
    /// Made, not yet on disk.
    fresh: Vec<Entry>,
}

impl Account {
    pub(crate) fn new(known: Vec<Entry>) -> Self {
        Self(Arc::new(Mutex::new(Inner { known: known.into(), fresh: Vec::new() })))
    }

    /// New debits, for the transaction.
    pub(crate) fn take_fresh(&self) -> Vec<Entry> {
        std::mem::take(&mut self.inner().fresh)
    }

    /// How many debits are on disk that were not made again.
    pub(crate) fn known(&self) -> usize {
        self.inner().known.len()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("nobody panics with it")
    }
}

impl Store for Account {
    fn append(&mut self, debit: &Debit<'_>) -> Result<Hash, StoreError> {
        let entry = debit.seal();
        let hash = entry.hash;
        let mut inner = self.inner();
        match inner.known.pop_front() {
            None => inner.fresh.push(entry),
            Some(known) if known == entry => {}
            Some(known) => {
                let message = format!("debit {} is not the one on disk", known.serial);
                inner.known.push_front(known);
                return Err(StoreError(message));
            }
        }
        Ok(hash)
    }
}
