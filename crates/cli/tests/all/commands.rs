//! The commands as a person or a script would use them.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::support;

fn undertone(arguments: &[&str]) -> Output {
    support::undertone(Path::new("."), arguments)
}

fn json(arguments: &[&str]) -> Value {
    support::json(Path::new("."), arguments)
}

fn text(arguments: &[&str]) -> String {
    support::text(Path::new("."), arguments)
}

fn refused(arguments: &[&str], words: &[&str]) {
    support::refused(Path::new("."), arguments, words);
}

#[test]
fn account_gives_the_interval_of_theory_e4() {
    let run = "--poisson-gaussian 0.02,12.40021959 --times 1000 --delta 1e-5 --accountant pld";
    let mut arguments = vec!["account"];
    arguments.extend(run.split(' '));
    arguments.push("--json");
    let answer = json(&arguments);
    let (low, high) =
        (answer["epsilon_lower"].as_f64().unwrap(), answer["epsilon"].as_f64().unwrap());
    assert!(low <= 0.164602 && 0.164602 <= high && high / low - 1.0 <= 0.005, "{low} {high}");
    assert_eq!(answer["accountant"], "pld");
    assert_eq!(answer["adjacency"], "add-remove");
    assert_eq!(answer["delta"], 1e-5);
    arguments.pop();
    let facts = text(&arguments);
    for word in ["epsilon (upper)", "0.1646022", "epsilon (lower)", "record", "everyone", "theorem"]
    {
        assert!(facts.contains(word), "{word} is not in\n{facts}");
    }
}

#[test]
fn account_reads_events_and_every_short_form() {
    let gaussian = json(&["account", "--gaussian", "1", "--delta", "1e-5", "--json"]);
    assert!((gaussian["epsilon"].as_f64().unwrap() - 4.3771780957).abs() < 1e-8);
    assert_eq!(gaussian["accountant"], "gdp");
    let event = gaussian["event"].to_string();
    let again = json(&["account", "--event", &event, "--delta", "1e-5", "--json"]);
    assert_eq!(again["epsilon"], gaussian["epsilon"]);
    let foreign = r#"{"class_name":"GaussianDpEvent","noise_multiplier":1.0}"#;
    let foreign = json(&["account", "--event", foreign, "--delta", "1e-5", "--json"]);
    assert_eq!(foreign["epsilon"], gaussian["epsilon"]);
    let export =
        json(&["account", "--gaussian", "2", "--times", "3", "--delta", "0.1", "--as-dp-event"]);
    assert_eq!(export["class_name"], "SelfComposedDpEvent");
    let laplace = json(&["account", "--laplace", "2", "--times", "3", "--delta", "0", "--json"]);
    assert!((laplace["epsilon"].as_f64().unwrap() - 1.5).abs() < 1e-12);
    let fixed = json(&["account", "--fixed-gaussian", "0.02,6.2", "--delta", "1e-5", "--json"]);
    assert_eq!(fixed["adjacency"], "replace");
    let open = json(&["account", "--event", "\"non_private\"", "--delta", "1e-5", "--json"]);
    assert!(open["epsilon"].is_null() && open["theorem"] == "no guarantee");
    let open = text(&["account", "--event", "\"non_private\"", "--delta", "1e-5"]);
    assert!(open.contains("no guarantee"));
}

#[test]
fn account_draws_a_curve() {
    let answer = json(&[
        "account",
        "--poisson-gaussian",
        "0.01,1",
        "--times",
        "100",
        "--delta",
        "1e-5",
        "--curve",
        "--json",
    ]);
    let epsilons: Vec<f64> = answer["curve"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["epsilon"].as_f64().unwrap())
        .collect();
    assert_eq!(epsilons.len(), 12);
    assert!(epsilons.windows(2).all(|pair| pair[0] < pair[1]), "{epsilons:?}");
}

