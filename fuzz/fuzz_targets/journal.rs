//! Bytes of a store are an event or nothing, never a panic; an event is written back as it came.
#![no_main]

use libfuzzer_sys::fuzz_target;
use undertone_net::journal::Event;

fuzz_target!(|input: &[u8]| {
    if let Some(event) = Event::decode(input) {
        assert_eq!(event.encode(), input);
    }
});
