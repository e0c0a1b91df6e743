//! Our own rules, as code. Every rule has a test in which it complains.

use std::fmt;

use crate::workspace::Workspace;

mod doors;
mod edges;
mod headers;
mod invariants;
mod licences;
mod purity;
mod size;
mod source;

use source::Source;

/// One thing that is not tidy.
#[derive(Debug, PartialEq)]
pub struct Complaint {
    /// `path` or `path:line`, or the name of a package.
    place: String,
    /// What is wrong and what to do.
    what: String,
}

/// Applies every rule; an error says how many complaints were printed.
pub fn run(workspace: &Workspace) -> Result<(), String> {
    let sources = source::read_all(&workspace.root)?;
    let architecture = workspace.root.join("ARCHITECTURE.md");
    let architecture = std::fs::read_to_string(&architecture)
        .map_err(|e| format!("cannot read {}: {e}", architecture.display()))?;

    let mut complaints = edges::check(workspace);
    complaints.extend(licences::check(workspace));
    complaints.extend(headers::check(&sources));
    complaints.extend(invariants::check(&architecture, &sources));
    for source in &sources {
        complaints.extend(size::check(source));
        complaints.extend(purity::check(source));
        complaints.extend(doors::check(source));
    }
    for complaint in &complaints {
        eprintln!("{complaint}");
    }
    if complaints.is_empty() { Ok(()) } else { Err(format!("complaints: {}", complaints.len())) }
}

impl Complaint {
    fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into() }
    }

    fn at(source: &Source, line: usize, what: impl Into<String>) -> Self {
        Self::new(format!("{}:{line}", source.path), what)
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}
