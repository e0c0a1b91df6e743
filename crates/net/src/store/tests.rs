use std::path::PathBuf;

use undertone_privacy::event::Event as Debited;
use undertone_privacy::ledger::{Budget, Filter, Ledger};
use undertone_privacy::units::{Adjacency, Delta, Epsilon, Unit};

use super::*;

fn file(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("undertone-store-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    let _ = std::fs::remove_file(&path);
    path
}

fn about(identity: &Identity) -> About {
    let budget = Budget { epsilon: Epsilon::new(1.0).unwrap(), delta: Delta::new(1e-5).unwrap() };
    let filter = Filter::Gaussian { reserve: Delta::new(0.0).unwrap() };
    let (adjacency, unit) = (Adjacency::Replace, Unit::Record);
    let header = Header { node: 1, budget, adjacency, unit, filter };
    About { node: 1, key: identity.public(), network: [3; 32], header }
}

/// A store with one debit, one message promised to node 2 and one heard from node 0.
fn filled(path: &Path, identity: &Identity) -> Batch {
    let about = about(identity);
    let mut store = Store::open(path, identity, &about, &[5; 32], 0).unwrap();
    let mut ledger = Ledger::open(about.header.clone(), Vec::new()).unwrap();
    let _ = ledger.debit(Debited::NoOp).unwrap();
    let entries = ledger.entries().to_vec();
    let account = (1, *ledger.head().bytes());
    let statement = Statement::sign(identity, &[3; 32], 1, 0, account, b"payload");
    let heard = Statement::sign(&Identity::generate(), &[3; 32], 0, 0, (0, [0; 32]), b"other");
    let batch = Batch {
        entries,
        events: vec![
            Event::Heard { from: 0, round: 0, digest: heard.digest },
            Event::Sent { round: 0, debits: 1, digest: statement.digest },
        ],
        outgoing: Some(Outgoing { hearers: vec![2], statement, payload: b"payload"[..].into() }),
        heard: vec![heard],
        taken: vec![(0, 0, b"other"[..].into())],
        forgotten: Vec::new(),
        checkpoint: None,
        acked: Vec::new(),
        settled: Vec::new(),
    };
    store.commit(&batch).unwrap();
    batch
}

#[test]
fn what_was_committed_is_read_back() {
    let (path, identity) = (file("whole"), Identity::generate());
    let batch = filled(&path, &identity);
    let mut store = Store::open(&path, &identity, &about(&identity), &[9; 32], 0).unwrap();
    assert_eq!(store.noise().unwrap(), [5; 32], "the first noise key stays");
    assert_eq!(store.entries().unwrap(), batch.entries);
    assert_eq!(store.event(1).unwrap(), batch.events[1]);
    assert!(store.event(2).is_err());
    assert_eq!(store.all_heard().unwrap(), batch.heard);
    assert_eq!(store.message(0, 0).unwrap().as_deref(), Some(&b"other"[..]));
    assert_eq!((store.message(0, 1).unwrap(), store.checkpoint().unwrap()), (None, None));
    let reader = store.reader();
    assert_eq!(reader.next_for(2, 0).unwrap(), batch.outgoing);
    assert_eq!((reader.next_for(2, 1).unwrap(), reader.next_for(0, 0).unwrap()), (None, None));
    assert_eq!(reader.promised().unwrap(), [(0, vec![2])]);
    assert_eq!(reader.newest(0).unwrap(), Some(batch.heard[0]));
    store.commit(&Batch { acked: vec![(2, 0)], ..Batch::default() }).unwrap();
    assert_eq!(reader.promised().unwrap(), [(0, vec![])]);
    drop((store, reader));
    let audit = audit(&path).unwrap();
    assert_eq!((audit.entries.len(), audit.sent.len(), audit.outbox), (1, 1, vec![0]));
    assert_eq!(audit.guarantee.debits, 1);
}

#[test]
fn a_store_belongs_to_one_node_one_network_and_one_process() {
    let (path, identity) = (file("owner"), Identity::generate());
    filled(&path, &identity);
    let right = about(&identity);
    let open = |about: &About| Store::open(&path, &identity, about, &[0; 32], 0).map(|_| ());
    let other = |about: &About| matches!(open(about), Err(StoreError::Other { .. }));
    assert!(other(&About { network: [4; 32], ..right.clone() }));
    assert!(other(&About { node: 2, ..right.clone() }));
    assert!(other(&About { key: Identity::generate().public(), ..right.clone() }));
    let mut dearer = right.clone();
    dearer.header.budget.epsilon = Epsilon::new(2.0).unwrap();
    assert!(other(&dearer));
    let first = Store::open(&path, &identity, &right, &[0; 32], 0).unwrap();
    assert!(matches!(open(&right), Err(StoreError::Open { .. })));
    drop(first);
    assert!(open(&right).is_ok());
}

/// A flipped byte is found, or it is in a place that holds nothing.
#[test]
fn damage_is_found() {
    let (path, identity) = (file("damage"), Identity::generate());
    let batch = filled(&path, &identity);
    let whole = std::fs::read(&path).unwrap();
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut found = 0;
    for cut in [0.1, 0.5, 0.9] {
        let bytes = &whole[..(whole.len() as f64 * cut) as usize];
        std::fs::write(&path, bytes).unwrap();
        assert!(audit(&path).is_err(), "cut to {cut}");
    }
    let used: Vec<usize> = (0..whole.len()).filter(|k| whole[*k] != 0).collect();
    for k in used.iter().step_by(used.len() / 60 + 1) {
        let mut bytes = whole.clone();
        bytes[*k] ^= 0x10;
        std::fs::write(&path, &bytes).unwrap();
        match audit(&path) {
            Err(_) => found += 1,
            Ok(audit) => {
                assert_eq!(audit.entries, batch.entries, "byte {k} changed the ledger");
                assert_eq!((audit.heard, audit.outbox), (batch.heard.clone(), vec![0]), "byte {k}");
                assert_eq!(audit.events, 2);
            }
        }
    }
    std::panic::set_hook(quiet);
    assert!(found > 0, "none of the changes was found");
}

#[test]
fn a_seal_is_the_owners() {
    let (path, identity) = (file("seal"), Identity::generate());
    filled(&path, &identity);
    let database = Database::open(&path).unwrap();
    let write = || -> Result<(), redb::Error> {
        let transaction = database.begin_write()?;
        // The last event is taken away, and everything else left as it was.
        transaction.open_table(JOURNAL)?.remove(1)?;
        transaction.commit()?;
        Ok(())
    };
    write().unwrap();
    drop(database);
    let error = audit(&path).unwrap_err().to_string();
    assert!(error.contains("the journal does not end where the seal says"), "{error}");
}
