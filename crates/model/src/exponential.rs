//! The exponential function of losses: the same bits on every machine, and in vectors.

/// Rounds to a whole number in the low bits of the mantissa when added.
const SHIFT: f64 = 6_755_399_441_055_744.0;
/// `ln 2` in two pieces, the first with enough zeros at its end to be multiplied exactly.
const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// `exp(-t)` for `t >= 0`, to within a few units in the last place. Zero beyond 708, where it is
/// less than 1e-307; NaN for NaN. No branches, so that loops over it are vectorised.
#[inline(always)]
pub(crate) fn decay(t: f64) -> f64 {
    decays([t])[0]
}

/// The same of several numbers, step by step: none waits for another.
#[inline(always)]
pub(crate) fn decays<const N: usize>(t: [f64; N]) -> [f64; N] {
    let far = t.map(|t| t > 708.0);
    let [mut shifted, mut r] = [[0.0; N]; 2];
    for i in 0..N {
        let t = if far[i] { 0.0 } else { -t[i] };
        shifted[i] = t * std::f64::consts::LOG2_E + SHIFT;
        let k = shifted[i] - SHIFT;
        r[i] = (t - k * LN_2_HIGH) - k * LN_2_LOW;
    }
    // |r| <= 0.35: the first term left out is below 2e-16.
    let mut sum = [1.0 / 479_001_600.0; N];
    for inverse in [
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ] {
        for i in 0..N {
            sum[i] = sum[i] * r[i] + inverse;
        }
    }
    for i in 0..N {
        let power = f64::from_bits(shifted[i].to_bits().wrapping_add(1023) << 52);
        sum[i] = if far[i] { 0.0 } else { sum[i] * power };
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_exponential() {
        for i in 0..70_800 {
            let t = f64::from(i) * 0.01;
            let (got, expected) = (decay(t), libm::exp(-t));
            assert!((got - expected).abs() <= 1e-15 * expected, "{t}: {got} {expected}");
        }
        assert_eq!(
            [decay(0.0), decay(709.0), decay(1e300), decay(f64::INFINITY)],
            [1., 0., 0., 0.]
        );
        assert!(decay(f64::NAN).is_nan());
    }
}
