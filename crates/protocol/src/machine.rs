//! A state machine around an algorithm in rounds: messages in any order, results in one.

mod checkpoint;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use undertone_graph::NodeId;
use undertone_real::Real;

use crate::mail::Message;
use crate::question::{Answer, Question};
use crate::synchronous::Synchronous;
use crate::topology::Wiring;

/// What happened.
#[derive(Clone, Debug)]
pub enum Input<R: Real> {
    /// The wiring that [`Output::Begin`] asked for.
    Wiring {
        /// Which round it is of.
        round: u64,
        /// The wiring.
        wiring: Arc<Wiring>,
    },
    /// The oracle's answer to [`Output::Ask`].
    Answer {
        /// The round of the question.
        round: u64,
        /// The answer.
        answer: Answer<R>,
    },
    /// A message has come.
    Message {
        /// From whom; the driver has made sure of that.
        from: NodeId,
        /// What it says.
        message: Arc<Message<R>>,
    },
    /// The time for a round is over.
    Deadline {
        /// Which round.
        round: u64,
    },
    /// The node is back after an absence, and the network has gone on without it.
    ///
    /// Whoever goes on at deadlines drops messages of rounds that are over, so a node that stayed
    /// behind would never be heard again. The machine closes its open round as at a deadline and
    /// passes over all rounds before `round`: in those it asks, sends and mixes nothing. So it
    /// keeps what it has, and of a budget it spends less, never more. A question that is out is
    /// waited for first, because its answer is paid for.
    ///
    /// Nothing happens if the node is not behind, nor with [`Patience::Forever`]: the others wait
    /// for every one of its messages then.
    Rejoin {
        /// The round that the others are in.
        round: u64,
    },
}

/// What the machine wants.
#[derive(Clone, Debug)]
pub enum Output<R> {
    /// A round begins: give its wiring.
    Begin {
        /// Which round.
        round: u64,
    },
    /// Ask the oracle.
    Ask {
        /// In which round.
        round: u64,
        /// What.
        question: Question<R>,
    },
    /// Send to all who hear this node in that round.
    Send {
        /// What.
        message: Arc<Message<R>>,
    },
    /// Messages are missing. A driver with deadlines starts its clock now.
    Wait {
        /// For which round.
        round: u64,
    },
    /// The round is over; the algorithm's estimate has changed.
    RoundDone {
        /// Which round.
        round: u64,
    },
    /// All rounds are over.
    Finished,
}

/// When to go on without a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Never: wait for everybody who should be heard.
    Forever,
    /// At the deadline, with what has come.
    Deadline,
}

/// Messages that were not used, and why. None of them is an error of ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// For a round that is over.
    pub late: u64,
    /// The same sender and round twice.
    pub doubled: u64,
    /// Of the wrong shape, or with numbers that are not finite.
    pub malformed: u64,
    /// From a node that is not heard in that round.
    pub unheard: u64,
    /// For a round too far ahead to be kept.
    pub early: u64,
}

/// Messages this many rounds ahead are kept; the memory of a node is bounded by that.
pub const LOOKAHEAD: u64 = 4096;

/// One node's algorithm as a machine without I/O. Feed it with [`Machine::handle`], then take
/// what it wants with [`Machine::poll`] until there is nothing.
#[derive(Debug)]
pub struct Machine<P, R> {
    protocol: P,
    node: NodeId,
    round: u64,
    /// Where the network was when the node came back; rounds before are passed over.
    present: u64,
    /// One past the last round.
    rounds: u64,
    patience: Patience,
    phase: Phase,
    inbox: BTreeMap<(u64, NodeId), Arc<Message<R>>>,
    /// One that was read and that nobody else has: the next one is written over it.
    spare: Option<Message<R>>,
    outputs: VecDeque<Output<R>>,
    drops: Drops,
}

#[derive(Debug)]
enum Phase {
    Beginning,
    Asking(Arc<Wiring>),
    Hearing(Arc<Wiring>),
    Finished,
}

impl<P: Synchronous<R>, R: Real> Machine<P, R> {
    /// A machine that will run for `rounds` rounds.
    pub fn new(protocol: P, node: NodeId, rounds: u64, patience: Patience) -> Self {
        let mut machine = Self {
            protocol,
            node,
            round: 0,
            present: 0,
            rounds,
            patience,
            phase: Phase::Beginning,
            inbox: BTreeMap::new(),
            spare: None,
            outputs: VecDeque::new(),
            drops: Drops::default(),
        };
        machine.begin();
        machine
    }

    /// Tells the machine what happened. What does not fit its state is ignored.
    pub fn handle(&mut self, input: Input<R>) {
        match input {
            Input::Wiring { round, wiring } => {
                if round == self.round && matches!(self.phase, Phase::Beginning) {
                    self.wired(wiring);
                }
            }
            Input::Answer { round, answer } => {
                let current = round == self.round;
                match std::mem::replace(&mut self.phase, Phase::Beginning) {
                    Phase::Asking(wiring) if current => {
                        self.protocol.answer(round, answer);
                        if self.present > round {
                            self.go_to(self.present);
                        } else {
                            self.send(wiring);
                        }
                    }
                    other => self.phase = other,
                }
            }
            Input::Message { from, message } => self.take(from, message),
            Input::Deadline { round } => {
                if round == self.round && self.patience == Patience::Deadline {
                    self.mix();
                }
            }
            Input::Rejoin { round } => self.rejoin(round.min(self.rounds)),
        }
    }

    /// What the machine wants next; nothing if it waits for an input.
    pub fn poll(&mut self) -> Option<Output<R>> {
        self.outputs.pop_front()
    }

    /// The algorithm.
    pub fn protocol(&self) -> &P {
        &self.protocol
    }

