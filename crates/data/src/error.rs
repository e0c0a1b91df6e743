//! What is wrong with a file, and where.

use std::fmt;

/// One line that names the file, the place, what was expected and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct DataError {
    /// As it was asked for.
    pub file: String,
    /// Counted from one; of a binary file, the number of the record.
    pub line: Option<u64>,
    /// The name of a column, or its number.
    pub column: Option<String>,
    /// What was expected, what was found, what to do.
    pub message: String,
}

/// What an error calls the recipe.
const RECIPE: &str = "[data]";

/// What is wrong, before it is known in which file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Counted from one.
    pub line: Option<u64>,
    /// The name of a column, or its number.
    pub column: Option<String>,
    /// What was expected, what was found, what to do.
    pub message: String,
}

impl DataError {
    /// Something about a file as a whole.
    pub fn new(file: impl Into<String>, message: impl Into<String>) -> Self {
        Fault::new(message).in_file(file)
    }

    /// Something about the recipe itself, at a key.
    pub fn recipe(key: &str, message: impl fmt::Display) -> Self {
        Self::new(RECIPE, format!("{key}: {message}"))
    }

    /// The key of the recipe, if it is the recipe that is wrong.
    pub fn key(&self) -> Option<&str> {
        let (key, _) = self.message.split_once(':')?;
        (self.file == RECIPE).then_some(key)
    }
}

impl Fault {
    /// Somewhere.
    pub fn new(message: impl Into<String>) -> Self {
        Self { line: None, column: None, message: message.into() }
    }

    /// On a line.
    pub fn at(line: u64, message: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::new(message) }
    }

    /// In a column of that line.
    pub fn column(mut self, column: impl Into<String>) -> Self {
        self.column = Some(column.into());
        self
    }

    /// In this file.
    pub fn in_file(self, file: impl Into<String>) -> DataError {
        let Self { line, column, message } = self;
        DataError { file: file.into(), line, column, message }
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(column) = &self.column {
            write!(f, ": column {}", shown(column))?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Something from a file for a message: quoted, on one line and not too long.
pub fn shown(text: &str) -> String {
    const MOST: usize = 40;
    if text.chars().count() <= MOST {
        return format!("{text:?}");
    }
    let start: String = text.chars().take(MOST).collect();
    format!("{:?}", start + "...")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_with_its_place() {
        let fault = Fault::at(17, "expected a number, found \"abc\"").column("age");
        let text = fault.in_file("adult.data.gz").to_string();
        assert_eq!(text, "adult.data.gz:17: column \"age\": expected a number, found \"abc\"");
        assert_eq!(shown("a\nb"), "\"a\\nb\"");
        assert!(shown(&"x".repeat(1000)).len() < 60);
    }
}
