//! Where threads wait for each other.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// A meeting point of some threads. Rounds take a tenth of a millisecond and less, so whoever is
/// early spins for a while before it gives its core away: sleeping and waking would cost as much
/// as a round.
#[derive(Debug)]
pub(super) struct Meeting {
    parties: usize,
    arrived: AtomicUsize,
    turn: AtomicUsize,
    broken: AtomicBool,
}

/// About the length of a short round.
const SPINS: u32 = 4_000;

impl Meeting {
    pub(super) fn new(parties: usize) -> Self {
        let (arrived, turn) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { parties, arrived, turn, broken: AtomicBool::new(false) }
    }

    /// Returns when all have come. Panics if one never will.
    pub(super) fn wait(&self) {
        let turn = self.turn.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.parties {
            self.arrived.store(0, Ordering::Relaxed);
            self.turn.store(turn + 1, Ordering::Release);
            return;
        }
        let mut spins = 0;
        while self.turn.load(Ordering::Acquire) == turn {
            assert!(!self.broken.load(Ordering::Relaxed), "another thread of the round panicked");
            if spins < SPINS {
                spins += 1;
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }

    /// To be kept by a thread while it works: if it panics, those who wait for it do too.
    pub(super) fn attend(&self) -> Attendance<'_> {
        Attendance(self)
    }
}

pub(super) struct Attendance<'a>(&'a Meeting);

impl Drop for Attendance<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Relaxed);
        }
    }
}

/// Pieces of work of which each is done once a phase, by whoever takes it first.
#[derive(Debug)]
pub(super) struct Claims(Vec<AtomicU64>);

impl Claims {
    pub(super) fn new(pieces: usize) -> Self {
        Self((0..pieces).map(|_| AtomicU64::new(0)).collect())
    }

    /// Whether the piece is the caller's in this phase; phases are numbered from one and rise.
    pub(super) fn take(&self, piece: usize, phase: u64) -> bool {
        self.0[piece].fetch_max(phase, Ordering::Relaxed) < phase
    }

    /// All pieces, those that a thread had before first: their data is in its core's cache. Then
    /// those of the others, from the end, where they come last.
    pub(super) fn in_turn(&self, thread: usize, threads: usize) -> impl Iterator<Item = usize> {
        let pieces = self.0.len();
        let (start, end) = (pieces * thread / threads, pieces * (thread + 1) / threads);
        (start..end).chain((end..pieces).rev()).chain((0..start).rev())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_leaves_before_all_have_come() {
        let (meeting, here) = (Meeting::new(3), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for round in 0..1000 {
                        here.fetch_add(1, Ordering::SeqCst);
                        meeting.wait();
                        assert_eq!(here.load(Ordering::SeqCst), 3 * (round + 1));
                        meeting.wait();
                    }
                });
            }
        });
    }

    #[test]
    fn nobody_waits_for_one_who_panicked() {
        let meeting = Meeting::new(2);
        let outcomes: Vec<bool> = std::thread::scope(|scope| {
            let panics = scope.spawn(|| {
                let _attendance = meeting.attend();
                panic!("as planned");
            });
            let waits = scope.spawn(|| meeting.wait());
            [panics.join().is_err(), waits.join().is_err()].into()
        });
        assert_eq!(outcomes, [true, true]);
    }

    #[test]
    fn every_piece_is_taken_once_a_phase_and_offered_to_all() {
        let claims = Claims::new(7);
        for thread in 0..3 {
            let mut offered: Vec<usize> = claims.in_turn(thread, 3).collect();
            assert_eq!(offered[0], 7 * thread / 3);
            offered.sort_unstable();
            assert!(offered.into_iter().eq(0..7));
        }
        assert!(claims.take(4, 1) && !claims.take(4, 1) && claims.take(4, 2) && claims.take(5, 1));
    }
}
