//! `undertone predict`.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use undertone_data::{Encoded, Encoding};
use undertone_model::dataset::{Dataset, Target, Targets};
use undertone_model::{Batch, Model, Scratch};
use undertone_real::Real;

use super::{Numbers, Saved, open};
use crate::output;
use crate::run::shelf::whole;

/// Predict the records of a table with a model that was learned from one.
#[derive(Args)]
#[command(after_help = "\
Examples:
  undertone predict undertone-out/quickstart/models/private-together.safetensors people.csv
  undertone predict model.safetensors new.csv --out predictions.csv
  undertone predict model.safetensors new.csv --json

The table is encoded as the training records were: the same columns in any order, numbers clamped to
the same bounds, no other categories. If it has the column that is predicted, the accuracy is said.
Every line of the result has the line of the record, the class, and how probable it is.
Exit code 2 means that the table or the model does not do.")]
pub struct Predict {
    /// A model that `undertone run` wrote
    model: PathBuf,
    /// A table: CSV, TSV, or Parquet if built with it
    file: PathBuf,
    /// The file of predictions [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print counts and the accuracy as JSON; predictions go to --out only
    #[arg(long)]
    json: bool,
    /// No word about accuracy or guarantee
    #[arg(long)]
    quiet: bool,
}

/// A prediction for every record.
struct Predicted {
    /// Class and probability (of numbers: the number), in the order of records.
    lines: Vec<(u64, String, Option<f64>)>,
    /// How many are right, if the table says what is.
    right: Option<usize>,
    /// What is predicted is a number, whose mean squared error this is, if the table has it.
    error: Option<f64>,
}

impl Predict {
    /// The text to print.
    pub fn run(self) -> Result<String, String> {
        let saved = open(&self.model)?;
        let name = self.model.display();
        let encoding = saved.card.as_ref().and_then(|card| card.encoding.as_ref());
        let encoding = encoding.ok_or_else(|| {
            format!(
                "{name}: its records were not from a table, so it is not known how to encode one; \
                 `undertone export {name} --format onnx` takes encoded features"
            )
        })?;
        let predicted = match &saved.numbers {
            Numbers::F32(x) => self.predict(&saved, encoding, x),
            Numbers::F64(x) => self.predict(&saved, encoding, x),
        }?;
        if let Some(warning) = saved.warning().filter(|_| !self.quiet) {
            output::warn(&warning);
        }
        let table = predicted.table();
        if let Some(out) = &self.out {
            whole(out, table.as_bytes())
                .map_err(|error| format!("{error}; choose another --out"))?;
        }
        let counts = predicted.counts();
        Ok(match (self.json, self.out.is_some()) {
            (true, _) => output::json(&json!({
                "records": predicted.lines.len(),
                "right": predicted.right,
                "accuracy": predicted.accuracy(),
                "mean-squared-error": predicted.error,
            })),
            (false, true) if self.quiet => String::new(),
            (false, true) => counts,
            (false, false) => {
                if !self.quiet {
                    output::warn(&counts);
                }
                table
            }
        })
    }

    fn predict<R: Real>(
        &self,
        saved: &Saved,
        encoding: &Encoding,
        x: &[R],
    ) -> Result<Predicted, String> {
        // The name itself, so that no other folder is searched.
        let name = self.file.display().to_string();
        let sources = crate::data::sources(None);
        let sources = undertone_data::Sources { folders: vec![Path::new("").into()], ..sources };
        let Encoded { data, lines } =
            encoding.read::<R>(&name, &sources).map_err(|error| error.to_string())?;
        let objective = saved.model.objective::<R>();
        let outputs = objective.outputs();
        let (mut scratch, mut scores) = (Scratch::default(), Vec::new());
        scores.resize(data.records() * outputs, R::ZERO);
        objective.scores(x, Batch::all(&data), &mut scratch, &mut scores);
        let kind = Kind::of(&saved.model, outputs);
        let said = scores.chunks_exact(outputs).map(|scores| kind.say(scores, encoding));
        let lines: Vec<_> =
            lines.into_iter().zip(said).map(|(line, (word, share))| (line, word, share)).collect();
        let known = !matches!(data.targets(), Targets::None);
        let right = |k: &usize| kind.is_right(&scores[k * outputs..][..outputs], &data, *k);
        let counted = known && !matches!(kind, Kind::Number);
        let right = counted.then(|| (0..data.records()).filter(right).count());
        let error = (known && matches!(kind, Kind::Number)).then(|| squared_error(&scores, &data));
        Ok(Predicted { lines, right, error })
    }
}

