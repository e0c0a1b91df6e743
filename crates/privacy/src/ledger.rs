//! The ledger: one node's budget, and the only maker of receipts.
//!
//! A debit states what is about to be done (an [`Event`]); the ledger's [`Filter`] decides whether
//! that fits, the entry is stored, and only then does a [`Receipt`] exist. Entries are chained by
//! their hashes and can be replayed.
//!
//! ```
//! use undertone_privacy::event::Event;
//! use undertone_privacy::ledger::{Budget, Filter, Header, Ledger};
//! use undertone_privacy::units::{Adjacency, Delta, Epsilon, Scale, Sensitivity, Unit};
//!
//! let header = Header {
//!     node: 3,
//!     budget: Budget { epsilon: Epsilon::new(1.0)?, delta: Delta::new(1e-5)? },
//!     adjacency: Adjacency::AddRemove,
//!     unit: Unit::Record,
//!     filter: Filter::Gaussian { reserve: Delta::new(0.0)? },
//! };
//! let mut ledger = Ledger::open(header.clone(), Vec::new())?;
//! let one = Sensitivity::under_only(Adjacency::AddRemove, 1.0)?;
//! let event = Event::gaussian(one, Scale::new(6.0)?);
//! let receipt = ledger.debit(event.clone())?; // 39% of the budget
//! let receipt = ledger.debit(event.clone())?; // 77%
//! assert!(ledger.debit(event).is_err());
//! assert_eq!(ledger.len(), 2);
//! let promise = ledger.guarantee().to_string();
//! assert!(promise.starts_with("node 3: (1, 0.00001)-differentially private"));
//! assert_eq!(Ledger::replay(header, ledger.entries().to_vec())?, ledger);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod budget;
mod entry;
mod error;
mod filter;
mod guarantee;
mod receipt;
mod so_far;
mod store;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use self::filter::{Charge, Gate};
use crate::accountant::{AccountError, Accountant, Bound};
use crate::event::Event;
use crate::units::{Adjacency, Unit};

pub use self::budget::Budget;
pub use self::entry::{BadHash, Debit, Entry, Hash, chain};
pub use self::error::{DebitError, OpenError, ReplayError};
pub use self::filter::Filter;
pub use self::guarantee::Guarantee;
pub use self::receipt::Receipt;
pub use self::store::{Store, StoreError, Tally};

/// The most debits of a ledger: a noise stream's number has 32 bits.
const MAX_DEBITS: u64 = 1 << 32;
/// The most nodes: a noise stream's name has 24 bits for them.
const MAX_NODES: u32 = 1 << 24;

/// What a ledger is about; fixed when it is opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Whose data; below 2^24.
    pub node: u32,
    /// What may be spent.
    pub budget: Budget,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
    /// What is hidden.
    pub unit: Unit,
    /// The rule for debits.
    pub filter: Filter,
}

/// The account of one node. Not `Clone`: two copies would give out the same serial numbers, and
/// with them the same noise. For the same reason a node's noise key belongs to one ledger: a ledger
/// that is opened anew, rather than replayed, needs a new key.
#[derive(Debug, PartialEq)]
pub struct Ledger<S = Vec<Entry>> {
    header: Header,
    head: Hash,
    length: u64,
    gate: Gate,
    /// The last event's charge: most runs debit the same event again and again.
    last: Option<(Arc<Event>, Charge)>,
    store: S,
}

impl<S> Ledger<S> {
    /// An account without debits, whose entries go to `store`.
    pub fn open(header: Header, store: S) -> Result<Self, OpenError> {
        let gate = Gate::open(&header.filter, &header.budget, header.adjacency)?;
        Self::with_gate(header, gate, store)
    }

    /// An empty account of another node on the same terms, whose plan need not be priced again.
    pub fn open_alike<T>(&self, node: u32, store: T) -> Result<Ledger<T>, OpenError> {
        let header = Header { node, ..self.header.clone() };
        Ledger::with_gate(header, self.gate.fresh(), store)
    }

    fn with_gate(header: Header, gate: Gate, store: S) -> Result<Self, OpenError> {
        if header.node >= MAX_NODES {
            return Err(OpenError::Node(header.node));
        }
        let head = Hash::genesis(&header);
        Ok(Self { header, head, length: 0, gate, last: None, store })
    }

