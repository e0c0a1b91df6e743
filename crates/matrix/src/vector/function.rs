//! Functions of every number of a vector, from additions, multiplications and divisions alone, so
//! that the bits are the same on every machine. What is not a number stays so.

use pulp::{Arch, NullaryFnOnce};
use undertone_real::{Real, SliceMut};

/// Replaces every number by its exponential, to within two units in the last place; zero or
/// infinity beyond the range of the type, and zero where the result would lose digits.
pub fn exp<R: Real>(values: &mut [R]) {
    apply::<R, Exp>(values);
}

/// Replaces every number by `1 / (1 + exp(-x))`.
pub fn sigmoid<R: Real>(values: &mut [R]) {
    apply::<R, Sigmoid>(values);
}

/// Replaces every number by its hyperbolic tangent, with an absolute error of some units in the
/// last place of one.
pub fn tanh<R: Real>(values: &mut [R]) {
    apply::<R, Tanh>(values);
}

fn apply<R: Real, F: Function>(values: &mut [R]) {
    let arch = Arch::new();
    match R::slice_mut(values) {
        SliceMut::F32(values) => arch.dispatch(Apply::<f32, F>(values, F::default())),
        SliceMut::F64(values) => arch.dispatch(Apply::<f64, F>(values, F::default())),
    }
}

trait Function: Default {
    fn single(x: f32) -> f32;
    fn double(x: f64) -> f64;
}

struct Apply<'a, L, F>(&'a mut [L], F);

impl<F: Function> NullaryFnOnce for Apply<'_, f32, F> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.0.iter_mut().for_each(|x| *x = F::single(*x));
    }
}

impl<F: Function> NullaryFnOnce for Apply<'_, f64, F> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.0.iter_mut().for_each(|x| *x = F::double(*x));
    }
}

#[derive(Default)]
struct Exp;
#[derive(Default)]
struct Sigmoid;
#[derive(Default)]
struct Tanh;

impl Function for Exp {
    #[inline(always)]
    fn single(x: f32) -> f32 {
        exp_f32(x)
    }
    #[inline(always)]
    fn double(x: f64) -> f64 {
        exp_f64(x)
    }
}

impl Function for Sigmoid {
    #[inline(always)]
    fn single(x: f32) -> f32 {
        1.0 / (1.0 + exp_f32(-x))
    }
    #[inline(always)]
    fn double(x: f64) -> f64 {
        1.0 / (1.0 + exp_f64(-x))
    }
}

impl Function for Tanh {
    #[inline(always)]
    fn single(x: f32) -> f32 {
        1.0 - 2.0 / (1.0 + exp_f32(2.0 * x))
    }
    #[inline(always)]
    fn double(x: f64) -> f64 {
        1.0 - 2.0 / (1.0 + exp_f64(2.0 * x))
    }
}

/// `exp(x) = 2^n exp(r)` with `r = x - n ln 2` between plus and minus half of `ln 2`, where the
/// series of Taylor ends below the last place.
#[inline(always)]
fn exp_f32(x: f32) -> f32 {
    // The sum with this constant has no digits after the point, so its last bits are the integer.
    const ROUND: f32 = 12_582_912.0;
    const LN2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = n.mul_add(-LN2[1], n.mul_add(-LN2[0], x));
    let mut series = 1.0 / 5040.0;
    for coefficient in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        series = r.mul_add(series, coefficient);
    }
    let power = f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    let value = series * power;
    let value = if x < -87.0 { 0.0 } else { value };
    let value = if x > 88.0 { f32::INFINITY } else { value };
    if x.is_nan() { x } else { value }
}

#[inline(always)]
fn exp_f64(x: f64) -> f64 {
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const LN2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
    let shifted = x.mul_add(std::f64::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = n.mul_add(-LN2[1], n.mul_add(-LN2[0], x));
    let mut series = 1.0 / 6_227_020_800.0;
    for coefficient in [
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ] {
        series = r.mul_add(series, coefficient);
    }
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    let value = series * power;
    let value = if x < -708.0 { 0.0 } else { value };
    let value = if x > 709.0 { f64::INFINITY } else { value };
    if x.is_nan() { x } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<R: Real>(function: fn(&mut [R]), x: R) -> f64 {
        let mut values = [x];
        function(&mut values);
        values[0].to_f64()
    }

    #[test]
    fn exponentials_are_those_of_the_standard_library() {
        for k in -8600..8700 {
            let x = f64::from(k) / 100.0 + 0.003;
            let (ours, theirs) = (of(exp::<f64>, x), x.exp());
            assert!((ours / theirs - 1.0).abs() < 4.5e-16, "{x}: {ours} {theirs}");
            let x = x as f32;
            let (ours, theirs) = (of(exp::<f32>, x), f64::from(x).exp());
            assert!((ours / theirs - 1.0).abs() < 2.4e-7, "{x}: {ours} {theirs}");
        }
    }

    #[test]
    fn ends_and_nonsense() {
        for (function, low, high) in
            [(exp as fn(&mut [f64]), 0.0, f64::INFINITY), (sigmoid, 0.0, 1.0), (tanh, -1.0, 1.0)]
        {
            for far in [800.0, 1e300, f64::INFINITY] {
                assert_eq!((of(function, -far), of(function, far)), (low, high));
            }
            assert!(of(function, f64::NAN).is_nan());
        }
        for (function, low, high) in
            [(exp as fn(&mut [f32]), 0.0, f64::INFINITY), (sigmoid, 0.0, 1.0), (tanh, -1.0, 1.0)]
        {
            for far in [100.0, 1e30, f32::INFINITY] {
                assert_eq!((of(function, -far), of(function, far)), (low, high));
            }
            assert!(of(function, f32::NAN).is_nan());
        }
    }

    #[test]
    fn sigmoid_and_tangent_are_near_their_values() {
        for k in -400..400 {
            let x = f64::from(k) / 20.0;
            assert!((of(sigmoid::<f64>, x) - 1.0 / (1.0 + (-x).exp())).abs() < 3e-16);
            assert!((of(tanh::<f64>, x) - x.tanh()).abs() < 5e-16);
            assert!((of(sigmoid::<f32>, x as f32) - 1.0 / (1.0 + (-x).exp())).abs() < 2e-7);
            assert!((of(tanh::<f32>, x as f32) - x.tanh()).abs() < 3e-7);
        }
    }
}
