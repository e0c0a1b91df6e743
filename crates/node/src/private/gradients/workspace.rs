//! What gradients are computed in.

use undertone_model::Scratch;
use undertone_real::Real;

/// Memory that is used again and again. What a computation leaves in it is secret, and nobody reads
/// it: oracles of one process lend it to each other, and each writes over it.
#[derive(Default)]
pub(crate) struct Workspace<R> {
    pub(crate) scratch: Scratch<R>,
    /// For the next sum.
    pub(crate) sum: Vec<R>,
}

impl<R: Real> Workspace<R> {
    /// For so many threads.
    pub(super) fn on(threads: usize) -> Self {
        Self { scratch: Scratch::on(threads), sum: Vec::new() }
    }

    /// That of the last question, as long as a gradient.
    pub(super) fn memory(&mut self, dimension: usize) -> Vec<R> {
        let mut sum = std::mem::take(&mut self.sum);
        sum.resize(dimension, R::ZERO);
        sum
    }

    /// Takes the memory of a question for the next answer.
    pub(crate) fn reuse(&mut self, memory: Vec<R>) {
        self.sum = memory;
    }
}
