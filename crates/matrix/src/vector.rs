//! Loops over vectors. Sums run in sixteen parts, which are added in one order: the bits are the
//! same on every machine.

use pulp::{Arch, NullaryFnOnce};
use undertone_real::{Real, Slice, SliceMut};

mod function;

pub use function::{exp, sigmoid, tanh};

/// Parts of a sum.
const PARTS: usize = 16;

/// `sum a_i b_i`, in double precision. Panics if the lengths differ.
pub fn dot<R: Real>(a: &[R], b: &[R]) -> f64 {
    assert_eq!(a.len(), b.len(), "lengths of a dot product");
    let arch = Arch::new();
    match (R::slice(a), R::slice(b)) {
        (Slice::F32(a), Slice::F32(b)) => arch.dispatch(Dot { a, b }),
        (Slice::F64(a), Slice::F64(b)) => arch.dispatch(Dot { a, b }),
        _ => unreachable!("both hold the same type"),
    }
}

/// `sum a_i^2`, in double precision.
pub fn squared_norm<R: Real>(a: &[R]) -> f64 {
    dot(a, a)
}

/// The squared norm of every row of a matrix, in double precision. Panics if the rows are not as
/// many as the numbers to write.
pub fn squared_norms<R: Real>(rows: &[R], out: &mut [f64]) {
    assert!(rows.len().is_multiple_of(out.len().max(1)), "rows of a matrix");
    let arch = Arch::new();
    match R::slice(rows) {
        Slice::F32(rows) => arch.dispatch(Norms { rows, out }),
        Slice::F64(rows) => arch.dispatch(Norms { rows, out }),
    }
}

/// `out_i += factor a_i`, rounded once. Panics if the lengths differ.
pub fn add_scaled<R: Real>(factor: R, a: &[R], out: &mut [R]) {
    assert_eq!(a.len(), out.len(), "lengths of a sum");
    let arch = Arch::new();
    match (R::slice(&[factor]), R::slice(a), R::slice_mut(out)) {
        (Slice::F32([factor]), Slice::F32(a), SliceMut::F32(out)) => {
            arch.dispatch(AddScaled { factor: *factor, a, out });
        }
        (Slice::F64([factor]), Slice::F64(a), SliceMut::F64(out)) => {
            arch.dispatch(AddScaled { factor: *factor, a, out });
        }
        _ => unreachable!("all hold the same type"),
    }
}

struct Dot<'a, L> {
    a: &'a [L],
    b: &'a [L],
}

impl<L: Copy + Into<f64>> NullaryFnOnce for Dot<'_, L> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        let mut sums = [0.0; PARTS];
        let ((a, a_rest), (b, b_rest)) = (self.a.as_chunks::<PARTS>(), self.b.as_chunks::<PARTS>());
        for (a, b) in a.iter().zip(b) {
            for i in 0..PARTS {
                sums[i] = a[i].into().mul_add(b[i].into(), sums[i]);
            }
        }
        for (sum, (a, b)) in sums.iter_mut().zip(a_rest.iter().zip(b_rest)) {
            *sum = (*a).into().mul_add((*b).into(), *sum);
        }
        tree(sums)
    }
}

/// The sum of parts, in one order.
#[inline(always)]
fn tree(mut parts: [f64; PARTS]) -> f64 {
    let mut half = PARTS / 2;
    while half > 0 {
        for i in 0..half {
            parts[i] += parts[i + half];
        }
        half /= 2;
    }
    parts[0]
}

struct Norms<'a, L> {
    rows: &'a [L],
    out: &'a mut [f64],
}

impl<L: Copy + Into<f64>> NullaryFnOnce for Norms<'_, L> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let width = self.rows.len() / self.out.len().max(1);
        for (k, out) in self.out.iter_mut().enumerate() {
            let (chunks, rest) = self.rows[k * width..][..width].as_chunks::<PARTS>();
            let mut parts = [0.0; PARTS];
            for chunk in chunks {
                for i in 0..PARTS {
                    let value = chunk[i].into();
                    parts[i] = value.mul_add(value, parts[i]);
                }
            }
            // By themselves, so that the parts stay in registers: rows may be short.
            let add = |sum, value: &L| (*value).into().mul_add((*value).into(), sum);
            *out = tree(parts) + rest.iter().fold(0.0, add);
        }
    }
}

struct AddScaled<'a, L> {
    factor: L,
    a: &'a [L],
    out: &'a mut [L],
}

impl NullaryFnOnce for AddScaled<'_, f32> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { factor, a, out } = self;
        out.iter_mut().zip(a).for_each(|(out, a)| *out = factor.mul_add(*a, *out));
    }
}

impl NullaryFnOnce for AddScaled<'_, f64> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { factor, a, out } = self;
        out.iter_mut().zip(a).for_each(|(out, a)| *out = factor.mul_add(*a, *out));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_parts_in_order() {
        let a: Vec<f64> = (0..37).map(|i| 1.0 / f64::from(i + 1)).collect();
        let b: Vec<f64> = (0..37).map(|i| f64::from(i).sqrt()).collect();
        let mut parts = [0.0_f64; PARTS];
        for i in 0..37 {
            parts[i % PARTS] = a[i].mul_add(b[i], parts[i % PARTS]);
        }
        for half in [8, 4, 2, 1] {
            for i in 0..half {
                parts[i] += parts[i + half];
            }
        }
        assert_eq!(dot(&a, &b), parts[0]);
        assert_eq!(dot::<f32>(&[], &[]), 0.0);
        assert_eq!(squared_norm(&[3.0_f32, 4.0]), 25.0);
    }

    #[test]
    fn rows_have_their_norms() {
        let rows: Vec<f32> = (0..111).map(|i| (i % 7) as f32 - 2.5).collect();
        for n in [1, 3, 37, 111] {
            let mut norms = vec![0.0; n];
            squared_norms(&rows, &mut norms);
            let expected = rows.chunks(111 / n).map(squared_norm);
            assert_eq!(norms, expected.collect::<Vec<_>>());
        }
        let mut none = [1.0; 2];
        squared_norms::<f64>(&[], &mut none);
        squared_norms::<f64>(&[], &mut []);
        assert_eq!(none, [0.0; 2]);
    }

    #[test]
    fn squares_of_single_precision_do_not_overflow() {
        assert_eq!(squared_norm(&[1e30_f32, 0.0]), f64::from(1e30_f32).powi(2));
    }

    #[test]
    fn scaled_vectors_are_added() {
        let mut out = [1.0_f32, 2.0, 3.0];
        add_scaled(2.0, &[1.0, 0.5, -1.0], &mut out);
        assert_eq!(out, [3.0, 3.0, 1.0]);
    }
}
