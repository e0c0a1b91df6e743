//! Functions of every number.

use undertone_matrix::vector;
use undertone_real::Real;

use super::Activation;
use crate::vectorised::{Kernel, vectorised};

impl Activation {
    pub(super) fn forward<R: Real>(self, input: &[R], output: &mut [R]) {
        match self {
            Self::Relu => vectorised(Relu, (input, output)),
            Self::Sigmoid => {
                output.copy_from_slice(input);
                vector::sigmoid(output);
            }
            Self::Tanh => {
                output.copy_from_slice(input);
                vector::tanh(output);
            }
        }
    }

    /// The derivative by the input, from the output.
    pub(super) fn backward<R: Real>(self, output: &[R], above: &[R], below: &mut [R], add: bool) {
        vectorised(Backward, (self, output, above, below, add));
    }
}

/// `output = a + b`.
pub(super) fn sum<R: Real>(a: &[R], b: &[R], output: &mut [R]) {
    vectorised(Sum, (a, b, output));
}

/// Multiplies each row by its factor, if that is not one; zero where numbers are so small that
/// rounding could double them.
pub(super) fn scale_rows<R: Real>(factors: &[R], rows: &mut [R]) {
    vectorised(ScaleRows, (factors, rows));
}

/// Adds rows to one.
pub(super) fn add_rows<R: Real>(rows: &[R], sum: &mut [R]) {
    if !sum.is_empty() {
        vectorised(AddRows, (rows, sum));
    }
}

/// Written so that NaN stays.
struct Relu;

impl<'a, R: Real> Kernel<(&'a [R], &'a mut [R])> for Relu {
    #[inline(always)]
    fn run((input, output): (&'a [R], &'a mut [R])) {
        for (out, v) in output.iter_mut().zip(input) {
            *out = if *v < R::ZERO { R::ZERO } else { *v };
        }
    }
}

struct Backward;

impl<'a, R: Real> Kernel<(Activation, &'a [R], &'a [R], &'a mut [R], bool)> for Backward {
    #[inline(always)]
    fn run(
        (activation, output, above, below, add): (Activation, &'a [R], &'a [R], &'a mut [R], bool),
    ) {
        match activation {
            Activation::Relu => {
                each(output, above, below, add, |v, d| if v <= R::ZERO { R::ZERO } else { d })
            }
            Activation::Sigmoid => each(output, above, below, add, |v, d| d * (v * (R::ONE - v))),
            Activation::Tanh => each(output, above, below, add, |v, d| d * (R::ONE - v * v)),
        }
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

struct Sum;

impl<'a, R: Real> Kernel<(&'a [R], &'a [R], &'a mut [R])> for Sum {
    #[inline(always)]
    fn run((a, b, output): (&'a [R], &'a [R], &'a mut [R])) {
        for ((output, a), b) in output.iter_mut().zip(a).zip(b) {
            *output = *a + *b;
        }
    }
}

struct ScaleRows;

impl<'a, R: Real> Kernel<(&'a [R], &'a mut [R])> for ScaleRows {
    #[inline(always)]
    fn run((factors, rows): (&'a [R], &'a mut [R])) {
        let smallest =
            if size_of::<R>() == 4 { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE };
        let (smallest, width) = (R::from_f64(smallest), rows.len() / factors.len());
        for (k, factor) in factors.iter().enumerate() {
            if *factor == R::ONE {
                continue;
            }
            for v in &mut rows[k * width..][..width] {
                let scaled = *factor * *v;
                let zero = scaled < smallest && -scaled < smallest;
                *v = if zero { R::ZERO } else { scaled };
            }
        }
    }
}

struct AddRows;

impl<'a, R: Real> Kernel<(&'a [R], &'a mut [R])> for AddRows {
    #[inline(always)]
    fn run((rows, sum): (&'a [R], &'a mut [R])) {
        for row in rows.chunks_exact(sum.len()) {
            sum.iter_mut().zip(row).for_each(|(sum, v)| *sum += *v);
        }
    }
}
