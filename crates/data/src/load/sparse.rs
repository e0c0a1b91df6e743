//! LIBSVM files.

use undertone_real::Real;

use super::{Parts, dataset, sparse_rows};
use crate::error::{DataError, Fault};
use crate::libsvm;
use crate::recipe::Recipe;
use crate::rows::Rows;
use crate::sources::Sources;
use crate::summary::{ColumnSummary, Counts};
use crate::target::TargetReader;

pub(super) fn load<R: Real>(recipe: &Recipe, sources: &Sources) -> Result<Parts<R>, DataError> {
    let mut reading = Reading {
        recipe,
        targets: TargetReader::new(recipe.target.as_ref())?,
        width: recipe.features.unwrap_or(0),
    };
    let files = recipe.train_files();
    let train = reading.part::<R>(sources, &files)?;
    let test = recipe.test.as_ref();
    let test =
        test.map(|file| reading.part::<R>(sources, std::slice::from_ref(file))).transpose()?;
    let (names, learned) = reading.targets.settle();
    let width = reading.width as usize;
    let clamped = train.counts.clamped + test.as_ref().map_or(0, |test| test.counts.clamped);
    let close = |part: Open<R>| {
        let targets = reading.targets.finish(&part.targets);
        Ok((dataset(&files[0], part.rows.finish(width), targets)?, part.counts))
    };
    let (name, kind) = ("features".into(), "sparse numbers".into());
    let columns = vec![ColumnSummary { name, kind, features: width, missing: 0, clamped }];
    let mut assumptions: Vec<String> = learned.into_iter().collect();
    if recipe.features.is_none() {
        assumptions.push(format!("the number of features ({width}) was read from the data"));
    }
    Ok(Parts {
        train: close(train)?,
        test: test.map(close).transpose()?,
        columns,
        features: Vec::new(),
        targets: names,
        groups: Vec::new(),
        assumptions,
    })
}

struct Reading<'a> {
    recipe: &'a Recipe,
    targets: TargetReader,
    /// As declared, or as many as were seen.
    width: u32,
}

struct Open<R> {
    rows: Rows<R>,
    targets: Vec<f64>,
    counts: Counts,
}

impl Reading<'_> {
    fn part<R: Real>(&mut self, sources: &Sources, files: &[String]) -> Result<Open<R>, DataError> {
        let counts = Counts::default();
        let mut part = Open { rows: sparse_rows(self.recipe), targets: Vec::new(), counts };
        let max = self.recipe.max;
        let mut scaled = Vec::new();
        for file in files {
            let bytes = sources.read(file)?;
            let read = libsvm::each(&bytes, |line, label, features| {
                let fault = |why: String| Fault::at(line, why);
                let last = features.last().map_or(0, |(index, _)| index.saturating_add(1));
                if last > self.width {
                    if let Some(declared) = self.recipe.features {
                        let what = format!(
                            "expected features up to {declared}, found {last}; raise `features`"
                        );
                        return Err(fault(what));
                    }
                    self.width = last;
                }
                scaled.clear();
                scaled.extend(features.iter().map(|(index, value)| match max {
                    None => (*index, *value),
                    Some(max) => {
                        part.counts.clamped += u64::from(value.abs() > max);
                        (*index, value.clamp(-max, max) / max)
                    }
                }));
                part.counts.read += 1;
                part.targets.push(self.targets.read(&canonical(label)).map_err(fault)?);
                part.rows.push(&scaled).map_err(fault)
            });
            read.map_err(|fault| fault.in_file(file))?;
        }
        part.counts.shortened = part.rows.shortened();
        Ok(part)
    }
}

/// `+1`, `1` and `1.0` are the same label.
fn canonical(label: &str) -> String {
    label.parse::<f64>().map_or_else(|_| label.into(), |number| number.to_string())
}
