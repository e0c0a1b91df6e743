//! What an algorithm carries from one round to the next: written to a checkpoint, or put back.

use undertone_privacy::release::Released;
use undertone_real::Real;

use crate::aligned::Aligned;
use crate::initial::start;
use crate::mail::are_finite;

/// Goes over all that an algorithm carries from round to round, in a fixed order, and either writes
/// it or puts back what was written. One function of the algorithm does both
/// ([`Synchronous::carry`](crate::Synchronous::carry)), so that the two cannot differ.
///
/// # Guarantee
///
/// An algorithm has nothing but what was released or heard, so a checkpoint tells no more than the
/// messages did. Whoever puts one back vouches that it is one that this node wrote.
pub struct Carried<'a>(Direction<'a>);

enum Direction<'a> {
    Write(&'a mut Vec<u8>),
    /// What is left, and whether all of it fitted so far.
    Read(&'a [u8], bool),
}

impl<'a> Carried<'a> {
    /// Appends to these bytes.
    pub fn write(bytes: &'a mut Vec<u8>) -> Self {
        Self(Direction::Write(bytes))
    }

    /// Puts back what was written.
    pub fn read(bytes: &'a [u8]) -> Self {
        Self(Direction::Read(bytes, true))
    }

    /// Whether everything was there, and nothing else.
    pub fn is_whole(&self) -> bool {
        match &self.0 {
            Direction::Write(_) => true,
            Direction::Read(left, fitted) => *fitted && left.is_empty(),
        }
    }

    /// A count.
    pub fn count(&mut self, count: &mut u64) {
        match &mut self.0 {
            Direction::Write(bytes) => bytes.extend(count.to_le_bytes()),
            Direction::Read(..) => *count = self.take::<8>().map_or(0, u64::from_le_bytes),
        }
    }

    /// Yes or no.
    pub fn flag(&mut self, flag: &mut bool) {
        let mut count = u64::from(*flag);
        self.count(&mut count);
        *flag = count == 1;
    }

    /// A number beside the state.
    pub fn number(&mut self, number: &mut f64) {
        let mut bits = number.to_bits();
        self.count(&mut bits);
        *number = f64::from_bits(bits);
    }

    /// Numbers in the algorithm's precision.
    pub fn values<R: Real>(&mut self, values: &mut Vec<R>) {
        let mut length = values.len() as u64;
        self.count(&mut length);
        match &mut self.0 {
            Direction::Write(bytes) => put(bytes, values),
            Direction::Read(left, fitted) => {
                let needed =
                    usize::try_from(length).ok().and_then(|n| n.checked_mul(size_of::<R>()));
                let Some((own, rest)) = needed.and_then(|needed| left.split_at_checked(needed))
                else {
                    *fitted = false;
                    return;
                };
                *left = rest;
                // A state may hold any number.
                let _ = get_over(own, values);
            }
        }
    }

    /// The same, of memory that begins with a cache line.
    pub(crate) fn aligned<R: Real>(&mut self, values: &mut Aligned<R>) {
        let mut numbers = values.to_vec();
        self.values(&mut numbers);
        *values = numbers.into();
    }

    /// A released vector.
    pub fn released<R: Real>(&mut self, vector: &mut Released<Vec<R>>) {
        vector.update(|values| self.values(values));
    }

    /// A released vector that may not be there.
    pub fn maybe<R: Real>(&mut self, vector: &mut Option<Released<Vec<R>>>) {
        let mut there = vector.is_some();
        self.flag(&mut there);
        if !there {
            *vector = None;
            return;
        }
        self.released(vector.get_or_insert_with(|| start(&[])));
    }

    /// Words of masks.
    pub fn words(&mut self, words: &mut Vec<u64>) {
        let mut length = words.len() as u64;
        self.count(&mut length);
        if let Direction::Read(left, fitted) = &mut self.0 {
            if length > left.len() as u64 / 8 {
                *fitted = false;
                return;
            }
            words.resize(length as usize, 0);
        }
        words.iter_mut().for_each(|word| self.count(word));
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let Direction::Read(left, fitted) = &mut self.0 else { return None };
        match left.split_first_chunk::<N>() {
            Some((own, rest)) => {
                *left = rest;
                Some(*own)
            }
            None => {
                *fitted = false;
                None
            }
        }
    }
}

/// So many numbers go through the processor's first cache at a time: memory is written once, and
/// not filled with zeros before.
const AT_ONCE: usize = 256;

/// Appends numbers as little-endian bytes of their own precision.
pub(crate) fn put<R: Real>(bytes: &mut Vec<u8>, values: &[R]) {
    bytes.reserve(size_of_val(values));
    let mut block = [0; AT_ONCE * size_of::<u64>()];
    for part in values.chunks(AT_ONCE) {
        let block = &mut block[..size_of_val(part)];
        put_over(block, part);
        bytes.extend_from_slice(block);
    }
}

/// The same over bytes that are there, as many as the numbers need.
pub(crate) fn put_over<R: Real>(bytes: &mut [u8], values: &[R]) {
    match R::slice(values) {
        undertone_real::Slice::F32(values) => {
            let places = bytes.as_chunks_mut::<4>().0.iter_mut();
            places.zip(values).for_each(|(place, value)| *place = value.to_le_bytes());
        }
        undertone_real::Slice::F64(values) => {
            let places = bytes.as_chunks_mut::<8>().0.iter_mut();
            places.zip(values).for_each(|(place, value)| *place = value.to_le_bytes());
        }
    }
}

/// Reads the numbers that [`put`] wrote, over those that are there; whether all are finite.
pub(crate) fn get_over<R: Real>(bytes: &[u8], values: &mut Vec<R>) -> bool {
    values.resize(bytes.len() / size_of::<R>(), R::ZERO);
    let mut finite = true;
    // In parts, so that a part is still in the first cache when it is looked at.
    let parts = bytes.chunks(AT_ONCE * size_of::<R>());
    for (part, values) in parts.zip(values.chunks_mut(AT_ONCE)) {
        match R::slice_mut(values) {
            undertone_real::SliceMut::F32(values) => {
                let places = part.as_chunks::<4>().0.iter();
                values
                    .iter_mut()
                    .zip(places)
                    .for_each(|(v, bytes)| *v = f32::from_le_bytes(*bytes));
            }
            undertone_real::SliceMut::F64(values) => {
                let places = part.as_chunks::<8>().0.iter();
                values
                    .iter_mut()
                    .zip(places)
                    .for_each(|(v, bytes)| *v = f64::from_le_bytes(*bytes));
            }
        }
        finite &= are_finite(values);
    }
    finite
}
