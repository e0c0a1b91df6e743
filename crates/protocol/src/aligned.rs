//! Numbers whose memory begins with a cache line.

use std::ops::{Deref, DerefMut};

use undertone_real::Real;

/// Bytes of a cache line. Numbers that begin with one take half as long to read in vectors of that
/// size as those that lie across.
pub(crate) const LINE: usize = 64;

/// A vector of a fixed length that begins with a cache line, if it is as long as some of them.
#[derive(Debug)]
pub(crate) struct Aligned<R> {
    /// From `start` on.
    values: Vec<R>,
    start: usize,
}

impl<R: Real> Aligned<R> {
    pub(crate) fn zeros(length: usize) -> Self {
        let (mut values, start) = memory(length);
        values.resize(start + length, R::ZERO);
        Self { values, start }
    }
}

impl<R: Clone> Aligned<R> {
    fn of(own: &[R]) -> Self {
        let (mut values, start) = memory(own.len());
        // What comes before does not matter.
        own.first().into_iter().for_each(|any| values.resize(start, any.clone()));
        values.extend_from_slice(own);
        Self { start: values.len() - own.len(), values }
    }
}

/// For so many numbers, and where they begin. Those that are not as long as some lines are rows
/// that lie across anyway, and have no need of more memory.
fn memory<R>(length: usize) -> (Vec<R>, usize) {
    let most = LINE / size_of::<R>();
    if !length.is_multiple_of(most) {
        return (Vec::with_capacity(length), 0);
    }
    let values: Vec<R> = Vec::with_capacity(length + most);
    let start = values.as_ptr().align_offset(LINE).min(most);
    (values, start)
}

impl<R: Clone> From<Vec<R>> for Aligned<R> {
    fn from(values: Vec<R>) -> Self {
        Self::of(&values)
    }
}

impl<R> Deref for Aligned<R> {
    type Target = [R];

    #[inline(always)]
    fn deref(&self) -> &[R] {
        &self.values[self.start..]
    }
}

impl<R> DerefMut for Aligned<R> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [R] {
        &mut self.values[self.start..]
    }
}

/// A copy lies elsewhere, so it may have to begin elsewhere in its memory.
impl<R: Clone> Clone for Aligned<R> {
    fn clone(&self) -> Self {
        Self::of(self)
    }
}

impl<R: PartialEq> PartialEq for Aligned<R> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_equal_and_begin_with_a_line_if_they_are_some_long() {
        for length in [0, 1, 16, 17, 96, 100] {
            let values: Vec<f32> = (0..length).map(|k| k as f32).collect();
            let aligned = Aligned::of(&values);
            for aligned in [aligned.clone(), aligned] {
                assert_eq!(*aligned, *values);
                let offset = aligned.as_ptr().align_offset(LINE);
                assert!(offset == 0 || length == 0 || length % 16 > 0, "{length}: {offset}");
            }
        }
        assert_eq!(Aligned::of(&[0.0_f64; 9]), Aligned::zeros(9));
        assert_ne!(Aligned::of(&[1.0_f64; 8]), Aligned::zeros(8));
    }
}