    /// The round it is in.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// The node it is of.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// How many rounds it runs for.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// When it goes on without a message.
    pub fn patience(&self) -> Patience {
        self.patience
    }

    /// Whether all rounds are over.
    pub fn is_finished(&self) -> bool {
        matches!(self.phase, Phase::Finished)
    }

    /// Whose messages of this round have not come; nobody unless the machine waits for messages.
    pub fn missing(&self) -> Vec<NodeId> {
        let Phase::Hearing(wiring) = &self.phase else { return Vec::new() };
        let heard = wiring.around(self.node).heard.iter().copied();
        heard.filter(|from| !self.inbox.contains_key(&(self.round, *from))).collect()
    }

    /// How many messages wait to be read.
    pub fn kept(&self) -> usize {
        self.inbox.len()
    }

    /// Messages that were not used.
    pub fn drops(&self) -> Drops {
        self.drops
    }

    fn rejoin(&mut self, round: u64) {
        if round <= self.round || self.patience == Patience::Forever {
            return;
        }
        self.present = round;
        match self.phase {
            Phase::Beginning => self.go_to(round),
            Phase::Hearing(_) => self.mix(),
            // The answer moves it on; whoever has finished stays.
            Phase::Asking(_) | Phase::Finished => {}
        }
    }

    /// Passes over all rounds before `round`, and what was kept for them.
    fn go_to(&mut self, round: u64) {
        let kept = self.inbox.len();
        self.round = round;
        self.inbox = self.inbox.split_off(&(round, NodeId(0)));
        self.drops.late += (kept - self.inbox.len()) as u64;
        self.begin();
    }

    fn begin(&mut self) {
        if self.round == self.rounds {
            self.phase = Phase::Finished;
            self.outputs.push_back(Output::Finished);
        } else {
            self.phase = Phase::Beginning;
            self.outputs.push_back(Output::Begin { round: self.round });
        }
    }

    fn wired(&mut self, wiring: Arc<Wiring>) {
        let round = self.round;
        match self.protocol.ask(round) {
            Some(question) => {
                self.phase = Phase::Asking(wiring);
                self.outputs.push_back(Output::Ask { round, question });
            }
            None => self.send(wiring),
        }
    }

    fn send(&mut self, wiring: Arc<Wiring>) {
        let (round, around) = (self.round, wiring.around(self.node));
        let (spare, shape) = (self.spare.take(), self.protocol.shape());
        let message = Message::write_over(spare, round, shape, |slot| {
            self.protocol.send(round, &around, slot);
        });
        self.outputs.push_back(Output::Send { message: Arc::new(message) });
        // Whoever is not heard in this round was kept because that was not known before.
        let kept = self.inbox.len();
        self.inbox.retain(|(r, from), _| *r != round || around.heard.binary_search(from).is_ok());
        self.drops.unheard += (kept - self.inbox.len()) as u64;
        self.phase = Phase::Hearing(wiring);
        if !self.is_complete() {
            self.outputs.push_back(Output::Wait { round });
        }
        self.mix_if_complete();
    }

    fn take(&mut self, from: NodeId, message: Arc<Message<R>>) {
        let round = message.round();
        if round < self.round || matches!(self.phase, Phase::Finished) {
            self.drops.late += 1;
        } else if round >= self.rounds || round - self.round > LOOKAHEAD {
            self.drops.early += 1;
        } else if !self.is_sound(&message) {
            self.drops.malformed += 1;
        } else if !self.may_be_heard(round, from) {
            self.drops.unheard += 1;
        } else if let Entry::Vacant(place) = self.inbox.entry((round, from)) {
            place.insert(message);
            self.mix_if_complete();
        } else {
            self.drops.doubled += 1;
        }
    }

    fn is_sound(&self, message: &Message<R>) -> bool {
        let letter = message.letter();
        let silent = letter.is_silent() && !P::MAY_BE_SILENT;
        message.shape() == self.protocol.shape() && message.is_sound() && !silent
    }

    /// Known only for the present round, and only once its wiring is.
    fn may_be_heard(&self, round: u64, from: NodeId) -> bool {
        match &self.phase {
            Phase::Hearing(wiring) if round == self.round => {
                wiring.around(self.node).heard.binary_search(&from).is_ok()
            }
            _ => true,
        }
    }

    fn is_complete(&self) -> bool {
        let Phase::Hearing(wiring) = &self.phase else { return false };
        let round = self.round;
        let here = self.inbox.range((round, NodeId(0))..=(round, NodeId(u32::MAX))).count();
        here == wiring.around(self.node).heard.len()
    }

    fn mix_if_complete(&mut self) {
        if self.is_complete() {
            self.mix();
        }
    }

    /// In order of the senders, whatever the order of arrival (invariant I5).
    fn mix(&mut self) {
        let Phase::Hearing(wiring) = &self.phase else { return };
        let wiring = Arc::clone(wiring);
        let round = self.round;
        let heard = self.inbox.range((round, NodeId(0))..=(round, NodeId(u32::MAX)));
        let letters = heard.map(|((_, from), message)| (*from, message.letter()));
        // Who is silent was heard, but there is nothing to take in.
        let letters = letters.filter(|(_, letter)| !P::MAY_BE_SILENT || !letter.is_silent());
        self.protocol.receive(round, &wiring.around(self.node), letters);
        self.outputs.push_back(Output::RoundDone { round });
        let later = self.inbox.split_off(&(round + 1, NodeId(0)));
        let read = std::mem::replace(&mut self.inbox, later);
        self.spare = read.into_values().find_map(Arc::into_inner);
        self.go_to(self.present.max(round + 1));
    }
}

#[cfg(test)]
mod tests;
