//! As much of complex arithmetic as eigenvalues need.

use std::ops::{Add, Mul, Sub};

/// A complex number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Complex {
    pub re: f64,
    pub im: f64,
}

impl Complex {
    pub(super) const ZERO: Self = Self::real(0.0);

    pub(super) const fn real(re: f64) -> Self {
        Self { re, im: 0.0 }
    }

    pub(super) fn conjugate(self) -> Self {
        Self { re: self.re, im: -self.im }
    }

    pub(super) fn modulus(self) -> f64 {
        self.re.hypot(self.im)
    }

    pub(super) fn scaled(self, factor: f64) -> Self {
        Self { re: self.re * factor, im: self.im * factor }
    }

    /// The root whose real part is not negative.
    pub(super) fn sqrt(self) -> Self {
        let modulus = self.modulus();
        let re = ((modulus + self.re) / 2.0).max(0.0).sqrt();
        let im = ((modulus - self.re) / 2.0).max(0.0).sqrt();
        Self { re, im: im.copysign(self.im) }
    }
}

impl Add for Complex {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }
}

impl Sub for Complex {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { re: self.re - other.re, im: self.im - other.im }
    }
}

impl Mul for Complex {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }
}
