//! What is going to happen, in order.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

use undertone_graph::NodeId;
use undertone_protocol::{Answer, Message};
use undertone_real::Real;

use crate::faults::FaultKind;
use crate::time::Time;

/// Something that is going to happen.
#[derive(Clone, Debug)]
pub(super) enum Event<R: Real> {
    /// A node begins.
    Start(NodeId),
    /// An oracle has answered.
    Answer { node: NodeId, round: u64, answer: Answer<R> },
    /// A copy of a message arrives; `is_extra` if the link made it.
    Arrival { transfer: Transfer<R>, is_extra: bool },
    /// A message is sent that was lost or held back before.
    Retry(Transfer<R>),
    /// The time for a round is over, for a node that has not crashed since (`life`).
    Deadline { node: NodeId, round: u64, life: u32 },
    /// A node goes or comes.
    Fault { node: NodeId, kind: FaultKind },
}

/// One message to one hearer.
#[derive(Clone, Debug)]
pub(super) struct Transfer<R> {
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) message: Arc<Message<R>>,
    pub(super) bytes: usize,
    /// How often it was lost before.
    pub(super) attempt: u32,
}

/// Events in order of time, and among those of one time in the order they were put in.
#[derive(Debug)]
pub(super) struct Queue<R: Real> {
    heap: BinaryHeap<Reverse<Entry<R>>>,
    next: u64,
}

#[derive(Debug)]
struct Entry<R: Real> {
    at: Time,
    number: u64,
    event: Event<R>,
}

impl<R: Real> Queue<R> {
    pub(super) fn new() -> Self {
        Self { heap: BinaryHeap::new(), next: 0 }
    }

    pub(super) fn push(&mut self, at: Time, event: Event<R>) {
        self.heap.push(Reverse(Entry { at, number: self.next, event }));
        self.next += 1;
    }

    pub(super) fn pop(&mut self) -> Option<(Time, Event<R>)> {
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.event))
    }

    /// In no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Event<R>> {
        self.heap.iter().map(|Reverse(entry)| &entry.event)
    }
}

impl<R: Real> Entry<R> {
    fn key(&self) -> (Time, u64) {
        (self.at, self.number)
    }
}

impl<R: Real> PartialEq for Entry<R> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<R: Real> Eq for Entry<R> {}

impl<R: Real> PartialOrd for Entry<R> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<R: Real> Ord for Entry<R> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_decides_and_then_who_came_first() {
        let mut queue = Queue::<f64>::new();
        for (at, node) in [(3, 0), (1, 1), (3, 2), (1, 3), (2, 4)] {
            queue.push(Time::from_nanos(at), Event::Start(NodeId(node)));
        }
        let mut order = Vec::new();
        while let Some((at, Event::Start(node))) = queue.pop() {
            order.push((at.nanos(), node.0));
        }
        assert_eq!(order, [(1, 1), (1, 3), (2, 4), (3, 0), (3, 2)]);
    }
}
