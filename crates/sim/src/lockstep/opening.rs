//! What nodes do at the beginning of a round, before they send.

use std::sync::Mutex;

use undertone_protocol::{Answer, Question, Synchronous};
use undertone_real::Real;

use super::UNBROKEN;

/// Rounds that begin in different ways share all the rest, which is long: it is compiled once.
pub(super) trait Opening<P, R>: Sync {
    /// What the nodes of a piece do, one after the other by their place in it; it says whether that
    /// went well. `None` if there is nothing to do.
    fn of_piece(&self, piece: usize, round: u64) -> Option<Each<'_, P>>;
}

/// What one node does.
pub(super) type Each<'a, P> = Box<dyn FnMut(usize, &mut P) -> bool + 'a>;

/// Nothing.
pub(super) struct Silence;

impl<P, R> Opening<P, R> for Silence {
    fn of_piece(&self, _piece: usize, _round: u64) -> Option<Each<'_, P>> {
        None
    }
}

/// Every node asks its oracle.
pub(super) struct Asking<'a, O, E, F> {
    oracles: Vec<Mutex<&'a mut [O]>>,
    answer: F,
    /// The first piece in which one failed, and how.
    failed: Mutex<Option<(usize, E)>>,
}

impl<'a, O, E, F> Asking<'a, O, E, F> {
    pub(super) fn new(oracles: &'a mut [O], size: usize, answer: F) -> Self {
        let oracles = oracles.chunks_mut(size).map(Mutex::new).collect();
        Self { oracles, answer, failed: Mutex::new(None) }
    }

    /// What the first oracle that failed said.
    pub(super) fn failure(self) -> Option<E> {
        self.failed.into_inner().expect(UNBROKEN).map(|(_, error)| error)
    }

    fn fail(&self, piece: usize, error: E) {
        let mut failed = self.failed.lock().expect(UNBROKEN);
        if failed.as_ref().is_none_or(|(other, _)| piece < *other) {
            *failed = Some((piece, error));
        }
    }
}

impl<P, R, O, E, F> Opening<P, R> for Asking<'_, O, E, F>
where
    P: Synchronous<R>,
    R: Real,
    O: Send,
    E: Send,
    F: Fn(&mut O, Question<R>) -> Result<Answer<R>, E> + Sync,
{
    fn of_piece(&self, piece: usize, round: u64) -> Option<Each<'_, P>> {
        let mut oracles = self.oracles[piece].lock().expect(UNBROKEN);
        Some(Box::new(move |place, node: &mut P| {
            let Some(question) = node.ask(round) else { return true };
            match (self.answer)(&mut oracles[place], question) {
                Ok(answer) => {
                    node.answer(round, answer);
                    true
                }
                Err(error) => {
                    self.fail(piece, error);
                    false
                }
            }
        }))
    }
}
