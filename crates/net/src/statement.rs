//! What a node signs about each of its messages, so that nobody can deny or repeat a release.

use bytes::Bytes;

use crate::identity::{Identity, PublicKey, Signature};
use crate::network::Network;

const PURPOSE: &str = "undertone statement v1";

/// A node's signed word: "in this round I sent this message, and my ledger was so long". Whoever
/// hears the message keeps it. Two of the same node and round with different digests prove that the
/// node (or a copy of it) released twice; one that is newer than the node's own store proves that
/// the store went backwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Whose.
    pub node: u32,
    /// The round of the message; a node sends at most one in a round.
    pub round: u64,
    /// Debits of its ledger.
    pub debits: u64,
    /// The hash of the last one.
    pub head: [u8; 32],
    /// Of the message's bytes.
    pub digest: [u8; 32],
    /// By the node's key, for this network.
    pub signature: Signature,
}

/// Bytes of a statement.
pub const STATEMENT: usize = 4 + 8 + 8 + 32 + 32 + 64;

impl Statement {
    /// Signs.
    pub fn sign(
        identity: &Identity,
        network: &[u8; 32],
        node: u32,
        round: u64,
        (debits, head): (u64, [u8; 32]),
        payload: &[u8],
    ) -> Self {
        let digest = digest(payload);
        let signature = Signature([0; 64]);
        let unsigned = Self { node, round, debits, head, digest, signature };
        let signature = identity.sign(PURPOSE, &unsigned.signed(network));
        Self { signature, ..unsigned }
    }

    /// Whether it is the word of that member of the network.
    pub fn is_of(&self, network: &Network, key: &PublicKey) -> bool {
        key.verify(PURPOSE, &self.signed(network.hash()), &self.signature)
    }

    /// Whether it speaks of these bytes.
    pub fn is_about(&self, payload: &[u8]) -> bool {
        self.digest == digest(payload)
    }

    /// The bytes on the wire and on disk.
    pub fn encode(&self) -> [u8; STATEMENT] {
        let mut bytes = [0; STATEMENT];
        bytes[..84].copy_from_slice(&self.content());
        bytes[84..].copy_from_slice(&self.signature.0);
        bytes
    }

    /// Reads them; any bytes are a statement, though hardly one with a valid signature.
    pub fn decode(bytes: &[u8; STATEMENT]) -> Self {
        let part = |from: usize, to: usize| &bytes[from..to];
        let number = |from| u64::from_le_bytes(part(from, from + 8).try_into().expect("8 bytes"));
        Self {
            node: u32::from_le_bytes(part(0, 4).try_into().expect("4 bytes")),
            round: number(4),
            debits: number(12),
            head: part(20, 52).try_into().expect("32 bytes"),
            digest: part(52, 84).try_into().expect("32 bytes"),
            signature: Signature(part(84, STATEMENT).try_into().expect("64 bytes")),
        }
    }

    fn content(&self) -> [u8; 84] {
        let mut bytes = [0; 84];
        bytes[..4].copy_from_slice(&self.node.to_le_bytes());
        bytes[4..12].copy_from_slice(&self.round.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.debits.to_le_bytes());
        bytes[20..52].copy_from_slice(&self.head);
        bytes[52..84].copy_from_slice(&self.digest);
        bytes
    }

    fn signed(&self, network: &[u8; 32]) -> Vec<u8> {
        [&network[..], &self.content()].concat()
    }
}

/// The bytes of a message that came, and their digest: it is computed once, while they come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    bytes: Bytes,
    digest: [u8; 32],
}

impl Payload {
    /// Of bytes that are all there.
    pub fn new(bytes: Bytes) -> Self {
        let digest = digest(&bytes);
        Self { bytes, digest }
    }

    /// Of bytes whose digest was made on the way.
    pub(crate) fn with(bytes: Bytes, digest: [u8; 32]) -> Self {
        debug_assert_eq!(digest, self::digest(&bytes));
        Self { bytes, digest }
    }

    /// The bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Their digest.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }
}

const DIGEST: &str = "undertone message v1";

/// Of a message's bytes.
pub fn digest(payload: &[u8]) -> [u8; 32] {
    blake3::derive_key(DIGEST, payload)
}

/// Makes the same digest of bytes that come in parts.
pub(crate) fn digester() -> blake3::Hasher {
    blake3::Hasher::new_derive_key(DIGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_bound_to_key_network_and_content() {
        let identity = Identity::generate();
        let statement = Statement::sign(&identity, &[7; 32], 3, 9, (2, [1; 32]), b"payload");
        let verify = |statement: &Statement, network: &[u8; 32]| {
            let key = identity.public();
            key.verify(PURPOSE, &statement.signed(network), &statement.signature)
        };
        assert!(verify(&statement, &[7; 32]) && statement.is_about(b"payload"));
        assert!(!verify(&statement, &[8; 32]) && !statement.is_about(b"other"));
        assert_eq!(Statement::decode(&statement.encode()), statement);
        for changed in [
            Statement { node: 4, ..statement },
            Statement { round: 8, ..statement },
            Statement { debits: 1, ..statement },
            Statement { head: [2; 32], ..statement },
            Statement { digest: [2; 32], ..statement },
        ] {
            assert!(!verify(&changed, &[7; 32]));
        }
    }
}
