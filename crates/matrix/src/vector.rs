//! Loops over vectors.

use undertone_real::Real;

/// `sum a_i b_i`, in double precision.
pub fn dot<R: Real>(a: &[R], b: &[R]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.to_f64() * b.to_f64()).sum()
}

/// `sum a_i^2`, in double precision.
pub fn squared_norm<R: Real>(a: &[R]) -> f64 {
    dot(a, a)
}

/// `out_i += factor a_i`.
pub fn add_scaled<R: Real>(factor: R, a: &[R], out: &mut [R]) {
    out.iter_mut().zip(a).for_each(|(out, a)| *out += factor * *a);
}
