//! All nodes in step over ideal links: the fast engine.
//!
//! Nodes are cut into pieces. A node hears what was sent in one round, and asks and sends in the
//! next, while all it needs is in its core's cache; there are two sets of mail, so that threads
//! meet once a round. A thread keeps to the pieces that it had before, as long as there are any
//! left for it. No sum runs over nodes, so the bits do not depend on who did what (invariant I5).

mod meeting;
mod opening;
mod passes;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use undertone_graph::NodeId;
use undertone_protocol::{
    Answer, Exchange, Mail, MailPart, Question, Synchronous, TopologyError, Wiring, Wirings,
};
use undertone_real::Real;

use self::meeting::{Claims, Meeting};
use self::opening::{Asking, Opening, Silence};
use self::passes::{Desk, Hear, Pass, Send as Sending, Turn};

/// What was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Messages, one for each hearer.
    pub messages: u64,
    /// Bytes, as the wire would carry them.
    pub bytes: u64,
}

/// All nodes of a synchronous algorithm, round by round.
#[derive(Debug)]
pub struct Lockstep<P, R> {
    nodes: Vec<P>,
    /// That of one round, and that of the next.
    mail: [Mail<R>; 2],
    round: u64,
    traffic: Traffic,
}

impl<P, R> Lockstep<P, R>
where
    P: Synchronous<R> + Send + Sync,
    R: Real,
{
    /// At least one node, all of the same shape.
    pub fn new(nodes: Vec<P>) -> Self {
        let mail = [(); 2].map(|()| Mail::new(nodes.len(), nodes[0].shape()));
        Self { nodes, mail, round: 0, traffic: Traffic::default() }
    }

    /// The nodes, for an observer who sees everything.
    pub fn nodes(&self) -> &[P] {
        &self.nodes
    }

    /// How many rounds are over.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// What was sent so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Asks all oracles that are to be asked before this round's messages. Returns whether any was.
    pub fn ask<O, E>(
        &mut self,
        oracles: &mut [O],
        answer: impl Fn(&mut O, Question<R>) -> Result<Answer<R>, E> + Sync,
    ) -> Result<bool, E>
    where
        O: Send,
        E: Send,
    {
        let round = self.round;
        let each = |(node, oracle): (&mut P, &mut O)| {
            let Some(question) = node.ask(round) else { return Ok(false) };
            node.answer(round, answer(oracle, question)?);
            Ok(true)
        };
        let asked = self.nodes.par_iter_mut().zip(oracles).map(each);
        asked.try_reduce(|| false, |a, b| Ok(a || b))
    }

    /// Sends and hears for some rounds, in which nothing is asked. The graph of a round is drawn
    /// while the nodes send in the one before it.
    pub fn advance(&mut self, rounds: u64, wirings: &mut Wirings) -> Result<(), TopologyError> {
        if rounds == 0 {
            return Ok(());
        }
        let wiring = wirings.at(self.round)?;
        let size = self.piece(self.threads(&wiring)).max(LEAST_PIECE);
        self.drive(rounds, wiring, wirings, size, &Silence)
    }

    /// Asks, sends and hears for some rounds. What some nodes in a row ask goes to their oracles
    /// together: `answer` is given oracles, the place of the first that is asked, and questions, in
    /// whose place it puts answers, or says why the first that has none has none ([`one_by_one`]
    /// for oracles that know nothing of each other). After an error the nodes are of no use any
    /// more.
    pub fn advance_asking<O, E>(
        &mut self,
        rounds: u64,
        wirings: &mut Wirings,
        oracles: &mut [O],
        answer: impl Fn(&mut [O], usize, &mut [Exchange<R>]) -> Result<(), E> + Sync,
    ) -> Result<(), Halt<E>>
    where
        O: Send,
        E: Send,
    {
        if rounds == 0 {
            return Ok(());
        }
        let round = self.round;
        let wiring = wirings.at(round).map_err(|source| Halt::Topology { round, source })?;
        let size = self.piece(self.threads(&wiring));
        let asking = Asking::new(oracles, size, answer);
        let driven = self.drive(rounds, wiring, wirings, size, &asking);
        let round = self.round;
        match (asking.failure(), driven) {
            (Some(source), _) => Err(Halt::Oracle { round, source }),
            (None, Err(source)) => Err(Halt::Topology { round, source }),
            (None, Ok(())) => Ok(()),
        }
    }

    /// Rounds that begin with something for each node to do, in pieces of a size.
    fn drive(
        &mut self,
        rounds: u64,
        wiring: Arc<Wiring>,
        wirings: &mut Wirings,
        size: usize,
        opening: &dyn Opening<R>,
    ) -> Result<(), TopologyError> {
        let threads = self.threads(&wiring);
        let nodes: Vec<_> = self.nodes.chunks_mut(size).map(Mutex::new).collect();
        let mail = self
            .mail
            .each_mut()
            .map(|mail| mail.parts(size).into_iter().map(RwLock::new).collect::<Vec<_>>());
        let crew = Crew {
            claims: Claims::new(nodes.len()),
            draws: Claims::new(1),
            nodes,
            opening,
            failed: AtomicBool::new(false),
            mail,
            shift: size.trailing_zeros(),
            drawn: [Ok(wiring.clone()), Ok(wiring)].map(RwLock::new),
            wirings: Mutex::new(wirings),
            meeting: Meeting::new(threads),
            threads,
            start: self.round,
            rounds,
        };
        let parts: Vec<_> = std::thread::scope(|scope| {
            let crew = &crew;
            let others: Vec<_> =
                (1..threads).map(|thread| scope.spawn(move || crew.work(thread))).collect();
            let own = crew.work(0);
            let others = others.into_iter().map(|other| other.join().expect("it did not panic"));
            others.chain([own]).collect()
        });
        let drawn = crew.drawn.map(|drawn| drawn.into_inner().expect("no thread panicked"));
        for part in parts {
            self.traffic.messages += part.traffic.messages;
            self.traffic.bytes += part.traffic.bytes;
            self.round = part.round;
        }
        drawn.into_iter().try_for_each(|drawn| drawn.map(|_| ()))
    }

    /// How many nodes a piece has: a power of two. One thread has all of them in one.
    fn piece(&self, threads: usize) -> usize {
        let pieces = if threads == 1 { 1 } else { 8 * threads };
        self.nodes.len().div_ceil(pieces).next_power_of_two()
    }

    /// As many as the pool has, but none that would have less to do than what waking it costs.
    fn threads(&self, wiring: &Wiring) -> usize {
        const WORTH_A_THREAD: usize = 1 << 16;
        let numbers = (wiring.graph.n_edges() + 2 * self.nodes.len()) * self.nodes[0].shape().width;
        rayon::current_num_threads().min(numbers / WORTH_A_THREAD).max(1)
    }
}

