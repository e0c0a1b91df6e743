//! What two nodes say to each other on their stream: a length, a kind, and a body.
//!
//! ```text
//! 0               4     5
//! length (u32)    kind  body (length - 1 bytes)
//! ```
//!
//! All numbers are little-endian. The first frame of each side is a [`Hello`], whose first two
//! bytes are the version, in all versions.

use crate::statement::{STATEMENT, Statement};

/// The version of frames and of the rules around them.
pub const VERSION: u16 = 1;

/// What one node says to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// "I have stored all that you sent me up to this round; you may forget it."
    Ack {
        /// Up to which round.
        round: u64,
    },
    /// "I am going."
    Bye {
        /// Whether all rounds are over; otherwise it may come back.
        finished: bool,
    },
    /// Who I am and where I stand.
    Hello(Hello),
    /// A message of the protocol, and what its sender signed about it.
    Message {
        /// The signed word.
        statement: Statement,
        /// The message's bytes.
        payload: Vec<u8>,
    },
    /// "I do not take that, and end our talk."
    Refusal(Refusal),
    /// "I am alive, in this round."
    Status {
        /// Which round.
        round: u64,
    },
}

/// Who a node is and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// See [`VERSION`].
    pub version: u16,
    /// The hash of the signed network file.
    pub network: [u8; 32],
    /// The hash of the plan.
    pub plan: [u8; 32],
    /// Its number in the plan.
    pub node: u32,
    /// The round that it is in.
    pub round: u64,
    /// It has stored all that the other sent in rounds below this.
    pub have: u64,
    /// The newest word of the other that it has stored: a store that went backwards shows here.
    pub seen: Option<Statement>,
}

macro_rules! refusals {
    ($($(#[doc = $doc:literal])* $name:ident = $code:literal, $word:literal;)*) => {
        /// Why a peer, or what it says, is not taken. Each is counted by its name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Refusal { $($(#[doc = $doc])* $name,)* }

        impl Refusal {
            /// All of them.
            pub const ALL: &[Refusal] = &[$(Refusal::$name,)*];

            /// On the wire.
            pub fn code(self) -> u8 {
                match self { $(Self::$name => $code,)* }
            }

            /// In counters and logs.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }
        }
    };
}

refusals! {
    /// Two different messages of one node and round.
    Equivocation = 1, "equivocation";
    /// A message with a number that is not finite.
    NotFinite = 2, "not-finite";
    /// Bytes that make no sense.
    Malformed = 3, "malformed";
    /// More connections than allowed.
    Flood = 4, "flood";
    /// A signature that is not of the peer.
    Forged = 5, "forged";
    /// A round that does not exist, or in which the sender is not heard.
    OutOfRound = 6, "out-of-round";
    /// Larger than any message of the plan.
    Oversized = 7, "oversized";
    /// Another network file.
    WrongNetwork = 8, "wrong-network";
    /// Another plan.
    WrongPlan = 9, "wrong-plan";
    /// Another version of these frames.
    WrongVersion = 10, "wrong-version";
    /// A key that is not in the network file, or not that of the node it claims to be.
    UnknownKey = 11, "unknown-key";
    /// Silence for too long, or a handshake that does not end.
    Timeout = 12, "timeout";
}

/// Why bytes are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The kind is not known, or the body has another length.
    #[error("the bytes are not a frame")]
    Malformed,
    /// A hello of another version.
    #[error("version {0} of the network protocol is not known; this is version {VERSION}")]
    Version(u16),
}

/// Bytes of the length.
pub const PREFIX: usize = 4;

/// The largest frame that is not a message.
pub const SMALL: usize = 1 + HELLO + STATEMENT;

const HELLO: usize = 2 + 32 + 32 + 4 + 8 + 8 + 1;

/// The largest frame for messages of so many bytes.
pub fn limit(payload: usize) -> usize {
    SMALL.max(1 + STATEMENT + payload)
}

/// Bytes of a message's frame before the message, after the length.
pub(crate) const HEAD: usize = 1 + STATEMENT;

/// The frame of a message of so many bytes, before its bytes.
pub(crate) fn message_head(statement: &Statement, payload: usize) -> [u8; PREFIX + HEAD] {
    let mut head = [0; PREFIX + HEAD];
    head[..PREFIX].copy_from_slice(&((HEAD + payload) as u32).to_le_bytes());
    head[PREFIX] = MESSAGE;
    head[PREFIX + 1..].copy_from_slice(&statement.encode());
    head
}

impl Frame {
    /// With its length.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; PREFIX];
        match self {
            Self::Ack { round } => {
                bytes.push(ACK);
                bytes.extend(round.to_le_bytes());
            }
            Self::Bye { finished } => bytes.extend([BYE, u8::from(*finished)]),
            Self::Hello(hello) => {
                bytes.push(HELLO_KIND);
                bytes.extend(hello.version.to_le_bytes());
                bytes.extend(hello.network);
                bytes.extend(hello.plan);
                bytes.extend(hello.node.to_le_bytes());
                bytes.extend(hello.round.to_le_bytes());
                bytes.extend(hello.have.to_le_bytes());
                bytes.push(u8::from(hello.seen.is_some()));
                if let Some(seen) = &hello.seen {
                    bytes.extend(seen.encode());
                }
            }
            Self::Message { statement, payload } => {
                return [&message_head(statement, payload.len())[..], payload].concat();
            }
            Self::Refusal(refusal) => bytes.extend([REFUSAL, refusal.code()]),
            Self::Status { round } => {
                bytes.push(STATUS);
                bytes.extend(round.to_le_bytes());
            }
        }
        let length = (bytes.len() - PREFIX) as u32;
        bytes[..PREFIX].copy_from_slice(&length.to_le_bytes());
        bytes
    }

    /// From the first [`HEAD`] bytes after the length and the rest, which a message keeps as it is,
    /// for it may be large.
    pub(crate) fn from_parts(head: &[u8], rest: Vec<u8>) -> Result<Self, FrameError> {
        match head.first_chunk::<HEAD>() {
            Some([MESSAGE, statement @ ..]) => {
                Ok(Self::Message { statement: Statement::decode(statement), payload: rest })
            }
            _ => Self::decode(&[head, &rest].concat()),
        }
    }

    /// From the bytes after the length, which the reader has bounded.
    pub fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let (&kind, body) = bytes.split_first().ok_or(FrameError::Malformed)?;
        let number = || body.try_into().map(u64::from_le_bytes).map_err(|_| FrameError::Malformed);
        match (kind, body) {
            (ACK, _) => Ok(Self::Ack { round: number()? }),
            (STATUS, _) => Ok(Self::Status { round: number()? }),
            (BYE, [finished @ (0 | 1)]) => Ok(Self::Bye { finished: *finished == 1 }),
            (REFUSAL, [code]) => {
                let refusal = Refusal::ALL.iter().find(|refusal| refusal.code() == *code);
                refusal.map(|refusal| Self::Refusal(*refusal)).ok_or(FrameError::Malformed)
            }
            (MESSAGE, _) => {
                let (statement, payload) =
                    body.split_first_chunk::<STATEMENT>().ok_or(FrameError::Malformed)?;
                let statement = Statement::decode(statement);
                Ok(Self::Message { statement, payload: payload.to_vec() })
            }
            (HELLO_KIND, _) => hello(body).map(Self::Hello),
            _ => Err(FrameError::Malformed),
        }
    }
}