#[test]
fn calibrate_finds_each_of_the_four() {
    let noise = json(&["calibrate", "--epsilon", "1", "--delta", "1e-5", "--json"]);
    assert!((noise["noise_multiplier"].as_f64().unwrap() - 3.730631635).abs() < 5e-8);
    let run = ["calibrate", "--delta", "1e-6", "--json", "--noise-multiplier", "1.5"];
    let ask = |more: &[&str]| json(&[&run[..], more].concat());
    let rounds = ask(&["--epsilon", "2", "--rate", "0.01"]);
    assert_eq!(rounds["found"], "rounds");
    let count = rounds["rounds"].as_u64().unwrap().to_string();
    let spent = ask(&["--rate", "0.01", "--rounds", &count]);
    assert_eq!(spent["found"], "epsilon");
    assert!(spent["epsilon"].as_f64().unwrap() <= 2.0);
    let rate = ask(&["--epsilon", "2", "--rounds", &count]);
    assert_eq!(rate["found"], "rate");
    assert!((rate["rate"].as_f64().unwrap() - 0.01).abs() < 1e-4);
    let fixed = json(&[
        "calibrate",
        "--epsilon",
        "3",
        "--delta",
        "1e-5",
        "--rate",
        "0.02",
        "--rounds",
        "50",
        "--sampling",
        "fixed",
        "--json",
    ]);
    assert_eq!(fixed["adjacency"], "replace");
    assert!(fixed["epsilon_spent"].as_f64().unwrap() <= 3.0);
}

#[test]
fn calibrate_serves_nodes_with_their_own_budgets() {
    let answer =
        json(&["calibrate", "--node", "clinic=1,1e-5", "--node", "bank=10,1e-5", "--json"]);
    let nodes = answer["nodes"].as_array().unwrap();
    assert_eq!(
        (nodes[0]["node"].as_str(), nodes[1]["node"].as_str()),
        (Some("clinic"), Some("bank"))
    );
    assert!((nodes[1]["noise_multiplier"].as_f64().unwrap() - 0.499888620).abs() < 1e-8);
    let table = text(&["calibrate", "--node", "clinic=1,1e-5", "--node", "bank=10,1e-5"]);
    assert!(table.contains("3.730631636") && table.contains("bank"));
}

#[test]
fn claims_show_claim_verdict_truth_and_reason() {
    let table = text(&["claims"]);
    for word in ["privsgp-vr", "unsound", "no claim", "pr-admm-iteration", "dp-dgd"] {
        assert!(table.contains(word), "{word}");
    }
    let all = json(&["claims", "--json"]);
    assert!(all.as_array().unwrap().len() >= 25);
    let one = text(&["claims", "q-dpsgd-2"]);
    assert!(one.contains("CE-4") && one.contains("32.192"), "{one}");
    let broken = json(&["claims", "--counterexample", "ce-4", "--json"]);
    let outcome = &broken["outcomes"][0];
    assert!((outcome["delta"].as_f64().unwrap() - 0.9768588166).abs() < 1e-9);
}

#[test]
fn mistakes_are_refused_with_a_remedy() {
    refused(&["account", "--delta", "1e-5"], &["--gaussian"]);
    refused(&["account", "--gaussian", "-1", "--delta", "1e-5"], &["scale must be positive"]);
    refused(&["account", "--gaussian", "1", "--delta", "2"], &["delta must be between 0 and 1"]);
    refused(&["account", "--gaussian", "1", "--delta", "1"], &["below 1"]);
    refused(&["account", "--poisson-gaussian", "0.1", "--delta", "1e-5"], &["0.01,1.2"]);
    refused(&["account", "--event", "missing.json", "--delta", "1e-5"], &["missing.json", "JSON"]);
    refused(&["account", "--event", "{\"gaussian\":{}}", "--delta", "1e-5"], &["sensitivity"]);
    refused(&["account", "--gaussian", "1", "--times", "0", "--delta", "1e-5"], &["at least 1"]);
    refused(
        &[
            "account",
            "--fixed-gaussian",
            "0.1,1",
            "--adjacency",
            "add-remove",
            "--delta",
            "1e-5",
            "--accountant",
            "rdp",
        ],
        &["use the replace adjacency"],
    );
    refused(
        &["account", "--poisson-gaussian", "0.1,1", "--delta", "1e-5", "--accountant", "zcdp"],
        &["zcdp", "poisson_sampled", "try another accountant"],
    );
    refused(&["calibrate", "--delta", "1e-5"], &["--epsilon"]);
    refused(
        &[
            "calibrate",
            "--epsilon",
            "1",
            "--delta",
            "1e-5",
            "--rounds",
            "1",
            "--rate",
            "1",
            "--noise-multiplier",
            "9",
        ],
        &["leave out one"],
    );
    refused(&["calibrate", "--epsilon", "0", "--delta", "1e-5"], &["epsilon must be above 0"]);
    refused(&["claims", "privsgpvr"], &["did you mean privsgp-vr"]);
    refused(&["claims", "--counterexample", "CE-99"], &["CE-1 to CE-15"]);
    refused(&["acount"], &["account"]);
}

