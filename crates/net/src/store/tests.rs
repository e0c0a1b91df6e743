use std::path::PathBuf;

use bytes::Bytes;
use undertone_privacy::event::Event as Debited;
use undertone_privacy::ledger::{Budget, Filter, Ledger};
use undertone_privacy::units::{Adjacency, Delta, Epsilon, Unit};

use super::*;

fn file(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("undertone-store-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    let _ = (std::fs::remove_file(&path), std::fs::remove_file(heap::beside(&path)));
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
    let mut store = Store::open(path, identity, &about, &[5; 32]).unwrap();
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
    let mut store = Store::open(&path, &identity, &about(&identity), &[9; 32]).unwrap();
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
    let open = |about: &About| Store::open(&path, &identity, about, &[0; 32]).map(|_| ());
    let other = |about: &About| matches!(open(about), Err(StoreError::Other { .. }));
    assert!(other(&About { network: [4; 32], ..right.clone() }));
    assert!(other(&About { node: 2, ..right.clone() }));
    assert!(other(&About { key: Identity::generate().public(), ..right.clone() }));
    let mut dearer = right.clone();
    dearer.header.budget.epsilon = Epsilon::new(2.0).unwrap();
    assert!(other(&dearer));
    let first = Store::open(&path, &identity, &right, &[0; 32]).unwrap();
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

/// A message of node 1, large, promised to node 2.
fn promise(identity: &Identity, round: u64) -> (Event, Outgoing) {
    let payload: Bytes = vec![50 + round as u8; bulk::LIMIT + 100 * round as usize].into();
    let statement = Statement::sign(identity, &[3; 32], 1, round, (0, [0; 32]), &payload);
    let sent = Event::Sent { round, debits: 0, digest: statement.digest };
    (sent, Outgoing { hearers: vec![2], statement, payload })
}

/// A store of ten rounds: a large message heard and one promised in each, and a checkpoint in the
/// sixth. Nobody has acknowledged anything.
fn ten_rounds(path: &Path, identity: &Identity) -> Store {
    let mut store = Store::open(path, identity, &about(identity), &[5; 32]).unwrap();
    let state = vec![9; 2 * bulk::LIMIT];
    for round in 0..10 {
        let (sent, outgoing) = promise(identity, round);
        let payload: Bytes = vec![100 + round as u8; bulk::LIMIT].into();
        let digest = crate::statement::digest(&payload);
        let mut batch = Batch { outgoing: Some(outgoing), ..Batch::default() };
        if round == 5 {
            let digest = crate::statement::digest(&state);
            batch.events.push(Event::Checkpoint { round, debits: 0, digest });
            batch.checkpoint = Some((0, state.clone()));
            batch.forgotten = (0..round).map(|round| (0, round)).collect();
        }
        batch.events.push(Event::Heard { from: 0, round, digest });
        batch.taken.push((0, round, payload));
        batch.events.push(sent);
        store.commit(&batch).unwrap();
    }
    store
}

#[test]
fn large_ones_are_beside_the_database_and_read_back() {
    let (path, identity) = (file("large"), Identity::generate());
    drop(ten_rounds(&path, &identity));
    let store = Store::open(&path, &identity, &about(&identity), &[0; 32]).unwrap();
    assert_eq!(store.checkpoint().unwrap(), Some((10, vec![9; 2 * bulk::LIMIT])));
    assert_eq!(store.message(0, 4).unwrap(), None);
    assert_eq!(store.message(0, 7).unwrap(), Some(vec![107; bulk::LIMIT]));
    let reader = store.reader();
    for round in 0..10 {
        let outgoing = reader.next_for(2, round).unwrap().unwrap();
        assert_eq!(outgoing, promise(&identity, round).1);
    }
    assert!(std::fs::metadata(heap::beside(&path)).unwrap().len() > 16 * bulk::LIMIT as u64);
    drop((store, reader));
    assert_eq!(audit(&path).unwrap().outbox, (0..10).collect::<Vec<_>>());
}

/// Whatever becomes of the file of large ones: what is read is what was written, or the store is
/// refused.
#[test]
fn a_cut_torn_lost_or_older_file_of_large_ones_is_refused() {
    let (path, identity) = (file("torn"), Identity::generate());
    drop(ten_rounds(&path, &identity));
    let beside = heap::beside(&path);
    let whole = std::fs::read(&beside).unwrap();
    let refused = |what: &str| {
        let error = audit(&path).expect_err(what).to_string();
        assert!(error.contains("the store is damaged"), "{error}");
        let opened = Store::open(&path, &identity, &about(&identity), &[0; 32]);
        assert!(matches!(opened, Err(StoreError::Damaged { .. })), "{what}");
    };
    for cut in [0.0, 0.3, 0.7, 0.95] {
        std::fs::write(&beside, &whole[..(whole.len() as f64 * cut) as usize]).unwrap();
        refused("cut");
    }
    std::fs::remove_file(&beside).unwrap();
    refused("lost");
    // The state, promised messages, and what was heard after the state was kept.
    for value in [9, 50, 53, 58, 105] {
        let mut torn = whole.clone();
        let at = whole.windows(512).position(|part| part == [value; 512]).unwrap();
        torn[at..at + 512].fill(77);
        std::fs::write(&beside, &torn).unwrap();
        refused("torn");
    }
    // What a transaction left that did not come to its end is no harm, and goes away.
    std::fs::write(&beside, [&whole[..], &[1; 9999]].concat()).unwrap();
    let mut store = Store::open(&path, &identity, &about(&identity), &[0; 32]).unwrap();
    let settled = Batch { settled: (0..10).collect(), ..Batch::default() };
    store.commit(&settled).unwrap();
    let (sent, outgoing) = promise(&identity, 10);
    let (events, outgoing) = (vec![sent], Some(outgoing));
    store.commit(&Batch { events, outgoing, ..Batch::default() }).unwrap();
    let state = vec![8; bulk::LIMIT];
    let event =
        Event::Checkpoint { round: 11, debits: 0, digest: crate::statement::digest(&state) };
    let checkpoint = Some((0, state));
    store.commit(&Batch { events: vec![event], checkpoint, ..Batch::default() }).unwrap();
    drop(store);
    assert!(std::fs::metadata(&beside).unwrap().len() <= whole.len() as u64);
    assert_eq!(audit(&path).unwrap().outbox, [10]);
    // The file of an earlier day beside the database of today.
    std::fs::write(&beside, &whole).unwrap();
    refused("older");
}

/// Places are used again, never before the transaction that forgets them is durable, and a long run
/// needs no more room than what counts at the same time.
#[test]
fn places_are_used_again_but_not_too_early() {
    let path = file("heap");
    let mut heap = Heap::open(&path, Vec::new()).unwrap();
    let mut bits = 1_u64;
    let mut below = |n: u64| {
        bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (bits >> 33) % n
    };
    let mut kept: Vec<(heap::Place, Vec<u8>)> = Vec::new();
    for step in 0..400_u64 {
        if step % 50 == 49 {
            // A crash: what counts is all that is known.
            heap = Heap::open(&path, kept.iter().map(|(place, _)| *place).collect()).unwrap();
        }
        while kept.len() > 5 {
            let (place, _) = kept.swap_remove(below(6) as usize);
            heap.forget(place);
        }
        let before = kept.clone();
        for _ in 0..=below(3) {
            let bytes = vec![step as u8; 1 + below(30_000) as usize];
            kept.push((heap.put(&bytes).unwrap(), bytes));
        }
        // Until now a crash would have led back to these.
        before.iter().for_each(|(place, bytes)| assert_eq!(heap.get(*place).unwrap(), *bytes));
        heap.sync().unwrap();
        heap.reuse();
    }
    kept.iter().for_each(|(place, bytes)| assert_eq!(heap.get(*place).unwrap(), *bytes));
    let length = std::fs::metadata(heap::beside(&path)).unwrap().len();
    assert!(length < 1_000_000, "{length} bytes for at most nine times 30,000");
}
