//! Vectors of either number type, for loops that are written once.

use pulp::Simd;
use undertone_real::{Real, Slice, SliceMut};

/// A number with its vectors.
pub(crate) trait Lane: Copy + Default + 'static {
    /// As many numbers as a register of the machine holds.
    type Vector<S: Simd>: Copy;

    /// How many that are.
    fn lanes<S: Simd>() -> usize {
        size_of::<Self::Vector<S>>() / size_of::<Self>()
    }

    /// Numbers that are known to be of this type.
    fn of<R: Real>(values: &[R]) -> &[Self];
    fn of_mut<R: Real>(values: &mut [R]) -> &mut [Self];
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S>;
    /// The numbers of a slice that is a whole number of vectors long; what is left over is ignored.
    fn vectors<S: Simd>(values: &[Self]) -> &[Self::Vector<S>];
    fn vectors_mut<S: Simd>(values: &mut [Self]) -> &mut [Self::Vector<S>];
    /// The numbers of a slice that is at most a vector long, then zeros.
    fn load_part<S: Simd>(simd: S, values: &[Self]) -> Self::Vector<S>;
    fn store_part<S: Simd>(simd: S, values: &mut [Self], vector: Self::Vector<S>);
    /// `a b + c`, rounded once.
    fn mul_add<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        c: Self::Vector<S>,
    ) -> Self::Vector<S>;
    fn add<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// Both of single numbers.
    fn fma(a: Self, b: Self, c: Self) -> Self;
    fn plus(a: Self, b: Self) -> Self;

    /// The sum of sixteen parts, in one order.
    #[inline(always)]
    fn tree(parts: &[Self; 16]) -> Self {
        let halves: [Self; 8] = std::array::from_fn(|i| Self::plus(parts[i], parts[i + 8]));
        let quarters: [Self; 4] = std::array::from_fn(|i| Self::plus(halves[i], halves[i + 4]));
        let [a, b] = std::array::from_fn(|i| Self::plus(quarters[i], quarters[i + 2]));
        Self::plus(a, b)
    }
}

macro_rules! lane {
    ($number:ty, $kind:ident, $vector:ident, $splat:ident, $slice:ident, $slice_mut:ident,
     $load:ident, $store:ident, $mul_add:ident, $add:ident) => {
        impl Lane for $number {
            type Vector<S: Simd> = S::$vector;

            #[inline(always)]
            fn of<R: Real>(values: &[R]) -> &[Self] {
                let Slice::$kind(values) = R::slice(values) else { unreachable!("other numbers") };
                values
            }
            #[inline(always)]
            fn of_mut<R: Real>(values: &mut [R]) -> &mut [Self] {
                let SliceMut::$kind(values) = R::slice_mut(values) else {
                    unreachable!("other numbers")
                };
                values
            }
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
            fn mul_add<S: Simd>(
                simd: S,
                a: S::$vector,
                b: S::$vector,
                c: S::$vector,
            ) -> S::$vector {
                simd.$mul_add(a, b, c)
            }
            #[inline(always)]
            fn add<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$add(a, b)
            }
            #[inline(always)]
            fn fma(a: Self, b: Self, c: Self) -> Self {
                a.mul_add(b, c)
            }
            #[inline(always)]
            fn plus(a: Self, b: Self) -> Self {
                a + b
            }
        }
    };
}

lane!(
    f32,
    F32,
    f32s,
    splat_f32s,
    as_simd_f32s,
    as_mut_simd_f32s,
    partial_load_f32s,
    partial_store_f32s,
    mul_add_f32s,
    add_f32s
);
lane!(
    f64,
    F64,
    f64s,
    splat_f64s,
    as_simd_f64s,
    as_mut_simd_f64s,
    partial_load_f64s,
    partial_store_f64s,
    mul_add_f64s,
    add_f64s
);
