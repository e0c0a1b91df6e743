//! `undertone export`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use undertone_model::Model;
use undertone_model::export::onnx::write_onnx;
use undertone_model::export::write_json;
use undertone_real::Real;

use super::{Numbers, Saved, open};
use crate::output;
use crate::run::shelf::whole;

/// Write a model in another format: ONNX, JSON or safetensors.
#[derive(Args)]
#[command(after_help = "\
Examples:
  undertone export undertone-out/quickstart/models/private-together.safetensors --format onnx
  undertone export model.safetensors --format json --out model.json
  undertone export model.safetensors --format json --out - | jq .model

A model is made of what nodes released, so that to write, copy or publish it costs nothing more.
ONNX takes encoded features, one record a row, and gives scores; how a table is encoded is in the
card, which --format json prints beside the parameters.")]
pub struct Export {
    /// A model that `undertone run` wrote
    model: PathBuf,
    /// What to write
    #[arg(long, value_enum)]
    format: Format,
    /// The file; - is standard output [default: the model's name with another ending]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// No word about the file or the guarantee
    #[arg(long)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Json,
    Onnx,
    Safetensors,
}

impl Export {
    /// The text to print.
    pub fn run(self) -> Result<String, String> {
        let saved = open(&self.model)?;
        let bytes = match &saved.numbers {
            Numbers::F32(x) => self.bytes(&saved, x),
            Numbers::F64(x) => self.bytes(&saved, x),
        };
        let bytes = bytes.map_err(|error| format!("{}: {error}", self.model.display()))?;
        if let Some(warning) = saved.warning().filter(|_| !self.quiet) {
            output::warn(&warning);
        }
        let ending = match self.format {
            Format::Json => "json",
            Format::Onnx => "onnx",
            Format::Safetensors => "copy.safetensors",
        };
        let out = self.out.clone().unwrap_or_else(|| self.model.with_extension(ending));
        if out == Path::new("-") {
            return match String::from_utf8(bytes) {
                Ok(text) => Ok(text),
                Err(_) => Err("--out -: this format is not text; name a file".into()),
            };
        }
        whole(&out, &bytes).map_err(|error| format!("{error}; choose another --out"))?;
        Ok(if self.quiet { String::new() } else { format!("wrote {}", out.display()) })
    }

    fn bytes<R: Real>(&self, saved: &Saved, x: &[R]) -> Result<Vec<u8>, String> {
        match self.format {
            Format::Json => json(&saved.model, x, saved),
            Format::Onnx => write_onnx(&saved.model, x).map_err(|error| error.to_string()),
            Format::Safetensors => std::fs::read(&self.model).map_err(|error| error.to_string()),
        }
    }
}

/// Parameters by name, and the card.
fn json<R: Real>(model: &Model, x: &[R], saved: &Saved) -> Result<Vec<u8>, String> {
    let text = write_json(model, x).map_err(|error| error.to_string())?;
    let mut value: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| error.to_string())?;
    value["card"] = serde_json::json!(saved.card);
    Ok(output::json(&value).into_bytes())
}
