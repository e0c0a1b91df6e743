//! Where files are, and how much of them is read.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use crate::error::DataError;
use crate::table::Column;
use crate::unpack::unpack;

/// Reads the columns of a Parquet file; in a crate of its own, for it is large.
pub type ColumnReader = fn(&[u8]) -> Result<Vec<Column>, crate::error::Fault>;

/// The environment variable that names a folder of data sets.
pub const VARIABLE: &str = "UNDERTONE_DATA";

/// Folders that are searched in order, and limits.
#[derive(Clone, Debug)]
pub struct Sources {
    /// Files in memory, which come first.
    pub memory: BTreeMap<String, Vec<u8>>,
    /// Where relative names are looked up.
    pub folders: Vec<PathBuf>,
    /// The most bytes a file may unpack to.
    pub limit: u64,
    /// How Parquet files are read, if they can be.
    pub parquet: Option<ColumnReader>,
}

impl Sources {
    /// Four gibibytes.
    pub const LIMIT: u64 = 4 << 30;

    /// Files in these folders.
    pub fn new(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        let folders = folders.into_iter().collect();
        Self { memory: BTreeMap::new(), folders, limit: Self::LIMIT, parquet: None }
    }

    /// One file in memory, and none elsewhere.
    pub fn only(name: &str, content: Vec<u8>) -> Self {
        Self { memory: BTreeMap::from([(name.into(), content)]), ..Self::new([]) }
    }

    /// Whether there is such a file.
    pub fn has(&self, name: &str) -> bool {
        self.memory.contains_key(name) || self.find(name).is_ok()
    }

    /// What tells a file from the same file after a change, without reading it: where it is, how
    /// long it is and when it was written. Nothing if it is in memory or not there.
    pub fn stamp(&self, name: &str) -> Option<String> {
        let path = self.find(name).ok().filter(|_| !self.memory.contains_key(name))?;
        let about = path.metadata().ok()?;
        let written = about.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(format!("{} {} {}", path.display(), about.len(), written.as_nanos()))
    }

    /// Where a file is, packed or not: `x.csv` is also found as `x.csv.gz` or `x.csv.xz`.
    fn find(&self, name: &str) -> Result<PathBuf, DataError> {
        let packed = ["", ".gz", ".xz"].map(|end| format!("{name}{end}"));
        let places = packed.iter().flat_map(|name| self.folders.iter().map(move |f| f.join(name)));
        if let Some(found) = places.into_iter().find(|path| path.is_file()) {
            return Ok(found);
        }
        let folders: Vec<String> = self.folders.iter().map(|f| f.display().to_string()).collect();
        let places = if folders.is_empty() { "nowhere".into() } else { folders.join(" and ") };
        Err(DataError::new(
            name,
            format!("no such file (looked in {places}); set {VARIABLE} to the folder of data sets"),
        ))
    }

    /// The unpacked content of a file.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, DataError> {
        let bytes = match self.memory.get(name) {
            Some(bytes) => bytes.clone(),
            None => self.read_packed(name)?,
        };
        let unpacked = unpack(&bytes, self.limit).map_err(|fault| fault.in_file(name))?;
        if unpacked.is_empty() {
            return Err(DataError::new(name, "is empty; expected records"));
        }
        match unpacked {
            Cow::Owned(content) => Ok(content),
            Cow::Borrowed(_) => Ok(bytes),
        }
    }

    fn read_packed(&self, name: &str) -> Result<Vec<u8>, DataError> {
        let path = self.find(name)?;
        let failed = |error: std::io::Error| DataError::new(name, error.to_string());
        let file = File::open(path).map_err(failed)?;
        let mut bytes = Vec::new();
        file.take(self.limit.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
        Ok(bytes)
    }
}
