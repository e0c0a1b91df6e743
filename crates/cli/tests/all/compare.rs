//! `undertone compare` and `undertone report` as a person would use them.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::{folder, undertone};

const PLAN: &str = r#"name = "one"
seed = 1
[network]
nodes = 4
topology = { family = "ring" }
schedule = "fixed"
[data]
source = "uniform"
low = -1.0
high = 1.0
dimension = 3
[algorithm]
name = "push-sum"
[privacy]
epsilon = 1.0
delta = 1e-5
clip = { clip = "box", radius = 1.0 }
noise = "sound"
[run]
rounds = 20
precision = "f64"
[evaluate]
metrics = ["relative-residual"]
"#;

/// Two runs that differ in name, delta and metrics.
fn runs(test: &str) -> PathBuf {
    let folder = folder(test);
    std::fs::write(folder.join("one.toml"), PLAN).unwrap();
    let two = PLAN.replace("\"one\"", "\"two\"").replace("1e-5", "1e-6");
    let two = two.replace("[\"relative-residual\"]", "[\"mean-error\"]");
    std::fs::write(folder.join("two.toml"), two).unwrap();
    for plan in ["one.toml", "two.toml"] {
        let output = undertone(&folder, &["run", plan, "--quiet", "--out", "."]);
        assert!(output.status.success(), "{output:?}");
    }
    folder
}

#[test]
fn runs_are_put_side_by_side() {
    let folder = runs("compare_two");
    let output = undertone(&folder, &["compare", "one", "two/report.json", "--html", "all.html"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    for word in [
        "privacy.delta",
        "relative-residual",
        "mean-error",
        "warning: guarantees are not comparable: they have different deltas (1e-5, 1e-6)",
    ] {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
    let row = text.lines().find(|line| line.trim_start().starts_with("#2")).unwrap();
    assert!(row.contains(" - "), "what was not measured is a dash: {row}");
    let page = std::fs::read_to_string(folder.join("all.html")).unwrap();
    assert!(page.contains("<title>one, two: report</title>") && page.contains("id=\"warnings\""));
    let output = undertone(&folder, &["compare", "one", "two", "--json"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["rows"][1]["settings"]["privacy.delta"], 1e-6);
    assert_eq!(json["rows"][0]["epsilon"], 1.0);
}

#[test]
fn nonsense_is_refused_with_a_word_on_what_to_do() {
    let folder = runs("compare_nonsense");
    let text = std::fs::read_to_string(folder.join("one/report.json")).unwrap();
    let other = text.replace("\"schema\":2,", "\"schema\":99,");
    std::fs::write(folder.join("other.json"), other).unwrap();
    std::fs::write(folder.join("broken.json"), &text[..text.len() / 2]).unwrap();
    for (arguments, expected) in [
        (&["compare", "missing"][..], "missing: "),
        (&["compare", "."], "name the folder of a run, which has a report.json"),
        (&["compare", "one", "other.json"], "its schema is 99, and this program reads 2"),
        (&["compare", "broken.json"], "this is no report"),
        (&["compare", "one/plan.toml"], "this is no report"),
        (&["report", "missing"], "missing: "),
        #[cfg(not(feature = "png"))]
        (&["report", "one", "--png"], "build it with --features png"),
        (&["compare", "one", "--html", "no/such/folder.html"], "--html no/such/folder.html: "),
    ] {
        let output = undertone(&folder, arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }
}
