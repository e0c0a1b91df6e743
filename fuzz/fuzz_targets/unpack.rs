//! Packed bytes unpack to no more than the limit, or are refused.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    const LIMIT: u64 = 1 << 16;
    for start in [&b""[..], b"\x1f\x8b\x08\0", b"\xfd7zXZ\0\0\x01\x69\x22\xde\x36"] {
        let bytes = [start, input].concat();
        if let Ok(content) = undertone_data::unpack(&bytes, LIMIT) {
            assert!(content.len() as u64 <= LIMIT);
        }
    }
});
