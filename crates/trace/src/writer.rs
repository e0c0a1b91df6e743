//! Writing a trace and hashing it on the way.

use std::io::{self, Write};

use crate::record::Record;

/// Writes records as lines and hashes what it writes: two runs are the same if their trace hashes
/// are (invariant I5).
#[derive(Debug)]
pub struct Trace<W> {
    out: W,
    hasher: blake3::Hasher,
}

impl<W: Write> Trace<W> {
    /// Into a file, or into a vector to collect them.
    pub fn new(out: W) -> Self {
        Self { out, hasher: blake3::Hasher::new() }
    }

    /// Adds a line.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        self.hasher.update(&line);
        self.out.write_all(&line)
    }

    /// The hash of all lines so far, in hexadecimal digits.
    pub fn hash(&self) -> String {
        self.hasher.finalize().to_hex().to_string()
    }

    /// What was written to.
    pub fn into_inner(self) -> W {
        self.out
    }
}

/// The hash of some bytes, as a trace or a plan is hashed.
pub fn hash_of(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
