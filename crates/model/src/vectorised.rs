//! Loops with the widest vectors of the machine.

/// A loop that is compiled for all vectors that there are. It must be inlined, and so must be all
/// that it calls.
pub(crate) trait Kernel<A> {
    fn run(arguments: A);
}

/// Runs a loop with the widest vectors of the machine. The bits are the same on every machine:
/// nothing is fused or reordered.
pub(crate) fn vectorised<K: Kernel<A>, A>(_: K, arguments: A) {
    pulp::Arch::new().dispatch(Work::<K, A> { arguments, kernel: std::marker::PhantomData });
}

struct Work<K, A> {
    arguments: A,
    kernel: std::marker::PhantomData<K>,
}

impl<K: Kernel<A>, A> pulp::NullaryFnOnce for Work<K, A> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        K::run(self.arguments);
    }
}
