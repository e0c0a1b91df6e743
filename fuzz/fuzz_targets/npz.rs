//! Members of an archive of any bytes are read within their limit, or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use undertone_data::{Sources, guess, load, zip};

fuzz_target!(|input: &[u8]| {
    const LIMIT: u64 = 1 << 16;
    let Ok(members) = zip::members(input) else { return };
    for member in members.iter().take(8) {
        if let Ok(content) = member.read(LIMIT) {
            assert!(content.len() as u64 <= LIMIT);
        }
    }
    let mut sources = Sources::only("f.npz", input.to_vec());
    sources.limit = LIMIT;
    if let Ok(guess) = guess("f.npz", &sources) {
        let _ = load::<f32>(&guess.recipe, &sources);
    }
});
