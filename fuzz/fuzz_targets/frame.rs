//! Bytes from a peer are a frame or an error, never a panic; a frame is written back as it came.
#![no_main]

use libfuzzer_sys::fuzz_target;
use undertone_net::frame::{Frame, PREFIX};

fuzz_target!(|input: &[u8]| {
    if let Ok(frame) = Frame::decode(input) {
        assert_eq!(&frame.encode()[PREFIX..], input);
    }
});
