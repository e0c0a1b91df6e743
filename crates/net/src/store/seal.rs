//! The node's signature over how long its ledger and journal are, and where they end.

use crate::identity::{Identity, PublicKey, Signature};
use crate::journal::chain;

const PURPOSE: &str = "undertone store seal v1";
const CONTENT: usize = 8 + 32 + 8 + 32;

/// Where ledger and journal end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seal {
    pub(super) events: u64,
    pub(super) journal: [u8; 32],
    pub(super) debits: u64,
    /// The hash of the last entry; zero if there is none.
    pub(super) ledger: [u8; 32],
}

impl Seal {
    pub(super) fn first() -> Self {
        Self { events: 0, journal: [0; 32], debits: 0, ledger: [0; 32] }
    }

    pub(super) fn after(mut self, event: &[u8]) -> Self {
        self.journal = chain(&self.journal, event);
        self.events += 1;
        self
    }

    pub(super) fn sign(&self, identity: &Identity) -> Vec<u8> {
        let content = self.content();
        let signature = identity.sign(PURPOSE, &content);
        [&content[..], &signature.0].concat()
    }

    /// A seal that its owner signed; nothing if these bytes are something else.
    pub(super) fn read(bytes: &[u8], key: &PublicKey) -> Option<Self> {
        let (content, signature) = bytes.split_first_chunk::<CONTENT>()?;
        let signature = Signature(signature.try_into().ok()?);
        if !key.verify(PURPOSE, content, &signature) {
            return None;
        }
        let number = |at: usize| content[at..at + 8].try_into().ok().map(u64::from_le_bytes);
        Some(Self {
            events: number(0)?,
            journal: content[8..40].try_into().ok()?,
            debits: number(40)?,
            ledger: content[48..80].try_into().ok()?,
        })
    }

    fn content(&self) -> [u8; CONTENT] {
        let mut bytes = [0; CONTENT];
        bytes[..8].copy_from_slice(&self.events.to_le_bytes());
        bytes[8..40].copy_from_slice(&self.journal);
        bytes[40..48].copy_from_slice(&self.debits.to_le_bytes());
        bytes[48..].copy_from_slice(&self.ledger);
        bytes
    }
}
