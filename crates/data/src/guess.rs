//! A recipe for a file that comes without one, to look at it; not to learn from it.

use std::collections::BTreeSet;

use crate::encode::is_missing;
use crate::error::{DataError, Fault};
use crate::recipe::{ColumnKind, ColumnPlan, Format, Missing, Recipe, Scaling};
use crate::sniff;
use crate::sources::Sources;
use crate::table::{Cell, Dialect, each_record};
use crate::zip;

/// A recipe, and in words what was guessed.
#[derive(Clone, Debug, PartialEq)]
pub struct Guess {
    /// Reads the file in some way.
    pub recipe: Recipe,
    /// What a person should check.
    pub notes: Vec<String>,
}

/// A category has at most so many values; what has more is no feature.
const MOST_VALUES: usize = 100;

/// A column at the end with so few values is what is to be predicted.
const MOST_CLASSES: usize = 20;

/// Looks at a file and says how it might be read.
pub fn guess(file: &str, sources: &Sources) -> Result<Guess, DataError> {
    let bytes = sources.read(file)?;
    let format = sniff::format_of(file, &bytes).ok_or_else(|| {
        DataError::new(file, "is of no kind we know; write a plan with a [data] table that says it")
    })?;
    let mut recipe = Recipe { file: Some(file.into()), format: Some(format), ..Recipe::default() };
    let mut notes = Vec::new();
    match format {
        Format::Csv | Format::Tsv => {
            table(&bytes, format, &mut recipe, &mut notes).map_err(|fault| fault.in_file(file))?;
        }
        Format::Parquet => columns(&bytes, sources, file, &mut recipe, &mut notes)?,
        Format::Idx => {
            let labels = file.replace("images-idx3", "labels-idx1");
            if labels != file && sources.has(&labels) {
                notes.push(format!("labels are taken from {labels}"));
                recipe.labels = Some(labels);
            }
        }
        Format::Npz => arrays(&bytes, &mut recipe, &mut notes).map_err(|f| f.in_file(file))?,
        Format::TaggedTsv | Format::Fasttext => {
            recipe.words = Some(10_000);
            notes.push("words are hashed into a vocabulary of 10000".into());
            if let Ok(members) = crate::tar::members(&bytes)
                && let Some((name, _)) = members.iter().max_by_key(|(_, content)| content.len())
            {
                recipe.member = Some(name.clone());
                notes.push(format!("{name} is read, the largest file of the archive"));
            }
        }
        Format::Npy | Format::Libsvm | Format::Cifar10 | Format::Titles => {}
    }
    Ok(Guess { recipe, notes })
}

fn arrays(bytes: &[u8], recipe: &mut Recipe, notes: &mut Vec<String>) -> Result<(), Fault> {
    let members = zip::members(bytes)?;
    let names: Vec<&str> =
        members.iter().map(|m| m.name.strip_suffix(".npy").unwrap_or(&m.name)).collect();
    let find = |wanted: &[&str]| {
        let same = |name: &&&str| wanted.iter().any(|w| name.eq_ignore_ascii_case(w));
        names.iter().find(same).map(|name| name.to_string())
    };
    recipe.member = find(&["x", "x_train", "train_images", "data", "images", "features", "arr_0"])
        .or_else(|| names.first().map(|name| name.to_string()));
    recipe.labels = find(&["y", "y_train", "train_labels", "labels", "target", "targets", "arr_1"]);
    recipe.test_member = find(&["x_test", "test_images"]);
    recipe.test_labels = find(&["y_test", "test_labels"]);
    if recipe.labels.is_none() || recipe.test_labels.is_none() {
        recipe.test_member = recipe.test_member.take().filter(|_| recipe.labels.is_none());
        recipe.test_labels = None;
    }
    notes.push(format!("the archive holds {}", names.join(", ")));
    Ok(())
}

/// What is known of a column.
struct Seen {
    name: String,
    numbers: bool,
    words: BTreeSet<String>,
    first: Option<String>,
}

impl Seen {
    fn new(name: String) -> Self {
        Self { name, numbers: true, words: BTreeSet::new(), first: None }
    }

    fn take(&mut self, word: &str) {
        self.numbers &= word.parse::<f64>().is_ok_and(f64::is_finite);
        if self.words.len() <= MOST_VALUES && !self.words.contains(word) {
            self.words.insert(word.into());
        }
    }
}

