//! Gradients of batches of a node's records.

use std::sync::Arc;

use undertone_model::{Batch, Dataset, Scratch, Table, Tabled};
use undertone_privacy::event::Event;
use undertone_privacy::ledger::Receipt;
use undertone_privacy::noise::Key;
use undertone_privacy::release::ClippedSum;
use undertone_privacy::sampler::{DrawError, Sampler};
use undertone_privacy::units::{ClipNorm, OutOfRange, Sensitivity};
use undertone_real::Real;

use super::Noise;

/// A node's records, of which only noisy sums of clipped gradients leave.
pub struct PrivateGradients<R: Real> {
    objective: Arc<dyn Tabled<R>>,
    /// The node's own; how many they are is public.
    data: Dataset<R>,
    sampler: Sampler,
    clip: ClipNorm,
    /// Gradients that were asked for before, if differences from them are to be answered.
    table: Option<Table<R>>,
    /// What one record contributes at most.
    contribution: ClipNorm,
    noise: Noise,
    event: Arc<Event>,
    scratch: Scratch<R>,
    /// Memory for the next sum.
    sum: Vec<R>,
}

impl<R: Real> PrivateGradients<R> {
    /// Noise of a standard deviation that is meant for the sum.
    pub fn new(
        objective: Arc<dyn Tabled<R>>,
        data: Dataset<R>,
        sampler: Sampler,
        clip: ClipNorm,
        noise: Noise,
    ) -> Self {
        Self {
            objective,
            data,
            sampler,
            clip,
            table: None,
            contribution: clip,
            noise,
            event: Self::event_of(&sampler, noise, clip),
            scratch: Scratch::default(),
            sum: Vec::new(),
        }
    }

    /// Answers differences from remembered gradients, of which one record moves the sum by twice
    /// the clip norm. The table is read for records that are drawn only, so that a round which does
    /// not draw a record is the same with and without it.
    pub fn with_table(mut self) -> Result<Self, OutOfRange> {
        self.contribution = ClipNorm::new(2.0 * self.clip.get())?;
        self.table = Some(Table::new(&*self.objective, self.data.records()));
        self.event = Self::event_of(&self.sampler, self.noise, self.contribution);
        Ok(self)
    }

    fn event_of(sampler: &Sampler, noise: Noise, contribution: ClipNorm) -> Arc<Event> {
        Arc::new(sampler.event(noise.event(Sensitivity::contribution(contribution))))
    }

    /// What to debit for a batch.
    pub fn event(&self) -> &Arc<Event> {
        &self.event
    }

    /// How many records there are; public.
    pub fn records(&self) -> usize {
        self.data.records()
    }

    pub(crate) fn noise(&self) -> Noise {
        self.noise
    }

    pub(crate) fn remembers(&self) -> bool {
        self.table.is_some()
    }

    pub(crate) fn sensitivity(&self) -> Sensitivity {
        Sensitivity::contribution(self.contribution)
    }

    /// Draws the batch of a receipt and sums its clipped gradients, or their differences.
    pub(crate) fn secret(
        &mut self,
        at: &[R],
        receipt: &Receipt,
        key: &Key,
    ) -> Result<ClippedSum<R>, DrawError> {
        let batch = self.sampler.draw(self.data.records(), receipt, key)?;
        let mut sum = std::mem::take(&mut self.sum);
        sum.resize(self.objective.dimension(), R::ZERO);
        let (clip, scratch) = (self.clip.get(), &mut self.scratch);
        let chosen = Batch::of(&self.data, batch.indices());
        match &mut self.table {
            None => self.objective.clipped_sum(at, chosen, clip, scratch, &mut sum),
            Some(table) => self.objective.exchange(at, chosen, clip, table, scratch, &mut sum),
        };
        Ok(ClippedSum::trust_clipped(sum, self.contribution, batch.drawn()))
    }

    /// Takes the memory of a question for the next answer.
    pub(crate) fn reuse(&mut self, memory: Vec<R>) {
        self.sum = memory;
    }
}
