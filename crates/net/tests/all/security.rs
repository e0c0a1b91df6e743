//! A node on a real socket, and peers that break every rule: each is refused, counted, and without
//! effect on the run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures::{AsyncReadExt, AsyncWriteExt, StreamExt};
use libp2p::identity::{Keypair, ed25519};
use libp2p::swarm::dial_opts::DialOpts;
use libp2p::{StreamProtocol, SwarmBuilder, noise, tcp, yamux};
use serde_json::json;
use undertone_net::frame::{Frame, Hello, Refusal, VERSION};
use undertone_net::{
    Counters, Identity, Keep, Limits, Network, NetworkFile, NodeError, Options, Outcome, Phase,
    Rounds, Run, STATEMENT, Setup, Statement, Status, hex, plan_hash,
};
use undertone_node::Experiment;
use undertone_node::plan::{Plan, Precision, expand};

const N: u32 = 3;

fn plan() -> Plan {
    let plan = json!({
        "name": "test", "seed": 1,
        "network": {"nodes": N, "schedule": "fixed", "topology": {"family": "ring"}},
        "data": {"source": "uniform", "low": -1.0, "high": 1.0, "dimension": 2},
        "algorithm": {"name": "push-sum"},
        "privacy": {"epsilon": 1.0, "delta": 1e-5, "clip": {"clip": "box", "radius": 1.0},
                    "noise": "sound"},
        "run": {"rounds": 20, "precision": "f64"},
        "evaluate": {"metrics": ["mean-error"]},
    });
    expand(&plan).unwrap().remove(0).plan
}

struct Town {
    plan: Plan,
    secrets: Vec<[u8; 32]>,
    keys: Vec<Identity>,
    ports: Vec<u16>,
    network: Arc<Network>,
    folder: PathBuf,
}

impl Town {
    fn new() -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("security");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let plan = plan();
        let hold: Vec<_> =
            (0..N).map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<u16> = hold.iter().map(|port| port.local_addr().unwrap().port()).collect();
        let mut file = NetworkFile::new("town".into(), hex(&plan_hash(&plan)));
        let (mut keys, mut secrets) = (Vec::new(), Vec::new());
        for (node, port) in (0..N).zip(&ports) {
            let secret: [u8; 32] = ed25519::SecretKey::generate().as_ref().try_into().unwrap();
            let path = folder.join(format!("{node}.key"));
            write_key(&path, &secret);
            let key = Identity::read(&path).unwrap();
            file.add(node, key.public(), format!("/ip4/127.0.0.1/tcp/{port}")).unwrap();
            keys.push(key);
            secrets.push(secret);
        }
        keys.iter().for_each(|key| assert!(file.sign(key).is_ok()));
        let network = Arc::new(file.check(N, &hex(&plan_hash(&plan))).unwrap());
        Self { plan, secrets, keys, ports, network, folder }
    }

    fn start(&self, node: u32) -> (Arc<Counters>, JoinHandle<Result<Outcome, NodeError>>) {
        let experiment = Experiment::new(&self.plan, None).unwrap();
        let counters = Arc::new(Counters::default());
        let listen = self.network.member(node).unwrap().address.clone();
        let setup = Setup {
            node,
            identity: self.keys[node as usize].clone(),
            network: Arc::clone(&self.network),
            rounds: Rounds::of(&self.plan).unwrap(),
            topology: experiment.topology(1).unwrap(),
            n_rounds: self.plan.run.rounds,
            store: self.folder.join(format!("{node}.store")),
            keep: Keep::default(),
            test_seed: None,
            counters: Arc::clone(&counters),
        };
        let options = Options {
            listen,
            metrics: None,
            plan: plan_hash(&self.plan),
            limits: Limits::default(),
            linger: Duration::from_secs(30),
        };
        let thread = std::thread::spawn(move || {
            let mut watch = |_: &Status| {};
            let run = Run { setup, options, watch: &mut watch };
            run.node(&experiment, Precision::F64, 1, None).unwrap()
        });
        (counters, thread)
    }

    fn hello(&self) -> Hello {
        Hello {
            version: VERSION,
            network: *self.network.hash(),
            plan: plan_hash(&self.plan),
            node: 1,
            round: 0,
            have: 0,
            seen: None,
        }
    }

    /// Says something to node 0 in the name of a key, and listens until it is refused.
    async fn say(&self, keypair: Keypair, bytes: Vec<u8>) {
        let mut swarm = SwarmBuilder::with_existing_identity(keypair)
            .with_tokio()
            .with_tcp(tcp::Config::default(), noise::Config::new, yamux::Config::default)
            .unwrap()
            .with_behaviour(|_| libp2p_stream::Behaviour::new())
            .unwrap()
            .build();
        let mut control = swarm.behaviour().new_control();
        let member = self.network.member(0).unwrap();
        let dial = DialOpts::peer_id(member.id).addresses(vec![member.address.clone()]).build();
        swarm.dial(dial).unwrap();
        let driver = tokio::spawn(async move {
            loop {
                swarm.select_next_some().await;
            }
        });
        tokio::time::sleep(Duration::from_millis(300)).await;
        let opened = control.open_stream(member.id, StreamProtocol::new("/undertone/1"));
        if let Ok(Ok(mut stream)) = tokio::time::timeout(Duration::from_secs(5), opened).await {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.flush().await;
            let mut answer = Vec::new();
            let heard = stream.read_to_end(&mut answer);
            let _ = tokio::time::timeout(Duration::from_secs(5), heard).await;
        }
        driver.abort();
    }
}

