//! Messages as bytes: versioned, bounded, and the same length that the simulator counts.
//!
//! ```text
//! 0      1      2              10          14
//! version flags  round (u64)    width (u32) mask bytes (if masked), then the numbers that are sent
//! ```
//!
//! All numbers are little-endian. Flags: 1 = double precision, 2 = masked, 4 = silent, 8 = on a
//! lattice. Both sides know the lattice; a number is then that of its point, counted from the
//! lowest one, in as many bits as the lattice has, the lowest bit first, and the last byte ends in
//! zeros.

mod pack;

use undertone_privacy::release::Released;
use undertone_real::Real;

use crate::carried::{get_over, put, put_over};
use crate::mail::{Extent, Letter, Message, Shape};

/// The version that is written, and the only one that is read.
pub const VERSION: u8 = 1;

/// Bytes before the mask.
pub const HEADER: usize = 14;

const DOUBLE: u8 = 1;
const MASKED: u8 = 2;
const SILENT: u8 = 4;
const QUANTISED: u8 = 8;

/// Why bytes are not a message of the shape that is expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Too few or too many bytes.
    #[error("a message of {expected} bytes was expected, {found} came")]
    Length {
        /// By the header.
        expected: usize,
        /// What is there.
        found: usize,
    },
    /// Written by something else.
    #[error("version {found} of the wire format is not known; this is version {VERSION}")]
    Version {
        /// What the first byte says.
        found: u8,
    },
    /// Flags that make no sense together or are not known.
    #[error("flags {found:#04x} are not those of the expected message")]
    Flags {
        /// What the second byte says.
        found: u8,
    },
    /// Another size of vector.
    #[error("a message has {found} numbers, {expected} were expected")]
    Width {
        /// By the algorithm.
        expected: usize,
        /// By the header.
        found: usize,
    },
    /// The mask marks coordinates that do not exist.
    #[error("the mask marks a coordinate beyond the last one")]
    Mask,
    /// The bits are not those of a point, or there are some after the last point.
    #[error("number {at} is not on the lattice")]
    OffLattice {
        /// Its place among those sent; their number for bits after the last one.
        at: usize,
    },
    /// A number is infinite or not a number.
    #[error("number {at} is not finite")]
    NotFinite {
        /// Its place among those sent.
        at: usize,
    },
}

/// How many bytes a letter takes.
#[inline(always)]
pub fn size<R: Real>(letter: &Letter<'_, R>) -> usize {
    let mask = if letter.mask().is_some() { letter.shape().mask_bits.div_ceil(8) } else { 0 };
    HEADER + mask + bytes_of::<R>(letter.shape(), letter.sent())
}

/// How many bytes a message of a shape takes at most.
pub fn largest<R: Real>(shape: Shape) -> usize {
    HEADER + shape.mask_bits.div_ceil(8) + shape.width * size_of::<R>()
}

/// The bytes of a message. Whatever is in a message was released (invariant I1).
pub fn encode<R: Real>(message: &Message<R>) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_into(message, &mut bytes);
    bytes
}

/// The same, in memory that was used before.
pub fn encode_into<R: Real>(message: &Message<R>, bytes: &mut Vec<u8>) {
    let letter = message.letter();
    if letter.extent() == Extent::Dense && letter.shape().lattice.is_none() {
        // What is there is written over; only what is new is filled with zeros before.
        bytes.resize(size(&letter), 0);
        let (head, numbers) = bytes.split_at_mut(HEADER);
        head.copy_from_slice(&header::<R>(message));
        return put_over(numbers, letter.values());
    }
    bytes.clear();
    bytes.reserve(size(&letter));
    bytes.extend(header::<R>(message));
    if let Some(mask) = letter.mask() {
        let mask = mask.iter().flat_map(|word| word.to_le_bytes());
        bytes.extend(mask.take(letter.shape().mask_bits.div_ceil(8)));
    }
    match letter.shape().lattice.filter(|_| letter.extent() == Extent::Dense) {
        Some(lattice) => pack::write(bytes, lattice, letter.values()),
        None => {
            let sent = letter.values().iter().enumerate().filter(|(k, _)| is_sent(&letter, *k));
            sent.for_each(|(_, value)| put(bytes, std::slice::from_ref(value)));
        }
    }
}

fn header<R: Real>(message: &Message<R>) -> [u8; HEADER] {
    let letter = message.letter();
    let extent = match letter.extent() {
        Extent::Silent => SILENT,
        Extent::Dense if letter.shape().lattice.is_some() => QUANTISED,
        Extent::Dense => 0,
        Extent::Masked => MASKED,
    };
    let mut header = [0; HEADER];
    header[..2].copy_from_slice(&[VERSION, extent | precision::<R>()]);
    header[2..10].copy_from_slice(&message.round().to_le_bytes());
    header[10..].copy_from_slice(&(letter.shape().width as u32).to_le_bytes());
    header
}

