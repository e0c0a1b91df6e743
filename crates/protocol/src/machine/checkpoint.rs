//! A machine between two rounds, as bytes.

use undertone_real::Real;

use super::{Machine, Phase};
use crate::carried::Carried;
use crate::synchronous::Synchronous;

impl<P: Synchronous<R>, R: Real> Machine<P, R> {
    /// All it needs to begin the present round again, beside the messages that wait to be read;
    /// nothing in the middle of a round.
    pub fn checkpoint(&mut self) -> Option<Vec<u8>> {
        if !matches!(self.phase, Phase::Beginning) {
            return None;
        }
        let mut bytes = Vec::new();
        let mut carried = Carried::write(&mut bytes);
        carried.count(&mut self.round);
        self.protocol.carry(&mut carried);
        Some(bytes)
    }

    /// Puts a checkpoint of the same node into a machine that has just been made; `false` if it is
    /// none of such an algorithm, and the machine must not be used then. Messages that waited have
    /// to be given again.
    pub fn resume(&mut self, checkpoint: &[u8]) -> bool {
        let mut carried = Carried::read(checkpoint);
        carried.count(&mut self.round);
        self.protocol.carry(&mut carried);
        let whole = carried.is_whole() && self.round < self.rounds;
        self.outputs.clear();
        self.begin();
        whole
    }
}
