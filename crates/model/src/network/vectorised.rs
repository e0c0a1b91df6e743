//! Loops with the widest vectors of the machine.

/// Calls a function that is inlined, so that its loops use all vectors that the machine has. The
/// bits are the same on every machine: nothing is fused or reordered.
pub(super) fn vectorised<A, T>(function: impl FnOnce(A) -> T, arguments: A) -> T {
    pulp::Arch::new().dispatch(Work { function, arguments })
}

struct Work<F, A> {
    function: F,
    arguments: A,
}

impl<A, T, F: FnOnce(A) -> T> pulp::NullaryFnOnce for Work<F, A> {
    type Output = T;

    #[inline(always)]
    fn call(self) -> T {
        (self.function)(self.arguments)
    }
}
