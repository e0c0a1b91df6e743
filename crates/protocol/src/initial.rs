//! Where every node starts: a point that depends on no data.

use undertone_privacy::release::Released;
use undertone_real::Real;

/// The state of a node that has nothing yet.
pub(crate) fn nothing<R: Real>(length: usize) -> Released<Vec<R>> {
    Released::public(vec![R::ZERO; length])
}

/// A point that everybody knows.
pub(crate) fn start<R: Real>(at: &[R]) -> Released<Vec<R>> {
    Released::public(at.to_vec())
}

/// A question's point, in the memory of an earlier answer if there is one.
#[inline(always)]
pub(crate) fn point<R: Real>(
    memory: Option<Released<Vec<R>>>,
    values: impl ExactSizeIterator<Item = R>,
) -> Released<Vec<R>> {
    let mut at = memory.unwrap_or_else(|| start(&[]));
    at.update(
        #[inline(always)]
        |at| {
            at.resize(values.len(), R::ZERO);
            at.iter_mut().zip(values).for_each(|(at, value)| *at = value);
        },
    );
    at
}