    /// The account that `entries` lead to, with `store` (which has them already) for what follows.
    ///
    /// # Guarantee
    ///
    /// The state is that of the ledger which made the entries, bit for bit; entries that were
    /// changed, removed, moved or never allowed are found. The last entries are an exception: a
    /// chain does not know how long it should be, so keep its head elsewhere if that matters.
    pub fn resume<'a>(
        header: Header,
        entries: impl IntoIterator<Item = &'a Entry>,
        store: S,
    ) -> Result<Self, ReplayError> {
        let mut ledger = Self::open(header, store)?;
        for entry in entries {
            let serial = entry.serial;
            if serial != ledger.length {
                return Err(ReplayError::Order { expected: ledger.length, found: serial });
            }
            if !entry.is_sealed(ledger.header.node) {
                return Err(ReplayError::Tampered { serial });
            }
            if entry.previous != ledger.head {
                return Err(ReplayError::Broken { serial });
            }
            let charge = ledger
                .admit(&entry.event)
                .map_err(|error| ReplayError::Overspent { serial, error })?;
            let other = charge.map(|charge| (Arc::new(entry.event.clone()), charge));
            ledger.commit(other, entry.hash);
        }
        Ok(ledger)
    }

    /// Pays for `event`: checks it, stores the entry and makes the receipt. On failure nothing has
    /// changed. Depends only on the event and on earlier events, all of them public; a refusal
    /// tells nothing about data.
    #[inline]
    pub fn debit(&mut self, event: impl Into<Arc<Event>>) -> Result<Receipt, DebitError>
    where
        S: Store,
    {
        let event = event.into();
        let other = match &self.last {
            // What is known to fit needs no look at what it costs.
            Some((last, charge)) if Arc::ptr_eq(last, &event) && self.takes(charge) => None,
            _ => self.admit(&event)?.map(|charge| (Arc::clone(&event), charge)),
        };
        let (node, serial) = (self.header.node, self.length);
        let debit = Debit { node, serial, event: &event, previous: self.head };
        let head = self.store.append(&debit)?;
        self.commit(other, head);
        Ok(Receipt::issue(node, serial, event))
    }

    /// Whether something of that price is not refused.
    #[inline]
    fn takes(&self, charge: &Charge) -> bool {
        self.length < MAX_DEBITS && self.gate.fits(charge)
    }

    /// Whether a debit of `event` would be refused.
    pub fn would_exceed(&self, event: &Event) -> bool {
        self.admit(event).is_err()
    }

    /// What this ledger promises, whenever its run stops.
    ///
    /// # Guarantee
    ///
    /// Under an adaptive filter it is the budget itself; under a plan it is the price of the whole
    /// plan. Neither shrinks when little was spent: the moment of stopping may depend on releases.
    pub fn guarantee(&self) -> Guarantee {
        let plan = match &self.gate {
            Gate::Planned { price, .. } => Some(price),
            Gate::Adaptive { .. } => None,
        };
        Guarantee::new(&self.header, plan, self.length, self.spent())
    }

    /// The share of the budget, or of the plan's events, that is spent: between 0 and 1. It is no
    /// share of epsilon.
    pub fn spent(&self) -> f64 {
        self.gate.spent()
    }

    /// The number of debits, which is the number of receipts and the next serial number.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether nothing was debited.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// What the ledger is about.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The hash of the last entry (of the header, if there is none).
    pub fn head(&self) -> Hash {
        self.head
    }

    /// Where the entries are.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Prices and checks; changes nothing. Gives the price, unless it is that of the last event.
    fn admit(&self, event: &Event) -> Result<Option<Charge>, DebitError> {
        if self.length >= MAX_DEBITS {
            return Err(DebitError::TooManyDebits(self.header.node));
        }
        let node = self.header.node;
        match &self.last {
            Some((last, charge)) if std::ptr::eq(&**last, event) || **last == *event => {
                if !self.gate.fits(charge) {
                    return Err(self.gate.refusal(charge, event, node));
                }
                Ok(None)
            }
            _ => {
                let charge = self.gate.price(event, self.header.adjacency)?;
                if !self.gate.fits(&charge) {
                    return Err(self.gate.refusal(&charge, event, node));
                }
                Ok(Some(charge))
            }
        }
    }

    /// Takes the price of the last event, or of another, which is the last from now on.
    #[inline]
    fn commit(&mut self, other: Option<(Arc<Event>, Charge)>, hash: Hash) {
        if other.is_some() {
            self.last = other;
        }
        let (_, charge) = self.last.as_ref().expect("what has no price was the last before");
        self.gate.apply(charge);
        self.head = hash;
        self.length += 1;
    }
}

impl Ledger {
    /// The account that `entries` lead to, in memory; see [`Ledger::resume`].
    pub fn replay(header: Header, entries: Vec<Entry>) -> Result<Self, ReplayError> {
        let ledger = Ledger::resume(header, &entries, ())?;
        let Ledger { header, head, length, gate, last, store: () } = ledger;
        Ok(Ledger { header, head, length, gate, last, store: entries })
    }

    /// All debits so far.
    pub fn entries(&self) -> &[Entry] {
        &self.store
    }

    /// What the entries cost by the best accountant, at the budget's delta.
    ///
    /// # Guarantee
    ///
    /// A bound for a run whose events, and whose end, were fixed in advance. If either was chosen
    /// in view of releases, only [`Ledger::guarantee`] holds.
    pub fn price_if_fixed_in_advance(&self) -> Result<Bound, AccountError> {
        let events = self.store.iter().map(|entry| entry.event.clone()).collect();
        let Header { adjacency, budget, .. } = &self.header;
        Accountant::Best.epsilon(&Event::Composed(events), *adjacency, budget.delta)
    }
}
