//! Batches of SAGA with a private table.

use super::{Batch, DrawError, Indices, Law, batch, below, bernoulli, stream_of};
use crate::event::{Event, SagaSampling, SagaTable};
use crate::ledger::Receipt;
use crate::noise::{Key, Stream};

/// Draws the records of a round of SAGA, whose table is read for all records in every round: by
/// each record's own chance, or one uniform index.
///
/// # Guarantee
///
/// The law of [`SagaTable::sampling`]: with Poisson sampling the chance of a record is the expected
/// number over the public number of records, rounded down to a multiple of 2^-64.
///
/// # References
///
/// Paper 003, algorithm 1; theory 7.2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableSampler {
    /// The round.
    pub table: SagaTable,
}

impl TableSampler {
    /// Draws the batch of a receipt.
    pub fn draw(&self, records: usize, receipt: &Receipt, key: &Key) -> Result<Batch, DrawError> {
        let of = self.table.records as usize;
        if records != of {
            return Err(DrawError::OtherSize { of, records });
        }
        let id = stream_of(*receipt.event() == Event::SagaTable(self.table), receipt)?;
        let indices = match self.table.sampling {
            SagaSampling::SingleIndex if records == 0 => Indices::Some(Vec::new()),
            SagaSampling::SingleIndex => {
                Indices::One([below(&mut Stream::new(key, id), records as u64) as usize])
            }
            SagaSampling::Poisson { expected } => {
                let q = (expected.get() / records.max(1) as f64).min(1.0);
                Indices::Some(bernoulli(key, id, q, records))
            }
        };
        Ok(batch(indices, Law::Table(self.table), receipt))
    }
}
