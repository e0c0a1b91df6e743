//! A model as safetensors, which most of machine learning reads.
//!
//! Eight bytes with the length of a header; the header, JSON that names tensors with their type,
//! shape and place; the numbers, little end first. Our parts are tensors of the same name, and the
//! description of the model is in the metadata under `undertone`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use undertone_real::Real;

use super::{ExportError, check_count, malformed, precision};
use crate::model::Model;

#[derive(Serialize, Deserialize)]
struct Header {
    #[serde(rename = "__metadata__")]
    metadata: BTreeMap<String, String>,
    #[serde(flatten)]
    tensors: BTreeMap<String, Tensor>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tensor {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

/// Under which the metadata have the description of the model.
const DESCRIPTION: &str = "undertone";

/// The model and its parameters, in their precision.
pub fn write_safetensors<R: Real>(model: &Model, x: &[R]) -> Result<Vec<u8>, ExportError> {
    write_with_notes(model, x, BTreeMap::new())
}

/// The same with more to say in the metadata, by names other than `undertone`.
pub fn write_with_notes<R: Real>(
    model: &Model,
    x: &[R],
    notes: BTreeMap<String, String>,
) -> Result<Vec<u8>, ExportError> {
    check_count(model, x.len())?;
    let description = serde_json::to_string(model).expect("a model is plain data");
    let mut metadata = notes;
    metadata.insert(DESCRIPTION.to_owned(), description);
    let mut tensors = BTreeMap::new();
    let mut end = 0;
    for part in model.parts() {
        let first = end;
        end += part.count() * size_of::<R>();
        let (dtype, data_offsets) = (precision::<R>().to_owned(), [first, end]);
        tensors.insert(part.name, Tensor { dtype, shape: part.shape, data_offsets });
    }
    let header = Header { metadata, tensors };
    let mut header = serde_json::to_string(&header).expect("a header is plain data").into_bytes();
    // So that numbers can be read where they are, the format asks for a multiple of eight.
    header.resize(header.len().next_multiple_of(8), b' ');
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header);
    for v in x {
        if size_of::<R>() == 4 {
            bytes.extend((v.to_f64() as f32).to_le_bytes());
        } else {
            bytes.extend(v.to_f64().to_le_bytes());
        }
    }
    Ok(bytes)
}

/// What [`write_safetensors`] wrote, in the precision that it was written in.
pub fn read_safetensors<R: Real>(bytes: &[u8]) -> Result<(Model, Vec<R>), ExportError> {
    let (header, data) = split(bytes)?;
    let Some(description) = header.metadata.get(DESCRIPTION) else {
        return malformed("the metadata have no description under `undertone`");
    };
    let model: Model = match serde_json::from_str(description) {
        Ok(model) => model,
        Err(error) => return malformed(error),
    };
    model.check()?;
    let parts = model.parts();
    if parts.len() != header.tensors.len() {
        return malformed(format!(
            "there are {} tensors, not {}",
            header.tensors.len(),
            parts.len()
        ));
    }
    let mut x = Vec::new();
    let mut total = 0;
    for part in &parts {
        let Some(tensor) = header.tensors.get(&part.name) else {
            return malformed(format!("there is no tensor {}", part.name));
        };
        if tensor.dtype != precision::<R>() {
            return malformed(format!("{} is of type {}", part.name, tensor.dtype));
        }
        let [first, end] = tensor.data_offsets;
        let values = data.get(first..end).filter(|v| v.len() == part.count() * size_of::<R>());
        let Some(values) = values.filter(|_| tensor.shape == part.shape) else {
            return malformed(format!("tensor {} is not as the model says", part.name));
        };
        total += values.len();
        x.extend(values.chunks_exact(size_of::<R>()).map(number::<R>));
    }
    if total != data.len() {
        return malformed("there are bytes that belong to no tensor");
    }
    Ok((model, x))
}

/// What the metadata say beside the description of the model.
pub fn read_notes(bytes: &[u8]) -> Result<BTreeMap<String, String>, ExportError> {
    let (mut header, _) = split(bytes)?;
    header.metadata.remove(DESCRIPTION);
    Ok(header.metadata)
}

/// The header, and the numbers.
fn split(bytes: &[u8]) -> Result<(Header, &[u8]), ExportError> {
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else {
        return malformed("fewer than eight bytes");
    };
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    let Some((header, data)) = rest.split_at_checked(length) else {
        return malformed("the header is longer than the file");
    };
    match serde_json::from_slice(header) {
        Ok(header) => Ok((header, data)),
        Err(error) => malformed(error),
    }
}

fn number<R: Real>(bytes: &[u8]) -> R {
    let value = match *bytes {
        [a, b, c, d] => f64::from(f32::from_le_bytes([a, b, c, d])),
        _ => f64::from_le_bytes(bytes.try_into().expect("a number has four or eight bytes")),
    };
    R::from_f64(value)
}