/// What scores mean.
enum Kind {
    /// The class of the greatest, by softmax.
    Classes,
    /// A number.
    Number,
    /// A sign whose probability is the logistic function.
    Sign,
    /// A sign without a probability.
    Margin,
}

impl Kind {
    fn of(model: &Model, outputs: usize) -> Self {
        use undertone_model::Loss;
        match model {
            Model::SmoothedHinge { .. } => Self::Margin,
            Model::Logistic { .. } | Model::ParityLogistic { .. } => Self::Sign,
            Model::Linear { .. } | Model::Mean { .. } => Self::Number,
            Model::Softmax { .. } | Model::Tags { .. } => Self::Classes,
            Model::Network(network) => match network.loss_function() {
                Loss::Squared => Self::Number,
                Loss::Logistic if outputs == 1 => Self::Sign,
                Loss::SmoothedHinge { .. } => Self::Margin,
                _ => Self::Classes,
            },
        }
    }

    /// The class (or number) in words, and how probable it is.
    fn say<R: Real>(&self, scores: &[R], encoding: &Encoding) -> (String, Option<f64>) {
        let classes = encoding.classes();
        let word = |k: usize| classes.get(k).cloned().unwrap_or_else(|| k.to_string());
        match self {
            Self::Number => (number(scores[0].to_f64(), encoding).to_string(), None),
            Self::Sign => {
                let positive = 1.0 / (1.0 + (-scores[0].to_f64()).exp());
                let chosen = usize::from(scores[0] > R::ZERO);
                (word(chosen), Some(if chosen == 1 { positive } else { 1.0 - positive }))
            }
            Self::Margin => (word(usize::from(scores[0] > R::ZERO)), None),
            Self::Classes => {
                let best = greatest(scores);
                let top = scores[best].to_f64();
                let sum: f64 = scores.iter().map(|s| (s.to_f64() - top).exp()).sum();
                (word(best), Some(1.0 / sum))
            }
        }
    }

    fn is_right<R: Real>(&self, scores: &[R], data: &Dataset<R>, record: usize) -> bool {
        match data.target(record) {
            Target::Sign(sign) => (scores[0] > R::ZERO) == (sign > R::ZERO),
            Target::Class(class) => greatest(scores) == class as usize,
            _ => false,
        }
    }
}

impl Predicted {
    fn table(&self) -> String {
        let mut text = String::from("line,predicted,probability\n");
        for (line, word, share) in &self.lines {
            let share = share.map_or(String::new(), |share| format!("{share:.6}"));
            text.push_str(&format!("{line},{},{share}\n", quoted(word)));
        }
        text
    }

    fn accuracy(&self) -> Option<f64> {
        self.right.map(|right| right as f64 / self.lines.len() as f64)
    }

    fn counts(&self) -> String {
        let n = self.lines.len();
        match (self.accuracy(), self.error) {
            (Some(share), _) => {
                let right = self.right.unwrap_or(0);
                format!("{n} records, accuracy {share:.4} ({right} right)")
            }
            (None, Some(error)) => format!("{n} records, mean squared error {error:.6}"),
            (None, None) => format!("{n} records; the table does not say what is right"),
        }
    }
}

/// The first of the greatest.
fn greatest<R: Real>(scores: &[R]) -> usize {
    (1..scores.len()).fold(0, |best, k| if scores[k] > scores[best] { k } else { best })
}

/// In the units of the table, if the target was scaled.
fn number(score: f64, encoding: &Encoding) -> f64 {
    match encoding.recipe.target.as_ref().and_then(|target| target.low.zip(target.high)) {
        Some((low, high)) => low + (score + 1.0) / 2.0 * (high - low),
        None => score,
    }
}

fn squared_error<R: Real>(scores: &[R], data: &Dataset<R>) -> f64 {
    let square = |k: usize| match data.target(k) {
        Target::Real(value) => (scores[k].to_f64() - value.to_f64()).powi(2),
        _ => 0.0,
    };
    (0..data.records()).map(square).sum::<f64>() / data.records() as f64
}

/// A cell of a table.
fn quoted(word: &str) -> String {
    match word.contains([',', '"', '\n']) {
        true => format!("\"{}\"", word.replace('"', "\"\"")),
        false => word.into(),
    }
}
