//! A node without its sockets: machine, oracle and store, driven by what happens.
//!
//! Everything that may leave the node goes through `Engine::send`, which commits first.

mod checkpoint;
mod hear;
mod neighbours;
mod replay;
mod terms;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use undertone_graph::NodeId;
use undertone_node::Oracle;
use undertone_privacy::ledger::{Guarantee, Store as LedgerStore};
use undertone_privacy::noise::Key;
use undertone_protocol::{
    Answer, Automaton, Input, Message, Output, Patience, Question, Timing, Wirings, wire,
};
use undertone_real::Real;

use crate::account::Account;
use crate::frame::Hello;
use crate::journal::Event;
use crate::shelf::Shelf;
use crate::statement::Statement;
use crate::store::{About, Batch, Outgoing, Reader, Store};

pub use checkpoint::Keep;
pub use hear::Heard;
pub use neighbours::{Neighbours, neighbours};
pub use terms::{Effect, EngineError, Setup};

/// Messages so many rounds ahead are taken in; later ones wait at their sender.
pub const AHEAD: u64 = 8;

/// Promised messages older than this are given up where rounds end at deadlines: whoever gets them
/// would drop them.
const GIVEN_UP: u64 = 64;

const KEPT_WIRINGS: usize = 64;

/// A node without its sockets.
pub struct Engine<R: Real> {
    machine: Box<dyn Automaton<R>>,
    oracle: Oracle<R, Account>,
    account: Account,
    wirings: Wirings,
    store: Store,
    setup: Setup,
    /// How far the journal was fed to the machine; at its end the node lives.
    fed: u64,
    batch: Batch,
    /// Up to which round peers are told, after the next commit, that their messages are stored.
    owed: BTreeMap<u32, u64>,
    /// Messages in the store since the last checkpoint.
    kept: checkpoint::Kept,
    /// Promised messages, and who has not acknowledged them.
    promised: BTreeMap<u64, BTreeSet<u32>>,
    /// The digests of all rounds that were sent.
    sent: BTreeMap<u64, [u8; 32]>,
    /// A question that waits for witnesses.
    held: Option<(u64, Question<R>)>,
    hearers: BTreeSet<u32>,
    witnesses: BTreeSet<u32>,
    /// Where all neighbours are; zero for one that is not there.
    peer_rounds: BTreeMap<u32, u64>,
    /// Memory for the bytes of messages.
    shelf: Shelf,
    /// Memory for the numbers of the next message that comes.
    spare: Option<Message<R>>,
    effects: Vec<Effect>,
}

impl<R: Real> Engine<R> {
    /// Opens the store, and feeds a new machine with what is in it.
    pub fn open<S: LedgerStore>(
        machine: Box<dyn Automaton<R>>,
        oracle: Oracle<R, S>,
        setup: Setup,
    ) -> Result<Self, EngineError> {
        if setup.rounds.patience() == Patience::Deadline && machine.needs_delivery() {
            return Err(EngineError::NeedsDelivery);
        }
        let header = oracle.ledger().header().clone();
        let (node, key, network) = (setup.node, setup.identity.public(), *setup.network.hash());
        let about = About { node, key, network, header };
        let mut noise = [0; 32];
        getrandom::fill(&mut noise).map_err(|e| EngineError::NoRandomness(e.to_string()))?;
        let store = Store::open(&setup.store, &setup.identity, &about, &noise)?;
        let key = match setup.test_seed {
            Some(seed) => Key::from_seed(seed),
            None => Key::from_bytes(store.noise()?),
        };
        let account = Account::new(store.entries()?);
        let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
        let oracle = oracle.settle(key, account.clone())?.on(threads);
        let mut wirings = Wirings::new(setup.topology.clone(), KEPT_WIRINGS);
        let neighbours = neighbours(&mut wirings, node, setup.n_rounds)?;
        let promised = store.reader().promised()?;
        let promised = promised.into_iter().map(|(round, who)| (round, who.into_iter().collect()));
        let mut engine = Self {
            machine,
            oracle,
            account,
            wirings,
            promised: promised.collect(),
            store,
            setup,
            fed: 0,
            batch: Batch::default(),
            owed: BTreeMap::new(),
            kept: checkpoint::Kept::default(),
            sent: BTreeMap::new(),
            held: None,
            hearers: neighbours.hearers,
            witnesses: BTreeSet::new(),
            peer_rounds: neighbours.all.into_iter().map(|peer| (peer, 0)).collect(),
            shelf: Shelf::default(),
            spare: None,
            effects: Vec::new(),
        };
        engine.replay()?;
        engine.ask_if_cleared()?;
        Ok(engine)
    }