#[test]
fn help_teaches() {
    let help = text(&["--help"]);
    for word in ["account", "calibrate", "claims", "topology", "Begin:", "Exit codes: 0"] {
        assert!(help.contains(word), "{word}");
    }
    for command in ["account", "calibrate", "claims", "topology"] {
        assert!(text(&[command, "--help"]).contains("Examples"), "{command}");
    }
}

fn topology(line: &str) -> Vec<&str> {
    ["topology"].into_iter().chain(line.split(' ')).collect()
}

#[test]
fn topology_prints_the_closed_forms_of_shapes() {
    // 1/3 + 2/3 cos(pi/4), and 1 - 2/(d + 1).
    let ring = text(&topology("--family ring --nodes 8"));
    for line in
        ["directed edges      16", "second eigenvalue   0.8047379", "rounds to 1e-6      64"]
    {
        assert!(ring.contains(line), "{line} is not in\n{ring}");
    }
    let cube = text(&topology("--family hypercube --dimension 4"));
    for line in ["diameter            4", "spectral gap        0.4", "        4  16"] {
        assert!(cube.contains(line), "{line} is not in\n{cube}");
    }
    let lazy = json(&topology("--family ring --nodes 8 --lazy 0.5 --json"));
    let expected = 0.5 + 0.5 * (1.0 / 3.0 + 2.0 / 3.0 * std::f64::consts::FRAC_PI_4.cos());
    assert!((lazy["second_modulus"]["value"].as_f64().unwrap() - expected).abs() < 1e-12);
}

#[test]
fn topology_tells_of_directed_and_changing_graphs() {
    let answer = json(&topology("--family out-regular --nodes 60 --degree 3 --json"));
    assert_eq!(answer["out_degree"]["histogram"], serde_json::json!([[3, 60]]));
    assert_eq!(answer["weights"]["rule"], "out");
    assert_eq!(answer["strongly_connected"], true);
    let rate = answer["second_modulus"]["value"].as_f64().unwrap();
    assert!(rate > 0.0 && rate < 1.0 && answer["window"]["contraction"]["value"].is_f64());
    // A turn of hops by powers of two is the exact average.
    let turn = json(&topology("--schedule exponential --nodes 8 --json"));
    assert_eq!(turn["window"]["rounds"], 3);
    assert!(turn["window"]["contraction"]["value"].as_f64().unwrap() < 1e-7);
    assert!(turn["second_modulus"].is_null());
    let window = "--family in-regular --nodes 20 --degree 2 --schedule window=4 --window 4 --json";
    let window = json(&topology(window));
    assert_eq!(window["window"]["directed_edges"], 40);
    assert!(window["directed_edges"].as_u64().unwrap() < 40);
    let pair = text(&topology("--schedule alternating --nodes 10"));
    assert!(pair.contains("edges of window     20"), "{pair}");
}

