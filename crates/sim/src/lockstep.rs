//! All nodes in step over ideal links: the fast engine.

use rayon::prelude::*;
use undertone_graph::NodeId;
use undertone_protocol::{Answer, Mail, MailPart, Question, Synchronous, Wiring, wire};
use undertone_real::Real;

/// What was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages, one for each hearer.
    pub messages: u64,
    /// Bytes, as the wire would carry them.
    pub bytes: u64,
}

/// All nodes of a synchronous algorithm, round by round. Bits do not depend on the number of
/// threads: no sum runs over nodes in an order of its own (invariant I5).
pub struct Lockstep<P, R> {
    nodes: Vec<P>,
    mail: Mail<R>,
    round: u64,
    traffic: Traffic,
}

/// Nodes that a thread takes at a time.
const CHUNK: usize = 64;

impl<P, R> Lockstep<P, R>
where
    P: Synchronous<R> + Send + Sync,
    R: Real,
{
    /// At least one node, all of the same shape.
    pub fn new(nodes: Vec<P>) -> Self {
        let mail = Mail::new(nodes.len(), nodes[0].shape());
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

    /// Asks all oracles that are to be asked before this round's messages.
    pub fn ask<O, E>(
        &mut self,
        oracles: &mut [O],
        answer: impl Fn(&mut O, &Question<R>) -> Result<Answer<R>, E> + Sync,
    ) -> Result<(), E>
    where
        O: Send,
        E: Send,
    {
        let round = self.round;
        let each = |(node, oracle): (&mut P, &mut O)| {
            if let Some(question) = node.ask(round) {
                node.answer(round, answer(oracle, &question)?);
            }
            Ok(())
        };
        self.nodes.par_iter_mut().zip(oracles).try_for_each(each)
    }

    /// Sends and receives, and does something else at the same time: drawing the next round's graph,
    /// say.
    pub fn step_and<T: Send>(
        &mut self,
        wiring: &Wiring,
        meanwhile: impl FnOnce() -> T + Send,
    ) -> T {
        rayon::join(|| self.step(wiring), meanwhile).1
    }

    /// Sends and receives.
    pub fn step(&mut self, wiring: &Wiring) {
        let Self { nodes, mail, round, traffic } = self;
        let round_now = *round;
        let arch = pulp::Arch::new();
        let parts = mail.parts(CHUNK);
        nodes.par_chunks_mut(CHUNK).zip(parts).enumerate().for_each(|(c, (nodes, part))| {
            arch.dispatch(Sending { nodes, part, first: c * CHUNK, wiring, round: round_now });
        });
        let mail = &*mail;
        let sent = nodes.par_chunks_mut(CHUNK).enumerate().map(|(c, nodes)| {
            arch.dispatch(Hearing { nodes, mail, first: c * CHUNK, wiring, round: round_now })
        });
        let sent = sent.reduce(Traffic::default, |a, b| Traffic {
            messages: a.messages + b.messages,
            bytes: a.bytes + b.bytes,
        });
        traffic.messages += sent.messages;
        traffic.bytes += sent.bytes;
        *round += 1;
    }
}

/// Some nodes write their messages.
struct Sending<'a, P, R> {
    nodes: &'a mut [P],
    part: MailPart<'a, R>,
    first: usize,
    wiring: &'a Wiring,
    round: u64,
}

impl<P: Synchronous<R>, R: Real> pulp::NullaryFnOnce for Sending<'_, P, R> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        for (k, node) in self.nodes.iter_mut().enumerate() {
            let around = self.wiring.around(NodeId((self.first + k) as u32));
            node.send(self.round, &around, &mut self.part.slot(k));
        }
    }
}

/// Some nodes read theirs.
struct Hearing<'a, P, R> {
    nodes: &'a mut [P],
    mail: &'a Mail<R>,
    first: usize,
    wiring: &'a Wiring,
    round: u64,
}

impl<P: Synchronous<R>, R: Real> pulp::NullaryFnOnce for Hearing<'_, P, R> {
    type Output = Traffic;

    #[inline(always)]
    fn call(self) -> Traffic {
        let mut sent = Traffic::default();
        for (k, node) in self.nodes.iter_mut().enumerate() {
            let id = NodeId((self.first + k) as u32);
            let around = self.wiring.around(id);
            node.receive(self.round, &around, self.mail.heard_by(&around));
            sent.messages += around.hearers.len() as u64;
            sent.bytes += (around.hearers.len() * wire::size(&self.mail.letter(id))) as u64;
        }
        sent
    }
}
