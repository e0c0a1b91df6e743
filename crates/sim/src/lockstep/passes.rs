//! What threads do for some nodes at a time, in vectors.

use undertone_graph::NodeId;
use undertone_protocol::{Letter, Letters, MailPart, Neighbourhood, Synchronous, Wiring, wire};
use undertone_real::Real;

use super::Traffic;

/// How many nodes later those are whose mail is asked for, if it is not near.
const AHEAD: usize = 4;

/// Bytes of mail that are near: a part of what a core has to itself on most machines.
const NEAR: usize = 1 << 20;

/// Bytes of the longest row that is asked for. Processors find the rest of longer ones themselves,
/// and more requests than they have room for would only hold them up.
const SHORT: usize = 128;

/// Some nodes read the messages of a round, write those of the next, or both.
pub(super) struct Pass<'a, 'm, P, R> {
    pub(super) nodes: &'a mut [P],
    /// The number of the first of them.
    pub(super) first: usize,
    pub(super) hear: Option<Hear<'a, R>>,
    pub(super) send: Option<Send<'a, 'm, R>>,
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
}

impl<P: Synchronous<R>, R: Real> pulp::NullaryFnOnce for Pass<'_, '_, P, R> {
    type Output = Traffic;

    #[inline(always)]
    fn call(self) -> Traffic {
        let Self { nodes, first, hear, mut send } = self;
        let mut sent = Traffic::default();
        let end = first + nodes.len();
        let is_far = hear.is_some_and(|hear| hear.is_far());
        for (k, node) in nodes.iter_mut().enumerate() {
            let number = NodeId((first + k) as u32);
            if let Some(hear) = &hear {
                if is_far && first + k + AHEAD < end {
                    hear.fetch(NodeId((first + k + AHEAD) as u32));
                }
                let around = hear.wiring.around(number);
                node.receive(hear.round, &around, hear.heard_by::<P>(&around));
            }
            if let Some(Send { part, offset, wiring, round }) = &mut send {
                let around = wiring.around(number);
                node.send(*round, &around, &mut part.slot(*offset + k));
                let hearers = around.n_hearers;
                sent.messages += hearers as u64;
                sent.bytes += (hearers * wire::size(&part.letters().get(*offset + k))) as u64;
            }
        }
        sent
    }
}

impl<'a, R: Real> Hear<'a, R> {
    /// Whether it pays to ask for mail before it is read.
    fn is_far(&self) -> bool {
        let row = self.mail.first().map_or(0, |part| part.row_bytes());
        row <= SHORT && (self.mail.len() << self.shift) * row > NEAR
    }

    /// Asks for what a node will hear.
    #[inline(always)]
    fn fetch(&self, node: NodeId) {
        for from in self.wiring.around(node).heard {
            let (piece, idx) = self.place(*from);
            self.mail[piece].fetch(idx);
        }
    }

    /// The part of the mail in which a node's row is, and where in it.
    #[inline(always)]
    fn place(&self, node: NodeId) -> (usize, usize) {
        (node.idx() >> self.shift, node.idx() & ((1 << self.shift) - 1))
    }

    #[inline(always)]
    fn heard_by<P: Synchronous<R>>(
        &self,
        around: &Neighbourhood<'a>,
    ) -> impl Iterator<Item = (NodeId, Letter<'a, R>)> {
        let hear = *self;
        let letters = around.heard.iter().map(move |&from| {
            let (piece, idx) = hear.place(from);
            (from, hear.mail[piece].get(idx))
        });
        letters.filter(|(_, letter)| !P::MAY_BE_SILENT || !letter.is_silent())
    }
}