fn table(
    bytes: &[u8],
    format: Format,
    recipe: &mut Recipe,
    notes: &mut Vec<String>,
) -> Result<(), Fault> {
    let delimiter = if format == Format::Tsv { "tab" } else { delimiter_of(bytes) };
    recipe.delimiter = Some(delimiter.into());
    recipe.header = Some(false);
    let dialect = Dialect::new(recipe, format).map_err(|error| Fault::new(error.message))?;
    let missing = missing_words();
    let mut seen: Vec<Seen> = Vec::new();
    each_record(bytes, &dialect, |_, record| {
        let cell = |bytes: &[u8]| String::from_utf8_lossy(bytes.trim_ascii()).into_owned();
        if seen.is_empty() {
            seen = (1..=record.len()).map(|k| Seen::new(format!("column {k}"))).collect();
            for (column, bytes) in seen.iter_mut().zip(record.iter()) {
                column.first = Some(cell(bytes));
            }
            return Ok(true);
        }
        for (column, bytes) in seen.iter_mut().zip(record.iter()) {
            let word = cell(bytes);
            if !is_missing(Cell::Word(&word), &missing) {
                column.take(&word);
            }
        }
        Ok(true)
    })?;
    let first: Vec<String> = seen.iter().filter_map(|column| column.first.clone()).collect();
    let is_number = |word: &String| word.parse::<f64>().is_ok();
    let named = !first.iter().any(is_number);
    let differs = seen.iter().zip(&first).any(|(c, word)| c.numbers || !c.words.contains(word));
    let header = named && differs && !first.is_empty();
    recipe.header = Some(header);
    let what = if header { "the first line is taken as names" } else { "there is no header" };
    notes.push(format!("cells are separated by {delimiter:?}; {what}"));
    let names = if header { header_names(bytes, recipe, format)? } else { Vec::new() };
    for (column, name) in seen.iter_mut().zip(names) {
        column.name = name;
    }
    if !header {
        for (column, word) in seen.iter_mut().zip(&first) {
            if !is_missing(Cell::Word(word), &missing) {
                column.take(word);
            }
        }
    }
    plans(seen, recipe, notes);
    Ok(())
}

fn header_names(bytes: &[u8], recipe: &Recipe, format: Format) -> Result<Vec<String>, Fault> {
    let dialect = Dialect::new(recipe, format).map_err(|error| Fault::new(error.message))?;
    let table = crate::table::Table::Text { bytes: bytes.to_vec(), dialect };
    Ok(table.header()?.unwrap_or_default())
}

fn columns(
    bytes: &[u8],
    sources: &Sources,
    file: &str,
    recipe: &mut Recipe,
    notes: &mut Vec<String>,
) -> Result<(), DataError> {
    let Some(read) = sources.parquet else { return Ok(()) };
    let columns = read(bytes).map_err(|fault| fault.in_file(file))?;
    let look = |column: crate::table::Column| {
        let mut seen = Seen::new(column.name);
        match column.cells {
            crate::table::Cells::Numbers(cells) => {
                cells.into_iter().flatten().for_each(|number| seen.take(&number.to_string()));
            }
            crate::table::Cells::Words(cells) => {
                cells.iter().flatten().for_each(|word| seen.take(word));
            }
        }
        seen
    };
    plans(columns.into_iter().map(look).collect(), recipe, notes);
    Ok(())
}

/// Kinds of columns from what was seen.
fn plans(seen: Vec<Seen>, recipe: &mut Recipe, notes: &mut Vec<String>) {
    let last = seen.len().saturating_sub(1);
    let mut columns = Vec::new();
    for (index, column) in seen.into_iter().enumerate() {
        let few = column.words.len() <= MOST_CLASSES;
        let kind = match column.numbers {
            _ if index == last && index > 0 && few => ColumnKind::Target,
            true => ColumnKind::Number,
            false if column.words.len() <= MOST_VALUES => ColumnKind::Category,
            false => ColumnKind::Drop,
        };
        match kind {
            ColumnKind::Target => notes.push(format!(
                "the last column, {:?}, is taken as what is to be predicted",
                column.name
            )),
            ColumnKind::Drop => notes.push(format!(
                "column {:?} has more than {MOST_VALUES} different words and is left out",
                column.name
            )),
            _ => {}
        }
        columns.push(ColumnPlan { name: column.name, kind, ..ColumnPlan::default() });
    }
    recipe.columns = Some(columns);
    recipe.scaling = Some(Scaling::None);
    recipe.missing = Some(Missing::Zero);
    notes.push("numbers are not scaled, missing values are zero".into());
}

fn missing_words() -> Vec<String> {
    ["", "?", "NA", "NaN"].map(String::from).to_vec()
}

fn delimiter_of(bytes: &[u8]) -> &'static str {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let line = lines.find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    let count = |delimiter: u8| line.iter().filter(|byte| **byte == delimiter).count();
    let best = [(",", b','), (";", b';'), ("tab", b'\t')].map(|(word, byte)| (count(byte), word));
    match best.into_iter().max_by_key(|(count, _)| *count) {
        Some((1.., word)) => word,
        _ if line.trim_ascii().contains(&b' ') => "space",
        _ => ",",
    }
}
