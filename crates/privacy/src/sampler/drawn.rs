//! What a value remembers of how its records were drawn.

use crate::event::{Event, SagaTable};
use crate::ledger::Receipt;
use crate::units::Probability;

/// How a batch is drawn from the records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Law {
    Full,
    Poisson(Probability),
    FixedSize(Probability),
    Table(SagaTable),
}

impl Law {
    pub(super) fn event(&self, inner: Event) -> Event {
        match self {
            Law::Full => inner,
            Law::Poisson(probability) => inner.poisson_sampled(*probability),
            Law::FixedSize(probability) => inner.fixed_size_sampled(*probability),
            // Such batches are drawn for the table's event only, so no receipt is for this.
            Law::Table(table) => Event::Composed(vec![Event::SagaTable(*table), inner]),
        }
    }
}

/// The mark of how a value's records were drawn, and for which receipt. Only samplers make one that
/// says "sampled".
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    pub(super) law: Law,
    /// Node and serial number of the receipt; `None` for all records. Whole words: a batch that was
    /// just made is moved by words, and half a word would have to reach the cache first.
    pub(super) receipt: Option<(u64, u64)>,
}

impl Drawn {
    /// All records take part.
    pub fn full() -> Self {
        Self { law: Law::Full, receipt: None }
    }

    /// The event that stands for `inner` on these records.
    pub(crate) fn event(&self, inner: Event) -> Event {
        self.law.event(inner)
    }

    /// Whether `event` is the one that stands for `inner` on these records: as a comparison with
    /// [`Drawn::event`], which every release would have to build.
    pub(crate) fn stands_for(&self, event: &Event, inner: &Event) -> bool {
        match (self.law, event) {
            (Law::Full, event) => event == inner,
            (Law::Poisson(probability), Event::PoissonSampled(sampled))
            | (Law::FixedSize(probability), Event::FixedSizeSampled(sampled)) => {
                sampled.probability == probability && are_equal(&sampled.event, inner)
            }
            _ => false,
        }
    }

    /// Whether the records were drawn for a round of this SAGA.
    pub(crate) fn is_of_table(&self, table: &SagaTable) -> bool {
        self.law == Law::Table(*table)
    }

    /// Whether the records were drawn for this receipt.
    pub(crate) fn is_for(&self, receipt: &Receipt) -> bool {
        self.receipt.is_none_or(|drawn_for| drawn_for == named(receipt))
    }
}

/// Node and serial number of a receipt.
#[inline]
pub(super) fn named(receipt: &Receipt) -> (u64, u64) {
    (receipt.node().into(), receipt.serial())
}

/// Whether two events are the same, which mostly are Gaussian.
#[inline]
fn are_equal(one: &Event, other: &Event) -> bool {
    match (one, other) {
        (Event::Gaussian(one), Event::Gaussian(other)) => one == other,
        (one, other) => one == other,
    }
}
