//! Members of a tar of any bytes lie within it.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Ok(members) = undertone_data::tar::members(input) {
        let content: usize = members.iter().map(|(_, content)| content.len()).sum();
        assert!(content <= input.len());
    }
});
