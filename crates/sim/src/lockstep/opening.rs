//! What nodes do at the beginning of a round, before they send.

use std::sync::Mutex;

use undertone_protocol::Exchange;
use undertone_real::Real;

use super::crew::UNBROKEN;

/// Rounds that begin in different ways share all the rest, which is long: it is compiled once.
pub(super) trait Opening<R: Real>: Sync {
    /// Who answers the nodes of a piece. `None` if there is nothing to ask.
    fn of_piece(&self, piece: usize) -> Option<Answering<'_, R>>;
}

/// Answers what some nodes ask, given the place of the first in the piece; says whether that went
/// well.
pub(super) type Answering<'a, R> = Box<dyn FnMut(usize, &mut [Exchange<R>]) -> bool + 'a>;

/// Nothing.
pub(super) struct Silence;

impl<R: Real> Opening<R> for Silence {
    fn of_piece(&self, _piece: usize) -> Option<Answering<'_, R>> {
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

impl<R, O, E, F> Opening<R> for Asking<'_, O, E, F>
where
    R: Real,
    O: Send,
    E: Send,
    F: Fn(&mut [O], usize, &mut [Exchange<R>]) -> Result<(), E> + Sync,
{
    fn of_piece(&self, piece: usize) -> Option<Answering<'_, R>> {
        let mut oracles = self.oracles[piece].lock().expect(UNBROKEN);
        Some(Box::new(move |first, exchanges| {
            match (self.answer)(&mut oracles, first, exchanges) {
                Ok(()) => true,
                Err(error) => {
                    self.fail(piece, error);
                    false
                }
            }
        }))
    }
}
