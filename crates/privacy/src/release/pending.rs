//! Releases whose noise is added while they are read.

use std::fmt;

use undertone_real::Real;

use super::Released;
use crate::noise::{Key, StreamId, add_gaussian_from, piece};

/// A paid release of Gaussian noise that is added when somebody reads it: a piece at a time, so
/// that a long vector is read while it is near.
///
/// # Guarantee
///
/// No number can be read before its noise is added, which is the one that
/// [`add_gaussian`](crate::noise::add_gaussian) adds: the release is that of the mechanism, in
/// bits, however it is read. What was not read is overwritten when it is dropped, as a
/// [`Secret`](super::Secret) is.
///
/// Nobody reads what has no noise:
///
/// ```compile_fail,E0616
/// # fn f(pending: undertone_privacy::release::Pending<f32>) {
/// let read = pending.values[0];
/// # }
/// ```
///
/// whoever finishes it has a release:
///
/// ```
/// # fn f(pending: undertone_privacy::release::Pending<f32>) {
/// let released = pending.finish();
/// # }
/// ```
pub struct Pending<R: Real> {
    values: Vec<R>,
    key: Key,
    id: StreamId,
    scale: f64,
    /// How many have their noise.
    done: usize,
}

impl<R: Real> Pending<R> {
    /// What a mechanism has let out of its box, and the noise that is meant for it.
    #[inline]
    pub(crate) fn new(values: Vec<R>, key: &Key, id: StreamId, scale: f64) -> Self {
        Self { values, key: key.copied(), id, scale, done: 0 }
    }

    /// The next numbers that nobody has read, and their place; none after the last.
    #[inline]
    pub fn next_piece(&mut self) -> Option<(usize, Released<&[R]>)> {
        let first = self.done;
        if first == self.values.len() {
            return None;
        }
        let last = self.values.len().min(first + piece::<R>());
        self.add_until(last, 1);
        Some((first, Released::by_mechanism(&self.values[first..last])))
    }

    /// All of it.
    #[inline]
    pub fn finish(self) -> Released<Vec<R>> {
        self.finish_on(1)
    }

    /// All of it, its noise made on so many threads of the pool in which it is asked for.
    pub fn finish_on(mut self, threads: usize) -> Released<Vec<R>> {
        self.add_until(self.values.len(), threads);
        Released::by_mechanism(std::mem::take(&mut self.values))
    }

    fn add_until(&mut self, last: usize, threads: usize) {
        let first = self.done;
        if last > first {
            let values = &mut self.values[first..last];
            add_gaussian_from(threads, &self.key, self.id, self.scale, values, first);
            self.done = last;
        }
    }
}

/// A copy has all its noise.
impl<R: Real> Clone for Pending<R> {
    fn clone(&self) -> Self {
        let Self { values, key, id, scale, done } = self;
        let (values, key) = (values.clone(), key.copied());
        let mut copy = Self { values, key, id: *id, scale: *scale, done: *done };
        copy.add_until(copy.values.len(), 1);
        copy
    }
}

/// As released.
impl<R: Real> PartialEq for Pending<R> {
    fn eq(&self, other: &Self) -> bool {
        self.clone().values == other.clone().values
    }
}

impl<R: Real> Drop for Pending<R> {
    fn drop(&mut self) {
        if self.done < self.values.len() {
            self.values[self.done..].fill(R::ZERO);
            std::hint::black_box(&self.values);
        }
    }
}

/// Tells how long it is.
impl<R: Real> fmt::Debug for Pending<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pending({} numbers)", self.values.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Purpose, add_gaussian};

    fn pending<R: Real>(length: usize, seed: u64) -> (Pending<R>, Vec<R>) {
        let (key, values) = (Key::from_seed(seed), vec![R::ONE; length]);
        let id = StreamId::new(Purpose::Noise, 3, 7).unwrap();
        let mut noisy = values.clone();
        add_gaussian(&key, id, 0.7, &mut noisy);
        (Pending { values, key: key.copied(), id, scale: 0.7, done: 0 }, noisy)
    }

    fn check<R: Real>() {
        for length in [0, 1, 105, 256, 257, 1000] {
            let (whole, expected) = pending::<R>(length, 1);
            assert_eq!(whole.finish().get(), &expected);
            let (mut pieces, expected) = pending::<R>(length, 1);
            let mut read = Vec::new();
            while let Some((first, piece)) = pieces.next_piece() {
                assert_eq!(first, read.len());
                read.extend_from_slice(piece.get());
            }
            assert_eq!(read, expected);
            assert_eq!(pieces.finish().get(), &expected);
            // What was read in part is finished without noise being added twice.
            let (mut part, expected) = pending::<R>(length, 1);
            let _ = part.next_piece();
            assert_eq!(part.clone().values, expected);
            assert!(part == pending(length, 1).0 && (length == 0 || part != pending(length, 2).0));
        }
    }

    #[test]
    fn however_it_is_read_it_is_the_same() {
        check::<f32>();
        check::<f64>();
    }

    #[test]
    fn noise_does_not_depend_on_the_number_of_threads() {
        for (length, read) in [(70_001, 0), (70_001, 2), (300, 0)] {
            for threads in [1, 2, 3, 9] {
                let (mut some, expected) = pending::<f32>(length, 1);
                (0..read).for_each(|_| assert!(some.next_piece().is_some()));
                assert_eq!(some.finish_on(threads).get(), &expected);
            }
        }
    }
}
