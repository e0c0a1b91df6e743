//! Exponentials and points of the circle from uniform bits, without branches, so that a loop over
//! it becomes vector code with the same bits on every machine. Single precision is fused, which
//! halves its operations; double precision is not.

use std::f64::consts::{FRAC_PI_2, LN_2};

// Chebyshev fits on the ranges that occur, in powers of z, z the square of the argument. With more
// terms than these, Taylor's series would do as well.

/// ln(1 + t) = t + t^2 P(t), powers of t, for t between sqrt(1/2) - 1 and sqrt(2) - 1; 3e-8 off.
/// Terms are cheaper than the division that fewer of them would need.
const LN_F32: [f32; 8] = [
    -4.999_999e-1,
    3.3333948e-1,
    -2.5001758e-1,
    1.9962133e-1,
    -1.657047e-1,
    1.4917353e-1,
    -1.4307603e-1,
    8.736621e-2,
];
/// artanh(s) = s (1 + z P(z)) for s below 0.172; 5e-18 off.
const ARTANH_F64: [f64; 7] = [
    3.333333333333335e-1,
    1.9999999999949722e-1,
    1.4285714313001635e-1,
    1.1111105565129938e-1,
    9.091444727837553e-2,
    7.66585530910321e-2,
    7.308292712467061e-2,
];
/// sin(x) = x (1 + z P(z)) for x below pi / 4; 2e-8 and 2e-17 off.
const SIN_F32: [f32; 3] = [-1.6666664e-1, 8.332748e-3, -1.9587866e-4];
const SIN_F64: [f64; 6] = [
    -1.6666666666666666e-1,
    8.333333333330948e-3,
    -1.9841269836756774e-4,
    2.7557316101617874e-6,
    -2.5051131650235178e-8,
    1.5918115263265747e-10,
];
/// cos(x) = 1 - z / 2 + z^2 P(z) for x below pi / 4; 1e-9 and 1e-18 off.
const COS_F32: [f32; 3] = [4.1666664e-2, -1.3888302e-3, 2.4547917e-5];
const COS_F64: [f64; 6] = [
    4.1666666666666664e-2,
    -1.3888888888887398e-3,
    2.480158729876456e-5,
    -2.7557317271145144e-7,
    2.087614614655861e-9,
    -1.1382623647474462e-11,
];

/// `-ln u`, u = (k + 1/2) / 2^31 with k the upper 31 bits.
#[inline(always)]
pub(super) fn exponential_f32(bits: u32) -> f32 {
    let (t, exponent) = parts_f32(bits);
    exponential_of_f32(t, exponent)
}

/// `t` and an exponent with u = (1 + t) 2^exponent, for [`exponential_of_f32`].
#[inline(always)]
pub(super) fn parts_f32(bits: u32) -> (f32, f32) {
    const UNIT: f32 = 1.0 / (1_u32 << 31) as f32;
    let k = (bits >> 1) as i32;
    let u = (k as f32).mul_add(UNIT, 0.5 * UNIT);
    let (exponent, mantissa) = split_f32(u);
    // Near one, u has lost the bits that tell 1 - u, and with them the shape of the density around
    // zero; the integer still has them.
    let from_one = ((i32::MAX - k) as f32).mul_add(-UNIT, -0.5 * UNIT);
    (if exponent == 0.0 { from_one } else { mantissa - 1.0 }, exponent)
}

/// `-ln u` by the parts of u.
#[inline(always)]
pub(super) fn exponential_of_f32(t: f32, exponent: f32) -> f32 {
    // In pairs, not one after the other: what waits for the term before it waits three times, not
    // seven.
    let [a, b, c, d, e, f, g, h] = LN_F32;
    let tt = t * t;
    let low = tt.mul_add(d.mul_add(t, c), b.mul_add(t, a));
    let high = tt.mul_add(h.mul_add(t, g), f.mul_add(t, e));
    let ln = tt.mul_add((tt * tt).mul_add(high, low), t);
    exponent.mul_add(-(LN_2 as f32), -ln)
}

