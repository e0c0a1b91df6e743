//! Projected gradient steps.

use std::sync::Arc;

use undertone_model::{Batch, Dataset, Mean, Objective, Scratch};
use undertone_privacy::release::{Norm, Secret};
use undertone_privacy::units::{Adjacency, ClipNorm, OutOfRange, Sensitivity};
use undertone_protocol::Domain;
use undertone_real::Real;

/// A node's records, of which only projected gradient steps leave.
pub struct PrivateSteps {
    source: Source,
    /// Where the steps end.
    domain: Domain,
}

/// Whose gradient is stepped against.
enum Source {
    /// Half the squared distances to records that are clipped to a set.
    Mean { mean: Mean, clip: Domain },
    /// Any sum of losses, each gradient clipped.
    Sum { objective: Arc<dyn Objective<f64>>, data: Dataset<f64>, clip: ClipNorm },
}

impl PrivateSteps {
    /// Mean estimation within a set, to which the records are clipped.
    pub fn new(dimension: usize, mut records: Vec<f64>, clip: Domain) -> Self {
        records.chunks_mut(dimension).for_each(|record| super::clip(record, clip));
        let mean = Mean::new(dimension, &records);
        Self { source: Source::Mean { mean, clip }, domain: clip }
    }

    /// Any objective: the gradient of every record is clipped. In double precision, as for a
    /// vector.
    pub fn of_objective(
        objective: Arc<dyn Objective<f64>>,
        data: Dataset<f64>,
        clip: ClipNorm,
    ) -> Self {
        Self { source: Source::Sum { objective, data, clip }, domain: Domain::Whole }
    }

    /// The same with steps that end in another set.
    pub fn within(mut self, domain: Domain) -> Self {
        self.domain = domain;
        self
    }

    /// How far replacing one record moves a step, since the projection brings points no further
    /// apart: gradients of means differ by the distance of two records, clipped gradients by twice
    /// the clip norm.
    pub fn sensitivity(&self, step: f64) -> Result<Sensitivity, OutOfRange> {
        let moved = match &self.source {
            Source::Mean { mean, clip } => step * clip.diameter(mean.dimension()),
            Source::Sum { clip, .. } => step * 2.0 * clip.get(),
        };
        Sensitivity::under_only(Adjacency::Replace, moved)
    }

    /// How many records there are; public.
    pub fn records(&self) -> u64 {
        match &self.source {
            Source::Mean { mean, .. } => mean.records(),
            Source::Sum { data, .. } => data.records() as u64,
        }
    }

    /// In double precision, as for a vector.
    pub(crate) fn secret<R: Real>(
        &self,
        at: &[R],
        step: f64,
    ) -> Result<Secret<Vec<f64>>, OutOfRange> {
        let at: Vec<f64> = at.iter().map(|v| v.to_f64()).collect();
        let mut x = at.clone();
        match &self.source {
            Source::Mean { mean, .. } => mean.gradient(&at, &mut x),
            Source::Sum { objective, data, clip } => {
                let mut scratch = Scratch::default();
                objective.clipped_sum(&at, Batch::all(data), clip.get(), &mut scratch, &mut x);
            }
        }
        x.iter_mut().zip(&at).for_each(|(x, at)| *x = at - step * *x);
        self.domain.project(&mut x);
        Ok(Secret::declare(x, Norm::L2, self.sensitivity(step)?))
    }
}
