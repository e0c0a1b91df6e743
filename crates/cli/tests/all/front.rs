//! The commands a newcomer meets first, as he would use them.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use undertone_node::plan::AlgorithmWord;

use crate::support::{folder, json, refused, text, undertone};

/// All algorithms, as the alphabet has them.
fn algorithms() -> Vec<&'static str> {
    let mut names = AlgorithmWord::ALL.map(|word| word.facts().name).to_vec();
    names.sort_unstable();
    names
}

#[test]
fn the_quickstart_convinces_and_leaves_what_it_says() {
    let folder = folder("quickstart");
    let summary = json(&folder, &["quickstart", "--json"]);
    let of = |label: &str| {
        let all = summary["variants"].as_array().unwrap();
        all.iter().find(|variant| variant["label"] == label).unwrap().clone()
    };
    let accuracy = |label: &str| of(label)["metrics"]["average-accuracy"]["mean"].as_f64().unwrap();
    // The generator is deterministic, so these are not statistical.
    let (together, alone, open) =
        (accuracy("private-together"), accuracy("private-alone"), accuracy("open-together"));
    assert!(together > alone + 0.02, "{together} {alone}");
    assert!(together > open - 0.015, "{together} {open}");
    let epsilon = of("private-together")["epsilon"].as_f64().unwrap();
    assert!(epsilon <= 1.0 && epsilon > 0.99, "{epsilon}");
    assert_eq!(of("open-together")["epsilon"], Value::Null);
    assert_eq!(of("private-alone")["bytes"], 0.0);
    assert_eq!(summary["taken_for_public"].as_array().unwrap().len(), 0);
    let out = folder.join("undertone-out/quickstart");
    for file in ["plan.toml", "people.csv", "report.json", "report.html", "charts/chart.svg"] {
        assert!(out.join(file).exists(), "{file}");
    }
    // Again: everything is there already, and the words say so.
    let words = text(&folder, &["quickstart"]);
    for word in ["4 runs were there", "private-together", "no guarantee", "undertone predict"] {
        assert!(words.contains(word), "{word} is not in\n{words}");
    }
    refused(&folder, &["quickstart", "--epsilon", "0"], &["privacy.epsilon", "positive"]);

    let model = "undertone-out/quickstart/models/private-together.safetensors";
    let ledger = "undertone-out/quickstart/ledgers/private-together/node-3.jsonl";
    ledgers(&folder, ledger);
    models(&folder, model);
}

fn ledgers(folder: &Path, ledger: &str) {
    let shown = json(folder, &["ledger", "show", ledger, "--json"]);
    assert_eq!(shown["node"], 3);
    assert_eq!(shown["entries"].as_array().unwrap().len(), 60);
    assert!(shown["guarantee"]["epsilon"].as_f64().unwrap() <= 1.0);
    assert!(text(folder, &["ledger", "show", ledger]).contains("0-59"));
    assert!(text(folder, &["ledger", "verify", ledger]).contains("1 simulated ledgers, 60 debits"));
    let written = std::fs::read_to_string(folder.join(ledger)).unwrap();
    let changed = written.replacen("\"probability\":0.25", "\"probability\":0.2", 2);
    std::fs::write(folder.join("changed.jsonl"), changed).unwrap();
    refused(folder, &["ledger", "verify", "changed.jsonl"], &["changed.jsonl", "was changed"]);
    let cut: Vec<&str> =
        written.lines().enumerate().filter(|(k, _)| *k != 7).map(|l| l.1).collect();
    std::fs::write(folder.join("cut.jsonl"), cut.join("\n")).unwrap();
    refused(folder, &["ledger", "show", "cut.jsonl"], &["cut.jsonl", "missing or out of order"]);
}

