//! Protected attributes: any column can be one, and any can be made two groups of.
use std::path::PathBuf;

use undertone_data::{Loaded, Recipe, Sources, load};

const PEOPLE: &str = "age,city,happy\n30,Kobe,yes\n50,Oslo,no\n26,Rome,no\n25.5,Oslo,yes\n";

const COLUMNS: &str = r#"
columns = [
    { name = "age", kind = "number", max = 100.0 },
    { name = "city", kind = "category", values = ["Kobe", "Oslo", "Rome"] },
    { name = "happy", kind = "target" },
]
target = { positive = "yes", values = ["yes", "no"] }
"#;

fn read(name: &str, keys: &str) -> Result<Loaded<f64>, String> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("people.csv"), PEOPLE).unwrap();
    let recipe: Recipe = toml::from_str(&format!("file = \"people.csv\"\n{keys}\n{COLUMNS}"))
        .map_err(|error| error.to_string())?;
    load(&recipe, &Sources::new([folder])).map_err(|error| error.to_string())
}

fn groups(name: &str, keys: &str) -> (Vec<u32>, Vec<String>, usize) {
    let loaded = read(name, keys).unwrap_or_else(|error| panic!("{error}"));
    (loaded.train.groups().unwrap().to_vec(), loaded.summary.groups, loaded.train.width())
}

#[test]
fn a_column_of_the_list_becomes_the_protected_attribute() {
    let (of, names, width) = groups("all", "protected = { column = \"city\" }");
    assert_eq!((of, width), (vec![0, 1, 2, 1], 1));
    assert_eq!(names, ["Kobe", "Oslo", "Rome"]);
    let (of, names, width) =
        groups("one", "protected = { column = \"city\", against = \"Oslo\", feature = true }");
    assert_eq!((of, width), (vec![1, 0, 1, 0], 4));
    assert_eq!(names, ["Oslo", "all others"]);
    let two = "protected = { column = \"city\", against = [\"Oslo\", \"Rome\"] }";
    assert_eq!(groups("two", two).0, [1, 0, 0, 0]);
    let (of, names, width) = groups("age", "protected = { column = \"age\", below = 26.0 }");
    assert_eq!((of, width), (vec![1, 1, 1, 0], 3));
    assert_eq!(names, ["below 26", "26 and more"]);
}

#[test]
fn what_is_no_protected_attribute_is_said() {
    for (name, keys, expected) in [
        ("nobody", "protected = { column = \"town\" }", "protected: there is no column \"town\""),
        (
            "unknown",
            "protected = { column = \"city\", against = \"Bonn\" }",
            "protected: \"Bonn\" is no value of \"city\"",
        ),
        (
            "both",
            "protected = { column = \"age\", against = \"26\", below = 26.0 }",
            "protected: give `against` or `below`, not both",
        ),
        (
            "words",
            "protected = { column = \"city\", below = 26.0 }",
            "expected a number, found \"Kobe\"; take `against`",
        ),
        ("misspelt", "protected = { colum = \"city\" }", "unknown field `colum`"),
    ] {
        let error = read(name, keys).err().unwrap();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn records_are_held_out_at_the_end_or_all_over() {
    let held = |name: &str, keys: &str| {
        let loaded = read(name, keys).unwrap();
        let test = loaded.test.unwrap();
        (loaded.train.records(), test.dense_row(0).unwrap()[0])
    };
    assert_eq!(held("last", "holdout = 2"), (2, 0.26));
    assert_eq!(held("every", "holdout = { every = 2 }"), (2, 0.5));
    let error = read("none", "holdout = { every = 5 }").err().unwrap();
    assert!(error.contains("holdout: one in 5 of 4 records"), "{error}");
}
