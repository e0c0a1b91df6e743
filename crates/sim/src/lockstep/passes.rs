//! What threads do for some nodes at a time, in vectors.

use undertone_graph::NodeId;
use undertone_privacy::release::Released;
use undertone_protocol::{
    Answer, Exchange, Letter, Letters, MailPart, Neighbourhood, Synchronous, Wiring, wire,
};
use undertone_real::Real;

use super::Traffic;

/// How many nodes later those are whose mail is asked for, if it is not near.
const AHEAD: usize = 8;

/// Bytes of mail that are near: a part of what a core has to itself on most machines.
const NEAR: usize = 1 << 20;

/// Bytes of the longest row that is asked for. Processors find the rest of longer ones themselves,
/// and more requests than they have room for would only hold them up.
const SHORT: usize = 128;

/// Some nodes read the messages of a round, write those of the next, or both. What they ask before
/// they write, and what they are answered, is on the desk.
pub(super) struct Pass<'a, 'm, P, R: Real> {
    pub(super) nodes: &'a mut [P],
    /// The number of the first of them.
    pub(super) first: usize,
    pub(super) hear: Option<Hear<'a, R>>,
    pub(super) desk: Option<(Turn, &'a mut Desk<R>)>,
    pub(super) send: Option<Send<'a, 'm, R>>,
}

/// Whose turn it is at the desk.
#[derive(Clone, Copy)]
pub(super) enum Turn {
    /// Nodes ask, after they have heard, what they need for this round.
    Ask(u64),
    /// Nodes are answered in this round, before they send.
    Answer(u64),
}

/// Where a thread's nodes and their oracles meet.
pub(super) struct Desk<R: Real> {
    /// One a node.
    pub(super) exchanges: Vec<Exchange<R>>,
    /// Memory for questions that nobody needs at the moment. What was used last is near.
    spare: Vec<Released<Vec<R>>>,
}

impl<R: Real> Default for Desk<R> {
    fn default() -> Self {
        Self { exchanges: Vec::new(), spare: Vec::new() }
    }
}

impl<R: Real> Desk<R> {
    /// For so many nodes, of which none has asked.
    #[inline(always)]
    pub(super) fn open(&mut self, nodes: usize) {
        self.exchanges.clear();
        self.exchanges.resize_with(nodes, Exchange::default);
    }

    /// The node that stands at a place asks, if it wants to.
    #[inline(always)]
    pub(super) fn ask<P: Synchronous<R>>(&mut self, idx: usize, node: &mut P, round: u64) {
        let exchange = &mut self.exchanges[idx];
        if let Some(place @ None) = node.spare() {
            *place = self.spare.pop();
        }
        if let Some(question) = node.ask(round) {
            exchange.put(Exchange::Asked(question));
        }
    }

    #[inline(always)]
    pub(super) fn answer<P: Synchronous<R>>(&mut self, idx: usize, node: &mut P, round: u64) {
        match &mut self.exchanges[idx] {
            // Most answers; what can be more than a vector is not moved for them.
            Exchange::Answered(Answer::Released(value)) => {
                let value = value.take();
                node.answer(round, Answer::Released(value));
            }
            other => {
                if let Some(answer) = other.take_answer() {
                    node.answer(round, answer);
                }
            }
        }
    }

    /// Takes what a node needs no more until it asks again.
    #[inline(always)]
    pub(super) fn tidy<P: Synchronous<R>>(&mut self, node: &mut P) {
        if let Some(memory) = node.spare().and_then(Option::take) {
            self.spare.push(memory);
        }
    }
}

/// What is read.
#[derive(Clone, Copy)]
pub(super) struct Hear<'a, R> {
    /// In parts of a number of nodes whose binary logarithm is the shift.
    pub(super) mail: &'a [Letters<'a, R>],
    pub(super) shift: u32,
    pub(super) wiring: &'a Wiring,
    pub(super) round: u64,
}

/// Where to write.
pub(super) struct Send<'a, 'm, R> {
    pub(super) part: &'a mut MailPart<'m, R>,
    /// Where in the part the nodes begin.
    pub(super) offset: usize,
    pub(super) wiring: &'a Wiring,
    pub(super) round: u64,
    /// What somebody reads after these have written.
    pub(super) ahead: &'a [R],
}