fn models(folder: &Path, model: &str) {
    let people = "undertone-out/quickstart/people.csv";
    let counts = json(folder, &["predict", model, people, "--json", "--out", "p.csv"]);
    assert_eq!(counts["records"], 10_000);
    assert!(counts["accuracy"].as_f64().unwrap() > 0.79, "{counts}");
    let predictions = std::fs::read_to_string(folder.join("p.csv")).unwrap();
    assert_eq!(predictions.lines().count(), 10_001);
    assert!(predictions.lines().skip(1).all(|l| l.contains(",low,0.") || l.contains(",high,0.")));
    // Other columns in another order, and no answer.
    let few = "occupation,marriage,age,education,hours,gain\njob-9,married,50,16,60,9000\n";
    std::fs::write(folder.join("few.csv"), few).unwrap();
    assert!(text(folder, &["predict", model, "few.csv"]).contains("\n2,high,0."));
    for (content, words) in [
        ("age,hours\n1,2\n", &["few.csv", "has no column", "education"][..]),
        (&few.replace("job-9", "pilot"), &["few.csv:2", "pilot", "declared values"]),
        (&few.replace("50", "old"), &["few.csv:2", "expected a number", "old"]),
        (&few.replace("age", "age,shoe").replace("50", "50,43"), &["shoe", "not in the recipe"]),
    ] {
        std::fs::write(folder.join("few.csv"), content).unwrap();
        refused(folder, &["predict", model, "few.csv"], words);
    }
    refused(folder, &["predict", model, "nowhere.csv"], &["nowhere.csv", "no such file"]);
    refused(folder, &["predict", people, people], &["people.csv", "not a model", "models/"]);

    text(folder, &["export", model, "--format", "onnx", "--out", "m.onnx"]);
    assert!(std::fs::read(folder.join("m.onnx")).unwrap().len() > 200);
    let exported = json(folder, &["export", model, "--format", "json", "--out", "-"]);
    assert_eq!(exported["model"]["kind"], "logistic");
    assert_eq!(exported["card"]["classes"], serde_json::json!(["low", "high"]));
    let statement = exported["card"]["statement"].as_str().unwrap();
    assert!(statement.contains("differentially private"), "{statement}");
    // The noise of a simulation is no secret, and a model must not pass for private elsewhere.
    assert!(statement.contains("hides nothing"), "{statement}");
    let output = undertone(folder, &["export", model, "--format", "json", "--out", "-"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("hides nothing"));
    refused(folder, &["export", model, "--format", "onnx", "--out", "-"], &["not text"]);
    refused(folder, &["export", "nothing", "--format", "json"], &["nothing", "undertone run"]);
    let open = model.replace("private-together", "open-together");
    let output = undertone(folder, &["export", &open, "--format", "json"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no guarantee"));
}

#[test]
fn there_is_a_plan_for_every_algorithm_that_checks_and_runs() {
    let folder = folder("new_plans");
    for name in algorithms() {
        let file = format!("{name}.toml");
        text(&folder, &["new", name, "--out", &file]);
        // Noise that is given takes no time to find; two-stage has ten steps.
        let mut arguments = vec!["run", &file, "--quiet", "--json", "--set", "run.rounds=10"];
        let open = ["admm", "dsgd", "mr-admm", "r-admm"].contains(&name);
        let whole = open || name.contains("admm") || name == "dvp";
        if !whole && name != "q-dpsgd-2" {
            arguments.extend(["--set", "privacy={delta=1e-5,clip=1.0,noise={sigma=1.0}}"]);
        }
        let averages = ["gossip", "push-sum", "running-sum", "sparse-push-sum", "surplus"];
        if averages.contains(&name) || name == "two-stage" {
            arguments.truncate(6);
        }
        let summary = json(&folder, &arguments);
        let variant = &summary["variants"][0];
        assert_eq!(variant["rounds"], 10.0, "{name}");
        assert_eq!(variant["epsilon"].is_null(), open, "{name}: {}", variant["epsilon"]);
    }
    let list = text(&folder, &["new", "--list"]);
    assert!(
        algorithms().iter().all(|name| list.lines().any(|line| line.starts_with(name))),
        "{list}"
    );
    refused(&folder, &["new", "priv-spg"], &["no algorithm `priv-spg`", "`priv-sgp`"]);
    refused(&folder, &["new", "admm", "--out", "admm.toml"], &["is there already", "--force"]);
    refused(&folder, &["new"], &["--list"]);
}

#[test]
fn a_plan_is_written_for_a_table_of_ones_own() {
    let folder = folder("own_table");
    let mut table = String::from("age;city;mood\n");
    for k in 0..200 {
        let city = ["Kobe", "Oslo", "Rome"][k % 3];
        table.push_str(&format!(
            "{};{city};{}\n",
            20 + k % 50,
            if k % 3 == 0 { "yes" } else { "no" }
        ));
    }
    std::fs::write(folder.join("people.csv"), table).unwrap();
    text(&folder, &["new", "dsgd", "--data", "people.csv", "--out", "plan.toml"]);
    let summary = json(&folder, &["run", "plan.toml", "--json", "--quiet"]);
    assert!(
        summary["variants"][0]["metrics"]["accuracy"]["mean"].as_f64().unwrap() > 0.9,
        "{summary}"
    );
    assert_eq!(summary["taken_for_public"], serde_json::json!([]));
    let counts = json(
        &folder,
        &["predict", "undertone-out/my-dsgd/models/my-dsgd.safetensors", "people.csv", "--json"],
    );
    assert_eq!(counts["records"], 200);
    text(&folder, &["new", "dsgd", "--data", "people.csv", "--target", "city", "--out", "c.toml"]);
    assert!(std::fs::read_to_string(folder.join("c.toml")).unwrap().contains("softmax"));
    refused(
        &folder,
        &["new", "admm", "--data", "people.csv", "--target", "city"],
        &["3 classes", "priv-sgp"],
    );
    refused(
        &folder,
        &["new", "dsgd", "--data", "people.csv", "--target", "town"],
        &["--target town", "age, city, mood"],
    );
    refused(&folder, &["new", "gossip", "--data", "people.csv"], &["--data", "a mean"]);
    refused(&folder, &["new", "dsgd", "--data", "no.csv"], &["no.csv", "no such file"]);
}

#[test]
fn check_explains_a_plan_or_lists_all_that_is_wrong() {
    let folder = folder("check");
    text(&folder, &["new", "push-sum", "--out", "plan.toml"]);
    let words = text(&folder, &["check", "plan.toml"]);
    for word in [
        "8 nodes talk",
        "500 records of 8 numbers",
        "averaging over directed graphs",
        "once, which needs epsilon 1 at delta 0.00001",
        "60 rounds and sends about",
        "(1, 0.00001)-differentially private",
    ] {
        assert!(words.contains(word), "{word} is not in\n{words}");
    }
    let facts = json(&folder, &["check", "plan.toml", "--json"]);
    assert_eq!((&facts["ok"], &facts["variants"]), (&Value::Bool(true), &1.into()));
    let plan = std::fs::read_to_string(folder.join("plan.toml")).unwrap();
    let broken = plan.replace("nodes = 8", "nods = 8").replace("\"f64\"", "\"f6\"");
    std::fs::write(folder.join("broken.toml"), broken).unwrap();
    refused(
        &folder,
        &["check", "broken.toml"],
        &[
            "broken.toml:8:1: network.nods: there is no such key; did you mean `nodes`?",
            "network.nodes: is missing",
            "run.precision: \"f6\" is none of its words; did you mean \"f64\"?",
        ],
    );
    let output = undertone(&folder, &["check", "broken.toml", "--json"]);
    assert_eq!(output.status.code(), Some(2));
    let facts: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(facts["wrong"].as_array().unwrap().len(), 3);
    let (line, column) = (&facts["wrong"][1]["line"], &facts["wrong"][1]["column"]);
    assert_eq!((line, column), (&8.into(), &1.into()));
    // What only a check of the whole finds, in the variants that have it.
    std::fs::write(
        folder.join("varied.toml"),
        format!("{plan}[[vary]]\nkey = \"network.schedule\"\nvalues = [\"fixed\", \"window\"]\n"),
    )
    .unwrap();
    refused(&folder, &["check", "varied.toml"], &["varied.toml:", "needs one, such as topology"]);
    refused(&folder, &["check", "none.toml"], &["none.toml", "give the name of a plan"]);
    refused(
        &folder,
        &["run", "plan.toml", "--set", "run.round=5"],
        &["--set run.round=5", "did you mean `rounds`"],
    );
}

#[test]
fn own_edges_and_names_are_checked() {
    let folder = folder("edges");
    text(&folder, &["new", "dsgd", "--out", "plan.toml"]);
    let network = |edges: &str| {
        let topology = format!("{{family=\"edges\",directed=true,edges={edges}}}");
        format!("network={{nodes=3,schedule=\"fixed\",weights=\"metropolis\",topology={topology}}}")
    };
    let run = |edges: &str| {
        let set = network(edges);
        json(&folder, &["run", "plan.toml", "--json", "--quiet", "--set", &set])
    };
    assert_eq!(run("[[0,1],[1,0],[1,2],[2,1]]")["variants"][0]["messages"], 240.0);
    assert_eq!(run("[]")["variants"][0]["messages"], 0.0);
    for (edges, words) in [
        ("[[0,1],[1,0]]", &["network.topology", "not everybody reaches everybody"][..]),
        ("[[0,3]]", &["network.topology", "3"]),
        ("[[0,1],[1,2],[2,0]]", &["network.weights", "whoever is heard hears"]),
        ("[[0]]", &["network.topology"]),
    ] {
        refused(&folder, &["run", "plan.toml", "--set", &network(edges)], words);
    }
    let vary =
        |names: &str| format!("vary=[{{key=\"algorithm.step\",values=[0.5,1.0],names={names}}}]");
    let set = vary("[\"short\",\"long\"]");
    let summary = json(&folder, &["run", "plan.toml", "--json", "--quiet", "--set", &set]);
    assert_eq!(summary["variants"][1]["label"], "long");
    for (names, word) in [("[\"a\"]", "1 names for 2 values"), ("[\"a\",\"a\"]", "twice")] {
        let set = vary(names);
        refused(&folder, &["run", "plan.toml", "--set", &set], &["vary.0.names", word]);
    }
}

const REPEATED: &str = "run.repeat=20";

/// Ctrl-C ends with 130 and says how to go on; the same command does, and ends in the same bytes.
#[test]
#[cfg(unix)]
fn an_interrupted_run_goes_on() {
    let folder = folder("interrupted");
    text(&folder, &["new", "gossip", "--out", "plan.toml"]);
    let arguments = ["run", "plan.toml", "--threads", "1", "--set", REPEATED];
    let slow = ["--set", "run.rounds=4000", "--set", "evaluate.every=1"];
    let arguments: Vec<&str> = arguments.iter().chain(&slow).copied().collect();
    let mut command = Command::new(env!("CARGO_BIN_EXE_undertone"));
    command.current_dir(&folder).args(&arguments).stderr(Stdio::piped()).stdout(Stdio::null());
    let child = command.spawn().unwrap();
    let kept = folder.join("undertone-out/my-gossip/runs");
    let count = || std::fs::read_dir(&kept).map_or(0, Iterator::count);
    while count() < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{message}");
    assert!(
        message.contains("of 20 runs are complete") && message.contains("goes on"),
        "{message}"
    );
    let before = count();
    assert!((2..20).contains(&before), "{before}");
    let words = text(&folder, &arguments);
    assert!(words.contains("runs were there, "), "{words}");
    let again: Vec<&str> = arguments.iter().copied().chain(["--json", "--quiet"]).collect();
    let resumed = json(&folder, &again);
    let fresh: Vec<&str> = again.iter().copied().chain(["--fresh", "--out", "other"]).collect();
    assert_eq!(json(&folder, &fresh), resumed);
}

#[test]
fn runs_of_another_plan_are_not_reused_and_repetitions_are() {
    let folder = folder("reused");
    text(&folder, &["new", "push-sum", "--out", "plan.toml"]);
    let run = |more: &[&str]| {
        let arguments: Vec<&str> = ["run", "plan.toml"].iter().chain(more).copied().collect();
        text(&folder, &arguments)
    };
    assert!(
        run(&["--repeat", "2"]).ends_with("results are in undertone-out/my-push-sum/report.html\n")
    );
    assert!(run(&["--repeat", "2"]).contains("(2 runs were there; --fresh runs them again)"));
    assert!(!run(&["--repeat", "2", "--fresh"]).contains("were there"));
    assert!(!run(&["--repeat", "2", "--set", "seed=9"]).contains("were there"));
    assert!(!run(&["--repeat", "3", "--jobs", "1"]).contains("were there"));
    // A trace that was changed is not taken for the one that was kept.
    assert!(run(&["--repeat", "3"]).contains("3 runs were there"));
    let trace = folder.join("undertone-out/my-push-sum/trace-seed-2.jsonl");
    std::fs::write(&trace, "{}").unwrap();
    assert!(run(&["--repeat", "3"]).contains("(2 runs were there, 1 are new)"));
    refused(&folder, &["run", "plan.toml", "--repeat", "0"], &["--repeat"]);
    std::fs::write(folder.join("taken"), "").unwrap();
    refused(&folder, &["run", "plan.toml", "--out", "taken"], &["taken", "choose another --out"]);
}

#[test]
fn algorithms_schema_completions_and_manual() {
    let folder = folder("manual");
    let all = json(&folder, &["algorithms", "--json"]);
    let names: Vec<&str> =
        all.as_array().unwrap().iter().map(|facts| facts["name"].as_str().unwrap()).collect();
    assert_eq!(names, algorithms());
    let facts = text(&folder, &["algorithms", "priv-sgp-vr"]);
    assert!(facts.contains("003 Theorem 2: unsound"), "{facts}");
    assert!(text(&folder, &["algorithms"]).contains("two-stage"));
    refused(&folder, &["algorithms", "gosip"], &["did you mean `gossip`"]);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(text(&folder, &["completions", shell]).contains("quickstart"), "{shell}");
    }
    refused(&folder, &["completions", "tcsh"], &["tcsh", "bash"]);
    assert!(text(&folder, &["man"]).contains(".TH undertone"));
    assert!(text(&folder, &["man", "--out", "man1"]).contains("pages into man1"));
    let page = std::fs::read_to_string(folder.join("man1/undertone-ledger-show.1")).unwrap();
    assert!(page.contains(".TH undertone-ledger-show"), "{page}");
    let schema = json(&folder, &["schema"]);
    let checked_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plan.schema.json");
    let checked_in: Value =
        serde_json::from_str(&std::fs::read_to_string(checked_in).unwrap()).unwrap();
    assert_eq!(schema, checked_in, "run: undertone schema > docs/plan.schema.json");
}
