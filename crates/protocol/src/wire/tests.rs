use proptest::prelude::*;

use super::*;
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

proptest! {
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
