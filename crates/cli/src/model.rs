//! Models that were learned: what they are, in other formats, and what they predict.

pub mod card;
pub mod export;
pub mod predict;

use std::path::Path;

use undertone_model::Model;
use undertone_model::export::{read_notes, read_safetensors};

use card::{CARD, Card};

/// A model that was read back, in the precision it was trained in.
pub struct Saved {
    pub model: Model,
    pub numbers: Numbers,
    /// What is known of it; nothing if somebody else wrote the file.
    pub card: Option<Card>,
}

/// Parameters.
pub enum Numbers {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// Reads a model that `undertone run` wrote.
pub fn open(path: &Path) -> Result<Saved, String> {
    let name = path.display();
    let remedy = "give a file that `undertone run` wrote into models/";
    let bytes = std::fs::read(path).map_err(|error| format!("{name}: {error}; {remedy}"))?;
    let wrong = |error: String| format!("{name}: {error}; {remedy}");
    let notes = read_notes(&bytes).map_err(|error| wrong(error.to_string()))?;
    let card = match notes.get(CARD) {
        None => None,
        Some(text) => Some(serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?),
    };
    if let Ok((model, x)) = read_safetensors(&bytes) {
        return Ok(Saved { model, numbers: Numbers::F32(x), card });
    }
    let (model, x) = read_safetensors(&bytes).map_err(|error| wrong(error.to_string()))?;
    Ok(Saved { model, numbers: Numbers::F64(x), card })
}

impl Saved {
    /// What is said on standard error before it is used.
    pub fn warning(&self) -> Option<String> {
        match &self.card {
            None => Some("this model has no card: nothing is known of its guarantee".into()),
            Some(card) if !card.is_private() => {
                Some("this model was learned without privacy: there is no guarantee".into())
            }
            Some(card) => card.statement.lines().last().map(str::to_string),
        }
    }
}
