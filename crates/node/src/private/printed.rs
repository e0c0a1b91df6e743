//! SAGA as paper 003 prints it.

use undertone_model::{Batch, Scratch, Table, Tabled};
use undertone_privacy::event::{SagaSampling, SagaTable};
use undertone_privacy::mechanism::TableGaussian;
use undertone_privacy::sampler::Sampler;
use undertone_privacy::units::{ClipNorm, Scale};
use undertone_real::Real;

use super::gradients::TableError;

/// The table of last gradients, and its mean.
pub(super) struct Printed<R> {
    table: Table<R>,
    /// None before the first question, whose point fills the table for all records.
    mean: Option<Vec<R>>,
}

impl<R: Real> Printed<R> {
    pub(super) fn new(objective: &dyn Tabled<R>, records: usize) -> Self {
        Self { table: Table::new(objective, records), mean: None }
    }

    /// Writes the sum of `v - T` over a batch, which takes its place in the table, and returns the
    /// mean of the table of before.
    pub(super) fn exchange(
        &mut self,
        objective: &dyn Tabled<R>,
        at: &[R],
        batch: Batch<'_, R>,
        clip: ClipNorm,
        scratch: &mut Scratch<R>,
        sum: &mut [R],
    ) -> Vec<R> {
        let (table, clip, data) = (&mut self.table, clip.get(), batch.data());
        let share = R::from_f64(1.0 / data.records().max(1) as f64);
        let mean = self.mean.get_or_insert_with(|| {
            objective.exchange(at, Batch::all(data), clip, table, scratch, sum);
            sum.iter().map(|v| *v * share).collect()
        });
        let before = mean.clone();
        objective.exchange(at, batch, clip, table, scratch, sum);
        mean.iter_mut().zip(sum).for_each(|(mean, difference)| *mean += share * *difference);
        before
    }
}

/// What a round releases; nothing if the price of such batches is not proved.
pub(crate) fn mechanism(
    sampler: &Sampler,
    records: usize,
    clip: ClipNorm,
    sigma: Scale,
) -> Result<TableGaussian, TableError> {
    let sampling = match sampler {
        Sampler::Poisson(_) => {
            let expected = Scale::new(sampler.expected_size(records))?;
            SagaSampling::Poisson { expected }
        }
        Sampler::FixedSize(_) if sampler.expected_size(records) == 1.0 => SagaSampling::SingleIndex,
        Sampler::FixedSize(_) | Sampler::Full => return Err(TableError::Printed),
    };
    let table = SagaTable { clip, sigma, records: records as u64, sampling };
    let mechanism = TableGaussian { table };
    mechanism.of_differences()?;
    mechanism.of_mean()?;
    Ok(mechanism)
}
