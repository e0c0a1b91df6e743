//! Engines that talk by function calls, and are thrown away at any moment.

mod meetings;

use std::path::PathBuf;
use std::sync::Arc;

use undertone_graph::{Family, Schedule};
use undertone_node::{Bound, Noise, Private, PrivateVector};
use undertone_privacy::ledger::Budget;
use undertone_privacy::units::{Delta, Epsilon};
use undertone_protocol::{Machine, PushSum, RunningSum, Synchronous, Topology};

use super::*;
use crate::frame::{Refusal, VERSION};
use crate::identity::Identity;
use crate::network::{Network, NetworkFile};
use crate::rounds::Rounds;
use crate::statement::Payload;

const ROUNDS: u64 = 6;

struct Town {
    keys: Vec<Identity>,
    network: Arc<Network>,
    folder: PathBuf,
    rounds: Rounds,
    keep: Keep,
    /// Of the vectors.
    dimension: usize,
}

impl Town {
    fn new(name: &str, n: u32, rounds: Rounds) -> Self {
        let folder =
            std::env::temp_dir().join(format!("undertone-engine-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let keys: Vec<_> = (0..n).map(|_| Identity::generate()).collect();
        let mut file = NetworkFile::new("town".into(), "plan".into());
        for (node, key) in (0..).zip(&keys) {
            file.add(node, key.public(), "/ip4/127.0.0.1/tcp/1".into()).unwrap();
        }
        keys.iter().for_each(|key| assert!(file.sign(key).is_ok()));
        let network = Arc::new(file.check(n, "plan").unwrap());
        Self { keys, network, folder, rounds, keep: Keep::default(), dimension: 1 }
    }

    fn path(&self, node: u32) -> PathBuf {
        self.folder.join(node.to_string())
    }

    fn open<P: Synchronous<f64> + 'static>(
        &self,
        node: u32,
        protocol: P,
        value: f64,
    ) -> Result<Engine<f64>, EngineError> {
        let vector = PrivateVector::new(vec![value; self.dimension], Bound::Box { radius: 1.0 }, 1);
        let budget =
            Budget { epsilon: Epsilon::new(1.0).unwrap(), delta: Delta::new(1e-5).unwrap() };
        let noise = Noise::calibrated(&vector.sensitivity(), budget.epsilon, budget.delta).unwrap();
        let event = noise.event(vector.sensitivity());
        let private = Private::Vector(vector, noise);
        let oracle =
            Oracle::open(node, private, event, budget, Key::from_seed(0), Vec::new()).unwrap();
        let machine = Machine::new(protocol, NodeId(node), ROUNDS, self.rounds.patience());
        Engine::open(Box::new(machine), oracle, self.setup(node))
    }

    fn setup(&self, node: u32) -> Setup {
        let ring = Family::Ring { nodes: self.keys.len() as u32 }.build(1).unwrap();
        Setup {
            node,
            identity: self.keys[node as usize].clone(),
            network: Arc::clone(&self.network),
            rounds: self.rounds,
            topology: Topology::new(Schedule::Fixed(ring)),
            n_rounds: ROUNDS,
            store: self.path(node),
            keep: self.keep,
            test_seed: None,
            counters: Arc::default(),
        }
    }

    fn push_sum(&self, node: u32) -> Result<Engine<f64>, EngineError> {
        self.open(node, PushSum::new(self.dimension), 0.1 * f64::from(node))
    }

    fn all(&self) -> Vec<Engine<f64>> {
        (0..self.keys.len() as u32).map(|node| self.push_sum(node).unwrap()).collect()
    }
}

fn forever() -> Rounds {
    Rounds { deadline: None, quorum: 1.0, witnesses: None }
}

fn hello(from: &Engine<f64>, to: u32) -> Hello {
    let seen = from.reader().newest(to).unwrap();
    Hello {
        version: VERSION,
        network: *from.setup.network.hash(),
        plan: [0; 32],
        node: from.setup.node,
        round: from.round(),
        have: seen.map_or(0, |word| word.round + 1),
        seen,
    }
}

fn greet(engines: &mut [Engine<f64>]) -> Result<(), EngineError> {
    for a in 0..engines.len() {
        for b in 0..engines.len() {
            if a != b {
                let hello = hello(&engines[b], a as u32);
                engines[a].meet(b as u32, &hello)?;
            }
        }
    }
    Ok(())
}

/// Carries every promised message to its hearers once, as a new connection would.
fn carry(engines: &mut [Engine<f64>]) {
    for from in 0..engines.len() {
        for to in 0..engines.len() {
            let mut cursor = hello(&engines[to], from as u32).have;
            while let Some(outgoing) = engines[from].reader().next_for(to as u32, cursor).unwrap() {
                cursor = outgoing.statement.round + 1;
                let payload = Payload::new(outgoing.payload);
                let heard = engines[to].hear(from as u32, &outgoing.statement, &payload).unwrap();
                if heard == Heard::Early {
                    break;
                }
                assert_eq!(heard, Heard::Taken);
            }
        }
    }
}

fn estimates(engines: &[Engine<f64>]) -> Vec<u64> {
    let of = |engine: &Engine<f64>| {
        let mut out = vec![0.0; engine.machine().dimension()];
        engine.machine().estimate(&mut out);
        out[0].to_bits()
    };
    engines.iter().map(of).collect()
}

fn finish(engines: &mut [Engine<f64>]) {
    for _ in 0..3 * ROUNDS {
        carry(engines);
    }
    assert!(engines.iter().all(Engine::is_finished));
}

#[test]
fn nothing_is_released_before_all_hearers_have_spoken() {
    let town = Town::new("witness", 3, forever());
    let mut engines = town.all();
    assert!(engines.iter().all(|engine| engine.is_held() && engine.guarantee().debits == 0));
    let first = hello(&engines[1], 0);
    engines[0].meet(1, &first).unwrap();
    assert!(engines[0].is_held(), "one of two is not enough");
    greet(&mut engines).unwrap();
    assert!(engines.iter().all(|engine| engine.guarantee().debits == 1));
    finish(&mut engines);
}

/// Invariant I12: whenever a node is thrown away, what it had promised is promised again, with the
/// same bytes, and nothing else; and the ledger has paid for it.
#[test]
fn a_node_that_is_thrown_away_at_any_moment_promises_the_same_bytes() {
    is_thrown_away("crash", Keep::default(), 1);
}

/// The same with messages that are not in the database, without checkpoints, and with some.
#[test]
fn so_does_one_whose_messages_are_large() {
    is_thrown_away("large", Keep::default(), 2_500);
    is_thrown_away("large-third", Keep { bytes: usize::MAX, rounds: 3 }, 2_500);
}

/// The same if only the state of every round, or of every second, is kept, and not what led to it.
#[test]
fn checkpoints_lead_to_the_same_bytes_and_messages_are_forgotten() {
    for (name, rounds) in [("each", 1), ("second", 2)] {
        let keep = Keep { bytes: usize::MAX, rounds };
        let town = is_thrown_away(name, keep, 1);
        for node in 0..3 {
            let store = town.push_sum(node).unwrap().store;
            assert!(store.checkpoint().unwrap().is_some());
            for round in 0..ROUNDS - rounds - 1 {
                assert_eq!(store.message((node + 1) % 3, round).unwrap(), None);
            }
        }
    }
}

fn is_thrown_away(name: &str, keep: Keep, dimension: usize) -> Town {
    let town = Town { keep, dimension, ..Town::new(name, 3, forever()) };
    let mut engines = town.all();
    greet(&mut engines).unwrap();
    let mut promised = BTreeMap::new();
    for step in 0..4 * ROUNDS {
        let victim = (step % 3) as usize;
        for (node, engine) in engines.iter().enumerate() {
            let mut cursor = 0;
            while let Some(outgoing) =
                engine.reader().next_for((node as u32 + 1) % 3, cursor).unwrap()
            {
                let (round, bytes) = (outgoing.statement.round, outgoing.payload);
                cursor = round + 1;
                let first = promised.entry((node, round)).or_insert_with(|| bytes.clone());
                assert_eq!(*first, bytes, "node {node} changed its message of round {round}");
            }
        }
        let survivor = engines.remove(victim);
        drop(survivor);
        engines.insert(victim, town.push_sum(victim as u32).unwrap());
        greet(&mut engines).unwrap();
        carry(&mut engines);
    }
    finish(&mut engines);
    assert!(engines.iter().all(|engine| engine.guarantee().debits == 1));
    let ends = estimates(&engines);
    drop(engines);
    // A run to the end without crashes, from the same noise, has the same bits.
    let again: Vec<_> = (0..3).map(|node| town.push_sum(node).unwrap()).collect();
    assert_eq!(estimates(&again), ends);
    drop(again);
    let audits: Vec<_> =
        (0..3).map(|node| crate::store::audit(&town.path(node)).unwrap()).collect();
    assert_eq!(crate::store::compare(&audits), Ok(3 * 2 * ROUNDS));
    town
}

#[test]
fn a_store_that_was_put_back_or_lost_releases_nothing() {
    let town = Town::new("rollback", 3, forever());
    let mut engines = town.all();
    let fresh = town.folder.join("fresh");
    let old = town.folder.join("old");
    drop(engines.remove(0));
    std::fs::copy(town.path(0), &fresh).unwrap();
    engines.insert(0, town.push_sum(0).unwrap());
    greet(&mut engines).unwrap();
    carry(&mut engines);
    drop(engines.remove(0));
    std::fs::copy(town.path(0), &old).unwrap();
    engines.insert(0, town.push_sum(0).unwrap());
    greet(&mut engines).unwrap();
    carry(&mut engines);
    carry(&mut engines);
    for (what, backup) in [("empty", Some(&fresh)), ("ends with", Some(&old)), ("empty", None)] {
        drop(engines.remove(0));
        match backup {
            Some(backup) => {
                std::fs::copy(backup, town.path(0)).unwrap();
            }
            None => std::fs::remove_file(town.path(0)).unwrap(),
        }
        engines.insert(0, town.push_sum(0).unwrap());
        let debits = engines[0].guarantee().debits;
        let error = greet(&mut engines).unwrap_err();
        assert!(matches!(error, EngineError::RolledBack { .. }));
        assert!(error.to_string().contains(what), "{error}");
        assert_eq!(engines[0].guarantee().debits, debits, "nothing was released");
    }
}

#[test]
fn other_data_after_a_restart_are_noticed_before_anything_leaves() {
    let town = Town::new("data", 3, forever());
    let mut engines = town.all();
    greet(&mut engines).unwrap();
    drop(engines);
    let other = town.open(1, PushSum::new(1), 0.9);
    assert!(matches!(other, Err(EngineError::Diverged { round: 0 })));
}

#[test]
fn every_rule_that_a_peer_breaks_is_named_and_nothing_changes() {
    let town = Town::new("rules", 4, forever());
    let mut engines = town.all();
    greet(&mut engines).unwrap();
    let good = engines[1].reader().next_for(0, 0).unwrap().unwrap();
    let (key, hash) = (&town.keys[1], town.network.hash());
    let sign = |round, payload: &[u8]| Statement::sign(key, hash, 1, round, (1, [0; 32]), payload);
    let message = |round: u64, value: f64| {
        let mut bytes = good.payload.to_vec();
        bytes[2..10].copy_from_slice(&round.to_le_bytes());
        bytes[14..22].copy_from_slice(&value.to_le_bytes());
        bytes
    };
    let node = &mut engines[0];
    let before = node.machine.missing();
    let mut tell = |from, statement: &Statement, payload: &[u8]| {
        node.hear(from, statement, &Payload::new(Bytes::copy_from_slice(payload))).unwrap()
    };
    let refused = |refusal| Heard::Refused(refusal);
    let nan = message(0, f64::NAN);
    assert_eq!(tell(1, &sign(0, &nan), &nan), refused(Refusal::NotFinite));
    assert_eq!(tell(1, &sign(0, b"noise"), b"noise"), refused(Refusal::Malformed));
    let short = &good.payload[..good.payload.len() - 1];
    assert_eq!(tell(1, &sign(0, short), short), refused(Refusal::Malformed));
    let late = message(ROUNDS, 0.0);
    assert_eq!(tell(1, &sign(ROUNDS, &late), &late), refused(Refusal::OutOfRound));
    let lying = message(1, 0.0);
    assert_eq!(tell(1, &sign(0, &lying), &lying), refused(Refusal::Malformed));
    assert_eq!(tell(1, &good.statement, &lying), refused(Refusal::Forged));
    assert_eq!(tell(3, &good.statement, &good.payload), refused(Refusal::Forged));
    let forged = Statement { debits: 9, ..good.statement };
    assert_eq!(tell(1, &forged, &good.payload), refused(Refusal::Forged));
    let far = engines[2].reader().next_for(1, 0).unwrap().unwrap();
    let node = &mut engines[0];
    let unheard = node.hear(2, &far.statement, &Payload::new(far.payload)).unwrap();
    assert_eq!(unheard, refused(Refusal::OutOfRound), "node 2 is not a neighbour of node 0");
    assert_eq!((node.machine.missing(), node.batch.events.len()), (before.clone(), 0));
    // The real one is taken once; again it changes nothing; another of its round is refused.
    let payload = Payload::new(good.payload.clone());
    for _ in 0..2 {
        assert_eq!(node.hear(1, &good.statement, &payload).unwrap(), Heard::Taken);
        assert_eq!(node.machine.missing().len(), before.len() - 1);
    }
    assert_eq!(node.setup.counters.doubled.get(), 1);
    let second = message(0, 0.25);
    let heard = node.hear(1, &sign(0, &second), &Payload::new(second.into())).unwrap();
    assert_eq!(heard, refused(Refusal::Equivocation));
}

#[test]
fn a_late_peer_is_skipped_by_rule_and_comes_back_without_a_new_budget() {
    let rounds = Rounds {
        deadline: Some(std::time::Duration::from_secs(1)),
        quorum: 0.5,
        witnesses: Some(1),
    };
    let town = Town::new("late", 3, rounds);
    let open = |node: u32| town.open(node, RunningSum::new(1), 0.1 * f64::from(node)).unwrap();
    let mut engines: Vec<_> = (0..3).map(open).collect();
    greet(&mut engines).unwrap();
    let absent = engines.pop().unwrap();
    let spent = absent.guarantee().debits;
    drop(absent);
    for round in 0..5 {
        carry(&mut engines);
        for engine in &mut engines {
            assert_eq!((engine.round(), engine.missing()), (round, vec![2]));
            assert!(engine.deadline(round).unwrap(), "one of two is a quorum");
        }
    }
    engines.push(open(2));
    assert_eq!(engines[2].round(), 0);
    greet(&mut engines).unwrap();
    assert_eq!((engines[2].round(), engines[2].guarantee().debits), (5, spent));
    finish(&mut engines);
    // Alone there is no quorum, and a node that is cut off waits.
    let town = Town::new("alone", 3, rounds);
    let mut alone = town.open(0, RunningSum::new(1), 0.5).unwrap();
    let other = town.open(1, RunningSum::new(1), 0.5).unwrap();
    alone.meet(1, &hello(&other, 0)).unwrap();
    assert_eq!((alone.deadline(0).unwrap(), alone.round()), (false, 0));
    // Whoever cannot bear a loss takes no deadline.
    assert!(matches!(town.push_sum(2), Err(EngineError::NeedsDelivery)));
}