impl<P: Synchronous<R>, R: Real> pulp::NullaryFnOnce for Pass<'_, '_, P, R> {
    type Output = Traffic;

    #[inline(always)]
    fn call(self) -> Traffic {
        let Self { nodes, first, hear, mut desk, mut send } = self;
        let mut sent = Traffic::default();
        let end = first + nodes.len();
        let is_far = hear.is_some_and(|hear| hear.is_far());
        if let Some((Turn::Ask(_), desk)) = &mut desk {
            desk.open(nodes.len());
        }
        for (k, node) in nodes.iter_mut().enumerate() {
            let number = NodeId((first + k) as u32);
            if let Some(hear) = &hear {
                if is_far && first + k + AHEAD < end {
                    hear.fetch(NodeId((first + k + AHEAD) as u32));
                }
                hear.tell(node, number);
            }
            match &mut desk {
                Some((Turn::Ask(round), desk)) => desk.ask(k, node, *round),
                Some((Turn::Answer(round), desk)) => desk.answer(k, node, *round),
                None => {}
            }
            if let Some(Send { part, offset, wiring, round, ahead }) = &mut send {
                let around = wiring.around(number);
                node.send(*round, &around, &mut part.slot(*offset + k).before(ahead));
                let hearers = around.n_hearers;
                sent.messages += hearers as u64;
                sent.bytes += (hearers * wire::size(&part.letters().get(*offset + k))) as u64;
            }
            if let Some((Turn::Answer(_), desk)) = &mut desk {
                desk.tidy(node);
            }
        }
        sent
    }
}

impl<'a, R: Real> Hear<'a, R> {
    /// Whether it pays to ask for mail before it is read.
    fn is_far(&self) -> bool {
        let row = self.mail.first().map_or(0, |part| part.row_bytes());
        let all: usize = self.mail.iter().map(|part| part.bytes()).sum();
        row <= SHORT && all > NEAR
    }

    /// The first that a node will hear, if it hears anybody.
    pub(super) fn first_heard(&self, node: NodeId) -> &'a [R] {
        let from = self.wiring.around(node).heard.first();
        from.map_or(&[], |from| {
            let (piece, idx) = self.place(*from);
            self.mail[piece].get(idx).values()
        })
    }

    /// Asks for what a node will hear.
    #[inline(always)]
    fn fetch(&self, node: NodeId) {
        let heard = self.wiring.graph.in_neighbours(node);
        match self.mail {
            &[whole] => heard.iter().for_each(|from| whole.fetch(from.idx())),
            parts => heard.iter().for_each(|from| {
                let (piece, idx) = self.place(*from);
                parts[piece].fetch(idx);
            }),
        }
    }

    /// The part of the mail in which a node's row is, and where in it.
    #[inline(always)]
    fn place(&self, node: NodeId) -> (usize, usize) {
        (node.idx() >> self.shift, node.idx() & ((1 << self.shift) - 1))
    }

    /// Lets a node hear.
    #[inline(always)]
    fn tell<P: Synchronous<R>>(&self, node: &mut P, number: NodeId) {
        let (around, hear) = (self.wiring.around(number), *self);
        match hear.mail {
            // Without looking for the part, if there is one.
            &[whole] => hear.tell_all(node, &around, move |from| whole.get(from.idx())),
            parts => hear.tell_all(node, &around, |from| {
                let (piece, idx) = hear.place(from);
                parts[piece].get(idx)
            }),
        }
    }

    #[inline(always)]
    fn tell_all<P: Synchronous<R>>(
        &self,
        node: &mut P,
        around: &Neighbourhood<'a>,
        letter: impl Fn(NodeId) -> Letter<'a, R>,
    ) {
        let letters = around.heard.iter().map(|from| (*from, letter(*from)));
        match P::MAY_BE_SILENT {
            false => node.receive(self.round, around, letters),
            true => {
                let letters = letters.filter(|(_, letter)| !letter.is_silent());
                node.receive(self.round, around, letters);
            }
        }
    }
}
