//! What can go wrong with an account.

use super::{Budget, StoreError};
use crate::accountant::AccountError;
use crate::event::TooManyRounds;
use crate::units::{Adjacency, Delta, Epsilon};

/// Why a ledger cannot be opened.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OpenError {
    /// The plan has an event that no accountant prices.
    #[error("the plan cannot be priced: {0}")]
    Account(#[from] AccountError),
    /// Nothing at all would fit.
    #[error("no event fits the budget under this filter; raise the order, epsilon or delta")]
    Empty,
    /// The node's number is too large for a noise stream.
    #[error("node {0} is out of range: nodes are numbered below 2^24")]
    Node(u32),
    /// The plan costs more than the budget.
    #[error(
        "the plan costs epsilon {price} at delta {}, more than the budget of {}: {remedy}",
        budget.delta, budget.epsilon
    )]
    PlanTooDear {
        /// What the plan costs.
        price: Epsilon,
        /// What it may cost.
        budget: Budget,
        /// What would fit.
        remedy: String,
    },
    /// More is kept for imprecise samplers than there is.
    #[error("the reserve of {reserve} for imprecise samplers is more than the budget's delta")]
    Reserve {
        /// What was to be kept.
        reserve: Delta,
    },
    /// The plan repeats too often to count.
    #[error(transparent)]
    TooManyRounds(#[from] TooManyRounds),
}

/// Why a debit is refused. Nothing has changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DebitError {
    /// No accountant prices the event.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// The budget does not suffice.
    #[error(
        "node {node} has {left:.6} of its budget left and a {event} event costs {cost:.6} of it; \
         the node must stop releasing"
    )]
    Exhausted {
        /// Whose budget.
        node: u32,
        /// The event's name in JSON.
        event: String,
        /// Its cost as a share of the budget.
        cost: f64,
        /// The share that is left.
        left: f64,
    },
    /// A Gaussian filter was asked for something else.
    #[error(
        "a gaussian filter takes only gaussian events with a sensitivity under the {adjacency} \
         adjacency, not a {event} event; open the ledger with a renyi or planned filter"
    )]
    NotGaussian {
        /// The event's name in JSON.
        event: String,
        /// The ledger's adjacency.
        adjacency: Adjacency,
    },
    /// The sampler's imprecision is more than was reserved.
    #[error(
        "the slack of an imprecise {event} event exceeds what node {node} reserved for it; open \
         the ledger with a larger reserve"
    )]
    Imprecise {
        /// Whose budget.
        node: u32,
        /// The event's name in JSON.
        event: String,
    },
    /// The event is not in the plan, or not any more.
    #[error("the plan of node {node} has no {event} left; it has {left}")]
    NotPlanned {
        /// Whose plan.
        node: u32,
        /// The event in JSON.
        event: String,
        /// What is left.
        left: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// More debits than noise streams.
    #[error("node {0} has made 2^32 debits, as many as there are noise streams; change its key")]
    TooManyDebits(u32),
    /// The event repeats too often to count.
    #[error(transparent)]
    TooManyRounds(#[from] TooManyRounds),
}

/// Why stored entries are not a ledger.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReplayError {
    /// The header is not one that a ledger could have been opened with.
    #[error("the header does not open: {0}")]
    Header(#[from] OpenError),
    /// An entry does not follow the one before it.
    #[error(
        "entry {serial} is not chained to the one before it: an entry was removed or put in, or \
         the header was changed"
    )]
    Broken {
        /// The entry's number.
        serial: u64,
    },
    /// Numbers have a gap or are out of order.
    #[error("entry {expected} is missing or out of order: found number {found} in its place")]
    Order {
        /// The number that comes next.
        expected: u64,
        /// The number that is there.
        found: u64,
    },
    /// The filter would have refused an entry.
    #[error("entry {serial} is more than the filter allows: {error}")]
    Overspent {
        /// The entry's number.
        serial: u64,
        /// The refusal.
        error: DebitError,
    },
    /// The contents of an entry are not what its hash says.
    #[error("entry {serial} was changed: its hash is not that of its contents")]
    Tampered {
        /// The entry's number.
        serial: u64,
    },
}