#[test]
fn topology_draws_every_node_and_reads_edge_lists() {
    let folder = std::env::temp_dir().join(format!("undertone-topology-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str| folder.join(name).to_str().unwrap().to_string();
    let (edges, picture) = (file("a&b.txt"), file("graph.svg"));
    std::fs::write(&edges, "0 1\n1 2\n2 0 # and around\n2 - 3\n").unwrap();
    let answer = json(&["topology", "--edges", &edges, "--svg", &picture, "--json"]);
    assert_eq!((answer["nodes"].as_u64(), answer["directed_edges"].as_u64()), (Some(4), Some(5)));
    let svg = std::fs::read_to_string(&picture).unwrap();
    assert_eq!(svg.matches("<circle").count(), 4);
    assert!(svg.contains("a&amp;b.txt") && svg.contains("viewBox"));
    assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"));
    // Well formed: what is opened is closed, in order.
    let mut open = Vec::new();
    for tag in svg.split('<').skip(1).map(|part| part.split('>').next().unwrap()) {
        let name = tag.split([' ', '/']).find(|word| !word.is_empty()).unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty());
    std::fs::write(&edges, "0 1\n1 x\n").unwrap();
    refused(&["topology", "--edges", &edges], &["a&b.txt: line 2: expected", "amiss at column 3"]);
    let nowhere = file("no/such/folder.svg");
    refused(&["topology", "--family", "ring", "--nodes", "4", "--svg", &nowhere], &["--svg"]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn topology_names_the_flag_and_the_remedy() {
    let says = |line: &str, words: &[&str]| refused(&topology(line), words);
    says("--family rnig --nodes 4", &["did you mean ring?"]);
    says("--family grid --rows 4", &["--columns is missing", "--rows --columns"]);
    says("--family ring --nodes 4 --degree 2", &["--degree is not for --family ring"]);
    says("--family two-cliques --nodes 5", &["--nodes is 5", "even"]);
    says("--family erdos-renyi --nodes 9 --probability 2", &["--probability is 2", "0 and 1"]);
    says("--family erdos-renyi --nodes 9 --probability 0", &["--connected false"]);
    says("--nodes 4", &["--family is missing", "--edges"]);
    says("--schedule matching", &["--nodes is missing"]);
    says("--schedule exponential --nodes 4 --family ring", &["leave out --family"]);
    says("--family ring --nodes 4 --schedule window=0", &["at least 1"]);
    says("--family ring --nodes 4 --weights laplacian=1", &["--weights", "largest degree, 2"]);
    says("--family exponential --nodes 9 --weights metropolis", &["in- or out-weights"]);
    says("--family ring --nodes 4 --lazy 1", &["--lazy", "below 1"]);
    says("--family ring --nodes 5001 --svg x.svg", &["at most 5000", "leave --svg out"]);
    says("--edges missing.txt", &["missing.txt", "one edge a line"]);
}

#[test]
fn a_run_without_a_plan_takes_the_embedded_one() {
    let out = std::env::temp_dir().join(format!("undertone-embedded-{}", std::process::id()));
    let text = text(&["run", "--quiet", "--out", out.to_str().unwrap()]);
    let chart = std::fs::read_to_string(out.join("averaging/charts/chart.svg")).unwrap();
    let plan = std::fs::read_to_string(out.join("averaging/plan.toml")).unwrap();
    std::fs::remove_dir_all(&out).unwrap();
    assert!(text.contains("(1, 0.000001)-differentially private for one record"), "{text}");
    assert!(chart.starts_with("<svg") && plan.contains("push-sum"));
}

#[test]
fn a_world_that_makes_no_sense_is_refused_before_anything_runs() {
    let out = std::env::temp_dir().join(format!("undertone-world-{}", std::process::id()));
    std::fs::create_dir_all(&out).unwrap();
    let path = out.join("plan.toml");
    let plan = include_str!("../../../../experiments/faults/datagram.toml");
    for (old, new, wanted) in [
        ("loss = 0.3", "loss = 1.3", "give a probability from 0 to 1"),
        ("deadline = 0.2", "dead-line = 0.2", "unknown field `dead-line`"),
        ("share = 0.2", "share = -2.0", "share"),
    ] {
        std::fs::write(&path, plan.replace(old, new)).unwrap();
        let arguments = ["run", path.to_str().unwrap(), "--out", out.to_str().unwrap()];
        let output = undertone(&arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("plan.toml:") && error.contains(wanted), "{error}");
    }
    std::fs::remove_dir_all(&out).unwrap();
}
