//! One line of a ledger, chained to the one before.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Header;
use crate::event::Event;

/// A blake3 hash; 64 hexadecimal digits in JSON.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hash([u8; 32]);

/// A text that is no hash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a hash has 64 lower-case hexadecimal digits, got {0:?}")]
pub struct BadHash(pub String);

/// One debit as it is stored.
///
/// `hash` is blake3 in key-derivation mode, context `undertone ledger entry v1`, of the JSON object
/// with the keys `node`, `serial`, `event`, `previous` in this order and without spaces. The first
/// `previous` is the hash of the header, context `undertone ledger header v1`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The how-manieth debit, from 0.
    pub serial: u64,
    /// What was paid for.
    pub event: Event,
    /// Hash of the entry before, or of the header.
    pub previous: Hash,
    /// Hash of this entry.
    pub hash: Hash,
}

#[derive(Serialize)]
struct Preimage<'a> {
    node: u32,
    serial: u64,
    event: &'a Event,
    previous: Hash,
}

/// A debit that is about to be stored.
#[derive(Debug)]
pub struct Debit<'a> {
    pub(super) node: u32,
    pub(super) serial: u64,
    pub(super) event: &'a Arc<Event>,
    pub(super) previous: Hash,
}

impl Debit<'_> {
    /// As an entry, chained to the one before.
    pub fn seal(&self) -> Entry {
        let Self { node, serial, event, previous } = *self;
        let hash =
            Hash::of("undertone ledger entry v1", &Preimage { node, serial, event, previous });
        Entry { serial, event: event.as_ref().clone(), previous, hash }
    }

    /// What is paid for.
    pub fn event(&self) -> &Arc<Event> {
        self.event
    }

    /// What the last debit left to be chained to.
    pub fn previous(&self) -> Hash {
        self.previous
    }
}

/// The entries of a ledger that made these debits, in order: what a simulation that kept no chain
/// would have stored. Nothing is checked; who reads them [replays](super::Ledger::replay) them.
pub fn chain(header: &Header, debited: &[(Arc<Event>, u64)]) -> Vec<Entry> {
    let events = debited.iter().flat_map(|(event, times)| (0..*times).map(move |_| event));
    let mut previous = Hash::genesis(header);
    let seal = |(serial, event)| {
        let entry = Debit { node: header.node, serial, event, previous }.seal();
        previous = entry.hash;
        entry
    };
    (0..).zip(events).map(seal).collect()
}

impl Entry {
    /// Whether the hash is that of the contents.
    pub(super) fn is_sealed(&self, node: u32) -> bool {
        let Entry { serial, event, previous, hash } = self;
        let preimage = Preimage { node, serial: *serial, event, previous: *previous };
        Hash::of("undertone ledger entry v1", &preimage) == *hash
    }
}

impl Hash {
    /// What the first entry of a ledger is chained to.
    pub(super) fn genesis(header: &Header) -> Self {
        Self::of("undertone ledger header v1", header)
    }

    fn of(context: &str, value: &impl Serialize) -> Self {
        let bytes = serde_json::to_vec(value).expect("plain data has a JSON form");
        Self(blake3::derive_key(context, &bytes))
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Hash> for String {
    fn from(hash: Hash) -> String {
        hash.to_string()
    }
}

impl TryFrom<String> for Hash {
    type Error = BadHash;
    fn try_from(text: String) -> Result<Self, BadHash> {
        let digits: Option<Vec<u8>> = text
            .bytes()
            .map(|digit| match digit {
                b'0'..=b'9' => Some(digit - b'0'),
                b'a'..=b'f' => Some(digit - b'a' + 10),
                _ => None,
            })
            .collect();
        match digits {
            Some(digits) if digits.len() == 64 => {
                Ok(Self(std::array::from_fn(|i| digits[2 * i] << 4 | digits[2 * i + 1])))
            }
            _ => Err(BadHash(text)),
        }
    }
}
