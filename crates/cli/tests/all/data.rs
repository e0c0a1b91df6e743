//! `undertone data` as a person or a script would use it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::folder;

const PEOPLE: &str = "age,city,happy\n30,Kobe,yes\n150,Oslo,no\n50,?,no\n20,Kobe,yes\n";

const PLAN: &str = r#"
name = "people"
seed = 7

[network]
nodes = 2

[data]
file = "people.csv"
clip-rows = 1.0
missing = "drop"
target = { positive = "yes", values = ["yes", "no"] }
columns = [
    { name = "age", kind = "number", max = 100.0 },
    { name = "city", kind = "category", values = ["Kobe", "Oslo"] },
    { name = "happy", kind = "target" },
]
split = { sizes = [1, 2] }
"#;

fn holding(test: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = folder(test);
    for (name, content) in files {
        std::fs::write(folder.join(name), content).unwrap();
    }
    folder
}

fn inspect(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_undertone"));
    command.env("UNDERTONE_DATA", folder).args(["data", "inspect"]).args(arguments);
    command.output().expect("the binary runs")
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn a_file_is_read_as_it_seems_to_be() {
    let folder = holding("data_guess", &[("people.csv", PEOPLE), ("a.svm", "1 1:2\n-1 2:1\n")]);
    let told = text(&inspect(&folder, &["people.csv"]));
    for word in
        ["records    4", "features   3, dense", "guessed: cells", "missing    1", "yes", "█"]
    {
        assert!(told.contains(word), "no {word:?} in\n{told}");
    }
    assert!(told.contains("a guarantee holds only if"), "{told}");
    let answer: Value =
        serde_json::from_slice(&inspect(&folder, &["a.svm", "--json", "--nodes", "2"]).stdout)
            .unwrap();
    assert_eq!(answer["train"]["features"], 2);
    assert_eq!(answer["train"]["targets"]["counts"], serde_json::json!([1, 1]));
    assert_eq!(answer["nodes"][1]["records"], 1);
}

#[test]
fn a_plan_says_how_and_for_whom() {
    let folder = holding("data_plan", &[("people.csv", PEOPLE), ("plan.toml", PLAN)]);
    let (plan, svg) = (folder.join("plan.toml"), folder.join("norms.svg"));
    let arguments = [plan.to_str().unwrap(), "--json", "--svg", svg.to_str().unwrap()];
    let answer: Value = serde_json::from_slice(&inspect(&folder, &arguments).stdout).unwrap();
    let counts = &answer["summary"]["train"];
    assert_eq!((&counts["read"], &counts["dropped"]), (&4.into(), &1.into()));
    assert_eq!((&counts["clamped"], &counts["shortened"]), (&1.into(), &3.into()));
    assert_eq!(answer["summary"]["public-assumptions"], serde_json::json!([]));
    assert!(answer["train"]["norms"][4].as_f64().unwrap() <= 1.0);
    assert_eq!(answer["nodes"][1]["records"], 2);
    assert!(std::fs::read_to_string(svg).unwrap().starts_with("<svg"));
    assert!(text(&inspect(&folder, &[plan.to_str().unwrap()])).contains("node"));
}

#[test]
fn whatever_is_wrong_is_one_line_and_exit_code_2() {
    let wrong = |change: (&str, &str)| PLAN.replace(change.0, change.1);
    let files = [
        ("number.csv", PEOPLE.replace("30", "abc")),
        ("key.toml", wrong(("clip-rows", "clip-row"))),
        ("bound.toml", wrong(("1.0", "-1.0"))),
        ("sizes.toml", wrong(("[1, 2]", "[1, 1]"))),
        ("number.toml", wrong(("people.csv", "number.csv"))),
        ("drawn.toml", "[data]\nsource = \"uniform\"\ndimension = 1\n".into()),
        ("people.csv", PEOPLE.into()),
    ];
    let files: Vec<(&str, &str)> =
        files.iter().map(|(n, content)| (*n, content.as_str())).collect();
    let folder = holding("data_wrong", &files);
    std::fs::write(folder.join("a.parquet"), b"PAR1PAR1").unwrap();
    for (file, words) in [
        ("none.csv", "none.csv: no such file"),
        ("key.toml", "key.toml:10:1: unknown field `clip-row`"),
        ("key.toml", "did you mean `clip-rows`?"),
        ("bound.toml", "bound.toml:10:1: data.clip-rows: must be a positive number"),
        ("sizes.toml", "data.split: sizes add up to 2, but there are 3 records"),
        ("number.toml", "number.csv:2: column \"age\": expected a number, found \"abc\""),
        ("drawn.toml", "there is no file to inspect"),
        ("a.parquet", "a.parquet: "),
    ] {
        let path = folder.join(file);
        let output = inspect(&folder, &[path.to_str().unwrap()]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{file}: {message}");
        assert!(output.stdout.is_empty(), "{file}");
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(message.contains(words), "{file}: no {words:?} in {message}");
    }
}

#[test]
fn our_recipes_are_listed_and_shown() {
    let recipes = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_undertone"));
        command.args(["data", "recipes"]).args(arguments).output().unwrap()
    };
    assert!(text(&recipes(&[])).contains("adult-41"));
    assert!(text(&recipes(&["mnist"])).contains("train-images-idx3-ubyte"));
    assert_eq!(recipes(&["minst"]).status.code(), Some(2));
}
