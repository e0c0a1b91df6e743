//! The long suite: processes that are killed, disks that are full, networks that break, and load.
//! `cargo xtask test --net` runs it and shows the figures.

mod town;

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use town::{Bits, Town};

use crate::cluster::plans::{CONSENSUS, LEARNING, meetings, plan};

/// Random nodes are killed at random instants, 200 times over a run. In the end estimates and
/// ledgers have the bits of a run that nothing happened to: so nothing was released without its
/// debit, nothing twice, nothing was lost, and training converged as it does in peace.
fn survives_kills(name: &str, plan: &str, kills: u32) {
    let (town, outcomes, seconds) = killed(name, plan, kills);
    let compared = town.agrees_with_the_simulator(&outcomes);
    println!(
        "{name}: {kills} kills in {seconds:.0} s; {compared} messages heard are those their \
         senders paid for; estimates and ledgers have the simulator's bits"
    );
}

/// A network whose nodes were killed that often, how they ended, and the seconds it took.
fn killed(name: &str, plan: &str, kills: u32) -> (Town, Vec<Value>, f64) {
    let town = Town::new(name, plan, &|port| format!("/ip4/127.0.0.1/tcp/{port}"));
    let mut children: Vec<_> = (0..town.nodes).map(|node| town.spawn(node, &[])).collect();
    let mut bits = Bits(11);
    let (mut killed, start) = (0, Instant::now());
    while killed < kills {
        std::thread::sleep(Duration::from_millis(20 + bits.below(180)));
        let victim = bits.below(u64::from(town.nodes)) as usize;
        if children[victim].try_wait().unwrap().is_some() {
            break; // it has finished
        }
        children[victim].kill().unwrap();
        children[victim].wait().unwrap();
        children[victim] = town.spawn(victim as u32, &[]);
        killed += 1;
    }
    let outcomes = town.finish(children, Duration::from_secs(600));
    assert_eq!(killed, kills, "the run was too short; give it more rounds");
    (town, outcomes, start.elapsed().as_secs_f64())
}

#[test]
#[ignore = "long; cargo xtask test --net"]
fn two_hundred_kills_of_a_consensus() {
    survives_kills("kills-consensus", &plan(CONSENSUS, 8, 2500, "f64"), 200);
}

#[test]
#[ignore = "long; cargo xtask test --net"]
fn two_hundred_kills_of_a_training() {
    survives_kills("kills-training", &plan(LEARNING, 8, 3000, "f32"), 200);
}

/// Messages and checkpoints that are in the file beside the database.
#[test]
#[ignore = "long; cargo xtask test --net"]
fn sixty_kills_of_nodes_with_large_messages() {
    let body = CONSENSUS.replace("dimension = 3", "dimension = 5000");
    survives_kills("kills-large", &plan(&body, 4, 1500, "f64"), 60);
}

/// Without rounds the order is the network's, so there are no bits to compare with. Every node
/// ends, has paid for each of its activations once, and was heard with what it paid for.
#[test]
#[ignore = "long; cargo xtask test --net"]
fn fifty_kills_of_nodes_that_meet() {
    let (nodes, activations) = (8, 1200);
    let (town, outcomes, seconds) = killed("kills-meetings", &meetings(nodes, activations), 50);
    for outcome in &outcomes {
        assert_eq!(outcome["guarantee"]["debits"], activations);
    }
    let compared = town.agrees_with_itself();
    assert_eq!(compared, 2 * u64::from(nodes) * activations);
    println!(
        "kills-meetings: 50 kills in {seconds:.0} s; {compared} offers and replies heard are those \
         their senders paid for"
    );
}

