//! All nodes in step over ideal links: the fast engine.
//!
//! A node hears what was sent in one round, and asks and sends in the next, while all it needs is
//! in its core's cache; there are two sets of mail, so that threads meet once a round (`crew`).
//! Mail is in rows (`rows`), or, where states are long and are what is sent, it is the states
//! themselves (`states`). No sum runs over nodes, so the bits do not depend on who did what
//! (invariant I5).

mod crew;
mod meeting;
mod opening;
mod passes;
mod rows;
mod states;

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use undertone_protocol::{
    Answer, Exchange, Mail, Question, Synchronous, TopologyError, Wiring, Wirings,
};
use undertone_real::Real;

use self::crew::{Crew, Work};
use self::opening::{Asking, Opening, Silence};
use self::rows::Rows;
use self::states::States;

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
    /// That of one round, and that of the next; empty if states are the mail.
    mail: [Mail<R>; 2],
    /// Whether states are.
    by_states: bool,
    round: u64,
    traffic: Traffic,
}

impl<P, R> Lockstep<P, R>
where
    P: Synchronous<R> + Send + Sync,
    R: Real,
{
    /// At least one node, all of the same shape.
    pub fn new(mut nodes: Vec<P>) -> Self {
        let shape = nodes[0].shape();
        let by_states = states::are_long::<R>(shape) && nodes[0].sent().is_some();
        let rows = if by_states { 0 } else { nodes.len() };
        let mail = [(); 2].map(|()| Mail::new(rows, shape));
        Self { nodes, mail, by_states, round: 0, traffic: Traffic::default() }
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
        let crew = Crew::new(self.threads(&wiring), self.round, rounds, wiring, wirings);
        let work: &dyn Work<R> = match self.by_states {
            true => &States::new(&mut self.nodes, opening),
            false => &Rows::new(&mut self.nodes, &mut self.mail, size, opening),
        };
        let (done, outcome) = crew.go(work);
        self.traffic.messages += done.traffic.messages;
        self.traffic.bytes += done.traffic.bytes;
        self.round = done.round;
        outcome
    }

    /// How many nodes a piece has: a power of two. One thread has all of them in one.
    fn piece(&self, threads: usize) -> usize {
        if self.by_states {
            return 1;
        }
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
