//! Bytes from a peer are a message or an error, never a panic; a message is written back as it came.
#![no_main]

use libfuzzer_sys::fuzz_target;
use undertone_protocol::{Shape, wire};

fuzz_target!(|input: &[u8]| {
    let Some((&[bits, planes], bytes)) = input.split_first_chunk::<2>() else { return };
    let shape = match bits {
        0 => Shape::dense(planes.into()),
        _ => Shape::masked(bits.into(), (planes % 4 + 1).into()),
    };
    if let Ok(message) = wire::decode::<f32>(bytes, shape) {
        assert_eq!(wire::encode(&message), bytes);
        assert_eq!(wire::size(&message.letter()), bytes.len());
        // Memory that was used before makes no difference.
        let mut used = vec![7; bits.into()];
        wire::encode_into(&message, &mut used);
        assert_eq!(used, bytes);
        assert_eq!(wire::decode_over(Some(message.clone()), bytes, shape), Ok(message));
    }
    if let Ok(message) = wire::decode::<f64>(bytes, shape) {
        assert_eq!(wire::encode(&message), bytes);
    }
});
