//! What threads do for some nodes at a time, in vectors.

use undertone_graph::NodeId;
use undertone_protocol::{Letter, Letters, MailPart, Neighbourhood, Synchronous, Wiring, wire};
use undertone_real::Real;

use super::Traffic;

/// Some nodes write their messages.
pub(super) struct Sending<'a, 'm, P, R> {
    pub(super) nodes: &'a mut [P],
    pub(super) part: &'a mut MailPart<'m, R>,
    /// The first node of the part.
    pub(super) first: usize,
    /// Where in the part these nodes begin.
    pub(super) offset: usize,
    pub(super) wiring: &'a Wiring,
    pub(super) round: u64,
}

impl<P: Synchronous<R>, R: Real> pulp::NullaryFnOnce for Sending<'_, '_, P, R> {
    type Output = Traffic;

    #[inline(always)]
    fn call(self) -> Traffic {
        let mut sent = Traffic::default();
        for (k, node) in self.nodes.iter_mut().enumerate() {
            let k = self.offset + k;
            let around = self.wiring.around(NodeId((self.first + k) as u32));
            node.send(self.round, &around, &mut self.part.slot(k));
            let hearers = around.n_hearers;
            sent.messages += hearers as u64;
            sent.bytes += (hearers * wire::size(&self.part.letters().get(k))) as u64;
        }
        sent
    }
}

/// Some nodes read theirs.
pub(super) struct Hearing<'a, P, R> {
    pub(super) nodes: &'a mut [P],
    pub(super) mail: &'a [Letters<'a, R>],
    pub(super) shift: u32,
    pub(super) first: usize,
    pub(super) wiring: &'a Wiring,
    pub(super) round: u64,
}

impl<'a, P: Synchronous<R>, R: Real> Hearing<'a, P, R> {
    #[inline(always)]
    fn heard_by(
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

impl<P: Synchronous<R>, R: Real> pulp::NullaryFnOnce for Hearing<'_, P, R> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        let nodes = std::mem::take(&mut self.nodes);
        for (k, node) in nodes.iter_mut().enumerate() {
            let around = self.wiring.around(NodeId((self.first + k) as u32));
            node.receive(self.round, &around, self.heard_by(&around));
        }
    }
}
