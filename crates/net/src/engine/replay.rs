//! Back to where the node was: the journal is fed to a new machine, and the oracle is asked again.

use super::*;
use crate::statement::digest;

impl<R: Real> Engine<R> {
    pub(super) fn is_replaying(&self) -> bool {
        self.fed < self.store.events()
    }

    /// Feeds the journal, from the last checkpoint on. At its end, all debits of the ledger were
    /// made again.
    pub(super) fn replay(&mut self) -> Result<(), EngineError> {
        self.resume()?;
        self.drain()?;
        while self.is_replaying() {
            match self.store.event(self.fed)? {
                // Only the last one is kept; those before are passed by.
                Event::Checkpoint { .. } => self.fed += 1,
                Event::Heard { from, round, digest } => {
                    self.fed += 1;
                    self.feed(from, round, &digest)?;
                }
                Event::Deadline { round } => {
                    self.fed += 1;
                    self.machine.handle(Input::Deadline { round });
                }
                Event::Rejoin { round } => {
                    self.fed += 1;
                    self.machine.handle(Input::Rejoin { round });
                }
                Event::Passed { round } => {
                    self.fed += 1;
                    self.held = None;
                    self.machine.handle(Input::Answer { round, answer: Answer::Refused });
                }
                // Its question is answered again; the message that follows is compared.
                Event::Sent { round, .. } if self.held.is_some() => {
                    let before = self.fed;
                    self.answer()?;
                    self.drain()?;
                    if self.fed == before {
                        return Err(EngineError::Diverged { round });
                    }
                }
                Event::Sent { round, .. } => return Err(EngineError::Diverged { round }),
            }
            self.drain()?;
        }
        if self.account.known() > 0 {
            return Err(EngineError::Diverged { round: self.machine.round() });
        }
        let counters = &self.setup.counters;
        counters.debits.set(self.oracle.ledger().len());
        counters.round.set(self.machine.round());
        Ok(())
    }

    /// A message that was promised before: the bytes must be the same.
    pub(super) fn resend(&mut self, round: u64, payload: Bytes) -> Result<(), EngineError> {
        let digest = digest(&payload);
        let debits = self.oracle.ledger().len();
        if self.store.event(self.fed)? != (Event::Sent { round, debits, digest }) {
            return Err(EngineError::Diverged { round });
        }
        self.fed += 1;
        self.sent.insert(round, digest);
        Ok(())
    }
}
