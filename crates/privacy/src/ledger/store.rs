//! Where entries go.

use super::Entry;

/// A store that did not take an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the ledger's store did not take the entry: {0}")]
pub struct StoreError(pub String);

/// A place for entries, in order.
///
/// # Guarantee
///
/// When `append` returns `Ok` the entry is as durable as the store promises to make anything: the
/// receipt does not exist before, so no crash can forget a release that was made. When it returns
/// `Err` the entry must not be there; a store that cannot tell has to be replayed before its ledger
/// is used again (an entry without a release costs utility, never privacy).
pub trait Store {
    /// Adds an entry at the end.
    fn append(&mut self, entry: &Entry) -> Result<(), StoreError>;
}

/// Memory: for simulations and tests.
impl Store for Vec<Entry> {
    fn append(&mut self, entry: &Entry) -> Result<(), StoreError> {
        self.push(entry.clone());
        Ok(())
    }
}