/// A point of the unit circle, by the quarter (2 bits) and the angle in it (30 bits).
#[inline(always)]
pub(super) fn direction_f32(bits: u32) -> (f32, f32) {
    const UNIT: f32 = (FRAC_PI_2 / 4_294_967_296.0) as f32;
    let x = ((bits << 2) as i32 + 2) as f32 * UNIT;
    let z = x * x;
    let [a, b, c] = SIN_F32;
    let sin = (x * z).mul_add(z.mul_add(z.mul_add(c, b), a), x);
    let [a, b, c] = COS_F32;
    let cos = z.mul_add(z.mul_add(z.mul_add(z.mul_add(c, b), a), -0.5), 1.0);
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
    let zz = z * z;
    // Paired, not nested: half the depth keeps two vectors in flight.
    let [a, b, c, d, e, f, g] = ARTANH_F64;
    let p = (a + z * b) + zz * ((c + z * d) + zz * ((e + z * f) + zz * g));
    -LN_2 * exponent - 2.0 * (s + s * z * p)
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
    let zz = z * z;
    let [a, b, c, d, e, f] = SIN_F64;
    let sin = x + x * z * ((a + z * b) + zz * ((c + z * d) + zz * (e + z * f)));
    let [a, b, c, d, e, f] = COS_F64;
    let cos = (1.0 - 0.5 * z) + zz * ((a + z * b) + zz * ((c + z * d) + zz * (e + z * f)));
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
        let (mut exponential, mut radius, mut direction) = (0.0_f64, 0.0_f64, 0.0_f64);
        let radius_of = |bits| (2.0 * exponential_f32(bits)).sqrt();
        for bits in grid {
            let u = (f64::from(bits >> 1) + 0.5) / 2.0_f64.powi(31);
            let e = -libm::log(u);
            exponential = exponential.max((f64::from(exponential_f32(bits)) - e).abs() / e);
            let r = libm::sqrt(2.0 * e);
            radius = radius.max((f64::from(radius_of(bits)) - r).abs() / r);
            let angle = (f64::from((bits << 2) as i32) + 2.0) / 2.0_f64.powi(32) * FRAC_PI_2;
            let (c, s) = quarter(angle, bits >> 30);
            let (x, y) = direction_f32(bits);
            direction = direction.max((f64::from(x) - c).abs()).max((f64::from(y) - s).abs());
        }
        assert!(exponential < 3e-7, "{exponential:e}");
        assert!(radius < 2e-7, "{radius:e}");
        assert!(direction < 2e-7, "{direction:e}");
        assert!(radius_of(0) < 6.67 && radius_of(0) > 6.66);
    }

    #[test]
    fn double_precision_is_accurate() {
        let (mut exponential, mut radius, mut direction) = (0.0_f64, 0.0_f64, 0.0_f64);
        let grid = (0..2_000_003_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let ends = (0..5000_u64).flat_map(|i| [i << 12, !(i << 12), i << 50]);
        for bits in grid.chain(ends) {
            let u = ((bits >> 12) as f64 + 0.5) / 2.0_f64.powi(52);
            let e = -libm::log(u);
            exponential = exponential.max((exponential_f64(bits) - e).abs() / e);
            let r = libm::sqrt(2.0 * e);
            radius = radius.max((radius_f64(bits) - r).abs() / r);
            let fraction = ((bits << 2 >> 12) as f64 + 0.5) / 2.0_f64.powi(52) - 0.5;
            let (c, s) = quarter(fraction * FRAC_PI_2, (bits >> 62) as u32);
            let (x, y) = direction_f64(bits);
            direction = direction.max((x - c).abs()).max((y - s).abs());
        }
        assert!(exponential < 5e-16, "{exponential:e}");
        assert!(radius < 4e-16, "{radius:e}");
        assert!(direction < 2e-16, "{direction:e}");
        assert!(radius_f64(0) < 8.58 && radius_f64(0) > 8.57);
    }

    /// The point at an angle from the axis that two bits choose: +x, -x, +y, -y.
    fn quarter(angle: f64, axis: u32) -> (f64, f64) {
        let (s, c) = libm::sincos(angle);
        [(c, s), (-c, s), (s, c), (s, -c)][axis as usize]
    }
}