/// Asks oracles one after the other, as [`Lockstep::advance_asking`] wants it.
pub fn one_by_one<O, R: Real, E>(
    answer: impl Fn(&mut O, Question<R>) -> Result<Answer<R>, E>,
) -> impl Fn(&mut [O], usize, &mut [Exchange<R>]) -> Result<(), E> {
    move |oracles, first, exchanges| {
        for (oracle, exchange) in oracles[first..].iter_mut().zip(exchanges) {
            if let Some(question) = exchange.take_question() {
                *exchange = Exchange::Answered(answer(oracle, question)?);
            }
        }
        Ok(())
    }
}

/// Why rounds came to an end before their time.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Halt<E> {
    /// An oracle failed; if several did, this is what the first node's said.
    #[error("round {round}: {source}")]
    Oracle {
        /// When.
        round: u64,
        /// What is wrong.
        source: E,
    },
    /// A round has no graph.
    #[error("round {round}: {source}")]
    Topology {
        /// When.
        round: u64,
        /// What is wrong.
        source: TopologyError,
    },
}

/// The fewest nodes of a piece where messages are all there is to do.
const LEAST_PIECE: usize = 16;

/// Threads, and what they share for some rounds.
struct Crew<'a, P, R: Real> {
    nodes: Vec<Mutex<&'a mut [P]>>,
    /// What nodes do before they send.
    opening: &'a dyn Opening<R>,
    /// Whether one of them could not.
    failed: AtomicBool,
    /// Rounds take turns.
    mail: [Vec<RwLock<MailPart<'a, R>>>; 2],
    /// The binary logarithm of the number of nodes in a piece.
    shift: u32,
    claims: Claims,
    draws: Claims,
    /// Of the rounds, in turns.
    drawn: [RwLock<Result<Arc<Wiring>, TopologyError>>; 2],
    wirings: Mutex<&'a mut Wirings>,
    meeting: Meeting,
    threads: usize,
    start: u64,
    rounds: u64,
}

/// What a thread has done.
struct Part {
    traffic: Traffic,
    /// The first round that was not.
    round: u64,
}

/// Why a lock is never found broken.
const UNBROKEN: &str = "whoever panics breaks the meeting before anybody takes a lock again";

