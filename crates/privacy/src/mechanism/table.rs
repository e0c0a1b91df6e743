//! Gaussian noise on the estimator of SAGA as it is printed.

use undertone_real::Real;

use super::{ReleaseError, check_dimension, check_event, check_sensitivity, noise_stream};
use crate::event::{Event, SagaSampling, SagaTable};
use crate::ledger::Receipt;
use crate::noise::{Key, add_gaussian};
use crate::release::{Norm, Released, Secret};
use crate::units::{ClipNorm, OutOfRange, Sensitivity};

/// Adds noise to `(sum of v - T over the batch) / b + mean(T)`, where `T` is a private table of the
/// last gradients: both parts are secrets, and the second holds every record in every round.
///
/// # Guarantee
///
/// The release is [`Event::SagaTable`]. The parts come with the bounds that its proofs need: a
/// drawn record moves the sum by at most `2G`, and any record moves the mean of the table by at
/// most `G/J` (add-remove) or `2G/J` (replace), where `J` is public. With Poisson batches the noise
/// is split in thought over the two parts, bound (S), add-remove; with a single index all indices
/// are given away, bound (C), replace-one. Floating point, hence for the simulator.
///
/// # References
///
/// Paper 003, algorithm 1; theory 7.2 (S), (C) and A9, in place of the paper's theorem 2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableGaussian {
    /// Clip norm, noise, records and sampling.
    pub table: SagaTable,
}

impl TableGaussian {
    /// What to debit.
    pub fn event(&self) -> Event {
        Event::SagaTable(self.table)
    }

    /// What one record may move the sum of differences by, if it is drawn.
    pub fn of_differences(&self) -> Result<Sensitivity, OutOfRange> {
        Ok(Sensitivity::contribution(ClipNorm::new(2.0 * self.table.clip.get())?))
    }

    /// What any record may move the mean of the table by.
    pub fn of_mean(&self) -> Result<Sensitivity, OutOfRange> {
        let share = self.table.clip.get() / self.table.records.max(1) as f64;
        Ok(Sensitivity::contribution(ClipNorm::new(share)?))
    }

    /// Adds the noise of the receipt's stream. The differences are those of a batch that a
    /// [`TableSampler`](crate::sampler::TableSampler) drew for the receipt.
    pub fn release<R: Real>(
        &self,
        differences: impl Into<Secret<Vec<R>>>,
        mean: Secret<Vec<R>>,
        receipt: Receipt,
        key: &Key,
    ) -> Result<Released<Vec<R>>, ReleaseError> {
        let differences = differences.into();
        check_event(&receipt, self.event())?;
        if !differences.drawn().is_of_table(&self.table) || !differences.drawn().is_for(&receipt) {
            let (node, serial) = (receipt.node(), receipt.serial());
            return Err(ReleaseError::OtherBatch { node, serial });
        }
        let supposed = |bound: Result<Sensitivity, OutOfRange>, secret: &Secret<Vec<R>>| {
            let found = *secret.sensitivity();
            let bound = bound.map_err(|_| ReleaseError::Sensitivity { supposed: found, found })?;
            check_sensitivity(secret, Norm::L2, &bound)
        };
        supposed(self.of_differences(), &differences)?;
        supposed(self.of_mean(), &mean)?;
        check_dimension(differences.dimension() as u64, mean.dimension())?;
        let divisor = match self.table.sampling {
            SagaSampling::Poisson { expected } => expected.get(),
            SagaSampling::SingleIndex => 1.0,
        };
        let (mut values, mean) = (differences.take(), mean.take());
        for (value, mean) in values.iter_mut().zip(&mean) {
            *value = R::from_f64(value.to_f64() / divisor + mean.to_f64());
        }
        add_gaussian(key, noise_stream(&receipt), self.table.sigma.get(), &mut values);
        Ok(Released::by_mechanism(values))
    }
}
