//! What happened to a node, in order: fed to a new machine, it leads to the same state.
//!
//! Only what came from outside is kept. Answers of the oracle are computed again: each has the
//! number of its debit, and with it the same batch and the same noise (invariant I4). So no secret
//! state (remembered gradients, a node's own point) is ever written to disk.

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The state of the algorithm was kept: what came before is not needed to come back to it.
    Checkpoint {
        /// The round that begins with it.
        round: u64,
        /// Debits of the ledger.
        debits: u64,
        /// Of its bytes.
        digest: [u8; 32],
    },
    /// The time for a round was over.
    Deadline {
        /// Which.
        round: u64,
    },
    /// A message was taken in; its bytes are kept beside the journal.
    Heard {
        /// From whom.
        from: u32,
        /// Its round.
        round: u64,
        /// Of its bytes.
        digest: [u8; 32],
    },
    /// A question was answered with a refusal and without the oracle: its round was over.
    Passed {
        /// The round of the question.
        round: u64,
    },
    /// The node came back and passed over rounds.
    Rejoin {
        /// To which one.
        round: u64,
    },
    /// A message was promised: from here on no other bytes may leave for its round.
    Sent {
        /// Its round.
        round: u64,
        /// Debits of the ledger.
        debits: u64,
        /// Of the message's bytes.
        digest: [u8; 32],
    },
}

const CHECKPOINT: u8 = 6;
const DEADLINE: u8 = 1;
const HEARD: u8 = 2;
const PASSED: u8 = 3;
const REJOIN: u8 = 4;
const SENT: u8 = 5;

impl Event {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let numbered = |kind: u8, number: &u64| [&[kind][..], &number.to_le_bytes()].concat();
        match self {
            Self::Deadline { round } => numbered(DEADLINE, round),
            Self::Passed { round } => numbered(PASSED, round),
            Self::Rejoin { round } => numbered(REJOIN, round),
            Self::Heard { from, round, digest } => {
                [&[HEARD][..], &from.to_le_bytes(), &round.to_le_bytes(), digest].concat()
            }
            Self::Checkpoint { round, debits, digest } => {
                [&numbered(CHECKPOINT, round)[..], &debits.to_le_bytes(), digest].concat()
            }
            Self::Sent { round, debits, digest } => {
                [&numbered(SENT, round)[..], &debits.to_le_bytes(), digest].concat()
            }
        }
    }

    /// From bytes; nothing if they are something else.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (&kind, body) = bytes.split_first()?;
        let round = || body.try_into().ok().map(u64::from_le_bytes);
        match kind {
            DEADLINE => Some(Self::Deadline { round: round()? }),
            PASSED => Some(Self::Passed { round: round()? }),
            REJOIN => Some(Self::Rejoin { round: round()? }),
            HEARD => {
                let (from, rest) = body.split_first_chunk::<4>()?;
                let (round, digest) = rest.split_first_chunk::<8>()?;
                let (from, round) = (u32::from_le_bytes(*from), u64::from_le_bytes(*round));
                Some(Self::Heard { from, round, digest: digest.try_into().ok()? })
            }
            CHECKPOINT | SENT => {
                let (round, rest) = body.split_first_chunk::<8>()?;
                let (debits, digest) = rest.split_first_chunk::<8>()?;
                let (round, debits) = (u64::from_le_bytes(*round), u64::from_le_bytes(*debits));
                let digest = digest.try_into().ok()?;
                Some(match kind {
                    SENT => Self::Sent { round, debits, digest },
                    _ => Self::Checkpoint { round, debits, digest },
                })
            }
            _ => None,
        }
    }
}

/// The head of the journal after one more event.
pub(crate) fn chain(head: &[u8; 32], event: &[u8]) -> [u8; 32] {
    blake3::derive_key("undertone journal v1", &[head, event].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_back_and_other_bytes_refused() {
        for event in [
            Event::Checkpoint { round: 1, debits: 2, digest: [3; 32] },
            Event::Deadline { round: 1 },
            Event::Heard { from: 2, round: 3, digest: [4; 32] },
            Event::Passed { round: 5 },
            Event::Rejoin { round: 6 },
            Event::Sent { round: 7, debits: 8, digest: [9; 32] },
        ] {
            let bytes = event.encode();
            assert_eq!(Event::decode(&bytes), Some(event.clone()));
            assert!(Event::decode(&bytes[..bytes.len() - 1]).is_none());
            assert!(Event::decode(&[&bytes[..], &[0]].concat()).is_none());
        }
        assert_eq!(Event::decode(&[]), None);
        assert_eq!(Event::decode(&[99, 0, 0, 0, 0, 0, 0, 0, 0]), None);
    }
}
