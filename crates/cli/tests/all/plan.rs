//! `undertone plan` as a person or a script would use it.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::support::{folder, undertone};

const PLAN: &str = r#"name = "chosen"
seed = 1

[data]
source = "gaussian-mixture"
features = 3
classes = 2
separation = 2.0
records = 800

[model]
kind = "softmax"

[network]
nodes = 4
schedule = "exponential"

[algorithm]
name = "priv-sgp"
step = 0.2
sampling = "full"

[privacy]
epsilon = 1.0
delta = 1e-5
clip = 1.0
noise = "sound"

[run]
rounds = 60
precision = "f64"

[evaluate]
metrics = ["loss"]

[plan]
points = 2

[[vary]]
key = "privacy.epsilon"
values = [0.5, 1.0]
"#;

fn with_plan(folder: &Path, plan: &str, arguments: &[&str]) -> Output {
    std::fs::write(folder.join("plan.toml"), plan).unwrap();
    undertone(folder, arguments)
}

#[test]
fn a_plan_gets_a_table_a_choice_and_a_picture() {
    let folder = folder("planned");
    let output = with_plan(&folder, PLAN, &["plan", "plan.toml", "--svg", "error.svg"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for word in [
        "4, with 200 records each",
        "estimated from other records of the generator, at no cost",
        "predictions",
        "ours: ",
        "epsilon 1 of 1 at delta 0.00001",
        "003 equation 12: ",
        "in truth, not 1; a true guarantee needs",
        "  o ours",
        "rounds",
    ] {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
    assert!(std::fs::read_to_string(folder.join("error.svg")).unwrap().starts_with("<svg"));
}

#[test]
fn json_holds_every_number_and_is_the_same_again() {
    let folder = folder("planned_json");
    let read = || {
        let output = with_plan(&folder, PLAN, &["plan", "plan.toml", "--json"]);
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let found = read();
    assert_eq!(found, read());
    assert_eq!(found["constants"]["smoothness"]["origin"], "generator");
    let rows = found["rows"].as_array().unwrap();
    let ours = rows.iter().find(|row| row["rounds"] == found["ours"]).unwrap();
    for row in rows {
        let group = &row["groups"][0];
        assert!(group["epsilon"].as_f64().unwrap() <= 1.0, "{group}");
        assert!(group["paper_epsilon"].as_f64().is_none_or(|epsilon| epsilon > 1.0), "{group}");
        assert!(ours["error"].as_f64() <= row["error"].as_f64());
    }
    // What is chosen can be run, with the noise that was promised.
    let rounds = format!("run.rounds={}", found["ours"]);
    let run = ["run", "plan.toml", "--set", "vary=[]", "--set", &rounds, "--json", "--quiet"];
    let summary: Value = serde_json::from_slice(&with_plan(&folder, PLAN, &run).stdout).unwrap();
    let promised = summary["variants"][0]["epsilon"].as_f64().unwrap();
    assert!((promised - ours["groups"][0]["epsilon"].as_f64().unwrap()).abs() < 1e-9);
}

#[test]
fn what_cannot_be_planned_is_exit_code_2_with_place_and_remedy() {
    let folder = folder("planned_wrong");
    for (old, new, expected) in [
        ("points = 2", "pionts = 4", "plan.toml:37:1: unknown field `pionts`"),
        ("points = 2", "pionts = 4", "did you mean `points`?"),
        ("points = 2", "points = 0", "plan.toml:37:1: plan.points: must be between 1 and 200"),
        ("points = 2", "smoothness = -1.0", "plan.toml:37:1: plan.smoothness: "),
        ("points = 2", "estimate = \"generater\"", "did you mean `generator`?"),
        (
            "points = 2",
            "estimate = { public = { source = \"census\", records = 90 } }",
            "plan.estimate: its records have other features than those of [data]",
        ),
        (
            "noise = \"sound\"",
            "noise = { sigma = 1.0 }",
            "the noise has a fixed sigma, so epsilon follows; leave one out",
        ),
        ("name = \"priv-sgp\"", "name = \"dsgd\"", "plan.toml:"),
    ] {
        let output = with_plan(&folder, &PLAN.replacen(old, new, 1), &["plan", "plan.toml"]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{new}: {message}");
        assert!(output.stdout.is_empty() && message.starts_with("error: "), "{message}");
        assert!(message.contains(expected), "no {expected:?} in {message}");
    }
    let missing = with_plan(&folder, PLAN, &["plan", "nothing.toml"]);
    assert_eq!(missing.status.code(), Some(2));
}

#[test]
fn nodes_that_stop_on_their_budgets_are_named() {
    let folder = folder("stopped");
    let set = [
        "run",
        "plan.toml",
        "--set",
        "vary=[]",
        "--set",
        "run.stop-on-budget=true",
        "--set",
        "privacy.noise={ sigma = 0.2 }",
        "--set",
        "privacy.node=[{ node = 2, epsilon = 0.5, delta = 1e-5 }]",
    ];
    let output = with_plan(&folder, PLAN, &set);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    // (sigma J / 2 / 3.7306)^2 rounds last for epsilon 1.
    assert!(text.contains("node 0 and 2 more stopped on budget after 28 gradient steps"), "{text}");
    assert!(text.contains("node 2 stopped on budget after 8 gradient steps"), "{text}");
    let mut set = set.to_vec();
    set.push("--json");
    let summary: Value = serde_json::from_slice(&with_plan(&folder, PLAN, &set).stdout).unwrap();
    let stopped = serde_json::json!([
        {"nodes": {"count": 1, "ranges": [[2, 2]]}, "steps": 8},
        {"nodes": {"count": 3, "ranges": [[0, 1], [3, 3]]}, "steps": 28},
    ]);
    assert_eq!(summary["variants"][0]["stopped"], stopped);
}
