//! Secrets and releases: the types that carry the privacy argument.
//!
//! A value that depends on data is a [`Secret`] (often a [`ClippedSum`] or [`LatticeSum`]): it can
//! be added to, but not read, printed, copied or encoded. A mechanism takes it away together with
//! a [`Receipt`](crate::ledger::Receipt) and gives back a [`Released`] value, the only thing that
//! may be sent. So accounting cannot be forgotten: without a receipt there is nothing to send.

mod clipped;
mod lattice;
mod pending;
mod secret;

use serde::Serialize;

pub use self::clipped::ClippedSum;
pub use self::lattice::LatticeSum;
pub use self::pending::Pending;
pub use self::secret::{Guarded, Norm, Secret};

/// A value that everybody may see: what a mechanism made of a secret, or something that never
/// depended on data.
///
/// Only a released value can be sent (invariant I1). A function that sends takes this type:
///
/// ```compile_fail,E0308
/// use undertone_privacy::release::{ClippedSum, Released};
/// use undertone_privacy::units::ClipNorm;
/// fn send(_: &Released<Vec<f64>>) {}
/// let mut sum = ClippedSum::<f64>::new(2, ClipNorm::new(1.0).unwrap());
/// sum.add(&[3.0, 4.0]);
/// send(&sum);
/// ```
///
/// ```compile_fail,E0451
/// use undertone_privacy::release::Released;
/// fn send(_: &Released<Vec<f64>>) {}
/// send(&Released { value: vec![3.0, 4.0] });
/// ```
///
/// ```
/// use undertone_privacy::release::Released;
/// fn send(_: &Released<Vec<f64>>) {}
/// send(&Released::public(vec![0.0, 0.0])); // the initial point: no data yet
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Released<T> {
    value: T,
}

impl<T> Released<T> {
    /// The trusted door: the caller vouches that `value` never depended on private data (an initial
    /// point), or was released by its sender (a decoded message). `xtask tidy` lists who may call.
    pub fn public(value: T) -> Self {
        Self { value }
    }

    /// What a mechanism made.
    pub(crate) fn by_mechanism(value: T) -> Self {
        Self { value }
    }

    /// The value.
    #[inline(always)]
    pub fn get(&self) -> &T {
        &self.value
    }

    /// The value, in whose place one comes that says nothing.
    #[inline(always)]
    pub fn take(&mut self) -> Self
    where
        T: Default,
    {
        Self { value: std::mem::take(&mut self.value) }
    }

    /// The value itself.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// Post-processing: whatever is computed from released values is released (theory E13). `f`
    /// must not look at private data; it is meant for protocols, which never see any.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Released<U> {
        Released { value: f(self.value) }
    }

    /// Post-processing in place; the same promise as for [`Released::map`].
    #[inline(always)]
    pub fn update<U>(&mut self, f: impl FnOnce(&mut T) -> U) -> U {
        f(&mut self.value)
    }

    /// Two released values as one.
    pub fn zip<U>(self, other: Released<U>) -> Released<(T, U)> {
        Released { value: (self.value, other.value) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn post_processing_stays_released() {
        let pair = Released::public(2.0).zip(Released::public(3.0)).map(|(a, b)| a * b);
        assert_eq!(pair.into_inner(), 6.0);
        assert_eq!(serde_json::to_string(&Released::public(vec![1, 2])).unwrap(), "[1,2]");
    }
}
