//! Where every node starts: a point that depends on no data.

use undertone_privacy::release::Released;
use undertone_real::Real;

use crate::blocks::update;

/// The state of a node that has nothing yet.
pub(crate) fn nothing<R: Real>(length: usize) -> Released<Vec<R>> {
    Released::public(vec![R::ZERO; length])
}

/// A point that everybody knows.
pub(crate) fn start<R: Real>(at: &[R]) -> Released<Vec<R>> {
    Released::public(at.to_vec())
}

/// A question's point, made of a state number by number, in the memory of an earlier answer if
/// there is one.
#[inline(always)]
pub(crate) fn point<R: Real>(
    memory: Option<Released<Vec<R>>>,
    state: &[R],
    of: impl Fn(R) -> R,
) -> Released<Vec<R>> {
    let mut at = memory.unwrap_or_else(|| start(&[]));
    at.update(
        #[inline(always)]
        |at| {
            at.resize(state.len(), R::ZERO);
            update(at, state, |_, number| of(number));
        },
    );
    at
}
