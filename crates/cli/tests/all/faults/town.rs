//! A network of processes that a test starts, harms and compares with the simulator.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use undertone_net::{Audit, Identity, NetworkFile, audit, compare, hex, plan_hash};
use undertone_node::plan::expand;

use crate::cluster::simulated;

/// Public bits by a counter; the same in every run.
pub struct Bits(pub u64);

impl Bits {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

/// Files of a network, in test mode: noise from the plan's seed.
pub struct Town {
    folder: PathBuf,
    pub nodes: u32,
}

impl Town {
    /// `address` is told a free port, or the node's number where ports are all free.
    pub fn new(name: &str, plan: &str, address: &dyn Fn(u32) -> String) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults").join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("plan.toml"), plan).unwrap();
        let value: Value = toml::from_str(plan).unwrap();
        let checked = expand(&value).unwrap().remove(0).plan;
        let nodes = checked.network.nodes;
        let hold: Vec<_> =
            (0..nodes).map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports = hold.iter().map(|port| u32::from(port.local_addr().unwrap().port()));
        let ports: Vec<u32> = match address(0).contains("127.0.0.1") {
            true => ports.collect(),
            false => (0..nodes).collect(),
        };
        let mut file = NetworkFile::new(name.into(), hex(&plan_hash(&checked)));
        let mut keys = Vec::new();
        for (node, port) in (0..nodes).zip(&ports) {
            let own = folder.join(node.to_string());
            std::fs::create_dir_all(&own).unwrap();
            let key = Identity::generate();
            key.write(&own.join("node.key")).unwrap();
            file.add(node, key.public(), address(*port)).unwrap();
            let config = format!(
                "network = \"../network.toml\"\nplan = \"../plan.toml\"\nkey = \"node.key\"\n\
                 store = \"node.store\"\nlisten = \"{}\"\ndata-from-plan = true\ntest-seed = {}\n",
                address(*port),
                checked.seed
            );
            std::fs::write(own.join("node.toml"), config).unwrap();
            keys.push(key);
        }
        keys.iter().for_each(|key| assert!(file.sign(key).is_ok()));
        std::fs::write(folder.join("network.toml"), file.text()).unwrap();
        Self { folder, nodes }
    }

    /// Starts a node, under another program if one is given. Its last words replace older ones.
    pub fn spawn(&self, node: u32, under: &[&str]) -> Child {
        let own = self.folder.join(node.to_string());
        let program = env!("CARGO_BIN_EXE_undertone");
        let mut words = under.to_vec();
        words.extend([program, "node", "--json", "--config"]);
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(own.join("node.toml")).stdin(Stdio::null());
        command.stdout(File::create(own.join("out")).unwrap());
        command.stderr(File::create(own.join("err")).unwrap());
        command.spawn().unwrap()
    }

    pub fn store(&self, node: u32) -> PathBuf {
        self.folder.join(node.to_string()).join("node.store")
    }

    /// What a node wrote to standard error.
    pub fn said(&self, node: u32) -> String {
        std::fs::read_to_string(self.folder.join(node.to_string()).join("err")).unwrap()
    }

    /// The rounds that the nodes last said they were in.
    pub fn rounds(&self) -> Vec<u64> {
        let last = |node: u32| {
            let text = std::fs::read_to_string(self.folder.join(node.to_string()).join("out"));
            let lines = text.unwrap_or_default();
            let line = lines.lines().rfind(|line| line.contains("\"status\""));
            let value: Value = serde_json::from_str(line.unwrap_or("null")).unwrap_or_default();
            let status = [&value["status"], &value["outcome"]["status"]];
            status.iter().find_map(|status| status["round"].as_u64()).unwrap_or(0)
        };
        (0..self.nodes).map(last).collect()
    }

