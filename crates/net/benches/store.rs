//! What a round costs beside the algorithm, one JSON line each: signing, and making it durable. The
//! store is in the folder of the build, so the disk is that of the machine.

use std::time::Instant;

use undertone_net::journal::Event;
use undertone_net::{About, Batch, Identity, Outgoing, Statement, Store};
use undertone_privacy::ledger::{Budget, Filter, Header};
use undertone_privacy::units::{Adjacency, Delta, Epsilon, Unit};

fn main() {
    statement();
    commit("net_commit_1kB", 1 << 10);
    commit("net_commit_1MB", 1 << 20);
}

fn statement() {
    const TIMES: u32 = 2_000;
    let (identity, payload) = (Identity::generate(), vec![7; 1 << 10]);
    let start = Instant::now();
    for round in 0..TIMES {
        let account = (1, [0; 32]);
        let word = Statement::sign(&identity, &[0; 32], 0, round.into(), account, &payload);
        assert!(word.is_about(&payload));
    }
    report("net_statement_1kB", start.elapsed().as_secs_f64() / f64::from(TIMES));
}

/// One message promised and two heard, as in a ring.
fn commit(name: &str, bytes: usize) {
    const TIMES: u64 = 50;
    let identity = Identity::generate();
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&path);
    let budget = Budget {
        epsilon: Epsilon::new(1.0).expect("in range"),
        delta: Delta::new(1e-5).expect("in range"),
    };
    let filter = Filter::Gaussian { reserve: Delta::new(0.0).expect("in range") };
    let (adjacency, unit) = (Adjacency::Replace, Unit::Record);
    let header = Header { node: 0, budget, adjacency, unit, filter };
    let about = About { node: 0, key: identity.public(), network: [0; 32], header };
    let mut store = Store::open(&path, &identity, &about, &[0; 32]).expect("a new file");
    let payload = bytes::Bytes::from(vec![7; bytes]);
    let start = Instant::now();
    for round in 0..TIMES {
        let statement = Statement::sign(&identity, &[0; 32], 0, round, (0, [0; 32]), &payload);
        let heard = |from| Event::Heard { from, round, digest: statement.digest };
        let sent = Event::Sent { round, debits: 0, digest: statement.digest };
        let batch = Batch {
            events: vec![heard(1), heard(2), sent],
            outgoing: Some(Outgoing { hearers: vec![1, 2], statement, payload: payload.clone() }),
            taken: [1, 2].map(|from| (from, round, payload.clone())).to_vec(),
            forgotten: round.checked_sub(1).iter().flat_map(|r| [(1, *r), (2, *r)]).collect(),
            settled: round.checked_sub(1).into_iter().collect(),
            ..Batch::default()
        };
        store.commit(&batch).expect("there is room");
    }
    report(name, start.elapsed().as_secs_f64() / TIMES as f64);
    drop(store);
    let _ = std::fs::remove_file(path);
}

fn report(name: &str, seconds: f64) {
    println!("{{\"name\": \"{name}\", \"unit\": \"s\", \"value\": {seconds}}}");
}
