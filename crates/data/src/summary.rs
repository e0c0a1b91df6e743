//! What a load did, for people and for JSON.

use serde::Serialize;

use crate::recipe::Format;

/// What was read, and what was done to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Summary {
    /// The files that were opened, as the recipe names them.
    pub files: Vec<String>,
    /// Their kind.
    pub format: Format,
    /// The recipe of ours, if one was used.
    pub recipe: Option<String>,
    /// Columns of a table; of other files, one line for all features.
    pub columns: Vec<ColumnSummary>,
    /// Names of features, where they have names.
    pub features: Vec<String>,
    /// Names of classes or tags, where they have names.
    pub targets: Vec<String>,
    /// Names of groups.
    pub groups: Vec<String>,
    /// The training part.
    pub train: Counts,
    /// The held-out part.
    pub test: Option<Counts>,
    /// The L2 norm that no record exceeds.
    pub clip_rows: Option<f64>,
    /// What was taken from the data: a guarantee holds only if that is public knowledge.
    pub public_assumptions: Vec<String>,
}

/// A column, or all features of a file without columns.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ColumnSummary {
    /// Its name.
    pub name: String,
    /// What it was read as.
    pub kind: String,
    /// How many features it makes.
    pub features: usize,
    /// Values that are missing, in both parts.
    pub missing: u64,
    /// Values that were outside of the declared bounds, in both parts.
    pub clamped: u64,
}

/// Counts of one part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Counts {
    /// Records in the files.
    pub read: u64,
    /// Of these, left out because a value is missing.
    pub dropped: u64,
    /// Values that are missing.
    pub missing: u64,
    /// Values that were outside of the declared bounds and moved to them.
    pub clamped: u64,
    /// Records that were longer than the bound on their norm and shortened to it.
    pub shortened: u64,
}
