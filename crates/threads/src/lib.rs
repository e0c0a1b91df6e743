//! Parts of one computation on the threads of a pool, which stay awake for a while.
//! It never makes a result depend on who did what, or on the clock, and knows nothing else of ours.
//!
//! A step of a model takes a fraction of a millisecond and has parts that wait for each other. A
//! thread that has gone to sleep takes a tenth of a millisecond to wake up, and may find its part
//! done by others; then whoever waited for it has gone to sleep as well. So threads that were used
//! look for more to do for a millisecond before they sleep, and whoever waits for them does not
//! sleep at all. Decision 0021.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rayon::Yield;

/// How long threads stay awake after they were used.
const AWAKE: Duration = Duration::from_millis(1);

/// Looks between two at the clock, or at others who want the core.
const LOOKS: usize = 32;

/// Calls `work` with every part, several at once: the first part on this thread, the others on
/// threads of the pool that it belongs to, or of the global one, as they have time. Returns when
/// all is done. Panics if one of the calls does.
pub fn each<T: Send>(parts: impl IntoIterator<Item = T>, work: impl Fn(T) + Sync) {
    let mut parts = parts.into_iter();
    let Some(first) = parts.next() else { return };
    let Some(second) = parts.next() else { return work(first) };
    let left = AtomicUsize::new(0);
    rayon::in_place_scope(|scope| {
        let (work, left) = (&work, &left);
        for part in std::iter::once(second).chain(parts) {
            left.fetch_add(1, Ordering::Relaxed);
            scope.spawn(move |_| {
                let _done = Done(left);
                work(part);
            });
        }
        stay_awake(left.load(Ordering::Relaxed));
        work(first);
        wait_until(|| left.load(Ordering::Acquire) == 0, rayon::yield_local);
    });
}

/// Does what there is to do until something is so, without going to sleep.
fn wait_until(is_so: impl Fn() -> bool, do_something: fn() -> Option<Yield>) {
    while !is_so() {
        for _ in 0..LOOKS {
            if do_something() != Some(Yield::Executed) {
                std::hint::spin_loop();
            }
            if is_so() {
                return;
            }
        }
        // Whoever has more threads than cores waits for one that has no core.
        std::thread::yield_now();
    }
}

/// Counts a part as done, however it ends.
struct Done<'a>(&'a AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Until when threads stay awake, in nanoseconds of [`now`].
static UNTIL: AtomicU64 = AtomicU64::new(0);

/// How many do.
static AWAKE_NOW: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this one does.
    static IS_AWAKE: Cell<bool> = const { Cell::new(false) };
}

/// Keeps so many other threads of the pool awake for a while from now on. This is about time only:
/// whether a thread is awake makes no difference to what is computed.
fn stay_awake(threads: usize) {
    UNTIL.fetch_max(now() + AWAKE.as_nanos() as u64, Ordering::Relaxed);
    let caller = rayon::current_thread_index();
    let others = rayon::current_num_threads() - usize::from(caller.is_some());
    let threads = threads.min(others);
    if AWAKE_NOW.load(Ordering::Relaxed) >= threads {
        return;
    }
    rayon::spawn_broadcast(move |context| {
        let own = context.index();
        let place = own - usize::from(caller.is_some_and(|caller| caller < own));
        if caller == Some(own) || place >= threads || IS_AWAKE.replace(true) {
            return;
        }
        AWAKE_NOW.fetch_add(1, Ordering::Relaxed);
        wait_until(|| now() > UNTIL.load(Ordering::Relaxed), rayon::yield_now);
        AWAKE_NOW.fetch_sub(1, Ordering::Relaxed);
        IS_AWAKE.set(false);
    });
}

/// Nanoseconds since this was asked first.
fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn every_part_is_done_once_wherever_it_is_asked_for() {
        let check = || {
            for count in [0, 1, 2, 3, 40] {
                let mut done = vec![0; count];
                each(done.iter_mut().enumerate(), |(k, done)| *done += k + 1);
                assert!(done.into_iter().eq(1..=count));
            }
        };
        check();
        rayon::scope(|_| check());
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.expect("a small pool").install(check);
        }
    }

    #[test]
    fn parts_may_have_parts() {
        let sums = Mutex::new(Vec::new());
        each(0..4, |k| {
            let sum = AtomicUsize::new(0);
            each(0..10, |l| {
                sum.fetch_add(10 * k + l, Ordering::Relaxed);
            });
            sums.lock().expect("nobody panics").push(sum.into_inner());
        });
        let mut sums = sums.into_inner().expect("nobody panicked");
        sums.sort_unstable();
        assert_eq!(sums, [45, 145, 245, 345]);
    }

    #[test]
    fn whoever_waits_hears_of_a_panic() {
        for panics in [0, 2] {
            let run = || each(0..3, |k| assert_ne!(k, panics, "as planned"));
            assert!(std::panic::catch_unwind(run).is_err());
        }
        // The threads are still of use.
        let sum = AtomicUsize::new(0);
        each(0..9, |k| {
            sum.fetch_add(k, Ordering::Relaxed);
        });
        assert_eq!(sum.into_inner(), 36);
    }

    #[test]
    fn threads_stay_awake_and_go_to_sleep_after_a_while() {
        let start = Instant::now();
        let patience = Duration::from_secs(60);
        while AWAKE_NOW.load(Ordering::Relaxed) == 0 {
            assert!(start.elapsed() < patience, "no thread stays awake");
            each(0..2, |_| {});
        }
        // Other tests use them too, so only that there comes a time when none is awake.
        while AWAKE_NOW.load(Ordering::Relaxed) > 0 {
            assert!(start.elapsed() < patience, "some thread never sleeps");
            std::thread::yield_now();
        }
    }
}
