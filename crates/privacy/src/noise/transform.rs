//! Exponentials and points of the circle from uniform bits, without branches or fused operations, so that a
//! loop over it becomes vector code with the same bits on every machine.

use std::f64::consts::{FRAC_PI_2, LN_2};

/// `-ln u`, u = (k + 1/2) / 2^31 with k the upper 31 bits.
#[inline(always)]
pub(super) fn exponential_f32(bits: u32) -> f32 {
    const UNIT: f32 = 1.0 / (1_u32 << 31) as f32;
    let k = (bits >> 1) as i32;
    let u = (k as f32 + 0.5) * UNIT;
    let (exponent, mantissa) = split_f32(u);
    // Near one, u has lost the bits that tell 1 - u, and with them the shape of the density around
    // zero; the integer still has them.
    let from_one = ((i32::MAX - k) as f32 + 0.5) * -UNIT;
    let t = if exponent == 0.0 { from_one } else { mantissa - 1.0 };
    // ln(1 + t) = 2 artanh(t / (2 + t)) by its Taylor series; the argument is below 0.172.
    let s = t / (2.0 + t);
    let z = s * s;
    let series = 1.0 + z * (1.0 / 3.0 + z * (1.0 / 5.0 + z * (1.0 / 7.0 + z * (1.0 / 9.0))));
    -(LN_2 as f32) * exponent - 2.0 * s * series
}

/// Box and Muller's radius, `sqrt(-2 ln u)`.
#[inline(always)]
pub(super) fn radius_f32(bits: u32) -> f32 {
    (2.0 * exponential_f32(bits)).sqrt()
}

/// A point of the unit circle, by the quarter (2 bits) and the angle in it (30 bits).
#[inline(always)]
pub(super) fn direction_f32(bits: u32) -> (f32, f32) {
    const UNIT: f32 = (FRAC_PI_2 / 4_294_967_296.0) as f32;
    let x = ((bits << 2) as i32 + 2) as f32 * UNIT;
    let z = x * x;
    let sin = x
        * (1.0
            + z * (-1.0 / 6.0 + z * (1.0 / 120.0 + z * (-1.0 / 5_040.0 + z * (1.0 / 362_880.0)))));
    let cos = 1.0 + z * (-1.0 / 2.0 + z * (1.0 / 24.0 + z * (-1.0 / 720.0 + z * (1.0 / 40_320.0))));
    // The angle is within an eighth of a turn of the axis that the first two bits choose.
    let cos = f32::from_bits(cos.to_bits() ^ (bits << 1 & 1 << 31));
    if (bits as i32) < 0 { (sin, cos) } else { (cos, sin) }
}

/// `-ln u`, u = (k + 1/2) / 2^52 with k the upper 52 bits.
#[inline(always)]
pub(super) fn exponential_f64(bits: u64) -> f64 {
    let u = unit_f64(bits >> 12);
    let (exponent, mantissa) = split_f64(u);
    let t = mantissa - 1.0;
    let s = t / (2.0 + t);
    let z = s * s;
    let series = 1.0 + z * (1.0 / 3.0 + z * (1.0 / 5.0 + z * (1.0 / 7.0 + z * tail_artanh(z))));
    -LN_2 * exponent - 2.0 * s * series
}

#[inline(always)]
fn tail_artanh(z: f64) -> f64 {
    1.0 / 9.0
        + z * (1.0 / 11.0
            + z * (1.0 / 13.0 + z * (1.0 / 15.0 + z * (1.0 / 17.0 + z * (1.0 / 19.0)))))
}

/// Box and Muller's radius, `sqrt(-2 ln u)`.
#[inline(always)]
pub(super) fn radius_f64(bits: u64) -> f64 {
    (2.0 * exponential_f64(bits)).sqrt()
}

/// A point of the unit circle, by the quarter (2 bits) and the angle in it (52 bits).
#[inline(always)]
pub(super) fn direction_f64(bits: u64) -> (f64, f64) {
    let x = (unit_f64(bits << 2 >> 12) - 0.5) * FRAC_PI_2;
    let z = x * x;
    let sin = z
        * (-1.0 / 6.0
            + z * (1.0 / 120.0
                + z * (-1.0 / 5_040.0
                    + z * (1.0 / 362_880.0
                        + z * (-1.0 / 39_916_800.0
                            + z * (1.0 / 6_227_020_800.0 + z * (-1.0 / 1_307_674_368_000.0)))))));
    let sin = x + x * sin;
    let cos = 1.0
        + z * (-1.0 / 2.0
            + z * (1.0 / 24.0
                + z * (-1.0 / 720.0
                    + z * (1.0 / 40_320.0
                        + z * (-1.0 / 3_628_800.0
                            + z * (1.0 / 479_001_600.0
                                + z * (-1.0 / 87_178_291_200.0
                                    + z * (1.0 / 20_922_789_888_000.0))))))));
    let cos = f64::from_bits(cos.to_bits() ^ (bits << 1 & 1 << 63));
    if (bits as i64) < 0 { (sin, cos) } else { (cos, sin) }
}

