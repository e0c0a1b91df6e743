//! Loops over numbers in blocks that are read, changed and written by value.
//!
//! A loop over single numbers asks whether its slices overlap, and ends with up to thirty-one
//! numbers one by one, which for a hundred numbers takes longer than all the vectors before.

use undertone_real::Real;

/// Numbers of a block: a cache line of the narrower type.
const BLOCK: usize = 16;

/// What is left over is taken in blocks of half the size, and then one by one.
const HALF: usize = BLOCK / 2;

/// Something to do with blocks of numbers at places.
pub(crate) trait Blockwise<R> {
    /// What becomes of the numbers from a place on.
    fn block<const N: usize>(&mut self, place: usize, numbers: [R; N]) -> [R; N];
}

/// Replaces all numbers, whose first is at a place, and tells the new ones.
#[inline(always)]
pub(crate) fn replace<R: Real>(
    first: usize,
    numbers: &mut [R],
    copies: &mut [R],
    work: &mut impl Blockwise<R>,
) {
    assert_eq!(numbers.len(), copies.len(), "a copy of every number");
    let (place, numbers, copies) = replace_blocks::<R, BLOCK>(first, numbers, copies, work);
    let (place, numbers, copies) = replace_blocks::<R, HALF>(place, numbers, copies, work);
    replace_blocks::<R, 1>(place, numbers, copies, work);
}

/// Replaces all numbers, whose first is at a place.
#[inline(always)]
pub(crate) fn change<R: Real>(first: usize, numbers: &mut [R], work: &mut impl Blockwise<R>) {
    let (place, numbers) = change_blocks::<R, BLOCK>(first, numbers, work);
    let (place, numbers) = change_blocks::<R, HALF>(place, numbers, work);
    change_blocks::<R, 1>(place, numbers, work);
}

#[inline(always)]
fn change_blocks<'n, R: Real, const N: usize>(
    first: usize,
    numbers: &'n mut [R],
    work: &mut impl Blockwise<R>,
) -> (usize, &'n mut [R]) {
    let (numbers, left) = numbers.as_chunks_mut::<N>();
    let mut place = first;
    for numbers in numbers {
        *numbers = work.block(place, *numbers);
        place += N;
        keep_apart();
    }
    (place, left)
}

/// As many whole blocks as there are, and what is left.
#[inline(always)]
fn replace_blocks<'n, 'c, R: Real, const N: usize>(
    first: usize,
    numbers: &'n mut [R],
    copies: &'c mut [R],
    work: &mut impl Blockwise<R>,
) -> (usize, &'n mut [R], &'c mut [R]) {
    let (numbers, left) = numbers.as_chunks_mut::<N>();
    let (copies, left_copies) = copies.as_chunks_mut::<N>();
    let mut place = first;
    for (numbers, copies) in numbers.iter_mut().zip(copies) {
        let block = work.block(place, *numbers);
        (*numbers, *copies) = (block, block);
        place += N;
        keep_apart();
    }
    (place, left, left_copies)
}

/// `to = f(to, from)` for every number.
#[inline(always)]
pub(crate) fn update<R: Real>(to: &mut [R], from: &[R], f: impl Fn(R, R) -> R) {
    assert_eq!(to.len(), from.len(), "numbers in pairs");
    let (to, from) = update_blocks::<R, BLOCK>(to, from, &f);
    let (to, from) = update_blocks::<R, HALF>(to, from, &f);
    update_blocks::<R, 1>(to, from, &f);
}

#[inline(always)]
fn update_blocks<'t, 'f, R: Real, const N: usize>(
    to: &'t mut [R],
    from: &'f [R],
    f: &impl Fn(R, R) -> R,
) -> (&'t mut [R], &'f [R]) {
    let (to, left) = to.as_chunks_mut::<N>();
    let (from, left_from) = from.as_chunks::<N>();
    for (to, from) in to.iter_mut().zip(from) {
        let mut block = *to;
        for l in 0..N {
            block[l] = f(block[l], from[l]);
        }
        *to = block;
        keep_apart();
    }
    (left, left_from)
}

/// Keeps the compiler from making vectors across blocks: where they have 64 bytes it would gather
/// sixteen blocks number by number, five times as slow. It costs no instruction.
#[inline(always)]
fn keep_apart() {
    std::hint::black_box(());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers every place after itself.
    struct Number;

    impl Blockwise<f64> for Number {
        fn block<const N: usize>(&mut self, place: usize, numbers: [f64; N]) -> [f64; N] {
            std::array::from_fn(|l| numbers[l] + (place + l) as f64)
        }
    }

    #[test]
    fn every_number_is_taken_once_whatever_is_left_over() {
        for length in [0, 1, 7, 8, 15, 16, 17, 31, 32, 40, 105] {
            let (mut numbers, mut copies) = (vec![0.5; length], vec![0.0; length]);
            replace(3, &mut numbers, &mut copies, &mut Number);
            let expected: Vec<f64> = (0..length).map(|k| 3.5 + k as f64).collect();
            assert_eq!((&numbers, &copies), (&expected, &expected));
            let mut alone = vec![0.5; length];
            change(3, &mut alone, &mut Number);
            assert_eq!(alone, expected);
            update(&mut numbers, &copies, |a, b| a - b);
            assert_eq!(numbers, vec![0.0; length]);
        }
    }
}
