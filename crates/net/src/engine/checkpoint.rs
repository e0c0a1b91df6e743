//! When the algorithm's state is kept, so that older messages can be forgotten.

use super::*;
use crate::statement::digest;

/// How much may be heard before the state is kept again. Messages since then are in the store, and
/// are fed to the machine again after a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Bytes of messages; also at least a few times as many as the state has.
    pub bytes: usize,
    /// Rounds.
    pub rounds: u64,
}

impl Default for Keep {
    fn default() -> Self {
        Self { bytes: 256 << 10, rounds: 1024 }
    }
}

/// A message was hashed when it came and is only written; a state is copied, hashed and written,
/// and with it promised messages that do not follow from it. So a state is kept when it is small
/// beside what was heard, or beside what need not be written then.
const STATES: usize = 16;
const SPARED: usize = 4;

/// What was heard since the last checkpoint, and how large that was.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// By round and sender.
    messages: BTreeMap<(u64, u32), usize>,
    /// The round of the last checkpoint, and its bytes.
    last: (u64, usize),
}

impl Kept {
    pub(super) fn add(&mut self, from: u32, round: u64, bytes: usize) {
        self.messages.insert((round, from), bytes);
    }

    /// `spared` bytes were heard and are not in the store yet.
    fn is_due(&self, round: u64, spared: usize, keep: &Keep) -> bool {
        let (last, size) = self.last;
        let heard: usize = self.messages.range(..(round, 0)).map(|(_, bytes)| bytes).sum();
        let is_small = heard >= STATES * size || spared >= SPARED * size;
        heard >= keep.bytes && is_small || round >= last.saturating_add(keep.rounds)
    }
}

impl<R: Real> Engine<R> {
    /// The checkpoint is durable with the message that follows, in the same transaction; until then
    /// nothing is forgotten. An oracle that remembers has state that may be secret and is not
    /// written down: its node keeps all messages.
    pub(super) fn checkpoint_if_due(&mut self) {
        let round = self.machine.round();
        if self.is_replaying() || self.oracle.remembers() || round == 0 {
            return;
        }
        let old = self.batch.taken.iter().filter(|(_, of, _)| *of < round);
        let spared = old.map(|(_, _, payload)| payload.len()).sum();
        if !self.kept.is_due(round, spared, &self.setup.keep) {
            return;
        }
        let Some(state) = self.machine.checkpoint() else { return };
        let (debits, digest) = (self.oracle.ledger().len(), digest(&state));
        let rest = self.kept.messages.split_off(&(round, 0));
        let used = std::mem::replace(&mut self.kept.messages, rest);
        self.kept.last = (round, state.len());
        let fresh: BTreeSet<(u32, u64)> =
            self.batch.taken.iter().map(|(from, of, _)| (*from, *of)).collect();
        self.batch.taken.retain(|(_, of, _)| *of >= round);
        let old = used.into_keys().map(|(of, from)| (from, of));
        self.batch.forgotten.extend(old.filter(|message| !fresh.contains(message)));
        self.batch.checkpoint = Some((self.batch.events.len(), state));
        self.batch.events.push(Event::Checkpoint { round, debits, digest });
    }

    /// Puts the machine and the ledger where they were at the last checkpoint, if there is one.
    pub(super) fn resume(&mut self) -> Result<(), EngineError> {
        let Some((index, state)) = self.store.checkpoint()? else { return Ok(()) };
        let event = self.store.event(index)?;
        let Event::Checkpoint { round, debits, digest: wanted } = event else {
            return Err(EngineError::Diverged { round: 0 });
        };
        if digest(&state) != wanted || !self.machine.resume(&state) {
            return Err(EngineError::Diverged { round });
        }
        for entry in self.store.entries()?.into_iter().take(debits as usize) {
            self.oracle.repeat(entry.event).map_err(|_| EngineError::Diverged { round })?;
        }
        self.kept.last = (round, state.len());
        let mut waiting = Vec::new();
        let sent = &mut self.sent;
        self.store.for_each_event(index, |event| match event {
            Event::Sent { round, digest, .. } => drop(sent.insert(round, digest)),
            Event::Heard { from, round: of, digest } if of >= round => {
                waiting.push((from, of, digest));
            }
            _ => {}
        })?;
        for (from, of, digest) in waiting {
            self.feed(from, of, &digest)?;
        }
        self.fed = index + 1;
        Ok(())
    }

    /// Gives the machine a message that is in the store.
    pub(super) fn feed(
        &mut self,
        from: u32,
        round: u64,
        wanted: &[u8; 32],
    ) -> Result<(), EngineError> {
        let diverged = || EngineError::Diverged { round };
        let payload = self.store.message(from, round)?.ok_or_else(diverged)?;
        if digest(&payload) != *wanted {
            return Err(diverged());
        }
        let message = wire::decode::<R>(&payload, self.machine.shape());
        let message = std::sync::Arc::new(message.map_err(|_| diverged())?);
        self.kept.add(from, round, payload.len());
        self.machine.handle(Input::Message { from: NodeId(from), message });
        Ok(())
    }
}
