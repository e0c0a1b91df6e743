//! Functions of every number.

use undertone_real::Real;

use super::Activation;

impl Activation {
    pub(super) fn forward<R: Real>(self, input: &[R], output: &mut [R]) {
        output.copy_from_slice(input);
        match self {
            Self::Relu => {
                // Written so that NaN stays.
                output.iter_mut().for_each(|v| *v = if *v < R::ZERO { R::ZERO } else { *v });
            }
            Self::Sigmoid => {
                output.iter_mut().for_each(|v| *v = R::from_f64(1.0 / (1.0 + (-v.to_f64()).exp())))
            }
            Self::Tanh => output.iter_mut().for_each(|v| *v = R::from_f64(v.to_f64().tanh())),
        }
    }

    /// The derivative by the input, from the output.
    pub(super) fn backward<R: Real>(self, output: &[R], above: &[R], below: &mut [R], add: bool) {
        match self {
            Self::Relu => {
                each(output, above, below, add, |v, d| if v <= R::ZERO { R::ZERO } else { d })
            }
            Self::Sigmoid => each(output, above, below, add, |v, d| d * (v * (R::ONE - v))),
            Self::Tanh => each(output, above, below, add, |v, d| d * (R::ONE - v * v)),
        }
    }
}

/// `output = a + b`.
pub(super) fn sum<R: Real>(a: &[R], b: &[R], output: &mut [R]) {
    for ((output, a), b) in output.iter_mut().zip(a).zip(b) {
        *output = *a + *b;
    }
}

/// Multiplies; zero where numbers are so small that rounding could double them.
pub(super) fn scale<R: Real>(factor: R, row: &mut [R]) {
    let smallest =
        if size_of::<R>() == 4 { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE };
    let smallest = R::from_f64(smallest);
    for v in row {
        let scaled = factor * *v;
        let zero = scaled < smallest && -scaled < smallest;
        *v = if zero { R::ZERO } else { scaled };
    }
}

#[inline(always)]
fn each<R: Real>(v: &[R], above: &[R], below: &mut [R], add: bool, f: impl Fn(R, R) -> R) {
    let numbers = below.iter_mut().zip(v).zip(above);
    if add {
        numbers.for_each(|((below, v), d)| *below += f(*v, *d));
    } else {
        numbers.for_each(|((below, v), d)| *below = f(*v, *d));
    }
}
