//! An array of any bytes is read to its end, or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Ok(array) = undertone_data::npy::parse(input) {
        let numbers: usize = (0..array.records()).map(|record| array.row(record).count()).sum();
        assert!(numbers * array.element().size() <= input.len());
    }
});
