//! Gradients of batches of a node's records.

use std::sync::Arc;

use undertone_model::{Batch, Dataset, Objective, Scratch};
use undertone_privacy::event::Event;
use undertone_privacy::ledger::Receipt;
use undertone_privacy::noise::Key;
use undertone_privacy::release::ClippedSum;
use undertone_privacy::sampler::{DrawError, Sampler};
use undertone_privacy::units::{ClipNorm, Sensitivity};
use undertone_real::Real;

use super::Noise;

/// A node's records, of which only noisy sums of clipped gradients leave.
pub struct PrivateGradients<R: Real> {
    objective: Arc<dyn Objective<R>>,
    data: Arc<Dataset<R>>,
    /// The node's own records in it; their number is public.
    records: Vec<usize>,
    sampler: Sampler,
    clip: ClipNorm,
    noise: Noise,
    event: Arc<Event>,
    scratch: Scratch<R>,
    /// Of the batch, in the data.
    chosen: Vec<usize>,
    /// Memory for the next sum.
    sum: Vec<R>,
}

impl<R: Real> PrivateGradients<R> {
    /// Noise of a standard deviation that is meant for the sum.
    pub fn new(
        objective: Arc<dyn Objective<R>>,
        data: Arc<Dataset<R>>,
        records: Vec<usize>,
        sampler: Sampler,
        clip: ClipNorm,
        noise: Noise,
    ) -> Self {
        let event = Arc::new(sampler.event(noise.event(Sensitivity::contribution(clip))));
        let (scratch, chosen, sum) = (Scratch::default(), Vec::new(), Vec::new());
        Self { objective, data, records, sampler, clip, noise, event, scratch, chosen, sum }
    }

    /// What to debit for a batch.
    pub fn event(&self) -> &Arc<Event> {
        &self.event
    }

    /// How many records there are; public.
    pub fn records(&self) -> usize {
        self.records.len()
    }

    pub(crate) fn noise(&self) -> Noise {
        self.noise
    }

    pub(crate) fn sensitivity(&self) -> Sensitivity {
        Sensitivity::contribution(self.clip)
    }

    /// Draws the batch of a receipt and sums its clipped gradients.
    pub(crate) fn secret(
        &mut self,
        at: &[R],
        receipt: &Receipt,
        key: &Key,
    ) -> Result<ClippedSum<R>, DrawError> {
        let batch = self.sampler.draw(self.records.len(), receipt, key)?;
        self.chosen.clear();
        self.chosen.extend(batch.indices().iter().map(|i| self.records[*i]));
        let mut sum = std::mem::take(&mut self.sum);
        sum.resize(self.objective.dimension(), R::ZERO);
        let chosen = Batch::of(&self.data, &self.chosen);
        self.objective.clipped_sum(at, chosen, self.clip.get(), &mut self.scratch, &mut sum);
        Ok(ClippedSum::trust_clipped(sum, self.clip, batch.drawn()))
    }

    /// Takes the memory of a question for the next answer.
    pub(crate) fn reuse(&mut self, memory: Vec<R>) {
        self.sum = memory;
    }
}
