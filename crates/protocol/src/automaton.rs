//! What a driver needs of a machine, whether its algorithm has rounds or not.

use undertone_graph::NodeId;
use undertone_real::Real;

use crate::machine::{Input, Machine, Output};
use crate::mail::Shape;
use crate::synchronous::{LinkNeeds, Synchronous};

/// A machine without I/O that is told what happened and then asked what it wants. There are two: a
/// [`Machine`] around an algorithm in rounds, and [`Encounters`](crate::Encounters) without. Every
/// message of a node has a number, which increases; in rounds it is the round.
pub trait Automaton<R: Real> {
    /// Whether it answers a message at once with one of its own.
    fn reacts(&self) -> bool;

    /// Tells it what happened. What does not fit its state is ignored.
    fn handle(&mut self, input: Input<R>);

    /// What it wants next; nothing if it waits for an input.
    fn poll(&mut self) -> Option<Output<R>>;

    /// For whom the message is that was polled last; nothing if it is for all who hear the node in
    /// that round.
    fn addressee(&self) -> Option<NodeId>;

    /// The node it is of.
    fn node(&self) -> NodeId;

    /// The round, or the activation, that it is in.
    fn round(&self) -> u64;

    /// Whether all of them are over. It may have to answer others all the same.
    fn is_finished(&self) -> bool;

    /// Whether it must get every message.
    fn needs_delivery(&self) -> bool;

    /// What a message with this number is to it, if it takes so many ahead of its own.
    fn timing(&self, number: u64, ahead: u64) -> Timing;

    /// One past the highest number of a message.
    fn numbers(&self) -> u64;

    /// For whose messages it waits.
    fn missing(&self) -> Vec<NodeId>;

    /// Messages that were of the wrong shape, not finite, or no answer to anything.
    fn malformed(&self) -> u64;

    /// How large its messages are.
    fn shape(&self) -> Shape;

    /// How many numbers an estimate has.
    fn dimension(&self) -> usize;

    /// The node's estimate.
    fn estimate(&self, out: &mut [R]);

    /// All it needs to begin the present round again; nothing where that is not known.
    fn checkpoint(&mut self) -> Option<Vec<u8>>;

    /// Puts a checkpoint back; `false` if it is none of such a machine.
    fn resume(&mut self, checkpoint: &[u8]) -> bool;
}

/// What a message is to a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Its round is over.
    Late,
    /// It can be taken in.
    Due,
    /// It is too far ahead.
    Early,
}

impl<P: Synchronous<R>, R: Real> Automaton<R> for Machine<P, R> {
    fn reacts(&self) -> bool {
        false
    }

    fn handle(&mut self, input: Input<R>) {
        Machine::handle(self, input);
    }

    fn poll(&mut self) -> Option<Output<R>> {
        Machine::poll(self)
    }

    fn addressee(&self) -> Option<NodeId> {
        None
    }

    fn node(&self) -> NodeId {
        Machine::node(self)
    }

    fn round(&self) -> u64 {
        Machine::round(self)
    }

    fn is_finished(&self) -> bool {
        Machine::is_finished(self)
    }

    fn needs_delivery(&self) -> bool {
        P::NEEDS == LinkNeeds::Delivery
    }

    fn timing(&self, number: u64, ahead: u64) -> Timing {
        match number {
            _ if Machine::is_finished(self) => Timing::Late,
            number if number < Machine::round(self) => Timing::Late,
            number if number > Machine::round(self).saturating_add(ahead) => Timing::Early,
            _ => Timing::Due,
        }
    }

    fn numbers(&self) -> u64 {
        self.rounds()
    }

    fn missing(&self) -> Vec<NodeId> {
        Machine::missing(self)
    }

    fn malformed(&self) -> u64 {
        self.drops().malformed
    }

    fn shape(&self) -> Shape {
        self.protocol().shape()
    }

    fn dimension(&self) -> usize {
        self.protocol().dimension()
    }

    fn estimate(&self, out: &mut [R]) {
        self.protocol().estimate(out);
    }

    fn checkpoint(&mut self) -> Option<Vec<u8>> {
        Machine::checkpoint(self)
    }

    fn resume(&mut self, checkpoint: &[u8]) -> bool {
        Machine::resume(self, checkpoint)
    }
}