    /// Waits for all nodes to end well.
    pub fn finish(&self, mut children: Vec<Child>, patience: Duration) -> Vec<Value> {
        let start = Instant::now();
        let mut codes = vec![None; children.len()];
        while codes.iter().any(Option::is_none) {
            for (child, code) in children.iter_mut().zip(&mut codes) {
                *code = code.or_else(|| child.try_wait().unwrap());
            }
            if start.elapsed() > patience {
                children.iter_mut().for_each(|child| drop(child.kill()));
                panic!("not at the end after {patience:?}: rounds {:?}", self.rounds());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let outcome = |(node, code): (u32, &Option<std::process::ExitStatus>)| {
            let said = self.said(node);
            assert!(code.is_some_and(|code| code.success()), "node {node}: {code:?} {said}");
            let out = self.folder.join(node.to_string()).join("out");
            let text = std::fs::read_to_string(out).unwrap();
            let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
            assert_eq!(last["outcome"]["status"]["phase"], "finished", "node {node}: {said}");
            last["outcome"].clone()
        };
        (0..).zip(&codes).map(outcome).collect()
    }

    /// Estimates and ledgers have the simulator's bits, and all stores agree about what was sent
    /// and heard. Returns how many messages were compared.
    pub fn agrees_with_the_simulator(&self, outcomes: &[Value]) -> u64 {
        let audits = self.audits();
        let simulated = simulated::run(&self.folder.join("plan.toml"));
        for (node, (estimate, ledger)) in simulated.iter().enumerate() {
            let found: Vec<f64> =
                serde_json::from_value(outcomes[node]["estimate"].clone()).unwrap();
            assert_eq!(found, *estimate, "the estimate of node {node}");
            let entries = serde_json::to_value(&audits[node].entries).unwrap();
            assert_eq!(entries, *ledger, "the ledger of node {node}");
        }
        compare(&audits).unwrap()
    }

    /// All stores agree about what was sent and heard. Returns how many messages were compared.
    pub fn agrees_with_itself(&self) -> u64 {
        compare(&self.audits()).unwrap()
    }

    fn audits(&self) -> Vec<Audit> {
        (0..self.nodes).map(|node| audit(&self.store(node)).unwrap()).collect()
    }
}

/// What a process holds, in bytes.
pub fn memory(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().split(' ').next()?.parse::<u64>().ok().map(|kilobytes| 1024 * kilobytes)
}

/// Two network namespaces and a cable between them, made and removed by the test.
pub struct Lab {
    left: String,
    right: String,
}

impl Lab {
    /// Nothing if the machine does not allow it.
    pub fn new() -> Option<Self> {
        let pid = std::process::id();
        let lab = Self { left: format!("ut{pid}a"), right: format!("ut{pid}b") };
        let (left, right) = (lab.left.as_str(), lab.right.as_str());
        let made = ip(&["netns", "add", left])
            && ip(&["netns", "add", right])
            && ip(&[
                "link", "add", "ut0", "netns", left, "type", "veth", "peer", "name", "ut0",
                "netns", right,
            ])
            && ip(&["-n", left, "addr", "add", "10.77.0.1/24", "dev", "ut0"])
            && ip(&["-n", right, "addr", "add", "10.77.0.2/24", "dev", "ut0"])
            && [left, right].iter().all(|side| {
                ip(&["-n", side, "link", "set", "ut0", "up"])
                    && ip(&["-n", side, "link", "set", "lo", "up"])
            });
        made.then_some(lab)
    }

    pub fn left(&self) -> &str {
        &self.left
    }

    pub fn right(&self) -> &str {
        &self.right
    }

    pub fn pull(&self) {
        assert!(ip(&["-n", &self.left, "link", "set", "ut0", "down"]));
    }

    pub fn plug(&self) {
        assert!(ip(&["-n", &self.left, "link", "set", "ut0", "up"]));
    }

    /// Whether the cable can lose and delay packets.
    pub fn disturb(&self) -> bool {
        let netem =
            ["qdisc", "add", "dev", "ut0", "root", "netem", "loss", "10%", "delay", "200ms"];
        let mut command = Command::new("tc");
        command.args(["-n", &self.left]).args(netem).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        ip(&["netns", "del", &self.left]);
        ip(&["netns", "del", &self.right]);
    }
}

fn ip(words: &[&str]) -> bool {
    let mut command = Command::new("ip");
    command.args(words).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
