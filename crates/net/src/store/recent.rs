//! Promised messages that a replay would make again: their bytes are in memory only.

use std::collections::BTreeMap;

use super::{Batch, Outgoing};

/// By round.
#[derive(Default)]
pub(super) struct Recent(BTreeMap<u64, Outgoing>);

/// So many, and so many bytes of them, wait in memory for peers that are slow. The newest always
/// does.
const MESSAGES: usize = 8;
const BYTES: usize = 16 << 20;

impl Recent {
    pub(super) fn get(&self, round: u64) -> Option<Outgoing> {
        self.0.get(&round).cloned()
    }

    pub(super) fn add(&mut self, outgoing: Outgoing) {
        self.0.insert(outgoing.statement.round, outgoing);
    }

    /// Takes up the message of a batch. Returns those that have to be written down with it: all
    /// older ones, if its checkpoint ends what they follow from; the oldest, if there are too many.
    pub(super) fn take_up(&mut self, batch: &Batch) -> Vec<Outgoing> {
        let open = self.0.values().filter(|m| !batch.settled.contains(&m.statement.round)).rev();
        let (mut messages, mut bytes) = match &batch.outgoing {
            Some(outgoing) => (1, outgoing.payload.len()),
            None => (0, 0),
        };
        let stays = |outgoing: &&Outgoing| {
            (messages, bytes) = (messages + 1, bytes + outgoing.payload.len());
            messages <= MESSAGES && bytes <= BYTES
        };
        let left = match batch.checkpoint {
            Some(_) => open.cloned().collect(),
            None => open.skip_while(stays).cloned().collect(),
        };
        batch.outgoing.iter().cloned().for_each(|outgoing| self.add(outgoing));
        left
    }

    /// After the batch is durable: what was written down, and what everybody has.
    pub(super) fn drop_those(&mut self, batch: &Batch, left: &[Outgoing]) {
        let left = left.iter().map(|outgoing| outgoing.statement.round);
        left.chain(batch.settled.iter().copied()).for_each(|round| drop(self.0.remove(&round)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Identity;
    use crate::statement::Statement;

    fn batch(identity: &Identity, round: u64, bytes: usize) -> Batch {
        let payload = vec![0; bytes];
        let statement = Statement::sign(identity, &[0; 32], 0, round, (0, [0; 32]), &payload);
        let outgoing = Outgoing { hearers: vec![1], statement, payload: payload.into() };
        Batch { outgoing: Some(outgoing), ..Batch::default() }
    }

    #[test]
    fn what_waits_long_or_does_not_follow_any_more_is_written_down() {
        let (identity, mut recent) = (Identity::generate(), Recent::default());
        let rounds = |left: &[Outgoing]| -> Vec<u64> {
            left.iter().map(|outgoing| outgoing.statement.round).collect()
        };
        let mut left = Vec::new();
        for round in 0..20 {
            let batch = batch(&identity, round, 10);
            let leaves = recent.take_up(&batch);
            recent.drop_those(&batch, &leaves);
            left.extend(rounds(&leaves));
            assert!(recent.0.len() <= MESSAGES);
        }
        assert_eq!(left, (0..20 - MESSAGES as u64).collect::<Vec<_>>());
        // Those that everybody has are nobody's concern; a checkpoint leaves only the newest.
        let settled = (0..18).collect();
        let last = Batch { settled, checkpoint: Some((0, vec![])), ..batch(&identity, 20, 10) };
        let leaves = recent.take_up(&last);
        assert_eq!(rounds(&leaves), [19, 18]);
        recent.drop_those(&last, &leaves);
        assert_eq!(recent.0.keys().copied().collect::<Vec<_>>(), [20]);
        // By their size: one that is too large stays alone.
        let large = batch(&identity, 21, BYTES + 1);
        assert_eq!(rounds(&recent.take_up(&large)), [20]);
        assert!(recent.get(21).is_some());
    }
}
