//! What an algorithm carries from one round to the next: written to a checkpoint, or put back.

use undertone_privacy::release::Released;
use undertone_real::Real;

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
                values.clear();
                // A state may hold any number.
                let _ = get(own, values);
            }
        }
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

/// Numbers as little-endian bytes of their own precision.
pub(crate) fn put<R: Real>(bytes: &mut Vec<u8>, values: &[R]) {
    bytes.reserve(size_of_val(values));
    match R::slice(values) {
        undertone_real::Slice::F32(values) => put_blocks(bytes, values, f32::to_le_bytes),
        undertone_real::Slice::F64(values) => put_blocks(bytes, values, f64::to_le_bytes),
    }
}

fn put_blocks<T: Copy, const N: usize>(bytes: &mut Vec<u8>, values: &[T], le: fn(T) -> [u8; N]) {
    let mut block = [[0; N]; AT_ONCE];
    for part in values.chunks(AT_ONCE) {
        block.iter_mut().zip(part).for_each(|(place, value)| *place = le(*value));
        bytes.extend_from_slice(block[..part.len()].as_flattened());
    }
}

/// Appends the numbers that [`put`] wrote, and says whether all are finite.
pub(crate) fn get<R: Real>(bytes: &[u8], values: &mut Vec<R>) -> bool {
    values.reserve(bytes.len() / size_of::<R>());
    let mut block = [R::ZERO; AT_ONCE];
    let mut finite = true;
    for part in bytes.chunks(AT_ONCE * size_of::<R>()) {
        let block = &mut block[..part.len() / size_of::<R>()];
        match R::slice_mut(block) {
            undertone_real::SliceMut::F32(block) => {
                let places = part.as_chunks::<4>().0.iter();
                block.iter_mut().zip(places).for_each(|(v, place)| *v = f32::from_le_bytes(*place));
            }
            undertone_real::SliceMut::F64(block) => {
                let places = part.as_chunks::<8>().0.iter();
                block.iter_mut().zip(places).for_each(|(v, place)| *v = f64::from_le_bytes(*place));
            }
        }
        finite &= are_finite(block);
        values.extend_from_slice(block);
    }
    finite
}
