//! What a node allows.

use serde::{Deserialize, Serialize};

use crate::units::{Delta, Epsilon};

/// The most that a node's releases may cost, all together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Epsilon; infinite (`"infinite"` in JSON) for a run without privacy.
    #[serde(with = "or_infinite")]
    pub epsilon: Epsilon,
    /// Delta.
    pub delta: Delta,
}

/// JSON has no infinity.
pub(super) mod or_infinite {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::units::Epsilon;

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Raw {
        Finite(f64),
        Word(String),
    }

    pub fn serialize<S: Serializer>(epsilon: &Epsilon, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = match epsilon.get() {
            f64::INFINITY => Raw::Word("infinite".into()),
            value => Raw::Finite(value),
        };
        raw.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Epsilon, D::Error> {
        match Raw::deserialize(deserializer)? {
            Raw::Finite(value) => Epsilon::new(value).map_err(D::Error::custom),
            Raw::Word(word) if word == "infinite" => Ok(Epsilon::INFINITE),
            Raw::Word(word) => Err(D::Error::custom(format!(
                "epsilon must be a number or \"infinite\", got {word:?}"
            ))),
        }
    }
}