#[test]
#[ignore = "long; cargo xtask test --net"]
fn a_full_disk_stops_a_node_and_more_room_lets_it_go_on() {
    let plan = plan(CONSENSUS, 4, 2000, "f64");
    let town = Town::new("disk", &plan, &|port| format!("/ip4/127.0.0.1/tcp/{port}"));
    let mut children: Vec<_> = (0..town.nodes).map(|node| town.spawn(node, &[])).collect();
    std::thread::sleep(Duration::from_millis(1500));
    children[1].kill().unwrap();
    children[1].wait().unwrap();
    let size = std::fs::metadata(town.store(1)).unwrap().len();
    // Files may not grow: a write beyond fails, as on a full disk.
    let limit = format!("trap '' XFSZ; ulimit -f {}; exec \"$@\"", size.div_ceil(1024));
    let mut full = town.spawn(1, &["bash", "-c", &limit, "bash"]);
    let status = full.wait().unwrap();
    let said = town.said(1);
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(said.contains("the store cannot be written") && !said.contains("panicked"), "{said}");
    children[1] = town.spawn(1, &[]);
    let outcomes = town.finish(children, Duration::from_secs(120));
    let compared = town.agrees_with_the_simulator(&outcomes);
    println!(
        "disk full at {size} bytes: exit code 2, nothing sent; later {compared} messages agree"
    );
}

#[test]
#[ignore = "long; cargo xtask test --net"]
fn a_store_that_was_cut_or_torn_is_refused() {
    let plan = plan(CONSENSUS, 2, 300, "f64");
    let town = Town::new("torn", &plan, &|port| format!("/ip4/127.0.0.1/tcp/{port}"));
    let children: Vec<_> = (0..town.nodes).map(|node| town.spawn(node, &[])).collect();
    town.finish(children, Duration::from_secs(60));
    let whole = std::fs::read(town.store(0)).unwrap();
    let mut bits = Bits(5);
    let (mut refused, mut unharmed) = (0, 0);
    for k in 0..60 {
        let is_cut = k % 2 == 0;
        let mut bytes = whole.clone();
        if is_cut {
            bytes.truncate(1 + bits.below(whole.len() as u64 - 1) as usize);
        } else {
            // A page of the disk that was written in part.
            let at = bits.below(whole.len() as u64 - 512) as usize;
            let fill = bits.below(256) as u8;
            bytes[at..at + 512].fill(fill);
        }
        std::fs::write(town.store(0), &bytes).unwrap();
        let mut node = town.spawn(0, &["timeout", "5"]);
        let code = node.wait().unwrap().code();
        let said = town.said(0);
        match code {
            Some(2) => {
                assert!(said.contains("node.store"), "{said}");
                refused += 1;
            }
            // The place held nothing: the node has finished and waits for a peer that is gone.
            Some(124) if !is_cut => unharmed += 1,
            other => panic!("exit {other:?}: {said}"),
        }
    }
    println!("torn and cut stores: {refused} refused, {unharmed} hit a place that holds nothing");
}

/// Two halves in network namespaces of their own, and a cable between them that is pulled for
/// fifteen seconds. Nobody loses or repeats anything.
#[test]
#[ignore = "long; cargo xtask test --net"]
fn a_partition_heals() {
    let Some(lab) = town::Lab::new() else {
        println!("partition: skipped, this machine has no network namespaces for us");
        return;
    };
    let plan = plan(CONSENSUS, 8, 4000, "f64");
    let town = Town::new("partition", &plan, &|port| {
        let side = if port < 4 { 1 } else { 2 };
        format!("/ip4/10.77.0.{side}/tcp/{}", 7000 + port)
    });
    let side = |node: u32| if node < 4 { lab.left() } else { lab.right() };
    let children: Vec<_> =
        (0..8).map(|node| town.spawn(node, &["ip", "netns", "exec", side(node)])).collect();
    std::thread::sleep(Duration::from_secs(3));
    lab.pull();
    std::thread::sleep(Duration::from_secs(15));
    let before = town.rounds();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(town.rounds(), before, "without the cable nobody goes on");
    assert!(before.iter().all(|round| *round < 4000), "the run was too short");
    lab.plug();
    let outcomes = town.finish(children, Duration::from_secs(180));
    let compared = town.agrees_with_the_simulator(&outcomes);
    println!("partition of 15 s at rounds {before:?}: healed, {compared} messages agree");
}