impl<P, R> Crew<'_, P, R>
where
    P: Synchronous<R> + Send + Sync,
    R: Real,
{
    fn work(&self, thread: usize) -> Part {
        let _attendance = self.meeting.attend();
        let arch = pulp::Arch::new();
        let (mut traffic, mut round) = (Traffic::default(), self.start);
        let mut desk = Desk::default();
        // The graph of the round that was sent and not heard yet.
        let mut sent = None;
        for phase in 0..=self.rounds {
            let next = (phase < self.rounds).then(|| self.drawn_for(phase)).flatten();
            if next.is_some() && phase + 1 < self.rounds && self.draws.take(0, phase + 1) {
                let after = self.wirings.lock().expect(UNBROKEN).at(self.start + phase + 1);
                *self.drawn[turn(phase + 1)].write().expect(UNBROKEN) = after;
            }
            let guards = sent.iter().flat_map(|_| &self.mail[turn(phase + 1)]);
            let guards: Vec<_> = guards.map(|mail| mail.read().expect(UNBROKEN)).collect();
            let mail: Vec<_> = guards.iter().map(|part| part.letters()).collect();
            let hear = sent.as_deref().map(|wiring| {
                let (mail, shift) = (&*mail, self.shift);
                Hear { mail, shift, wiring, round }
            });
            for piece in self.claims.in_turn(thread, self.threads) {
                if self.claims.take(piece, phase + 1) {
                    let next = next.as_deref();
                    let part = self.hear_and_send(arch, piece, hear, next, phase, &mut desk);
                    traffic.messages += part.messages;
                    traffic.bytes += part.bytes;
                }
            }
            drop(guards);
            self.meeting.wait();
            round += u64::from(sent.is_some());
            // After a round without a graph nothing is sent any more.
            if next.is_none() || self.failed.load(Ordering::Acquire) {
                break;
            }
            sent = next;
        }
        Part { traffic, round }
    }

    /// The graph of the round that is sent in a phase, if there is one.
    fn drawn_for(&self, phase: u64) -> Option<Arc<Wiring>> {
        self.drawn[turn(phase)].read().expect(UNBROKEN).clone().ok()
    }

    /// Each node of a piece hears what was sent, does what comes first in the next round and sends,
    /// before others do.
    fn hear_and_send(
        &self,
        arch: pulp::Arch,
        piece: usize,
        hear: Option<Hear<'_, R>>,
        next: Option<&Wiring>,
        phase: u64,
        desk: &mut Desk<R>,
    ) -> Traffic {
        let nodes = &mut **self.nodes[piece].lock().expect(UNBROKEN);
        let first = piece << self.shift;
        let Some(wiring) = next else {
            return arch.dispatch(Pass { nodes, first, hear, desk: None, send: None });
        };
        let (round, part) = (self.start + phase, &self.mail[turn(phase)][piece]);
        let part = &mut *part.write().expect(UNBROKEN);
        let Some(mut answering) = self.opening.of_piece(piece) else {
            let send = Some(Sending { part, offset: 0, wiring, round, ahead: &[] });
            return arch.dispatch(Pass { nodes, first, hear, desk: None, send });
        };
        let mut traffic = Traffic::default();
        let together = together(nodes[0].shape().width * size_of::<R>());
        let count = nodes.len();
        for (k, nodes) in nodes.chunks_mut(together).enumerate() {
            let offset = k * together;
            // While one node makes noise, what the next will hear is on its way.
            let next = (together == 1 && offset + 1 < count).then_some(first + offset + 1);
            let first = first + offset;
            let ask = Some((Turn::Ask(round), &mut *desk));
            arch.dispatch(Pass { nodes: &mut *nodes, first, hear, desk: ask, send: None });
            if !answering(offset, &mut desk.exchanges) {
                self.failed.store(true, Ordering::Release);
                return traffic;
            }
            let answer = Some((Turn::Answer(round), &mut *desk));
            let ahead = hear
                .zip(next)
                .map_or(&[][..], |(hear, next)| hear.first_heard(NodeId(next as u32)));
            let send = Some(Sending { part, offset, wiring, round, ahead });
            let sent = arch.dispatch(Pass { nodes, first, hear: None, desk: answer, send });
            traffic.messages += sent.messages;
            traffic.bytes += sent.bytes;
        }
        traffic
    }
}

/// How many nodes ask at a time, given the bytes of a state: as many as stay in a core's first
/// cache with what they ask, so that oracles can ask for all their records before they need one.
fn together(bytes: usize) -> usize {
    const NEAR: usize = 1 << 13;
    const MOST: usize = 16;
    (NEAR / bytes.max(1)).clamp(1, MOST)
}

/// Whose turn it is of two.
fn turn(phase: u64) -> usize {
    (phase % 2) as usize
}
