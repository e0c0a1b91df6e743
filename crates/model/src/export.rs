//! Trained models as bytes for others: JSON, safetensors and ONNX.
//!
//! What is read back is checked against the description of the model that it contains: sizes are
//! bounded by what was given, and nothing that is wrong panics.

mod json;
pub mod onnx;
mod protobuf;
mod safetensors;

pub use json::{read_json, write_json};
pub use safetensors::{read_notes, read_safetensors, write_safetensors, write_with_notes};

use crate::model::{Model, ModelError};

/// Why a model cannot be written or read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExportError {
    /// Parameters of another model.
    #[error("the model has {expected} parameters, but {got} were given")]
    Count {
        /// What the model has.
        expected: usize,
        /// What was given.
        got: usize,
    },
    /// A number that the format has no word for.
    #[error("parameter {0} is not finite")]
    NotFinite(usize),
    /// The format cannot say it.
    #[error("{0}")]
    Unsupported(&'static str),
    /// Not the format that it should be.
    #[error("not a model: {0}")]
    Malformed(String),
    /// A description that makes no sense.
    #[error("not a model: {0}")]
    Model(#[from] ModelError),
}

fn check_count(model: &Model, got: usize) -> Result<(), ExportError> {
    model.check()?;
    let expected = model.dimension();
    if got == expected { Ok(()) } else { Err(ExportError::Count { expected, got }) }
}

fn malformed<T>(what: impl ToString) -> Result<T, ExportError> {
    Err(ExportError::Malformed(what.to_string()))
}

/// What numbers are called where their size matters.
fn precision<R>() -> &'static str {
    if size_of::<R>() == 4 { "F32" } else { "F64" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws;
    use crate::model::tests::all;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use undertone_real::Real;

    fn round_trip<R: Real>() {
        for model in all() {
            let mut x = laws::point::<R>(&*model.objective::<R>(), 3);
            x[0] = R::from_f64(-0.0);
            x[1] = R::EPSILON * R::EPSILON;
            let same = |(read, y): (Model, Vec<R>)| {
                assert_eq!(read, model);
                let bits = |x: &[R]| x.iter().map(|v| v.to_f64().to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&x), bits(&y));
            };
            same(read_json(&write_json(&model, &x).unwrap()).unwrap());
            same(read_safetensors(&write_safetensors(&model, &x).unwrap()).unwrap());
        }
    }

    #[test]
    fn what_is_written_reads_back_in_bits() {
        round_trip::<f32>();
        round_trip::<f64>();
    }

    #[test]
    fn notes_come_back() {
        let model = all().remove(1);
        let notes = BTreeMap::from([("card".to_owned(), "{\"a\": 1}".to_owned())]);
        let bytes = write_with_notes(&model, &[1.0_f64; 3], notes.clone()).unwrap();
        assert_eq!(read_notes(&bytes).unwrap(), notes);
        assert_eq!(read_safetensors::<f64>(&bytes).unwrap(), (model, vec![1.0; 3]));
        assert!(read_notes(b"no").is_err());
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let model = all().remove(1);
        let error = write_json(&model, &[1.0]).unwrap_err();
        assert_eq!(error.to_string(), "the model has 3 parameters, but 1 were given");
        let error = write_json(&model, &[1.0, f64::NAN, 1.0]).unwrap_err();
        assert_eq!(error, ExportError::NotFinite(1));
        let bytes = write_safetensors(&model, &[1.0_f64; 3]).unwrap();
        assert!(read_safetensors::<f32>(&bytes).is_err());
        assert!(read_safetensors::<f64>(&bytes[..bytes.len() - 1]).is_err());
        let longer: Vec<u8> = bytes.iter().copied().chain([0]).collect();
        assert!(read_safetensors::<f64>(&longer).is_err());
        assert!(onnx::write_onnx(&all()[0], &[0.0_f32; 3]).is_err());
    }

    /// A description of a model that would not fit into memory is refused before it is made.
    #[test]
    fn a_huge_description_is_refused() {
        let text = r#"{"format": "undertone-model/1", "parts": [],
            "model": {"kind": "mean", "features": 18446744073709551615}}"#;
        assert_eq!(read_json::<f32>(text), Err(ExportError::Model(ModelError::TooLarge)));
        let text = text.replace("18446744073709551615", "2000000000");
        assert!(read_json::<f32>(&text).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            let _ = read_safetensors::<f32>(&bytes);
            let _ = read_json::<f64>(&String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn damaged_files_are_read_without_panic(
            which in 0..8_usize,
            place: prop::sample::Index,
            byte: u8,
            cut: prop::sample::Index,
        ) {
            let model = all().remove(which);
            let x = vec![0.5_f32; model.dimension()];
            let mut bytes = write_safetensors(&model, &x).unwrap();
            let at = place.index(bytes.len());
            bytes[at] = byte;
            let _ = read_safetensors::<f32>(&bytes);
            let _ = read_safetensors::<f32>(&bytes[..cut.index(bytes.len())]);
            let mut bytes = write_json(&model, &x).unwrap().into_bytes();
            let at = place.index(bytes.len());
            bytes[at] = byte;
            let _ = read_json::<f32>(&String::from_utf8_lossy(&bytes));
        }
    }
}
