//! Columns of any bytes are of one length, or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Ok(columns) = undertone_parquet::columns(input) {
        assert!(columns.windows(2).all(|pair| pair[0].cells.len() == pair[1].cells.len()));
    }
});
