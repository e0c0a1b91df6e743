//! Threads that work on rounds together.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use undertone_protocol::{TopologyError, Wiring, Wirings};
use undertone_real::Real;

use super::Traffic;
use super::meeting::{Claims, Meeting};
use super::passes::Desk;

/// Why a lock is never found broken.
pub(super) const UNBROKEN: &str =
    "whoever panics breaks the meeting before anybody takes a lock again";

/// What is to be done in a round, in pieces for threads to share.
pub(super) trait Work<R: Real>: Sync {
    /// How many pieces there are.
    fn pieces(&self) -> usize;

    /// Does the pieces that a thread has claimed, as they come.
    fn advance(
        &self,
        phase: &Phase<'_>,
        pieces: &mut dyn Iterator<Item = usize>,
        desk: &mut Desk<R>,
    ) -> Traffic;
}

/// From the mail of one round to the mail of the next.
pub(super) struct Phase<'a> {
    /// The round that is sent.
    pub(super) round: u64,
    /// The graph of the round before, whose mail is heard; none at the beginning.
    pub(super) heard: Option<&'a Wiring>,
    /// The graph of the round that is sent; none at the end.
    pub(super) sent: Option<&'a Wiring>,
    failed: &'a AtomicU64,
}

impl Phase<'_> {
    /// Which of two sets of mail is heard.
    pub(super) fn hears(&self) -> usize {
        1 - self.sends()
    }

    /// Which of two sets of mail is written.
    pub(super) fn sends(&self) -> usize {
        turn(self.round)
    }

    /// Says that something could not be done: this round is the last.
    pub(super) fn fail(&self) {
        self.failed.fetch_min(self.round, Ordering::Relaxed);
    }
}

/// Threads, and what they share for some rounds.
pub(super) struct Crew<'a> {
    /// Of the rounds, in turns.
    drawn: [RwLock<Result<Arc<Wiring>, TopologyError>>; 2],
    wirings: Mutex<&'a mut Wirings>,
    meeting: Meeting,
    /// The first round in which something could not be done, after all others if there is none.
    /// A bare mark would end a round too early for a thread that comes late from the meeting, when
    /// another has failed in the next round already and waits for it.
    failed: AtomicU64,
    threads: usize,
    start: u64,
    rounds: u64,
}

/// What was done.
pub(super) struct Done {
    pub(super) traffic: Traffic,
    /// The first round that was not.
    pub(super) round: u64,
}

impl<'a> Crew<'a> {
    /// For some rounds from one on, whose graph this is.
    pub(super) fn new(
        threads: usize,
        start: u64,
        rounds: u64,
        wiring: Arc<Wiring>,
        wirings: &'a mut Wirings,
    ) -> Self {
        Self {
            drawn: [Ok(wiring.clone()), Ok(wiring)].map(RwLock::new),
            wirings: Mutex::new(wirings),
            meeting: Meeting::new(threads),
            failed: AtomicU64::new(u64::MAX),
            threads,
            start,
            rounds,
        }
    }

    /// Does all rounds, or those before the first that has no graph.
    pub(super) fn go<R: Real>(self, work: &dyn Work<R>) -> (Done, Result<(), TopologyError>) {
        let claims = &Claims::new(work.pieces());
        let parts: Vec<Done> = std::thread::scope(|scope| {
            let crew = &self;
            let others: Vec<_> = (1..self.threads)
                .map(|thread| scope.spawn(move || crew.work(work, claims, thread)))
                .collect();
            let own = crew.work(work, claims, 0);
            let others = others.into_iter().map(|other| other.join().expect("it did not panic"));
            others.chain([own]).collect()
        });
        let mut done = Done { traffic: Traffic::default(), round: self.start };
        for part in parts {
            done.traffic.messages += part.traffic.messages;
            done.traffic.bytes += part.traffic.bytes;
            done.round = part.round;
        }
        let drawn = self.drawn.map(|drawn| drawn.into_inner().expect("no thread panicked"));
        (done, drawn.into_iter().try_for_each(|drawn| drawn.map(|_| ())))
    }

    fn work<R: Real>(&self, work: &dyn Work<R>, claims: &Claims, thread: usize) -> Done {
        let _attendance = self.meeting.attend();
        let mut done = Done { traffic: Traffic::default(), round: self.start };
        let mut desk = Desk::default();
        // The graph of the round that was sent and not heard yet.
        let mut before: Option<Arc<Wiring>> = None;
        for phase in 0..=self.rounds {
            let round = self.start + phase;
            let next = (phase < self.rounds).then(|| self.drawn_for(round)).flatten();
            // Always the same thread draws, so that others keep to their pieces.
            if next.is_some() && phase + 1 < self.rounds && thread + 1 == self.threads {
                let after = self.wirings.lock().expect(UNBROKEN).at(round + 1);
                *self.drawn[turn(round + 1)].write().expect(UNBROKEN) = after;
            }
            let claimed = claims.in_turn(thread, self.threads);
            let traffic = work.advance(
                &Phase {
                    round,
                    heard: before.as_deref(),
                    sent: next.as_deref(),
                    failed: &self.failed,
                },
                &mut claimed.filter(|piece| claims.take(*piece, phase + 1)),
                &mut desk,
            );
            done.traffic.messages += traffic.messages;
            done.traffic.bytes += traffic.bytes;
            self.meeting.wait();
            done.round += u64::from(before.is_some());
            // After a round without a graph nothing is sent any more.
            if next.is_none() || self.failed.load(Ordering::Relaxed) <= round {
                break;
            }
            before = next;
        }
        done
    }

    /// The graph of a round, if it has one.
    fn drawn_for(&self, round: u64) -> Option<Arc<Wiring>> {
        self.drawn[turn(round)].read().expect(UNBROKEN).clone().ok()
    }
}

/// Whose turn it is of two.
fn turn(round: u64) -> usize {
    (round % 2) as usize
}

#[cfg(test)]
mod tests {
    use undertone_graph::Schedule;
    use undertone_protocol::Topology;

    use super::*;

    /// Nothing to do, and it cannot be done in one round.
    struct Hopeless {
        from: u64,
    }

    impl Work<f64> for Hopeless {
        fn pieces(&self) -> usize {
            3
        }

        fn advance(
            &self,
            phase: &Phase<'_>,
            pieces: &mut dyn Iterator<Item = usize>,
            _desk: &mut Desk<f64>,
        ) -> Traffic {
            if pieces.count() > 0 && phase.round >= self.from {
                phase.fail();
            }
            Traffic::default()
        }
    }

    #[test]
    fn all_leave_after_the_round_that_failed() {
        let topology = Topology::new(Schedule::Exponential { nodes: 4 });
        for k in 0..3000 {
            let mut wirings = Wirings::new(topology.clone(), 1);
            let (from, wiring) = (k % 5, wirings.at(0).unwrap());
            let crew = Crew::new(3, 0, 9, wiring, &mut wirings);
            let (done, outcome) = crew.go(&Hopeless { from });
            assert_eq!((done.round, outcome), (from, Ok(())));
        }
    }
}
