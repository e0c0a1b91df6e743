use proptest::prelude::*;

use super::*;
use crate::lattice::Lattice;
use crate::sparsify::Sparsity;
use undertone_graph::NodeId;

fn message_of(round: u64, values: Vec<f64>, mask: Option<(usize, u64)>) -> Message<f64> {
    let shape = match mask {
        None => Shape::dense(values.len()),
        Some((bits, _)) => Shape::masked(bits, values.len() / bits),
    };
    Message::write(round, shape, |slot| match mask {
        None => slot.send(&Released::public(values)),
        Some((bits, seed)) => {
            let mask = Sparsity::Half.mask(bits, seed, NodeId(0), 0, 0);
            slot.send_masked(&Released::public(values), mask.words());
        }
    })
}

#[test]
fn the_layout_is_what_the_documentation_says() {
    let bytes = encode(&message_of(258, vec![1.0], None));
    let expected = [1, DOUBLE, 2, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f];
    assert_eq!(bytes, expected);
}

#[test]
fn silence_is_a_header() {
    let silent = Message::<f32>::write(3, Shape::dense(9), |slot| slot.stay_silent());
    let bytes = encode(&silent);
    assert_eq!(bytes.len(), HEADER);
    assert_eq!(decode::<f32>(&bytes, Shape::dense(9)), Ok(silent));
}

#[test]
fn memory_that_was_used_before_makes_no_difference() {
    let silent = Message::write(3, Shape::dense(9), |slot| slot.stay_silent());
    let messages = [
        message_of(1, vec![1.0, 2.0, 3.0], None),
        message_of(2, vec![4.0; 700], None),
        message_of(3, (0..80).map(f64::from).collect(), Some((40, 5))),
        message_of(4, vec![5.0, 6.0], None),
        silent,
    ];
    let mut bytes = Vec::new();
    for message in &messages {
        encode_into(message, &mut bytes);
        assert_eq!(bytes, encode(message));
        for old in &messages {
            let (round, shape) = (message.round(), message.shape());
            let read = decode_over(Some(old.clone()), &bytes, shape);
            assert_eq!(read, Ok(message.clone()));
            let values = Released::public(message.letter().values().to_vec());
            let over = Message::write_over(Some(old.clone()), round, shape, |slot| {
                match message.letter().mask() {
                    Some(mask) => slot.send_masked(&values, mask),
                    // Who writes nothing is silent, whatever was there.
                    None if message.letter().is_silent() => {}
                    None => slot.send(&values),
                }
            });
            assert_eq!(over.letter().values(), message.letter().values());
            assert_eq!(encode(&over), bytes);
        }
    }
}

#[test]
fn what_is_wrong_is_named() {
    let shape = Shape::dense(2);
    let bytes = encode(&message_of(0, vec![1.0, 2.0], None));
    let read = |bytes: &[u8]| decode::<f64>(bytes, shape).unwrap_err();
    assert_eq!(read(&bytes[..5]), DecodeError::Length { expected: 14, found: 5 });
    assert_eq!(read(&bytes[..29]), DecodeError::Length { expected: 30, found: 29 });
    let mut other = bytes.clone();
    other[0] = 9;
    assert!(read(&other).to_string().contains("version 9"));
    let mut other = bytes.clone();
    other[1] = 0;
    assert_eq!(read(&other), DecodeError::Flags { found: 0 });
    other[1] = MASKED | DOUBLE;
    assert_eq!(read(&other), DecodeError::Flags { found: 3 });
    let mut other = bytes.clone();
    other[10] = 200;
    assert_eq!(read(&other), DecodeError::Width { expected: 2, found: 200 });
    let mut other = bytes.clone();
    other[14..22].copy_from_slice(&f64::NAN.to_le_bytes());
    assert_eq!(read(&other), DecodeError::NotFinite { at: 0 });
    // A masked algorithm takes no message without a mask.
    assert_eq!(
        decode::<f64>(&bytes, Shape::masked(2, 1)),
        Err(DecodeError::Flags { found: DOUBLE })
    );
    let masked = encode(&message_of(0, vec![1.0; 5], Some((5, 1))));
    let mut other = masked.clone();
    other[14] |= 0x80;
    assert_eq!(decode::<f64>(&other, Shape::masked(5, 1)), Err(DecodeError::Mask));
}

fn quantised(indices: &[i64], lattice: Lattice) -> Message<f32> {
    let values = indices.iter().map(|index| lattice.point(*index)).collect();
    Message::write(9, Shape::quantised(indices.len(), lattice), |slot| {
        slot.send(&Released::public(values));
    })
}