#[test]
#[ignore = "long; cargo xtask test --net"]
fn a_cable_that_loses_and_delays() {
    let Some(lab) = town::Lab::new() else {
        println!("bad cable: skipped, this machine has no network namespaces for us");
        return;
    };
    if !lab.disturb() {
        println!("bad cable: skipped, this kernel has no netem");
        return;
    }
    let plan = plan(CONSENSUS, 8, 40, "f64");
    let town = Town::new("cable", &plan, &|port| {
        let side = if port < 4 { 1 } else { 2 };
        format!("/ip4/10.77.0.{side}/tcp/{}", 7000 + port)
    });
    let start = Instant::now();
    let side = |node: u32| if node < 4 { lab.left() } else { lab.right() };
    let spawn = |node| town.spawn(node, &["ip", "netns", "exec", side(node)]);
    let outcomes = town.finish((0..8).map(spawn).collect(), Duration::from_secs(300));
    let compared = town.agrees_with_the_simulator(&outcomes);
    let seconds = start.elapsed().as_secs_f64();
    println!("10% loss and 200 ms delay: 40 rounds in {seconds:.0} s, {compared} messages agree");
}

#[test]
#[ignore = "long; cargo xtask test --net"]
fn sixty_four_nodes_train() {
    let plan = plan(LEARNING, 64, 60, "f32");
    let town = Town::new("load", &plan, &|port| format!("/ip4/127.0.0.1/tcp/{port}"));
    let start = Instant::now();
    let children: Vec<_> = (0..town.nodes).map(|node| town.spawn(node, &[])).collect();
    let mut most = 0;
    let mut at_rest = Vec::new();
    while start.elapsed() < Duration::from_secs(300) {
        std::thread::sleep(Duration::from_millis(500));
        let memory: Vec<u64> =
            children.iter().filter_map(|child| town::memory(child.id())).collect();
        most = most.max(memory.iter().copied().max().unwrap_or(0));
        if town.rounds().iter().all(|round| *round == 60) {
            break;
        }
        at_rest = memory;
    }
    let outcomes = town.finish(children, Duration::from_secs(120));
    let seconds = start.elapsed().as_secs_f64();
    town.agrees_with_the_simulator(&outcomes);
    at_rest.sort_unstable();
    let median = at_rest.get(at_rest.len() / 2).copied().unwrap_or(0);
    println!(
        "64 nodes, 60 rounds of training in {seconds:.0} s; memory of a node {:.1} MB (median), \
         {:.1} MB (most)",
        median as f64 / 1e6,
        most as f64 / 1e6
    );
}

/// Three nodes that all hear each other, messages of a megabyte, every one durable at both ends.
#[test]
#[ignore = "long; cargo xtask test --net"]
fn messages_of_a_megabyte() {
    for (transport, quic) in [("TCP", false), ("QUIC", true)] {
        if quic && !cfg!(feature = "quic") {
            println!("throughput over QUIC: skipped, built without it");
            continue;
        }
        let rounds = 60;
        let body = CONSENSUS.replace("dimension = 3", "dimension = 131072");
        let plan = plan(&body, 3, rounds, "f64").replace(
            "schedule = \"exponential\"",
            "schedule = \"fixed\"\ntopology = { family = \"complete\" }",
        );
        let name = format!("throughput-{transport}");
        let town = Town::new(&name, &plan, &|port| match quic {
            true => format!("/ip4/127.0.0.1/udp/{port}/quic-v1"),
            false => format!("/ip4/127.0.0.1/tcp/{port}"),
        });
        let children: Vec<_> = (0..3).map(|node| town.spawn(node, &[])).collect();
        let outcomes = town.finish(children, Duration::from_secs(300));
        let status = &outcomes[0]["status"];
        let (bytes, seconds) =
            (status["bytes-out"].as_f64().unwrap(), status["seconds"].as_f64().unwrap());
        println!(
            "throughput over {transport}: {:.1} MB/s out of each of three nodes, {:.0} messages/s, \
             every message durable at sender and receiver, start and end included",
            bytes / seconds / 1e6,
            2.0 * rounds as f64 / seconds,
        );
    }
}

