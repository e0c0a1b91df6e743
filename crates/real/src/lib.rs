//! The two number types that states and messages are made of: `f32` and `f64`.
//! It never allocates, does I/O or knows anything else of ours.
//!
//! ```
//! use undertone_real::Real;
//!
//! fn norm<R: Real>(v: &[R]) -> f64 {
//!     v.iter().map(|x| x.to_f64().powi(2)).sum::<f64>().sqrt()
//! }
//! assert_eq!(norm(&[3.0_f32, 4.0]), 5.0);
//! ```

mod lanes;

use std::fmt::{Debug, Display};
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

pub use self::lanes::Lanes;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// A number that a state or a message is made of. Sealed: exactly `f32` and `f64` implement it,
/// chosen once, at the top, by the plan (invariant I11).
///
/// ```compile_fail
/// # use undertone_real::Real;
/// fn stays_real<R: Real>(_: R) {}
/// stays_real(1_i64);
/// ```
///
/// ```
/// # use undertone_real::Real;
/// fn stays_real<R: Real>(_: R) {}
/// stays_real(1_f32);
/// stays_real(1_f64);
/// ```
pub trait Real:
    Lanes
    + Debug
    + Display
    + Default
    + PartialEq
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
{
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// The distance from one to the next number.
    const EPSILON: Self;
    /// Rounds to the nearest value of this type.
    fn from_f64(value: f64) -> Self;
    /// Widens without loss.
    fn to_f64(self) -> f64;
    /// Neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// `self a + b`, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// Says which of the two types a slice holds, for code that has a kernel for each.
    fn slice(values: &[Self]) -> Slice<'_>;
    /// The same for a slice that is written.
    fn slice_mut(values: &mut [Self]) -> SliceMut<'_>;
}

/// A slice of one of the two number types.
#[derive(Debug)]
pub enum Slice<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
}

/// A mutable slice of one of the two number types.
#[derive(Debug)]
pub enum SliceMut<'a> {
    /// Single precision.
    F32(&'a mut [f32]),
    /// Double precision.
    F64(&'a mut [f64]),
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const EPSILON: Self = f32::EPSILON;
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    fn is_finite(self) -> bool {
        f32::is_finite(self)
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        f32::mul_add(self, a, b)
    }
    fn slice(values: &[Self]) -> Slice<'_> {
        Slice::F32(values)
    }
    fn slice_mut(values: &mut [Self]) -> SliceMut<'_> {
        SliceMut::F32(values)
    }
}

impl Real for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const EPSILON: Self = f64::EPSILON;
    fn from_f64(value: f64) -> Self {
        value
    }
    fn to_f64(self) -> f64 {
        self
    }
    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        f64::mul_add(self, a, b)
    }
    fn slice(values: &[Self]) -> Slice<'_> {
        Slice::F64(values)
    }
    fn slice_mut(values: &mut [Self]) -> SliceMut<'_> {
        SliceMut::F64(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversion_round_trips_and_keeps_non_finite_values() {
        assert_eq!(f32::from_f64(0.1).to_f64(), f64::from(0.1_f32));
        assert_eq!(f64::from_f64(0.1), 0.1);
        assert!(!Real::is_finite(f32::from_f64(1e300)));
        assert!(!Real::is_finite(f64::NAN));
    }

    #[test]
    fn a_slice_knows_its_type() {
        assert!(matches!(Real::slice_mut(&mut [1.0_f32]), SliceMut::F32([1.0])));
        assert!(matches!(Real::slice_mut(&mut [1.0_f64]), SliceMut::F64([1.0])));
        assert!(matches!(Real::slice(&[1.0_f32]), Slice::F32([1.0])));
        assert!(matches!(Real::slice(&[1.0_f64]), Slice::F64([1.0])));
    }
}