const HELLO_KIND: u8 = 1;
const MESSAGE: u8 = 2;
const ACK: u8 = 3;
const STATUS: u8 = 4;
const BYE: u8 = 5;
const REFUSAL: u8 = 6;

fn hello(body: &[u8]) -> Result<Hello, FrameError> {
    let (version, _) = body.split_first_chunk::<2>().ok_or(FrameError::Malformed)?;
    let version = u16::from_le_bytes(*version);
    if version != VERSION {
        return Err(FrameError::Version(version));
    }
    let (fixed, seen) = body.split_at_checked(HELLO).ok_or(FrameError::Malformed)?;
    let number = |at: usize| u64::from_le_bytes(fixed[at..at + 8].try_into().expect("8 bytes"));
    let seen = match (fixed[HELLO - 1], <&[u8; STATEMENT]>::try_from(seen)) {
        (0, Err(_)) if seen.is_empty() => None,
        (1, Ok(statement)) => Some(Statement::decode(statement)),
        _ => return Err(FrameError::Malformed),
    };
    Ok(Hello {
        version,
        network: fixed[2..34].try_into().expect("32 bytes"),
        plan: fixed[34..66].try_into().expect("32 bytes"),
        node: u32::from_le_bytes(fixed[66..70].try_into().expect("4 bytes")),
        round: number(70),
        have: number(78),
        seen,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Identity;

    fn frames() -> Vec<Frame> {
        let statement =
            Statement::sign(&Identity::generate(), &[1; 32], 2, 3, (4, [5; 32]), b"six");
        let hello = |seen| {
            Frame::Hello(Hello {
                version: VERSION,
                network: [1; 32],
                plan: [2; 32],
                node: 3,
                round: 4,
                have: 5,
                seen,
            })
        };
        vec![
            Frame::Ack { round: 7 },
            Frame::Bye { finished: true },
            hello(None),
            hello(Some(statement)),
            Frame::Message { statement, payload: b"six".to_vec() },
            Frame::Refusal(Refusal::Flood),
            Frame::Status { round: u64::MAX },
        ]
    }

    #[test]
    fn frames_are_read_back() {
        for frame in frames() {
            let bytes = frame.encode();
            let (length, rest) = bytes.split_first_chunk::<PREFIX>().unwrap();
            assert_eq!(u32::from_le_bytes(*length) as usize, rest.len());
            assert!(rest.len() <= limit(3));
            let (head, body) = rest.split_at(rest.len().min(HEAD));
            assert_eq!(Frame::from_parts(head, body.to_vec()), Ok(frame.clone()));
            assert_eq!(Frame::decode(rest), Ok(frame));
        }
    }

    #[test]
    fn shorter_longer_and_unknown_ones_are_refused() {
        for frame in frames() {
            let bytes = &frame.encode()[PREFIX..];
            let is_message = matches!(frame, Frame::Message { .. });
            for cut in 0..bytes.len() {
                let decoded = Frame::decode(&bytes[..cut]);
                assert!(decoded.is_err() || is_message && cut > STATEMENT, "{frame:?} {cut}");
            }
            let long = [bytes, &[0]].concat();
            assert!(Frame::decode(&long).is_err() || is_message);
        }
        assert_eq!(Frame::decode(&[99]), Err(FrameError::Malformed));
        assert_eq!(Frame::decode(&[REFUSAL, 99]), Err(FrameError::Malformed));
        assert_eq!(Frame::decode(&[HELLO_KIND, 9, 0]), Err(FrameError::Version(9)));
    }
}