/// Three bits a number: -3, 0, 3, 1 are 0, 3, 6, 4, that is 000 011 110 100 with the lowest bits
/// first from the right: 0b10_011_000 and 0b1_00_1 of the second byte.
#[test]
fn points_of_a_lattice_are_packed() {
    let lattice = Lattice::new(0.5, 3).unwrap();
    let message = quantised(&[-3, 0, 3, 1], lattice);
    let bytes = encode(&message);
    assert_eq!(bytes[..2], [1, QUANTISED]);
    assert_eq!(bytes[HEADER..], [0b1001_1000, 0b0000_1001]);
    assert_eq!(size(&message.letter()), HEADER + 2);
    let shape = message.shape();
    assert_eq!(decode::<f32>(&bytes, shape), Ok(message));
    let read = |bytes: &[u8]| decode::<f32>(bytes, shape).unwrap_err();
    let mut other = bytes.clone();
    // All ones are no point.
    other[HEADER] |= 0b111;
    assert_eq!(read(&other), DecodeError::OffLattice { at: 0 });
    let mut other = bytes.clone();
    other[HEADER + 1] |= 0x80;
    assert_eq!(read(&other), DecodeError::OffLattice { at: 4 });
    assert_eq!(read(&bytes[..HEADER + 1]), DecodeError::Length { expected: 16, found: 15 });
    let mut other = bytes.clone();
    other[1] = 0;
    assert_eq!(read(&other), DecodeError::Flags { found: 0 });
    let plain = decode::<f32>(&bytes, Shape::dense(4)).unwrap_err();
    assert_eq!(plain, DecodeError::Flags { found: QUANTISED });
    let silent = Message::<f32>::write(3, shape, |slot| slot.stay_silent());
    assert_eq!(encode(&silent).len(), HEADER);
    assert_eq!(decode::<f32>(&encode(&silent), shape), Ok(silent));
}

proptest! {
    #[test]
    fn points_come_back_at_the_size_that_is_counted(
        bits in 2_u32..=24,
        step in 1e-6..1e6_f64,
        indices in prop::collection::vec(any::<i64>(), 0..70),
    ) {
        let lattice = Lattice::new(step, bits).unwrap();
        let indices: Vec<i64> =
            indices.iter().map(|index| index % (lattice.farthest() + 1)).collect();
        let message = quantised(&indices, lattice);
        prop_assert!(message.letter().is_sound());
        let bytes = encode(&message);
        prop_assert_eq!(bytes.len(), size(&message.letter()));
        prop_assert_eq!(bytes.len(), HEADER + (indices.len() * bits as usize).div_ceil(8));
        prop_assert_eq!(decode::<f32>(&bytes, message.shape()), Ok(message));
    }

    #[test]
    fn bytes_of_any_kind_are_points_or_an_error(
        body in prop::collection::vec(any::<u8>(), 0..40),
        bits in 2_u32..=24,
        width in 0_usize..40,
        flags in prop::sample::select(vec![QUANTISED, QUANTISED | DOUBLE, SILENT, 0, 0xff]),
    ) {
        let shape = Shape::quantised(width, Lattice::new(0.1, bits).unwrap());
        let mut bytes = vec![VERSION, flags, 1, 0, 0, 0, 0, 0, 0, 0, width as u8, 0, 0, 0];
        bytes.extend(body);
        if let Ok(message) = decode::<f64>(&bytes, shape) {
            prop_assert_eq!(encode(&message), bytes);
        } else if let Ok(message) = decode::<f32>(&bytes, shape) {
            prop_assert_eq!(encode(&message), bytes);
        }
    }

    #[test]
    fn messages_come_back_bit_by_bit_at_the_size_that_is_counted(
        round: u64,
        values in prop::collection::vec(-1e9..1e9_f64, 130),
        mask in prop::option::of((prop::sample::select(vec![1_usize, 13, 65, 130]), any::<u64>())),
    ) {
        let message = message_of(round, values, mask);
        let bytes = encode(&message);
        prop_assert_eq!(bytes.len(), size(&message.letter()));
        prop_assert_eq!(decode::<f64>(&bytes, message.shape()), Ok(message));
    }

    #[test]
    fn bytes_of_any_kind_give_a_message_or_an_error(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        bits in 0_usize..70,
    ) {
        let shape = if bits == 0 { Shape::dense(7) } else { Shape::masked(bits, 2) };
        if let Ok(message) = decode::<f32>(&bytes, shape) {
            prop_assert_eq!(encode(&message), bytes);
        }
    }

    #[test]
    fn damaged_messages_give_a_message_or_an_error(
        at in 0_usize..1000,
        flip in 1_u8..,
        cut in 0_usize..1000,
        masked: bool,
    ) {
        let message = message_of(77, vec![0.5; 130], masked.then_some((65, 5)));
        let mut bytes = encode(&message);
        let (at, cut) = (at % bytes.len(), cut % (2 * bytes.len()));
        bytes[at] ^= flip;
        bytes.truncate(cut.max(1));
        if let Ok(read) = decode::<f64>(&bytes, message.shape()) {
            prop_assert_eq!(encode(&read), bytes);
        }
    }
}
