//! A model as JSON that people can read.

use serde::{Deserialize, Serialize};
use undertone_real::Real;

use super::{ExportError, check_count, malformed};
use crate::model::Model;

const FORMAT: &str = "undertone-model/1";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    model: Model,
    parts: Vec<Values>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Values {
    name: String,
    shape: Vec<usize>,
    /// Row by row. Single precision is widened, which loses nothing.
    values: Vec<f64>,
}

/// The model and its parameters by name. Reads back to the same bits.
pub fn write_json<R: Real>(model: &Model, x: &[R]) -> Result<String, ExportError> {
    check_count(model, x.len())?;
    if let Some(k) = x.iter().position(|v| !v.is_finite()) {
        return Err(ExportError::NotFinite(k));
    }
    let mut rest = x;
    let mut parts = Vec::new();
    for part in model.parts() {
        let (values, others) = rest.split_at(part.count());
        let values = values.iter().map(|v| v.to_f64()).collect();
        parts.push(Values { name: part.name, shape: part.shape, values });
        rest = others;
    }
    let file = File { format: FORMAT.to_owned(), model: model.clone(), parts };
    Ok(serde_json::to_string_pretty(&file).expect("finite numbers and plain names"))
}

/// What [`write_json`] wrote. Numbers that do not fit the precision that is asked for are rounded.
pub fn read_json<R: Real>(text: &str) -> Result<(Model, Vec<R>), ExportError> {
    let file: File = match serde_json::from_str(text) {
        Ok(file) => file,
        Err(error) => return malformed(error),
    };
    if file.format != FORMAT {
        return malformed(format!("the format is not {FORMAT}"));
    }
    file.model.check()?;
    let parts = file.model.parts();
    if parts.len() != file.parts.len() {
        return malformed(format!("there are {} parts, not {}", file.parts.len(), parts.len()));
    }
    let mut x = Vec::new();
    for (part, found) in parts.iter().zip(&file.parts) {
        let agree = (&part.name, &part.shape) == (&found.name, &found.shape);
        if !agree || found.values.len() != part.count() {
            return malformed(format!("part {} is not as the model says", part.name));
        }
        x.extend(found.values.iter().map(|v| R::from_f64(*v)));
    }
    if let Some(k) = x.iter().position(|v: &R| !v.is_finite()) {
        return Err(ExportError::NotFinite(k));
    }
    Ok((file.model, x))
}
