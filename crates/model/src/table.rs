//! Tables of gradients for variance reduction.

use undertone_real::Real;

use crate::objective::{Batch, Clipped, Objective, Scratch};

/// An objective whose gradients can be remembered for every record in little memory.
pub trait Tabled<R: Real>: Objective<R> {
    /// How many numbers are kept for a record.
    fn entry(&self) -> usize;

    /// Writes the sum over the batch of the clipped gradient at `x` less the one in the table,
    /// which takes the new one. A record that is not finite counts as a gradient of zero.
    ///
    /// # Guarantee
    ///
    /// In real arithmetic the contribution of a record is at most `2 clip` long, if the table was
    /// filled with the same `clip`; otherwise as [`Objective::clipped_sum`].
    fn exchange(
        &self,
        x: &[R],
        batch: Batch<'_, R>,
        clip: f64,
        table: &mut Table<R>,
        scratch: &mut Scratch<R>,
        out: &mut [R],
    ) -> Clipped;
}

/// What is kept of every record: at first nothing, which stands for gradients of zero. It is as
/// secret as the records.
#[derive(Clone)]
pub struct Table<R> {
    entry: usize,
    values: Vec<R>,
}

impl<R: Real> Table<R> {
    /// For so many records.
    pub fn new(objective: &dyn Tabled<R>, records: usize) -> Self {
        let entry = objective.entry();
        Self { entry, values: vec![R::ZERO; records * entry] }
    }

    /// What it will take, to be told in advance.
    pub fn bytes(objective: &dyn Tabled<R>, records: usize) -> u64 {
        (records * objective.entry() * size_of::<R>()) as u64
    }

    /// What is kept of one record.
    pub fn entry_mut(&mut self, record: usize) -> &mut [R] {
        &mut self.values[record * self.entry..][..self.entry]
    }
}
