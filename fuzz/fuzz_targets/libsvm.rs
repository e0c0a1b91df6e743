//! Lines of any bytes are sparse records that keep their bound, or one line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use undertone_data::{Format, Recipe, Sources, load, sorted_norms};

fuzz_target!(|input: &[u8]| {
    let recipe = Recipe {
        file: Some("f".into()),
        format: Some(Format::Libsvm),
        clip_rows: Some(1.0),
        ..Recipe::default()
    };
    match load::<f32>(&recipe, &Sources::only("f", input.to_vec())) {
        Ok(loaded) => assert!(sorted_norms(&loaded.train).iter().all(|norm| *norm <= 1.0)),
        Err(error) => assert_eq!(error.to_string().lines().count(), 1),
    }
});
