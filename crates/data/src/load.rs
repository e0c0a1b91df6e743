//! From a recipe to data sets.

mod arrays;
mod sparse;
pub(crate) mod tabular;
mod text;

use undertone_model::dataset::{Dataset, Features, Targets};
use undertone_real::Real;

use crate::encoding::Encoding;
use crate::error::DataError;
use crate::recipe::{Format, Holdout, Recipe};
use crate::rows::Rows;
use crate::sniff;
use crate::sources::Sources;
use crate::summary::{ColumnSummary, Counts, Summary};

/// Data sets, and what was done to get them.
#[derive(Clone)]
pub struct Loaded<R> {
    /// To learn from.
    pub train: Dataset<R>,
    /// Held out.
    pub test: Option<Dataset<R>>,
    /// What was read, and what was done to it.
    pub summary: Summary,
    /// Of a table: how others are encoded in the same way.
    pub encoding: Option<Encoding>,
}

/// Reads what a recipe names.
///
/// # Guarantee
///
/// If the recipe has `clip-rows`, no record is longer: its L2 norm, computed in double precision
/// from the numbers that are kept, is at most the bound. What was clamped or shortened is counted.
/// What was taken from the data and not declared is listed in `public_assumptions`.
pub fn load<R: Real>(recipe: &Recipe, sources: &Sources) -> Result<Loaded<R>, DataError> {
    let recipe = recipe.resolved()?;
    check(&recipe)?;
    let files = recipe.train_files();
    let format = match recipe.format {
        Some(format) => format,
        None => sniff::format_of(&files[0], &sources.read(&files[0])?).ok_or_else(|| {
            DataError::new(&files[0], "is of no kind we know; say it with `format`")
        })?,
    };
    let mut declared = None;
    let parts: Parts<R> = match format {
        Format::Csv | Format::Tsv | Format::Parquet => {
            let (parts, recipe) = tabular::load(&recipe, format, sources)?;
            declared = Some(recipe);
            Ok(parts)
        }
        Format::Npy | Format::Npz | Format::Idx => arrays::load(&recipe, format, sources),
        Format::Cifar10 => arrays::cifar(&recipe, sources),
        Format::Libsvm => sparse::load(&recipe, sources),
        Format::TaggedTsv | Format::Titles | Format::Fasttext => {
            text::load(&recipe, format, sources)
        }
    }?;
    let named = [&recipe.labels, &recipe.test, &recipe.test_labels].into_iter().flatten();
    let others = named.filter(|_| format != Format::Npz).cloned();
    let summary = Summary {
        files: files.iter().cloned().chain(others).collect(),
        format,
        recipe: recipe.recipe.clone(),
        columns: parts.columns,
        features: parts.features,
        targets: parts.targets,
        groups: parts.groups,
        train: parts.train.1,
        test: parts.test.as_ref().map(|test| test.1.clone()),
        clip_rows: bound(&recipe),
        public_assumptions: parts.assumptions,
    };
    let encoding = declared.map(|recipe| Encoding::new(recipe, format, &summary));
    let (train, test) = (parts.train.0, parts.test.map(|test| test.0));
    let mut loaded = Loaded { train, test, summary, encoding };
    if let (None, Some(held)) = (&loaded.test, recipe.holdout) {
        let (kept, held) = hold_out(loaded.train.records(), held)?;
        loaded.test = Some(loaded.train.select(&held));
        loaded.train = loaded.train.select(&kept);
    }
    Ok(loaded)
}

/// Those that are kept, and those that are held out.
fn hold_out(records: usize, held: Holdout) -> Result<(Vec<usize>, Vec<usize>), DataError> {
    let is_held = |record: usize| match held {
        Holdout::Last(count) => record + count >= records,
        Holdout::Every { every } => record % every.max(1) == every.max(1) - 1,
    };
    let (held_out, kept): (Vec<usize>, Vec<usize>) = (0..records).partition(|r| is_held(*r));
    if held_out.is_empty() || kept.is_empty() {
        let what = match held {
            Holdout::Last(count) => format!("{count} of {records} records cannot be held out"),
            Holdout::Every { every } => format!(
                "one in {every} of {records} records leaves none to learn from or none to test on"
            ),
        };
        return Err(DataError::recipe("holdout", what));
    }
    Ok((kept, held_out))
}

/// What a loader of one kind of files gives.
struct Parts<R> {
    train: (Dataset<R>, Counts),
    test: Option<(Dataset<R>, Counts)>,
    columns: Vec<ColumnSummary>,
    features: Vec<String>,
    targets: Vec<String>,
    groups: Vec<String>,
    assumptions: Vec<String>,
}

fn check(recipe: &Recipe) -> Result<(), DataError> {
    if let Some(source) = &recipe.source {
        let what = format!("`{source}` is drawn from a seed, there is no file to read");
        return Err(DataError::recipe("source", what));
    }
    if recipe.train_files().is_empty() {
        let what = "there is no file; give file = \"...\", or recipe = \"...\" for one of ours";
        return Err(DataError::recipe("file", what));
    }
    for (key, value) in [("clip-rows", recipe.clip_rows), ("max", recipe.max)] {
        if value.is_some_and(|value| !(value > 0.0 && value.is_finite())) {
            return Err(DataError::recipe(key, "must be a positive number"));
        }
    }
    for (key, value) in [("words", recipe.words), ("features", recipe.features)] {
        if value == Some(0) {
            return Err(DataError::recipe(key, "must be at least 1"));
        }
    }
    Ok(())
}

fn bound(recipe: &Recipe) -> Option<f64> {
    recipe.clip_rows.or((recipe.unit_rows == Some(true)).then_some(1.0))
}

fn sparse_rows<R: Real>(recipe: &Recipe) -> Rows<R> {
    Rows::sparse(bound(recipe), recipe.unit_rows == Some(true))
}

fn dense_rows<R: Real>(recipe: &Recipe, width: usize) -> Rows<R> {
    Rows::dense(width, bound(recipe), recipe.unit_rows == Some(true))
}

/// A data set of parts that were built together.
fn dataset<R: Real>(
    file: &str,
    features: Features<R>,
    targets: Targets<R>,
) -> Result<Dataset<R>, DataError> {
    let empty = match &features {
        Features::Dense { values, .. } => values.is_empty(),
        Features::Sparse { starts, .. } => starts.len() < 2,
    };
    if empty {
        return Err(DataError::new(file, "holds no records that can be kept"));
    }
    Dataset::new(features, targets).map_err(|error| DataError::new(file, error.to_string()))
}
