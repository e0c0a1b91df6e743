//! The newest promised messages, which are on disk as well: most are sent before they would have to
//! be read again.

use std::collections::BTreeMap;

use super::{Batch, Outgoing};

/// By round.
#[derive(Default)]
pub(super) struct Recent(BTreeMap<u64, Outgoing>);

/// So many, and so many bytes of them, are in memory at most. The newest always is.
const MESSAGES: usize = 8;
const BYTES: usize = 16 << 20;

impl Recent {
    pub(super) fn get(&self, round: u64) -> Option<Outgoing> {
        self.0.get(&round).cloned()
    }

    /// Takes up the message of a batch, and drops what everybody has and what is too much.
    pub(super) fn take_up(&mut self, batch: &Batch) {
        batch.settled.iter().for_each(|round| drop(self.0.remove(round)));
        let Some(outgoing) = &batch.outgoing else { return };
        let room = BYTES.saturating_sub(outgoing.payload.len());
        while self.0.len() >= MESSAGES || self.bytes() > room {
            if self.0.pop_first().is_none() {
                break;
            }
        }
        self.0.insert(outgoing.statement.round, outgoing.clone());
    }

    fn bytes(&self) -> usize {
        self.0.values().map(|outgoing| outgoing.payload.len()).sum()
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
    fn only_the_newest_are_in_memory() {
        let (identity, mut recent) = (Identity::generate(), Recent::default());
        let rounds = |recent: &Recent| recent.0.keys().copied().collect::<Vec<u64>>();
        for round in 0..20 {
            recent.take_up(&batch(&identity, round, 10));
        }
        assert_eq!(rounds(&recent), (12..20).collect::<Vec<_>>());
        // Those that everybody has are nobody's concern.
        let settled = (0..18).collect();
        recent.take_up(&Batch { settled, ..batch(&identity, 20, 10) });
        assert_eq!(rounds(&recent), [18, 19, 20]);
        // By their size: one that is too large stays alone.
        recent.take_up(&batch(&identity, 21, BYTES + 1));
        assert_eq!(rounds(&recent), [21]);
    }
}
