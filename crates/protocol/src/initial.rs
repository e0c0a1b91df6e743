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
