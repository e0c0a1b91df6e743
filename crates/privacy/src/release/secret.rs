//! Values that nobody may look at.

use undertone_real::Real;

use crate::sampler::Drawn;
use crate::units::{Scale, Sensitivity};

/// The norm in which a sensitivity is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// Sum of absolute values.
    L1,
    /// Euclidean.
    L2,
}

/// A value that depends on private data, with a bound on how much one record moves it.
///
/// It can be made and given to a mechanism; that is all. Its memory is overwritten when it is
/// dropped, as far as safe Rust can promise that (the compiler may have made copies).
///
/// Nobody reads it:
///
/// ```compile_fail,E0616
/// # use undertone_privacy::release::{Norm, Secret};
/// # use undertone_privacy::units::{Adjacency, Sensitivity};
/// # let bound = Sensitivity::under_only(Adjacency::Replace, 1.0)?;
/// let secret = Secret::declare(3.0_f64, Norm::L2, bound);
/// let read = secret.value;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// nor prints it:
///
/// ```compile_fail,E0277
/// # use undertone_privacy::release::{Norm, Secret};
/// # use undertone_privacy::units::{Adjacency, Sensitivity};
/// # let bound = Sensitivity::under_only(Adjacency::Replace, 1.0)?;
/// let secret = Secret::declare(3.0_f64, Norm::L2, bound);
/// let text = format!("{secret:?}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// nor copies it:
///
/// ```compile_fail,E0599
/// # use undertone_privacy::release::{Norm, Secret};
/// # use undertone_privacy::units::{Adjacency, Sensitivity};
/// # let bound = Sensitivity::under_only(Adjacency::Replace, 1.0)?;
/// let secret = Secret::declare(3.0_f64, Norm::L2, bound);
/// let second = secret.clone();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// What is public about it can be asked for:
///
/// ```
/// # use undertone_privacy::release::{Norm, Secret};
/// # use undertone_privacy::units::{Adjacency, Sensitivity};
/// # let bound = Sensitivity::under_only(Adjacency::Replace, 1.0)?;
/// let secret = Secret::declare(3.0_f64, Norm::L2, bound);
/// let text = format!("{:?}", secret.sensitivity());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Secret<T: Guarded> {
    value: T,
    norm: Norm,
    sensitivity: Sensitivity,
    drawn: Drawn,
    /// All coordinates are multiples of it.
    lattice: Option<Scale>,
}

impl<T: Guarded> Secret<T> {
    /// A value computed from all records, of which the caller vouches that one record moves it by
    /// at most `sensitivity` in `norm`. Sums should rather be [`ClippedSum`](super::ClippedSum)s.
    pub fn declare(value: T, norm: Norm, sensitivity: Sensitivity) -> Self {
        Self::declare_drawn(value, norm, sensitivity, Drawn::full())
    }

    /// The same for a value computed from the records of one batch; the sensitivity is that of a
    /// record in the batch.
    #[inline]
    pub fn declare_drawn(value: T, norm: Norm, sensitivity: Sensitivity, drawn: Drawn) -> Self {
        Self { value, norm, sensitivity, drawn, lattice: None }
    }

    /// The bound.
    pub fn sensitivity(&self) -> &Sensitivity {
        &self.sensitivity
    }

    /// The norm of the bound.
    pub fn norm(&self) -> Norm {
        self.norm
    }

    /// Which records it was computed from.
    pub fn drawn(&self) -> &Drawn {
        &self.drawn
    }

    /// The lattice that all coordinates are on, if they are known to be.
    pub fn lattice(&self) -> Option<Scale> {
        self.lattice
    }

    pub(super) fn on_lattice(mut self, step: Scale) -> Self {
        self.lattice = Some(step);
        self
    }

    /// For mechanisms, which add noise before anybody sees it.
    #[inline]
    pub(crate) fn take(mut self) -> T {
        std::mem::take(&mut self.value)
    }

    pub(crate) fn dimension(&self) -> usize {
        self.value.dimension()
    }
}

impl<T: Guarded> Drop for Secret<T> {
    #[inline]
    fn drop(&mut self) {
        if self.value.dimension() > 0 {
            self.value.wipe();
            // Otherwise the compiler may drop a write that nobody reads.
            std::hint::black_box(&self.value);
        }
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
    impl<R: super::Real> Sealed for Vec<R> {}
}

/// What can be kept as a secret: numbers and vectors of them. Sealed.
pub trait Guarded: sealed::Sealed + Default {
    /// Overwrites the memory.
    fn wipe(&mut self);
    /// The number of coordinates.
    fn dimension(&self) -> usize;
}

impl Guarded for f32 {
    fn wipe(&mut self) {
        *self = 0.0;
    }
    fn dimension(&self) -> usize {
        1
    }
}

impl Guarded for f64 {
    fn wipe(&mut self) {
        *self = 0.0;
    }
    fn dimension(&self) -> usize {
        1
    }
}

impl<R: Real> Guarded for Vec<R> {
    fn wipe(&mut self) {
        self.fill(R::ZERO);
    }
    fn dimension(&self) -> usize {
        self.len()
    }
}
