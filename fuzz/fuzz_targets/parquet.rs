//! Columns of any bytes are of one length, or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;

// The decoder's own panics are caught by our crate: only what gets through counts.
fuzz_target!(init: std::panic::set_hook(Box::new(|_| {})), |input: &[u8]| {
    if let Ok(columns) = undertone_parquet::columns(input) {
        assert!(columns.windows(2).all(|pair| pair[0].cells.len() == pair[1].cells.len()));
    }
});
