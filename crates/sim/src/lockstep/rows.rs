//! Mail in rows, of nodes in pieces.
//!
//! A thread keeps to the pieces that it had before, as long as there are any left for it.

use std::sync::{Mutex, RwLock};

use undertone_graph::NodeId;
use undertone_protocol::{Mail, MailPart, Synchronous, Wiring};
use undertone_real::Real;

use super::Traffic;
use super::crew::{Phase, UNBROKEN, Work};
use super::opening::Opening;
use super::passes::{Desk, Hear, Pass, Send as Sending, Turn};

/// Nodes in pieces, and two sets of their mail.
pub(super) struct Rows<'a, P, R: Real> {
    nodes: Vec<Mutex<&'a mut [P]>>,
    mail: [Vec<RwLock<MailPart<'a, R>>>; 2],
    /// The binary logarithm of the number of nodes in a piece.
    shift: u32,
    /// What nodes do before they send.
    opening: &'a dyn Opening<R>,
}

impl<'a, P, R> Rows<'a, P, R>
where
    P: Synchronous<R> + Send + Sync,
    R: Real,
{
    /// In pieces of a size that is a power of two.
    pub(super) fn new(
        nodes: &'a mut [P],
        mail: &'a mut [Mail<R>; 2],
        size: usize,
        opening: &'a dyn Opening<R>,
    ) -> Self {
        let parts = |mail: &'a mut Mail<R>| mail.parts(size).into_iter().map(RwLock::new).collect();
        Self {
            nodes: nodes.chunks_mut(size).map(Mutex::new).collect(),
            mail: mail.each_mut().map(parts),
            shift: size.trailing_zeros(),
            opening,
        }
    }

    /// Each node of a piece hears what was sent, does what comes first in the next round and sends,
    /// before others do.
    fn hear_and_send(
        &self,
        arch: pulp::Arch,
        piece: usize,
        hear: Option<Hear<'_, R>>,
        phase: &Phase<'_>,
        desk: &mut Desk<R>,
    ) -> Traffic {
        let nodes = &mut **self.nodes[piece].lock().expect(UNBROKEN);
        let first = piece << self.shift;
        let Some(wiring) = phase.sent else {
            return arch.dispatch(Pass { nodes, first, hear, desk: None, send: None });
        };
        let (round, part) = (phase.round, &self.mail[phase.sends()][piece]);
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
                phase.fail();
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

impl<P, R> Work<R> for Rows<'_, P, R>
where
    P: Synchronous<R> + Send + Sync,
    R: Real,
{
    fn pieces(&self) -> usize {
        self.nodes.len()
    }

    fn advance(
        &self,
        phase: &Phase<'_>,
        pieces: &mut dyn Iterator<Item = usize>,
        desk: &mut Desk<R>,
    ) -> Traffic {
        let arch = pulp::Arch::new();
        let guards = phase.heard.iter().flat_map(|_| &self.mail[phase.hears()]);
        let guards: Vec<_> = guards.map(|mail| mail.read().expect(UNBROKEN)).collect();
        let mail: Vec<_> = guards.iter().map(|part| part.letters()).collect();
        let hear = phase.heard.map(|wiring: &Wiring| Hear {
            mail: &mail,
            shift: self.shift,
            wiring,
            round: phase.round - 1,
        });
        let mut traffic = Traffic::default();
        for piece in pieces {
            let part = self.hear_and_send(arch, piece, hear, phase, desk);
            traffic.messages += part.messages;
            traffic.bytes += part.bytes;
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
