//! No noise at all.

use super::{ReleaseError, admit};
use crate::event::Event;
use crate::ledger::Receipt;
use crate::release::{Guarded, Released, Secret};

/// Releases a secret as it is: for runs without privacy, and for algorithms that are printed so.
///
/// # Guarantee
///
/// None. The event is [`Event::NonPrivate`], whose epsilon is infinite, so only a ledger with an
/// infinite budget pays for it and every guarantee of that node becomes "no guarantee".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exposure;

impl Exposure {
    /// What to debit.
    pub fn event(&self) -> Event {
        Event::NonPrivate
    }

    /// Lets the secret out.
    pub fn release<T: Guarded>(
        &self,
        secret: impl Into<Secret<T>>,
        receipt: Receipt,
    ) -> Result<Released<T>, ReleaseError> {
        let secret = secret.into();
        let (norm, sensitivity) = (secret.norm(), *secret.sensitivity());
        let (value, _) = admit(secret, &receipt, self.event(), norm, &sensitivity)?;
        Ok(Released::by_mechanism(value))
    }
}
