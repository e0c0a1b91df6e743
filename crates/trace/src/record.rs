//! The lines of a trace.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the schema that is written, and the only one that is read.
pub const SCHEMA: u32 = 1;

/// One line. The first is a [`Record::Start`], the last a [`Record::End`] if the run came to one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
#[serde(deny_unknown_fields)]
pub enum Record {
    /// What runs.
    Start {
        /// The version of these lines; see [`SCHEMA`].
        schema: u32,
        /// The name of the experiment.
        name: String,
        /// The hash of the plan, so that a trace can be told to belong to it.
        plan_hash: String,
        /// The public seed of everything that is random.
        seed: u64,
        /// How many nodes.
        nodes: u32,
        /// The name of the algorithm.
        algorithm: String,
        /// `f32` or `f64`.
        precision: String,
    },
    /// What the evaluator saw after so many rounds.
    Round {
        /// How many rounds are over.
        round: u64,
        /// Virtual seconds since the start; nothing where links are ideal and there is no time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time: Option<f64>,
        /// Messages sent so far.
        messages: u64,
        /// Bytes sent so far.
        bytes: u64,
        /// What was measured, by name.
        #[serde(with = "numbers")]
        metrics: BTreeMap<String, f64>,
    },
    /// What a node's ledger promises.
    Guarantee {
        /// Whose ledger.
        node: u32,
        /// The complete guarantee.
        guarantee: Value,
        /// What the algorithm's paper claims for the same noise, if it does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        claim: Option<Value>,
    },
    /// Something for people to read.
    Note {
        /// What.
        text: String,
    },
    /// The run is over.
    End {
        /// How many rounds there were.
        rounds: u64,
        /// Messages sent.
        messages: u64,
        /// Bytes sent.
        bytes: u64,
    },
}

/// Numbers by name. JSON has none that is infinite, so these are words there: a run that diverges
/// has to be told from one that measured nothing.
mod numbers {
    use std::collections::BTreeMap;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Raw {
        Finite(f64),
        Word(String),
    }

    pub fn serialize<S: Serializer>(
        numbers: &BTreeMap<String, f64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let raw = |v: f64| if v.is_finite() { Raw::Finite(v) } else { Raw::Word(v.to_string()) };
        serializer.collect_map(numbers.iter().map(|(name, v)| (name, raw(*v))))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<String, f64>, D::Error> {
        let number = |raw| match raw {
            Raw::Finite(v) => Ok(v),
            Raw::Word(word) => match word.as_str() {
                "inf" => Ok(f64::INFINITY),
                "-inf" => Ok(f64::NEG_INFINITY),
                "NaN" => Ok(f64::NAN),
                _ => Err(D::Error::custom(format!(
                    "a measured number, \"inf\", \"-inf\" or \"NaN\" was expected, not {word:?}"
                ))),
            },
        };
        let raw = BTreeMap::<String, Raw>::deserialize(deserializer)?;
        raw.into_iter().map(|(name, raw)| Ok((name, number(raw)?))).collect()
    }
}
