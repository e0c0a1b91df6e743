//! Whole nodes, each on threads of its own, that agree on a mean.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use undertone_net::{
    Counters, Identity, Keep, Limits, Network, NetworkFile, Options, Rounds, Run, Setup, Status,
    hex, plan_hash,
};
use undertone_node::Experiment;
use undertone_node::plan::{Plan, Precision, expand};

use crate::{Clock, Measured, place};

/// Messages out of each of some nodes, all of which hear each other, from the first round to the
/// last.
pub fn measure(folder: &Path, nodes: usize, bytes: usize, rounds: u64) -> Measured {
    let folder = folder.join(format!("undertone-bench-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("there is room");
    let n = nodes;
    let plan = plan(n, bytes / size_of::<f64>(), rounds);
    let (keys, network) = network(&plan, n);
    let start = |node| start(node, &plan, &keys, &network, &folder);
    let nodes: Vec<_> = (0..n as u32).map(start).collect();
    let mut first = None;
    while !nodes.iter().all(|(_, thread)| thread.is_finished()) {
        let round = nodes.iter().map(|(counters, _)| counters.round.get()).min().unwrap_or(0);
        if round > 0 && first.is_none() {
            first = Some((round, Clock::start()));
        }
        if round == rounds {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let (first, clock) = first.expect("there are rounds");
    let measured = clock.stop().of(n, (rounds - first) as usize);
    for (_, thread) in nodes {
        thread.join().expect("no panic");
    }
    let _ = std::fs::remove_dir_all(&folder);
    measured
}

fn start(
    node: u32,
    plan: &Plan,
    keys: &[Identity],
    network: &Arc<Network>,
    folder: &Path,
) -> (Arc<Counters>, std::thread::JoinHandle<()>) {
    let experiment = Experiment::new(plan, None).expect("a right plan");
    let counters = Arc::new(Counters::default());
    let setup = Setup {
        node,
        identity: keys[node as usize].clone(),
        network: Arc::clone(network),
        rounds: Rounds::of(plan).expect("a right plan"),
        topology: experiment.topology(1).expect("a right plan"),
        n_rounds: plan.run.rounds,
        store: folder.join(format!("{node}.store")),
        keep: Keep::default(),
        test_seed: None,
        counters: Arc::clone(&counters),
    };
    let options = Options {
        listen: network.member(node).expect("a member").address.clone(),
        metrics: None,
        plan: plan_hash(plan),
        limits: Limits::default(),
        linger: Duration::from_secs(30),
    };
    let nodes = keys.len();
    let thread = std::thread::spawn(move || {
        place(node as usize, nodes);
        let mut watch = |_: &Status| {};
        let run = Run { setup, options, watch: &mut watch };
        let outcome = run.node(&experiment, Precision::F64, 1, None).expect("a right plan");
        outcome.expect("it runs to the end");
    });
    (counters, thread)
}

fn plan(nodes: usize, dimension: usize, rounds: u64) -> Plan {
    let plan = json!({
        "name": "bench", "seed": 1,
        "network": {"nodes": nodes, "schedule": "fixed", "topology": {"family": "complete"}},
        "data": {"source": "uniform", "low": -1.0, "high": 1.0, "dimension": dimension},
        "algorithm": {"name": "push-sum"},
        "privacy": {"epsilon": 1.0, "delta": 1e-5, "clip": {"clip": "box", "radius": 1.0},
                    "noise": "sound"},
        "run": {"rounds": rounds, "precision": "f64"},
        "evaluate": {"metrics": ["mean-error"]},
    });
    expand(&plan).expect("a right plan").remove(0).plan
}

fn network(plan: &Plan, nodes: usize) -> (Vec<Identity>, Arc<Network>) {
    let hold: Vec<_> = (0..nodes)
        .map(|_| std::net::TcpListener::bind("127.0.0.1:0").expect("a free port"))
        .collect();
    let hash = hex(&plan_hash(plan));
    let mut file = NetworkFile::new("bench".into(), hash.clone());
    let keys: Vec<_> = (0..nodes).map(|_| Identity::generate()).collect();
    for ((node, key), held) in (0..).zip(&keys).zip(&hold) {
        let port = held.local_addr().expect("bound").port();
        file.add(node, key.public(), format!("/ip4/127.0.0.1/tcp/{port}")).expect("an address");
    }
    for key in &keys {
        file.sign(key).expect("a member");
    }
    (keys, Arc::new(file.check(nodes as u32, &hash).expect("signed by all")))
}
