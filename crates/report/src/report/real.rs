//! Numbers that may be infinite. JSON has none, so these are words there: a run that diverges has
//! to be told from one that measured nothing.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Raw {
    Finite(f64),
    Word(String),
}

impl From<f64> for Raw {
    fn from(value: f64) -> Self {
        if value.is_finite() { Self::Finite(value) } else { Self::Word(value.to_string()) }
    }
}

impl Raw {
    fn number<E: Error>(self) -> Result<f64, E> {
        match self {
            Self::Finite(value) => Ok(value),
            Self::Word(word) => match word.as_str() {
                "inf" => Ok(f64::INFINITY),
                "-inf" => Ok(f64::NEG_INFINITY),
                "NaN" => Ok(f64::NAN),
                _ => Err(E::custom(format!(
                    "a number, \"inf\", \"-inf\" or \"NaN\" was expected, not {word:?}"
                ))),
            },
        }
    }
}

pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Raw::from(*value).serialize(serializer)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Raw::deserialize(deserializer)?.number()
}

/// The same for what may be missing.
pub mod option {
    use super::{Deserialize, Deserializer, Raw, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        value.map(Raw::from).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<f64>, D::Error> {
        Option::<Raw>::deserialize(deserializer)?.map(Raw::number).transpose()
    }
}
