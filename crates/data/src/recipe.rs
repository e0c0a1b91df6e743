//! Recipes: how files become a data set, as the `[data]` table of a plan says it.
//!
//! Keys are in kebab case and unknown ones are refused. What a recipe declares (bounds, lists of
//! values, the size of a vocabulary) is public; what it leaves to the data is taken from the data,
//! and the summary of the load says so.

mod named;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use undertone_model::partition::Partition;

use crate::error::DataError;

pub use named::{names, text};

/// A recipe as written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Recipe {
    /// A recipe of ours that fills in all keys that are not given here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipe: Option<String>,
    /// Where records are drawn from, if they are not read; not read here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The file of records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Several files, one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<String>>,
    /// The file of labels (`idx`, `npy`, `titles`), or the array of labels (`npz`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<String>,
    /// A file of records that are held out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// Like `labels`, of those that are held out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_labels: Option<String>,
    /// The member of an archive: a file of a tar, an array of an NPZ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// The array that is held out, in the same NPZ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_member: Option<String>,
    /// If there is no held-out file: which records are held out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holdout: Option<Holdout>,
    /// Guessed from the name and the content if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// Between cells: one character, `tab`, or `space` for any white space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<String>,
    /// Whether the first line names the columns; true if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<bool>,
    /// So many lines at the top are not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip_lines: Option<u64>,
    /// Lines that begin with this character are not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// What each column is: by name if there is a header, in order if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<ColumnPlan>>,
    /// The protected attribute, if no column is listed as one, or to make two groups of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protected: Option<ProtectedPlan>,
    /// What becomes of columns that are not listed; `refuse` if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<Others>,
    /// What becomes of missing values; `refuse` if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
    /// The words for a missing value; `?`, `NA`, `NaN` and nothing if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_words: Option<Vec<String>>,
    /// Where the bounds of numbers come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaling: Option<Scaling>,
    /// Of arrays and LIBSVM files: every number is clamped to this size and divided by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// How many features there are, where the file does not say it (`libsvm`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<u32>,
    /// The size of the hashed vocabulary of a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<u32>,
    /// The tags of a text; taken from the data if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// What is to be predicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetPlan>,
    /// The L2 norm that no record exceeds: longer ones are shortened, and counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip_rows: Option<f64>,
    /// Whether every record is stretched or shortened to exactly `clip-rows`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit_rows: Option<bool>,
    /// How records lie in memory; decided by their width if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
    /// How records are dealt out to nodes, by whoever has nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<Partition>,
}

/// Kinds of files. Any of them may be packed with gzip or xz.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// The binary version of CIFAR-10.
    #[serde(rename = "cifar-10")]
    Cifar10,
    /// Cells with something between them.
    Csv,
    /// `__label__tag` words, then a text, on every line; maybe within a tar.
    Fasttext,
    /// The arrays of MNIST.
    Idx,
    /// A label and `index:value` on every line.
    Libsvm,
    /// An array of numpy.
    Npy,
    /// Several arrays of numpy.
    Npz,
    /// Columns of Apache Parquet; needs a reader from outside.
    Parquet,
    /// A column of texts and one of lists of tags.
    TaggedTsv,
    /// One text a line, and one label a line in another file.
    Titles,
    /// CSV with tabs.
    Tsv,
}

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ColumnPlan {
    /// As in the header; without a header, what to call it.
    pub name: String,
    /// What it is.
    pub kind: ColumnKind,
    /// Of a number: clamped to at least this, which becomes 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Of a number: clamped to at most this, which becomes 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Of a number, instead of both: clamped to this size and divided by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Of a category or group: all values there are; taken from the data if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
    /// Of a category: the value that has no feature, all others being zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Of a category: whether values that are not listed are all zero, instead of refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignore_others: Option<bool>,
    /// Of a group: whether it is a feature as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feature: Option<bool>,
    /// The policy of this column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
    /// Without a header: so many columns of this kind in a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
}