/// (k + 1/2) / 2^52, exactly, for k below 2^52: few machines convert 64-bit integers in vectors.
#[inline(always)]
pub(super) fn unit_f64(k: u64) -> f64 {
    f64::from_bits(k | 1.0_f64.to_bits()) - (1.0 - f64::EPSILON / 2.0)
}

/// u = 2^exponent mantissa with the mantissa in [sqrt(1/2), sqrt(2)).
#[inline(always)]
fn split_f32(u: f32) -> (f32, f32) {
    const ROOT_HALF: u32 = std::f32::consts::FRAC_1_SQRT_2.to_bits();
    const ONE: u32 = 1.0_f32.to_bits();
    let shifted = u.to_bits() + (ONE - ROOT_HALF);
    let exponent = ((shifted >> 23) as i32 - 127) as f32;
    (exponent, f32::from_bits((shifted & 0x007f_ffff) + ROOT_HALF))
}

/// As [`split_f32`].
#[inline(always)]
fn split_f64(u: f64) -> (f64, f64) {
    const ROOT_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    const ONE: u64 = 1.0_f64.to_bits();
    const TWO_52: f64 = 4_503_599_627_370_496.0;
    let shifted = u.to_bits() + (ONE - ROOT_HALF);
    // The exponent in the low bits of 2^52 is the number 2^52 + exponent.
    let exponent = f64::from_bits(shifted >> 52 | TWO_52.to_bits()) - (TWO_52 + 1023.0);
    (exponent, f64::from_bits((shifted & 0x000f_ffff_ffff_ffff) + ROOT_HALF))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_precision_is_accurate() {
        let grid = (0..=u32::MAX).step_by(997).chain((0..5000).flat_map(|i| [i, u32::MAX - i]));
        let (mut radius, mut direction) = (0.0_f64, 0.0_f64);
        for bits in grid {
            let u = (f64::from(bits >> 1) + 0.5) / 2.0_f64.powi(31);
            let r = libm::sqrt(-2.0 * libm::log(u));
            radius = radius.max((f64::from(radius_f32(bits)) - r).abs() / r);
            let angle = (f64::from((bits << 2) as i32) + 2.0) / 2.0_f64.powi(32) * FRAC_PI_2;
            let (c, s) = quarter(angle, bits >> 30);
            let (x, y) = direction_f32(bits);
            direction = direction.max((f64::from(x) - c).abs()).max((f64::from(y) - s).abs());
        }
        assert!(radius < 3e-7, "{radius:e}");
        assert!(direction < 2e-7, "{direction:e}");
        assert!(radius_f32(0) < 6.67 && radius_f32(0) > 6.66);
    }

    #[test]
    fn double_precision_is_accurate() {
        let (mut radius, mut direction) = (0.0_f64, 0.0_f64);
        let grid = (0..2_000_003_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let ends = (0..5000_u64).flat_map(|i| [i << 12, !(i << 12), i << 50]);
        for bits in grid.chain(ends) {
            let u = ((bits >> 12) as f64 + 0.5) / 2.0_f64.powi(52);
            let r = libm::sqrt(-2.0 * libm::log(u));
            radius = radius.max((radius_f64(bits) - r).abs() / r);
            let fraction = ((bits << 2 >> 12) as f64 + 0.5) / 2.0_f64.powi(52) - 0.5;
            let (c, s) = quarter(fraction * FRAC_PI_2, (bits >> 62) as u32);
            let (x, y) = direction_f64(bits);
            direction = direction.max((x - c).abs()).max((y - s).abs());
        }
        assert!(radius < 1e-15, "{radius:e}");
        assert!(direction < 5e-16, "{direction:e}");
        assert!(radius_f64(0) < 8.58 && radius_f64(0) > 8.57);
    }

    /// The point at an angle from the axis that two bits choose: +x, -x, +y, -y.
    fn quarter(angle: f64, axis: u32) -> (f64, f64) {
        let (s, c) = libm::sincos(angle);
        [(c, s), (-c, s), (s, c), (s, -c)][axis as usize]
    }
}
