//! What gradients are computed in.

use undertone_model::Scratch;

/// Memory that is used again and again.
#[derive(Default)]
pub(crate) struct Workspace<R> {
    pub(super) scratch: Scratch<R>,
    /// For the next sum.
    pub(super) sum: Vec<R>,
}

impl<R> Workspace<R> {
    /// Takes the memory of a question for the next answer.
    pub(crate) fn reuse(&mut self, memory: Vec<R>) {
        self.sum = memory;
    }
}