/// Which records are held out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Holdout {
    /// So many at the end.
    Last(usize),
    /// One in so many, the last of each: where the order of records means something.
    Every {
        /// How many to one that is held out.
        every: usize,
    },
}

/// A protected attribute: a column that stays what it is in the list, but is a feature no more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ProtectedPlan {
    /// Its name.
    pub column: String,
    /// Of words: these are group 0, and all others group 1. If not given, each word is a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<Words>,
    /// Of numbers: those below are group 0, and all others group 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below: Option<f64>,
    /// Whether it is a feature all the same.
    #[serde(default)]
    pub feature: bool,
}

/// What a column is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ColumnKind {
    /// One of some values: one feature for each.
    Category,
    /// Not looked at.
    #[default]
    Drop,
    /// A protected attribute.
    Group,
    /// A number: one feature.
    Number,
    /// What is to be predicted.
    Target,
}

/// What becomes of columns that are not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Others {
    /// They are not looked at.
    Drop,
    /// They are numbers.
    Number,
    /// They are an error.
    Refuse,
}

/// What becomes of a missing value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// One more value of a category; a missing number is zero.
    Category,
    /// The record is left out.
    Drop,
    /// It is an error.
    Refuse,
    /// All features of the column are zero.
    Zero,
}

/// Where bounds of numbers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scaling {
    /// From the recipe: public.
    Declared,
    /// From the data, where the recipe has none: everybody who sees results learns about them.
    FromData,
    /// Numbers stay as they are, where the recipe has no bounds.
    None,
}

/// How records lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// All numbers.
    Dense,
    /// Those that are not zero.
    Sparse,
}

/// What is to be predicted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct TargetPlan {
    /// Follows from the other keys if not given, and from the data if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<TargetKind>,
    /// The words for 1; all others are -1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positive: Option<Words>,
    /// All classes, in their order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
    /// What is cut off the end of a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trim: Option<String>,
    /// Of a number: clamped to at least this, which becomes -1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Of a number: clamped to at most this, which becomes 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// Kinds of targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    /// One of some classes.
    Class,
    /// Nothing.
    None,
    /// A number.
    Real,
    /// One or minus one.
    Sign,
}

/// A word or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Words {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl From<Words> for Vec<String> {
    fn from(words: Words) -> Self {
        match words {
            Words::One(word) => vec![word],
            Words::Many(words) => words,
        }
    }
}

impl Recipe {
    /// The recipe of ours with this name.
    pub fn named(name: &str) -> Result<Self, DataError> {
        let text = text(name).ok_or_else(|| {
            let known = names().collect::<Vec<_>>().join(", ");
            DataError::recipe("recipe", format!("there is no `{name}`; there are {known}"))
        })?;
        let mut recipe: Self =
            toml::from_str(text).expect("our recipes are valid, which is tested");
        recipe.recipe = Some(name.into());
        Ok(recipe)
    }

    /// With what the named recipe says for all keys that are not given.
    pub fn resolved(&self) -> Result<Self, DataError> {
        let Some(name) = &self.recipe else { return Ok(self.clone()) };
        let mut base = Self::named(name)?;
        if self.file.is_some() || self.files.is_some() {
            // Other files: none of the recipe's belongs to them.
            (base.file, base.files, base.labels) = (None, None, None);
            (base.test, base.test_labels, base.holdout) = (None, None, None);
        }
        let filled = overlay(as_table(&base), as_table(self));
        Ok(serde_json::from_value(filled).expect("keys of recipes make a recipe"))
    }

    /// All files of the training part.
    pub fn train_files(&self) -> Vec<String> {
        self.file.iter().chain(self.files.iter().flatten()).cloned().collect()
    }
}

fn as_table(recipe: &Recipe) -> Value {
    serde_json::to_value(recipe).expect("a recipe is a table")
}

fn overlay(mut base: Value, over: Value) -> Value {
    if let (Value::Object(base), Value::Object(over)) = (&mut base, over) {
        base.extend(over);
    }
    base
}