fn write_key(path: &Path, secret: &[u8; 32]) {
    std::fs::write(path, format!("undertone secret key v1\n{}\n", hex(secret))).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Invariant I6, too: what is not a direct stream of a listed peer does not get in.
#[test]
fn whoever_breaks_a_rule_is_refused_and_the_run_goes_on() {
    let town = Town::new();
    let (counters, zero) = town.start(0);
    let (_, two) = town.start(2);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let insider = || Keypair::ed25519_from_bytes(town.secrets[1]).unwrap();
    let attack = |keypair: Keypair, bytes: Vec<u8>, refusal: Refusal| {
        let before = counters.refused(refusal);
        until(refusal.name(), || {
            runtime.block_on(town.say(keypair.clone(), bytes.clone()));
            counters.refused(refusal) > before
        });
    };
    let hello = |change: fn(&mut Hello)| {
        let mut hello = town.hello();
        change(&mut hello);
        Frame::Hello(hello).encode()
    };
    attack(Keypair::generate_ed25519(), hello(|_| {}), Refusal::UnknownKey);
    let mut old = hello(|_| {});
    old[5] = 0;
    attack(insider(), old, Refusal::WrongVersion);
    attack(insider(), hello(|hello| hello.plan = [0; 32]), Refusal::WrongPlan);
    attack(insider(), hello(|hello| hello.network = [0; 32]), Refusal::WrongNetwork);
    attack(insider(), hello(|hello| hello.node = 2), Refusal::UnknownKey);
    attack(insider(), [hello(|_| {}), vec![0xff; 64]].concat(), Refusal::Oversized);
    attack(insider(), [hello(|_| {}), vec![1, 0, 0, 0, 99]].concat(), Refusal::Malformed);
    // Signed with the right key, and wrong all the same.
    let message = |round: u64, value: f64| {
        let mut payload = vec![1, 1];
        payload.extend(round.to_le_bytes());
        payload.extend(3_u32.to_le_bytes());
        [value, 0.0, 1.0].iter().for_each(|v| payload.extend(v.to_le_bytes()));
        let key = &town.keys[1];
        let statement = Statement::sign(key, town.network.hash(), 1, round, (1, [0; 32]), &payload);
        [hello(|_| {}), Frame::Message { statement, payload }.encode()].concat()
    };
    attack(insider(), message(0, f64::NAN), Refusal::NotFinite);
    attack(insider(), message(99, 0.0), Refusal::OutOfRound);
    let mut forged = message(0, 0.5);
    let at = forged.len() - 38 - STATEMENT + 20;
    forged[at] ^= 1;
    attack(insider(), forged, Refusal::Forged);
    // A flood of connections that say nothing.
    let before = counters.refused(Refusal::Flood);
    let address = format!("127.0.0.1:{}", town.ports[0]);
    let connect = |_| {
        let address = address.parse().unwrap();
        std::net::TcpStream::connect_timeout(&address, Duration::from_millis(200)).ok()
    };
    let flood: Vec<_> = (0..200).filter_map(connect).collect();
    until("flood", || counters.refused(Refusal::Flood) > before);
    drop(flood);
    // Now the real node 1 comes, and the run is as if nothing had been.
    let (_, one) = town.start(1);
    let outcomes = [zero, one, two].map(|thread| thread.join().unwrap().unwrap());
    for outcome in &outcomes {
        assert_eq!(outcome.status.phase, Phase::Finished);
        assert_eq!((outcome.guarantee.debits, outcome.unacknowledged), (1, false));
        for (a, b) in outcome.estimate.iter().zip(&outcomes[0].estimate) {
            assert!((a - b).abs() < 1e-3, "they agree");
        }
    }
    assert_eq!(counters.refused(Refusal::Equivocation), 0);
}