    /// What is to be done, in order.
    pub fn effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// The round it is in.
    pub fn round(&self) -> u64 {
        self.machine.round()
    }

    /// Whether all rounds are over.
    pub fn is_finished(&self) -> bool {
        self.machine.is_finished()
    }

    /// Whether everybody has stored what was promised to them.
    pub fn is_settled(&self) -> bool {
        self.promised.values().all(BTreeSet::is_empty)
    }

    /// Who is missing: witnesses before the first release, or messages of the round.
    pub fn missing(&self) -> Vec<u32> {
        if self.held.is_some() {
            return self.hearers.difference(&self.witnesses).copied().collect();
        }
        self.machine.missing().into_iter().map(|node| node.0).collect()
    }

    /// Whether the first release of this life waits for witnesses.
    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// The account's promise.
    pub fn guarantee(&self) -> Guarantee {
        self.oracle.guarantee()
    }

    /// The algorithm.
    pub fn machine(&self) -> &dyn Automaton<R> {
        &*self.machine
    }

    /// Reads what is committed, from any thread.
    pub fn reader(&self) -> Reader {
        self.store.reader()
    }

    /// Memory that sessions share with it.
    pub(crate) fn shelf(&self) -> Shelf {
        self.shelf.clone()
    }

    /// A peer is there. It shows the newest word of this node that it has.
    pub fn meet(&mut self, peer: u32, hello: &Hello) -> Result<(), EngineError> {
        self.check_word(peer, hello.seen.as_ref())?;
        self.acknowledged_below(peer, hello.have);
        self.peer_rounds.insert(peer, hello.round);
        self.witnesses.insert(peer);
        self.rejoin_if_behind()?;
        self.ask_if_cleared()
    }

    /// A peer says which round it is in.
    pub fn note_round(&mut self, peer: u32, round: u64) -> Result<(), EngineError> {
        self.peer_rounds.insert(peer, round);
        self.rejoin_if_behind()
    }

    /// A peer is gone, for now or for good.
    pub fn part(&mut self, peer: u32) {
        self.peer_rounds.insert(peer, 0);
    }

    /// A peer has stored all up to a round.
    pub fn acknowledged(&mut self, peer: u32, round: u64) {
        self.acknowledged_below(peer, round.saturating_add(1));
    }

    /// The time for a round is over. Whether that ended it: a quorum may be missing.
    pub fn deadline(&mut self, round: u64) -> Result<bool, EngineError> {
        if round != self.machine.round() || self.machine.is_finished() {
            return Ok(true);
        }
        let heard = self.wirings.at(round)?.around(self.machine.node()).heard.len();
        if !self.setup.rounds.suffices(self.machine.missing().len(), heard) {
            return Ok(false);
        }
        self.setup.counters.deadlines.add(1);
        self.batch.events.push(Event::Deadline { round });
        self.machine.handle(Input::Deadline { round });
        self.drain()?;
        Ok(true)
    }

    /// Commits what was heard, at the end.
    pub fn settle(&mut self) -> Result<(), EngineError> {
        if !self.batch.events.is_empty() || !self.batch.heard.is_empty() {
            self.commit()?;
        }
        Ok(())
    }

    /// Gives the machine what it wants until it waits.
    fn drain(&mut self) -> Result<(), EngineError> {
        while let Some(output) = self.machine.poll() {
            match output {
                Output::Begin { round } => {
                    self.checkpoint_if_due();
                    let wiring = self.wirings.at(round)?;
                    self.machine.handle(Input::Wiring { round, wiring });
                }
                Output::Ask { round, question } => {
                    self.held = Some((round, question));
                    if self.is_cleared() {
                        self.answer()?;
                    }
                }
                Output::Send { message } => {
                    self.send(&message)?;
                    self.spare = Arc::into_inner(message);
                }
                Output::Wait { round } => self.effects.push(Effect::Wait { round }),
                Output::RoundDone { .. } => {
                    self.setup.counters.round.set(self.machine.round());
                }
                Output::Finished => {
                    self.setup.counters.round.set(self.machine.round());
                    if !self.is_replaying() {
                        self.commit()?;
                    }
                    self.effects.push(Effect::Finished);
                }
            }
        }
        Ok(())
    }

