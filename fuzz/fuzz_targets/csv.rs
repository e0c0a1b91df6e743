//! A table of any bytes is a data set that keeps its bound, or one line; never a panic.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use undertone_data::{Recipe, Sources, guess, load, sorted_norms};

static RECIPE: LazyLock<Recipe> = LazyLock::new(|| toml::from_str(TEXT).expect("a recipe"));

const TEXT: &str = r#"
file = "f"
format = "csv"
header = false
missing = "category"
clip-rows = 1.0
target = { positive = "1" }
columns = [
    { name = "a", kind = "number", low = 0.0, high = 9.0 },
    { name = "b", kind = "category" },
    { name = "c", kind = "group", feature = true },
    { name = "d", kind = "target" },
]
"#;

fuzz_target!(|input: &[u8]| {
    let sources = Sources::only("f", input.to_vec());
    match load::<f32>(&RECIPE, &sources) {
        Ok(loaded) => assert!(sorted_norms(&loaded.train).iter().all(|norm| *norm <= 1.0)),
        Err(error) => assert_eq!(error.to_string().lines().count(), 1),
    }
    // Also as whatever it seems to be.
    if let Ok(guess) = guess("f", &sources) {
        let _ = load::<f64>(&guess.recipe, &sources);
    }
});
