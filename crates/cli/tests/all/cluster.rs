//! Nodes that are processes, as a person or a script would run them.

pub(crate) mod plans;
pub(crate) mod simulated;

use std::path::Path;
use std::process::Command;

use plans::{CONSENSUS, LEARNING, plan};
use serde_json::Value;

use crate::support::{folder, json, refused};

const ROUNDS: u64 = 12;

/// Over a ring: PR-ADMM needs an undirected graph.
const ADMM: &str = r#"
[data]
source = "census"
records = 800

[model]
kind = "logistic"

[algorithm]
name = "pr-admm-periodic"
admm = { penalty = 0.05, ridge = 1e-3, period = 3, ratio = 0.8 }

[privacy]
delta = 1e-5
clip = 1.0
noise = { sigma = 0.1 }

[evaluate]
metrics = ["loss"]
"#;

/// Invariant I9: eight processes end in the bits of the simulator, and so do their ledgers; and
/// every message that was heard is one that its sender's ledger had paid for (invariant I12).
fn agrees(test: &str, plan: &str, hearers: u64) {
    let folder = folder(test);
    std::fs::write(folder.join("plan.toml"), plan).unwrap();
    let arguments = ["cluster", "plan.toml", "--test-seed", "--json", "--dir", "nodes"];
    let summary = json(&folder, &arguments);
    assert_eq!(summary["failures"], Value::Array(Vec::new()));
    let simulated = simulated::run(&folder.join("plan.toml"));
    let mut stores = Vec::new();
    for (node, (estimate, ledger)) in simulated.iter().enumerate() {
        let outcome = &summary["nodes"][node];
        assert_eq!(outcome["status"]["phase"], "finished");
        let found: Vec<f64> = serde_json::from_value(outcome["estimate"].clone()).unwrap();
        let bits = |numbers: &[f64]| numbers.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&found), bits(estimate), "the estimate of node {node}");
        let store = format!("nodes/{node}/node.store");
        let shown = json(&folder, &["ledger", "show", &store, "--json"]);
        assert_eq!(shown["entries"], *ledger, "the ledger of node {node}");
        stores.push(store);
    }
    let mut verify = vec!["ledger", "verify", "--json"];
    verify.extend(stores.iter().map(String::as_str));
    let verified = json(&folder, &verify);
    assert_eq!(verified["verified"], true);
    assert_eq!(verified["messages-compared"], 8 * ROUNDS * hearers);
}

#[test]
fn a_consensus_of_eight_processes_has_the_bits_of_the_simulator() {
    agrees("consensus", &plan(CONSENSUS, 8, ROUNDS, "f64"), 1);
}

#[test]
fn learning_by_eight_processes_has_the_bits_of_the_simulator() {
    agrees("learning", &plan(LEARNING, 8, ROUNDS, "f32"), 1);
}

#[test]
fn admm_of_eight_processes_has_the_bits_of_the_simulator() {
    let ring = "schedule = \"fixed\"\ntopology = { family = \"ring\" }";
    let plan = plan(ADMM, 8, ROUNDS, "f64").replace("schedule = \"exponential\"", ring);
    agrees("admm", &plan, 2);
}

/// Whoever comes first is met first, so there are no bits to compare with; but all nodes come to
/// their end, each has paid for its activations, and every offer and reply was paid for.
#[test]
fn four_processes_meet_without_rounds() {
    let folder = folder("meetings");
    std::fs::write(folder.join("plan.toml"), plans::meetings(4, ROUNDS)).unwrap();
    let arguments = ["cluster", "plan.toml", "--test-seed", "--json", "--dir", "nodes"];
    let summary = json(&folder, &arguments);
    assert_eq!(summary["failures"], Value::Array(Vec::new()));
    for node in 0..4 {
        let outcome = &summary["nodes"][node];
        assert_eq!(outcome["status"]["phase"], "finished");
        assert_eq!(outcome["guarantee"]["debits"], ROUNDS);
    }
    let stores: Vec<_> = (0..4).map(|node| format!("nodes/{node}/node.store")).collect();
    let mut verify = vec!["ledger", "verify", "--json"];
    verify.extend(stores.iter().map(String::as_str));
    let verified = json(&folder, &verify);
    assert_eq!(verified["verified"], true);
    assert_eq!(verified["messages-compared"], 2 * 4 * ROUNDS);
}