    /// Asks the oracle what is held.
    fn answer(&mut self) -> Result<(), EngineError> {
        let Some((round, question)) = self.held.take() else { return Ok(()) };
        let answer = self.oracle.answer(question);
        let answer = answer.map_err(|source| EngineError::Oracle { round, source })?;
        self.machine.handle(Input::Answer { round, answer });
        Ok(())
    }

    /// Alive, and seen by enough witnesses. Replaying asks only what was asked before.
    fn is_cleared(&self) -> bool {
        !self.is_replaying()
            && self.witnesses.intersection(&self.hearers).count()
                >= self.setup.rounds.needed(self.hearers.len())
    }

    fn ask_if_cleared(&mut self) -> Result<(), EngineError> {
        if self.held.is_some() && self.is_cleared() {
            self.answer()?;
            self.drain()?;
        }
        Ok(())
    }

    /// The only way out: everything is durable before the driver hears of it (invariant I12).
    fn send(&mut self, message: &Message<R>) -> Result<(), EngineError> {
        let mut payload = self.shelf.take();
        wire::encode_into(message, &mut payload);
        let (round, payload) = (message.round(), self.shelf.lend(payload));
        if self.is_replaying() {
            return self.resend(round, payload);
        }
        let hearers: Vec<u32> = match self.machine.addressee() {
            Some(to) => vec![to.0],
            None => {
                let wiring = self.wirings.at(round)?;
                wiring.hearers(self.machine.node()).iter().map(|node| node.0).collect()
            }
        };
        let ledger = self.oracle.ledger();
        let account = (ledger.len(), *ledger.head().bytes());
        let Setup { identity, network, node, .. } = &self.setup;
        let statement = Statement::sign(identity, network.hash(), *node, round, account, &payload);
        let (debits, digest) = (statement.debits, statement.digest);
        self.batch.events.push(Event::Sent { round, debits, digest });
        self.sent.insert(round, digest);
        if !hearers.is_empty() {
            self.promised.insert(round, hearers.iter().copied().collect());
            self.batch.outgoing = Some(Outgoing { hearers, statement, payload });
        }
        self.give_up_before(round);
        self.commit()?;
        self.effects.push(Effect::News);
        Ok(())
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        let mut batch = std::mem::take(&mut self.batch);
        batch.entries = self.account.take_fresh();
        self.promised.retain(|round, open| {
            let settled = open.is_empty();
            if settled {
                batch.settled.push(*round);
            }
            !settled
        });
        self.store.commit(&batch)?;
        self.fed = self.store.events();
        let counters = &self.setup.counters;
        counters.commits.add(1);
        counters.debits.set(self.oracle.ledger().len());
        let owed = std::mem::take(&mut self.owed);
        self.effects.extend(owed.into_iter().map(|(peer, round)| Effect::Ack { peer, round }));
        Ok(())
    }

    fn give_up_before(&mut self, round: u64) {
        if self.setup.rounds.patience() == Patience::Deadline {
            let oldest = round.saturating_sub(GIVEN_UP);
            self.promised.range_mut(..oldest).for_each(|(_, open)| open.clear());
        }
    }

    fn acknowledged_below(&mut self, peer: u32, next: u64) {
        if next == 0 {
            return;
        }
        self.promised.range_mut(..next).for_each(|(_, open)| {
            open.remove(&peer);
        });
        self.batch.acked.push((peer, next - 1));
    }

    /// Passes over rounds if most peers are far ahead.
    fn rejoin_if_behind(&mut self) -> Result<(), EngineError> {
        if self.setup.rounds.patience() == Patience::Forever || self.is_finished() {
            return Ok(());
        }
        let mut rounds: Vec<u64> = self.peer_rounds.values().copied().collect();
        rounds.sort_unstable();
        // The lower median of all neighbours: half of them cannot push a node ahead.
        let Some(&present) = rounds.get(rounds.len().saturating_sub(1) / 2) else { return Ok(()) };
        if present < self.machine.round().saturating_add(AHEAD / 2) {
            return Ok(());
        }
        self.setup.counters.rejoins.add(1);
        self.batch.events.push(Event::Rejoin { round: present });
        self.machine.handle(Input::Rejoin { round: present });
        if let Some((round, _)) = self.held.take() {
            self.batch.events.push(Event::Passed { round });
            self.machine.handle(Input::Answer { round, answer: Answer::Refused });
        }
        self.drain()
    }
}

#[cfg(test)]
mod tests;