#[test]
#[ignore = "long; cargo xtask test --net"]
fn sigterm_stops_and_a_restart_goes_on() {
    let plan = plan(CONSENSUS, 4, 2000, "f64");
    let town = Town::new("stop", &plan, &|port| format!("/ip4/127.0.0.1/tcp/{port}"));
    let mut children: Vec<_> = (0..town.nodes).map(|node| town.spawn(node, &[])).collect();
    std::thread::sleep(Duration::from_secs(1));
    let mut stop = Command::new("kill");
    assert!(stop.args(["-TERM", &children[2].id().to_string()]).status().unwrap().success());
    let asked = Instant::now();
    let code = children[2].wait().unwrap().code();
    assert_eq!(code, Some(0), "{}", town.said(2));
    println!("SIGTERM: stopped after {:.2} s", asked.elapsed().as_secs_f64());
    children[2] = town.spawn(2, &[]);
    let outcomes = town.finish(children, Duration::from_secs(120));
    town.agrees_with_the_simulator(&outcomes);
}

/// A node that is stopped for four seconds is skipped by rule: the others go on at their deadlines,
/// and it comes back to their round without a new budget.
#[test]
#[ignore = "long; cargo xtask test --net"]
fn a_slow_node_is_skipped_by_rule_and_comes_back() {
    let body = CONSENSUS.replace("push-sum", "running-sum")
        + "\n[rounds]\ndeadline = 0.25\nquorum = 0.5\nwitnesses = 1\n";
    let plan = plan(&body, 4, 4000, "f64").replace(
        "schedule = \"exponential\"",
        "schedule = \"fixed\"\ntopology = { family = \"complete\" }",
    );
    let town = Town::new("slow", &plan, &|port| format!("/ip4/127.0.0.1/tcp/{port}"));
    let children: Vec<_> = (0..town.nodes).map(|node| town.spawn(node, &[])).collect();
    let signal = |name: &str| {
        let mut kill = Command::new("kill");
        assert!(kill.args([name, &children[3].id().to_string()]).status().unwrap().success());
    };
    let start = Instant::now();
    while town.rounds().iter().any(|round| *round < 5) {
        assert!(start.elapsed() < Duration::from_secs(120), "they do not begin");
        std::thread::sleep(Duration::from_millis(100));
    }
    signal("-STOP");
    std::thread::sleep(Duration::from_secs(1));
    let before = town.rounds();
    std::thread::sleep(Duration::from_secs(3));
    let after = town.rounds();
    signal("-CONT");
    assert!((0..3).all(|node| after[node] > before[node]), "{before:?}, then {after:?}");
    assert_eq!(after[3], before[3]);
    let outcomes = town.finish(children, Duration::from_secs(300));
    for outcome in &outcomes {
        assert_eq!(outcome["status"]["round"], 4000);
        assert_eq!(outcome["guarantee"]["debits"], 1);
    }
    let skipped = after[0] - before[0];
    println!("a stopped node: the others went on for {skipped} rounds, and it came back to them");
}

#[test]
#[ignore = "long; cargo xtask test --net"]
fn eight_processes_over_quic_have_the_bits_of_the_simulator() {
    if !cfg!(feature = "quic") {
        println!("QUIC: skipped, built without it");
        return;
    }
    for (name, body, precision) in [("consensus", CONSENSUS, "f64"), ("learning", LEARNING, "f32")]
    {
        let plan = plan(body, 8, 40, precision);
        let town = Town::new(&format!("quic-{name}"), &plan, &|port| {
            format!("/ip4/127.0.0.1/udp/{port}/quic-v1")
        });
        let start = Instant::now();
        let children: Vec<_> = (0..8).map(|node| town.spawn(node, &[])).collect();
        let outcomes = town.finish(children, Duration::from_secs(120));
        let compared = town.agrees_with_the_simulator(&outcomes);
        let seconds = start.elapsed().as_secs_f64();
        println!("{name} over QUIC: 40 rounds in {seconds:.0} s, {compared} messages agree");
    }
}
