//! An algorithm in rounds.

use undertone_graph::NodeId;
use undertone_privacy::release::Released;
use undertone_real::Real;

use crate::carried::Carried;
use crate::mail::{Extent, Letter, Shape, Slot};
use crate::question::{Answer, Question};
use crate::topology::Neighbourhood;

/// What an algorithm needs of its links to stay right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkNeeds {
    /// Any message may be lost, late or doubled.
    Nothing,
    /// Every message has to arrive, or what it carries is lost; retransmission will do.
    Delivery,
}

/// One node's part of an algorithm in rounds. A driver calls, in each round, [`ask`] (and, if there
/// is a question, [`answer`] with the oracle's answer), [`send`], and, when the messages of the
/// round are there, [`receive`].
///
/// A law that all of them keep: the result depends only on what was answered and heard, not on
/// when, so every driver ends in the same bits.
///
/// [`ask`]: Synchronous::ask
/// [`answer`]: Synchronous::answer
/// [`send`]: Synchronous::send
/// [`receive`]: Synchronous::receive
pub trait Synchronous<R: Real> {
    /// What happens to the result when messages are lost.
    const NEEDS: LinkNeeds;

    /// Whether a node may have nothing to say. Its hearers then get no letter from it, and where
    /// this is false, silence from a peer is a malformed message.
    const MAY_BE_SILENT: bool = false;

    /// In how many rounds, from the first on, anything may be asked.
    fn asking_rounds(&self) -> u64;

    /// How large a message is.
    fn shape(&self) -> Shape;

    /// What to ask the oracle before sending in this round.
    fn ask(&mut self, round: u64) -> Option<Question<R>>;

    /// The answer. After a refusal the node goes on mixing without its data.
    fn answer(&mut self, round: u64, answer: Answer<R>);

    /// Writes the message of this round, one for all hearers.
    fn send(&mut self, round: u64, around: &Neighbourhood<'_>, slot: &mut Slot<'_, R>);

    /// Takes in what was heard, in increasing order of nodes; what was lost is left out.
    fn receive<'a, L>(&mut self, round: u64, around: &Neighbourhood<'_>, letters: L)
    where
        L: Iterator<Item = (NodeId, Letter<'a, R>)> + Clone;

    /// Where it keeps the memory of its next question between sending and asking, if it has such a
    /// place: a driver of many nodes lets them share what is in it, which is then near.
    fn spare(&mut self) -> Option<&mut Option<Released<Vec<R>>>> {
        None
    }

    /// Where it keeps its state, if that is what it has sent until it hears, in full and in every
    /// round. Its slot may then be empty, and the state is the message: see [`send_state`].
    fn sent(&mut self) -> Option<&mut Released<Vec<R>>> {
        None
    }

    /// The node's present estimate of the result.
    fn estimate(&self, out: &mut [R]);

    /// The number of coordinates of the result.
    fn dimension(&self) -> usize;

    /// Adds what this node has of a quantity whose sum over all nodes stays the same from the first
    /// answer on, if the algorithm has such a quantity, all links deliver, and the weights are what
    /// the algorithm asks for (gossip: doubly stochastic).
    fn add_conserved(&self, sum: &mut [f64]);

    /// Goes over all that changes from round to round, between two rounds: to write it down, or to
    /// put it back into a node that has just been made.
    fn carry(&mut self, carried: &mut Carried<'_>);
}

/// Lets a node send its state itself, which is taken out of it; `ahead` is what is read next, by
/// somebody else. The driver puts the state back, to where it was [sent](Synchronous::sent) from,
/// before the node hears. Panics if the node does not send its state.
#[inline(always)]
pub fn send_state<R: Real, P: Synchronous<R>>(
    node: &mut P,
    round: u64,
    around: &Neighbourhood<'_>,
    ahead: &[R],
) -> Released<Vec<R>> {
    let mut extent = Extent::Silent;
    node.send(round, around, &mut Slot::of_state(node.shape(), &mut extent).before(ahead));
    debug_assert_eq!(extent, Extent::Dense, "the state is sent in full");
    node.sent().expect("a node that sends its state").take()
}