/// The message that bytes from a peer hold. Nothing is allocated before the length is known to be
/// that of `shape`.
pub fn decode<R: Real>(bytes: &[u8], shape: Shape) -> Result<Message<R>, DecodeError> {
    decode_over(None, bytes, shape)
}

/// The same, in the memory of a message that nobody needs, if there is one.
pub fn decode_over<R: Real>(
    old: Option<Message<R>>,
    bytes: &[u8],
    shape: Shape,
) -> Result<Message<R>, DecodeError> {
    let short = |expected| DecodeError::Length { expected, found: bytes.len() };
    let (header, body) = bytes.split_at_checked(HEADER).ok_or(short(HEADER))?;
    if header[0] != VERSION {
        return Err(DecodeError::Version { found: header[0] });
    }
    let round = u64::from_le_bytes(header[2..10].try_into().expect("eight bytes"));
    let width = u32::from_le_bytes(header[10..14].try_into().expect("four bytes")) as usize;
    if width != shape.width {
        return Err(DecodeError::Width { expected: shape.width, found: width });
    }
    let flags = DecodeError::Flags { found: header[1] };
    let extent = match header[1].checked_sub(precision::<R>()).ok_or(flags.clone())? {
        0 if shape.mask_bits == 0 && shape.lattice.is_none() => Extent::Dense,
        QUANTISED if shape.lattice.is_some() => Extent::Dense,
        SILENT => Extent::Silent,
        MASKED if shape.mask_bits > 0 => Extent::Masked,
        _ => return Err(flags),
    };
    let mask_bytes = if extent == Extent::Masked { shape.mask_bits.div_ceil(8) } else { 0 };
    let (mask, numbers) = body.split_at_checked(mask_bytes).ok_or(short(HEADER + mask_bytes))?;
    let mask = words(mask, shape.words());
    let used = shape.mask_bits % 64;
    if used > 0 && mask.last().is_some_and(|last| last >> used != 0) {
        return Err(DecodeError::Mask);
    }
    let sent = match extent {
        Extent::Silent => 0,
        Extent::Dense => shape.width,
        Extent::Masked => {
            let marked: u32 = mask.iter().map(|word| word.count_ones()).sum();
            marked as usize * (shape.width / shape.mask_bits)
        }
    };
    let expected = bytes_of::<R>(shape, sent);
    if numbers.len() != expected {
        return Err(short(HEADER + mask_bytes + expected));
    }
    let numbers: Vec<R> = match shape.lattice {
        Some(lattice) => pack::read(numbers, lattice, sent)?,
        None => {
            let mut values = old.map_or_else(Vec::new, Message::into_values);
            if !get_over(numbers, &mut values) {
                let at = values.iter().position(|v| !v.is_finite()).unwrap_or(0);
                return Err(DecodeError::NotFinite { at });
            }
            values
        }
    };
    Ok(message(round, shape, extent, &mask, numbers))
}

/// The trusted door of what peers send: their oracle has released it.
fn message<R: Real>(
    round: u64,
    shape: Shape,
    extent: Extent,
    mask: &[u64],
    numbers: Vec<R>,
) -> Message<R> {
    match extent {
        Extent::Silent => Message::write(round, shape, |slot| slot.stay_silent()),
        Extent::Dense => Message::dense(round, shape, Released::public(numbers)).checked(),
        Extent::Masked => {
            let mut numbers = numbers.into_iter();
            let marked = |k: usize| mask[k / 64] >> (k % 64) & 1 == 1;
            let values = (0..shape.width).map(|k| {
                let sent = marked(k % shape.mask_bits).then(|| numbers.next());
                sent.flatten().unwrap_or(R::ZERO)
            });
            let values = Released::public(values.collect());
            Message::write(round, shape, |slot| slot.send_masked(&values, mask))
        }
    }
}

fn is_sent<R: Real>(letter: &Letter<'_, R>, k: usize) -> bool {
    match (letter.extent(), letter.mask()) {
        (Extent::Silent, _) => false,
        (_, None) => true,
        (_, Some(mask)) => {
            let k = k % letter.shape().mask_bits;
            mask[k / 64] >> (k % 64) & 1 == 1
        }
    }
}

/// How many bytes so many numbers take.
#[inline]
fn bytes_of<R: Real>(shape: Shape, sent: usize) -> usize {
    match shape.lattice {
        Some(lattice) => (sent * lattice.bits() as usize).div_ceil(8),
        None => sent * size_of::<R>(),
    }
}

fn precision<R: Real>() -> u8 {
    if size_of::<R>() == 8 { DOUBLE } else { 0 }
}

fn words(bytes: &[u8], n_words: usize) -> Vec<u64> {
    let mut words = vec![0; n_words];
    for (k, byte) in bytes.iter().enumerate() {
        words[k / 8] |= u64::from(*byte) << (8 * (k % 8));
    }
    words
}

#[cfg(test)]
mod tests;
