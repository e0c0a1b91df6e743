//! What threads do for some nodes at a time, in vectors.

use undertone_graph::NodeId;
use undertone_protocol::{Letter, Letters, MailPart, Neighbourhood, Synchronous, Wiring, wire};
use undertone_real::Real;

use super::Traffic;

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
        for (k, node) in nodes.iter_mut().enumerate() {
            let number = NodeId((first + k) as u32);
            if let Some(hear) = &hear {
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
    #[inline(always)]
    fn heard_by<P: Synchronous<R>>(
        &self,
        around: &Neighbourhood<'a>,
    ) -> impl Iterator<Item = (NodeId, Letter<'a, R>)> {
        let (mail, shift) = (self.mail, self.shift);
        let letters = around.heard.iter().map(move |&from| {
            let (piece, idx) = (from.idx() >> shift, from.idx() & ((1 << shift) - 1));
            (from, mail[piece].get(idx))
        });
        letters.filter(|(_, letter)| !P::MAY_BE_SILENT || !letter.is_silent())
    }
}
