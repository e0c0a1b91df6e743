//! Who a node is: an Ed25519 key.

use std::fmt;
use std::io::Write;
use std::path::Path;

use libp2p::PeerId;
use libp2p::identity::{Keypair, ed25519};
use serde::{Deserialize, Serialize};

/// The secret half of a node's key. Its `Debug` shows the public half only.
#[derive(Clone)]
pub struct Identity(ed25519::Keypair);

/// What everybody knows of a node: 64 hexadecimal digits in files.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicKey([u8; 32]);

/// A signature: 128 hexadecimal digits in files.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Signature(pub [u8; 64]);

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file is something else.
    #[error("{0}: is not a key of undertone; make one with `undertone keygen`")]
    NoKey(String),
    /// Others may read the file.
    #[error("{0}: others can read this key; run chmod 600 on it")]
    Exposed(String),
}

/// A text that is no key or signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected} lower-case hexadecimal digits")]
pub struct BadHex {
    expected: usize,
}

/// The first line of a key's file.
const HEADER: &str = "undertone secret key v1";

impl Identity {
    /// A new key from the randomness of the operating system.
    pub fn generate() -> Self {
        Self(ed25519::Keypair::generate())
    }

    /// Reads a key's file, which nobody else may read.
    pub fn read(path: &Path) -> Result<Self, IdentityError> {
        let name = path.display().to_string();
        let file = |source| IdentityError::File { path: name.clone(), source };
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            if std::fs::metadata(path).map_err(file)?.permissions().mode() & 0o077 != 0 {
                return Err(IdentityError::Exposed(name));
            }
        }
        let text = std::fs::read_to_string(path).map_err(file)?;
        let secret = text.strip_prefix(HEADER).and_then(|rest| unhex::<32>(rest.trim()));
        let secret = secret.and_then(|bytes| ed25519::SecretKey::try_from_bytes(bytes).ok());
        secret.map(|secret| Self(secret.into())).ok_or(IdentityError::NoKey(name))
    }

    /// Writes a new file that only its owner can read; never over an old one.
    pub fn write(&self, path: &Path) -> Result<(), IdentityError> {
        let file = |source| IdentityError::File { path: path.display().to_string(), source };
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut out = options.open(path).map_err(file)?;
        let secret = self.0.secret();
        writeln!(out, "{HEADER}\n{}", hex(secret.as_ref())).map_err(file)?;
        out.sync_all().map_err(file)
    }

    /// The public half.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.public().to_bytes())
    }

    /// Signs bytes for one purpose.
    pub fn sign(&self, purpose: &str, bytes: &[u8]) -> Signature {
        let signature = self.0.sign(&blake3::derive_key(purpose, bytes));
        Signature(signature.try_into().expect("an Ed25519 signature has 64 bytes"))
    }

    pub(crate) fn keypair(&self) -> Keypair {
        self.0.clone().into()
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.public())
    }
}

impl PublicKey {
    /// Whether the owner of this key signed these bytes for this purpose.
    pub fn verify(&self, purpose: &str, bytes: &[u8], signature: &Signature) -> bool {
        let digest = blake3::derive_key(purpose, bytes);
        ed25519::PublicKey::try_from_bytes(&self.0)
            .is_ok_and(|key| key.verify(&digest, &signature.0))
    }

    /// As libp2p calls it; nothing if the bytes are no point of the curve.
    pub fn peer_id(&self) -> Option<PeerId> {
        let key = ed25519::PublicKey::try_from_bytes(&self.0).ok()?;
        Some(libp2p::identity::PublicKey::from(key).to_peer_id())
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> String {
        hex(&key.0)
    }
}

impl TryFrom<String> for PublicKey {
    type Error = BadHex;
    fn try_from(text: String) -> Result<Self, BadHex> {
        unhex(&text).map(Self).ok_or(BadHex { expected: 64 })
    }
}

impl From<Signature> for String {
    fn from(signature: Signature) -> String {
        hex(&signature.0)
    }
}

impl TryFrom<String> for Signature {
    type Error = BadHex;
    fn try_from(text: String) -> Result<Self, BadHex> {
        unhex(&text).map(Self).ok_or(BadHex { expected: 128 })
    }
}

/// Lower-case digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N || digits.iter().any(|d| !matches!(d, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let mut bytes = [0; N];
    for (k, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * k..2 * k + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_of_one_key_one_purpose_and_these_bytes() {
        let (own, other) = (Identity::generate(), Identity::generate());
        let signature = own.sign("test", b"bytes");
        assert!(own.public().verify("test", b"bytes", &signature));
        assert!(!own.public().verify("test", b"other", &signature));
        assert!(!own.public().verify("other", b"bytes", &signature));
        assert!(!other.public().verify("test", b"bytes", &signature));
    }

    #[test]
    fn secrets_are_not_printed() {
        let own = Identity::generate();
        let secret = hex(own.0.secret().as_ref());
        assert!(!format!("{own:?}").contains(&secret));
    }

    #[test]
    fn texts_are_read_back_and_others_refused() {
        let key = Identity::generate().public();
        assert_eq!(PublicKey::try_from(key.to_string()), Ok(key));
        let upper = key.to_string().replace(char::is_numeric, "A");
        for bad in ["", "00", &upper, &"é".repeat(32)] {
            assert!(PublicKey::try_from(bad.to_string()).is_err());
        }
    }
}
