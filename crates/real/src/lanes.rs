//! Vectors of numbers, for loops that are written once for every width and both number types.

use pulp::Simd;

use crate::sealed::Sealed;

/// A number with its vectors.
pub trait Lanes: Sealed + Copy + 'static {
    /// As many numbers as a register of the machine holds.
    type Vector<S: Simd>: Copy;

    /// How many that are.
    #[inline(always)]
    fn lanes<S: Simd>() -> usize {
        size_of::<Self::Vector<S>>() / size_of::<Self>()
    }

    /// The same number in every lane.
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S>;
    /// The numbers of a slice that is a whole number of vectors long; what is left over is ignored.
    fn vectors<S: Simd>(values: &[Self]) -> &[Self::Vector<S>];
    /// The same of a slice that is written.
    fn vectors_mut<S: Simd>(values: &mut [Self]) -> &mut [Self::Vector<S>];
    /// The numbers of a slice that is at most a vector long, then zeros.
    fn load_part<S: Simd>(simd: S, values: &[Self]) -> Self::Vector<S>;
    /// The first numbers of a vector, as many as the slice has room for.
    fn store_part<S: Simd>(simd: S, values: &mut [Self], vector: Self::Vector<S>);
    /// `a + b` in every lane.
    fn add_each<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// `a - b` in every lane.
    fn sub_each<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// `a b` in every lane.
    fn mul_each<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// `a b + c` in every lane, rounded once.
    fn mul_add_each<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        c: Self::Vector<S>,
    ) -> Self::Vector<S>;
    /// In every lane what was so many lanes above it; from the last lane on, the first ones.
    fn turn<S: Simd>(simd: S, a: Self::Vector<S>, lanes: usize) -> Self::Vector<S>;
}

macro_rules! lanes {
    ($number:ty, $vector:ident, $splat:ident, $slice:ident, $slice_mut:ident, $load:ident,
     $store:ident, $add:ident, $sub:ident, $mul:ident, $mul_add:ident,
     $turn:ident) => {
        impl Lanes for $number {
            type Vector<S: Simd> = S::$vector;

            #[inline(always)]
            fn splat<S: Simd>(simd: S, value: Self) -> S::$vector {
                simd.$splat(value)
            }
            #[inline(always)]
            fn vectors<S: Simd>(values: &[Self]) -> &[S::$vector] {
                S::$slice(values).0
            }
            #[inline(always)]
            fn vectors_mut<S: Simd>(values: &mut [Self]) -> &mut [S::$vector] {
                S::$slice_mut(values).0
            }
            #[inline(always)]
            fn load_part<S: Simd>(simd: S, values: &[Self]) -> S::$vector {
                simd.$load(values)
            }
            #[inline(always)]
            fn store_part<S: Simd>(simd: S, values: &mut [Self], vector: S::$vector) {
                simd.$store(values, vector);
            }
            #[inline(always)]
            fn add_each<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$add(a, b)
            }
            #[inline(always)]
            fn sub_each<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$sub(a, b)
            }
            #[inline(always)]
            fn mul_each<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$mul(a, b)
            }
            #[inline(always)]
            fn mul_add_each<S: Simd>(
                simd: S,
                a: S::$vector,
                b: S::$vector,
                c: S::$vector,
            ) -> S::$vector {
                simd.$mul_add(a, b, c)
            }
            #[inline(always)]
            fn turn<S: Simd>(simd: S, a: S::$vector, lanes: usize) -> S::$vector {
                simd.$turn(a, lanes)
            }
        }
    };
}

lanes!(
    f32,
    f32s,
    splat_f32s,
    as_simd_f32s,
    as_mut_simd_f32s,
    partial_load_f32s,
    partial_store_f32s,
    add_f32s,
    sub_f32s,
    mul_f32s,
    mul_add_f32s,
    rotate_left_f32s
);
lanes!(
    f64,
    f64s,
    splat_f64s,
    as_simd_f64s,
    as_mut_simd_f64s,
    partial_load_f64s,
    partial_store_f64s,
    add_f64s,
    sub_f64s,
    mul_f64s,
    mul_add_f64s,
    rotate_left_f64s
);
