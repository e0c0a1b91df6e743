//! `undertone run` as a person or a script would use it.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::{folder, undertone};

const PLAN: &str = r#"name = "tiny"
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
rounds = 60
precision = "f64"

[evaluate]
metrics = ["relative-residual"]
target = "released"

[[vary]]
key = "privacy.noise"
values = ["sound", "paper"]

[[expected]]
metric = "relative-residual"
max = 1e-6
"#;

fn with_plan(folder: &Path, plan: &str, arguments: &[&str]) -> Output {
    std::fs::write(folder.join("plan.toml"), plan).unwrap();
    undertone(folder, &[&["run", "plan.toml"], arguments].concat())
}

#[test]
fn a_plan_becomes_a_table_guarantees_and_files() {
    let folder = folder("a_plan");
    let output = with_plan(&folder, PLAN, &["--threads", "2"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    for word in [
        "noise-sound",
        "noise-paper",
        "(1, 0.00001)-differentially private for the whole data of the node, replace adjacency",
        "001 Theorem 2.3 claims (1, 1.000e-5)",
        "expectations hold",
        "results are in",
    ] {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
    let out = folder.join("undertone-out").join("tiny");
    let trace = std::fs::read(out.join("trace-noise-sound.jsonl")).unwrap();
    assert_eq!(undertone_trace::read(&trace[..]).unwrap().len(), 1 + 61 + 4 + 1);
    let report: Value =
        serde_json::from_slice(&std::fs::read(out.join("report.json")).unwrap()).unwrap();
    assert_eq!(report["variants"][0]["traces"][0]["hash"], undertone_trace::hash_of(&trace));
    for name in ["chart", "metric-relative-residual", "claims", "bytes", "network-1"] {
        let chart = out.join("charts").join(format!("{name}.svg"));
        assert!(std::fs::read_to_string(chart).unwrap().starts_with("<svg"), "{name}");
    }
    assert!(out.join("summary.md").exists());
    // All is released in round 0, and the bound on the way is that of the whole run.
    let spent = &report["variants"][0]["spending"][0]["points"][0];
    let epsilon = spent["epsilon"].as_f64().unwrap();
    assert!(spent["round"] == 0 && epsilon <= 1.0 && epsilon > 1.0 - 1e-9, "{spent}");
    // The page can be made again, to the last byte.
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    std::fs::remove_file(out.join("report.html")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_undertone"));
    let again = command.arg("report").arg(&out).output().unwrap();
    assert!(again.status.success(), "{again:?}");
    assert_eq!(std::fs::read_to_string(out.join("report.html")).unwrap(), page);
    // The same on another number of threads, to the last byte.
    let again = with_plan(&folder, PLAN, &["--threads", "1", "--json", "--quiet"]);
    assert_eq!(serde_json::from_slice::<Value>(&again.stdout).unwrap(), report);
}

#[test]
fn a_band_that_fails_is_exit_code_1() {
    let folder = folder("a_band");
    let output = with_plan(&folder, PLAN, &["--set", "run.rounds=2"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("FAIL last relative-residual: noise-sound"), "{text}");
}

#[test]
fn no_privacy_is_said() {
    let start = PLAN.find("[privacy]").unwrap();
    let plan = format!("{}{}", &PLAN[..start], &PLAN[PLAN.find("[run]").unwrap()..]);
    let plan = &plan[..plan.find("[[vary]]").unwrap()];
    let output = with_plan(&folder("no_privacy"), plan, &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("no guarantee: "), "{text}");
}

#[test]
fn bad_plans_are_refused_with_place_key_and_remedy() {
    let folder = folder("bad_plans");
    for (old, new, arguments, expected) in [
        ("nodes = 4", "nodes = = 4", &[][..], "plan.toml:5:9: "),
        (
            "dimension = 3",
            "dimnsion = 3",
            &[],
            "plan.toml:13:1: unknown field `dimnsion`, expected one of ",
        ),
        ("dimension = 3", "dimnsion = 3", &[], "; did you mean `dimension`?"),
        (
            "name = \"push-sum\"",
            "name = \"pushsum\"",
            &[],
            "plan.toml:16:8: unknown variant `pushsum`, expected one of ",
        ),
        ("name = \"push-sum\"", "name = \"pushsum\"", &[], "; did you mean `push-sum`?"),
        ("delta = 1e-5\n", "", &[], "missing field `delta`"),
        (
            "delta = 1e-5",
            "delta = 2.0",
            &[],
            "plan.toml:20:1: privacy.delta: must be above 0 and below 1, got 2; try 1e-5 (variant \
             noise-sound)",
        ),
        ("[\"sound\", \"paper\"]", "[\"sound\", \"loud\"]", &[], "plan.toml:34:1: privacy.noise: "),
        ("max = 1e-6", "", &[], "plan.toml:36:1: expected.0: needs min, max or both"),
        ("", "", &["--set", "run.rounds"], "write KEY=VALUE"),
        ("", "", &["--set", "run.round=3"], "did you mean `rounds`?"),
        ("", "", &["--set", "run.rounds=0"], "run.rounds: must be at least 1"),
    ] {
        let output = with_plan(&folder, &PLAN.replacen(old, new, 1), arguments);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{new}: {message}");
        assert!(output.stdout.is_empty() && message.starts_with("error: "), "{message}");
        assert!(message.contains(expected), "no {expected:?} in {message}");
    }
}

const LEARNING: &str = r#"name = "people"
seed = 1

[data]
file = "people.csv"
target = { positive = "yes" }
columns = [{ name = "x", kind = "number", max = 1.0 }, { name = "good", kind = "target" }]

[model]
kind = "logistic"

[network]
nodes = 3
schedule = "exponential"

[algorithm]
name = "priv-sgp"
step = 2.0
sampling = "full"

[privacy]
delta = 1e-5
clip = 1.0
noise = { sigma = 0.01 }

[run]
rounds = 50
precision = "f64"

[evaluate]
every = 50
metrics = ["accuracy", "loss"]

[[expected]]
metric = "accuracy"
min = 0.99
"#;

#[test]
fn a_model_learns_from_a_file_beside_the_plan() {
    let folder = folder("a_model");
    let missing = with_plan(&folder, LEARNING, &[]);
    let text = String::from_utf8(missing.stderr).unwrap();
    assert_eq!(missing.status.code(), Some(2), "{text}");
    assert!(text.contains("people.csv: no such file"), "{text}");
    let row = |k: i32| format!("{},{}\n", f64::from(k) / 10.0, if k > 0 { "yes" } else { "no" });
    let rows: String = (-9..=9).filter(|k| *k != 0).map(row).collect();
    std::fs::write(folder.join("people.csv"), format!("x,good\n{rows}")).unwrap();
    let output = with_plan(&folder, LEARNING, &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let words = [
        "for one record, replace adjacency",
        "50 debits",
        "hides nothing",
        "1 of 1 expectations hold",
    ];
    for word in words {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
    let read = |plan: &str| {
        let output = with_plan(&folder, plan, &["--json"]);
        let text = String::from_utf8(output.stdout).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        json["taken_for_public"].as_array().unwrap().len()
    };
    assert_eq!(read(LEARNING), 0);
    let learned = LEARNING.replace(", max = 1.0", "");
    let learned = learned.replace("[data]", "[data]\nscaling = \"from-data\"");
    assert_eq!(read(&learned), 1, "a scale from the data is to be told");
    let wrong = with_plan(&folder, &LEARNING.replace("max = 1.0", "mx = 1.0"), &[]);
    let text = String::from_utf8(wrong.stderr).unwrap();
    assert!(text.contains("unknown field `mx`") && text.contains("plan.toml:7"), "{text}");
}
