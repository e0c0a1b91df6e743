//! Texts of any bytes are bags of words with tags, or one line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use undertone_data::{Format, Recipe, Sources, load};

fuzz_target!(|input: &[u8]| {
    for format in [Format::TaggedTsv, Format::Titles, Format::Fasttext] {
        let recipe = Recipe {
            file: Some("f".into()),
            labels: Some("f".into()),
            format: Some(format),
            words: Some(97),
            unit_rows: Some(true),
            ..Recipe::default()
        };
        // A header that is right, so that more than the header is tried.
        let content = match format {
            Format::TaggedTsv => [b"title\ttags\n", input].concat(),
            _ => input.to_vec(),
        };
        if let Err(error) = load::<f32>(&recipe, &Sources::only("f", content)) {
            assert_eq!(error.to_string().lines().count(), 1);
        }
    }
});
