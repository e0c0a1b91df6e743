//! Images of any bytes, with themselves as labels, are read or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use undertone_data::{Format, Recipe, Sources, load};

fuzz_target!(|input: &[u8]| {
    let recipe = Recipe {
        file: Some("f".into()),
        labels: Some("f".into()),
        format: Some(Format::Idx),
        ..Recipe::default()
    };
    let _ = load::<f32>(&recipe, &Sources::only("f", input.to_vec()));
    let alone = Recipe { labels: None, ..recipe };
    let _ = load::<f64>(&alone, &Sources::only("f", input.to_vec()));
});