/// A network by hand, with own numbers and noise from the operating system: nothing secret is
/// printed or logged, a second run of a finished node sends nothing new, and what does not fit is
/// refused.
#[test]
fn a_network_by_hand() {
    let folder = folder("by_hand");
    std::fs::write(folder.join("plan.toml"), plan(CONSENSUS, 2, ROUNDS, "f64")).unwrap();
    let network = |words: &[&str]| json(&folder, &[&["network"], words, &["--json"]].concat());
    network(&["init", "plan.toml"]);
    refused(&folder, &["network", "init", "plan.toml"], &["there already"]);
    let ports = free_ports();
    let mut secrets = Vec::new();
    for (node, port) in ports.iter().enumerate() {
        let key = format!("{node}.key");
        let made = json(&folder, &["keygen", &key, "--json"]);
        refused(&folder, &["keygen", &key], &["exists"]);
        let secret = std::fs::read_to_string(folder.join(&key)).unwrap();
        secrets.push(secret.lines().last().unwrap().to_string());
        let address = format!("/ip4/127.0.0.1/tcp/{port}");
        network(&["add", &node.to_string(), made["key"].as_str().unwrap(), &address]);
        std::fs::write(folder.join(format!("{node}.csv")), "0.12345678, 0.5, -0.25\n").unwrap();
        let config = format!(
            "network = \"network.toml\"\nplan = \"plan.toml\"\nkey = \"{key}\"\n\
             store = \"{node}.store\"\nlisten = \"{address}\"\n\
             [budget]\nepsilon = 1.0\ndelta = 1e-5\n[data]\nnumbers = \"{node}.csv\"\n"
        );
        std::fs::write(folder.join(format!("{node}.toml")), config).unwrap();
    }
    network(&["sign", "--key", "0.key"]);
    refused(&folder, &["network", "check", "plan.toml"], &["node 1 has not signed"]);
    refused(&folder, &["node", "--config", "0.toml"], &["node 1 has not signed"]);
    let by_part = ["node", "--config", "0.toml", "--log", "warn,undertone_net=debug"];
    refused(&folder, &by_part, &["node 1 has not signed"]);
    refused(&folder, &["node", "--log", "undertone_net=loud"], &["--log", "undertone_net=loud"]);
    network(&["sign", "--key", "1.key"]);
    network(&["check", "plan.toml"]);
    let run = || {
        let start = |node: u32| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_undertone"));
            let config = format!("{node}.toml");
            command.current_dir(&folder).args(["node", "--json", "--log", "debug"]);
            command.args(["--config", &config]).stdout(std::process::Stdio::piped());
            command.stderr(std::process::Stdio::piped()).spawn().unwrap()
        };
        [start(0), start(1)].map(|child| {
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{said}");
            (String::from_utf8(output.stdout).unwrap(), said)
        })
    };
    let first = run();
    let outcome = |text: &str| -> Value {
        serde_json::from_str::<Value>(text.lines().last().unwrap()).unwrap()["outcome"].clone()
    };
    for (printed, said) in &first {
        // The keys, and the numbers of the node, rounded or without their point. Five digits alone
        // would also be found in one of a hundred thousand times or ports.
        for secret in secrets.iter().map(String::as_str).chain(["0.12345", "12345678"]) {
            let out = said.lines().chain(printed.lines()).find(|line| line.contains(secret));
            assert_eq!(out, None, "a secret is out");
        }
        assert!(said.contains("listening"), "{said}");
        assert_eq!(outcome(printed)["guarantee"]["debits"], 1);
        assert_eq!(outcome(printed)["test-mode"], false);
    }
    let again = run();
    for (first, again) in first.iter().zip(&again) {
        let (first, again) = (outcome(&first.0), outcome(&again.0));
        assert_eq!(first["estimate"], again["estimate"]);
        assert_eq!(first["guarantee"], again["guarantee"]);
    }
    refuses_what_does_not_fit(&folder);
}

fn refuses_what_does_not_fit(folder: &Path) {
    let node = ["node", "--config", "0.toml"];
    let change = |from: &str, to: &str| {
        let path = folder.join("0.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from}");
        std::fs::write(path, text.replacen(from, to, 1)).unwrap();
    };
    change("epsilon = 1.0", "epsilon = 0.5");
    refused(folder, &node, &["budget", "the plan costs 1"]);
    change("epsilon = 0.5", "epsilon = 1.0");
    // Other data under the same noise would give the old data away.
    std::fs::write(folder.join("0.csv"), "0.9, 0.5, -0.25\n").unwrap();
    refused(folder, &node, &["other bytes than it promised"]);
    std::fs::write(folder.join("0.csv"), "0.9, 0.5\n").unwrap();
    refused(folder, &node, &["0.csv:1: has 2 numbers, the plan has 3"]);
    change("store = \"0.store\"", "store = \"1.store\"");
    std::fs::write(folder.join("0.csv"), "0.12345678, 0.5, -0.25\n").unwrap();
    refused(folder, &node, &["belongs to another node"]);
    change("key = \"0.key\"", "kee = \"0.key\"");
    refused(folder, &node, &["0.toml:3:1", "unknown field `kee`"]);
    let plan = std::fs::read_to_string(folder.join("plan.toml")).unwrap();
    std::fs::write(folder.join("plan.toml"), plan.replace("rounds = 12", "rounds = 13")).unwrap();
    change("kee", "key");
    refused(folder, &node, &["the network is for a plan with hash"]);
    let store = std::fs::read(folder.join("1.store")).unwrap();
    std::fs::write(folder.join("1.store"), &store[..store.len() / 2]).unwrap();
    refused(folder, &["ledger", "verify", "1.store"], &["1.store", "damaged"]);
    refused(folder, &["ledger", "show", "none.store"], &["no such file"]);
}

fn free_ports() -> [u16; 2] {
    let hold = [(); 2].map(|()| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    hold.map(|listener| listener.local_addr().unwrap().port())
}
