//! Tables, whatever file they come from.

use csv::{ByteRecord, ReaderBuilder};

use crate::error::{DataError, Fault};
use crate::recipe::{Format, Recipe};

/// A column in memory, as Parquet has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its cells.
    pub cells: Cells,
}

/// The cells of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Numbers, or nothing.
    Numbers(Vec<Option<f64>>),
    /// Words, or nothing.
    Words(Vec<Option<String>>),
}

/// A cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Word(&'a str),
    Number(f64),
    Missing,
}

/// How the cells of a text are told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Between cells; any white space if there is none.
    pub delimiter: Option<u8>,
    /// Whether the first line names the columns.
    pub header: bool,
    /// Lines that begin with it are skipped.
    pub comment: Option<u8>,
    /// Lines at the top that are skipped.
    pub skip: u64,
}

/// A table that can be read more than once.
pub(crate) enum Table {
    Text { bytes: Vec<u8>, dialect: Dialect },
    Columns(Vec<Column>),
}

/// A row of a table.
#[derive(Clone, Copy)]
pub(crate) enum Row<'a> {
    Record(&'a ByteRecord),
    Across(&'a [Column], usize),
}

impl Dialect {
    /// As a recipe says it.
    pub fn new(recipe: &Recipe, format: Format) -> Result<Self, DataError> {
        let standard = if format == Format::Tsv { "tab" } else { "," };
        let delimiter = match recipe.delimiter.as_deref().unwrap_or(standard) {
            "space" => None,
            "tab" => Some(b'\t'),
            word => Some(byte("delimiter", word)?),
        };
        let comment = recipe.comment.as_deref().map(|word| byte("comment", word)).transpose()?;
        let header = recipe.header.unwrap_or(true);
        Ok(Self { delimiter, header, comment, skip: recipe.skip_lines.unwrap_or(0) })
    }
}

fn byte(key: &str, word: &str) -> Result<u8, DataError> {
    match word.as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r' | b'"') => Ok(*byte),
        _ => Err(DataError::recipe(key, format!("expected one ASCII character, found {word:?}"))),
    }
}

impl Table {
    /// The names of columns, if it has any.
    pub fn header(&self) -> Result<Option<Vec<String>>, Fault> {
        match self {
            Self::Columns(columns) => Ok(Some(columns.iter().map(|c| c.name.clone()).collect())),
            Self::Text { dialect, .. } if !dialect.header => Ok(None),
            Self::Text { bytes, dialect } => {
                let mut names = None;
                each_record(bytes, dialect, |line, record| {
                    names = Some(header_of(line, record)?);
                    Ok(false)
                })?;
                names.map(Some).ok_or_else(|| Fault::new("has no header line; is it empty?"))
            }
        }
    }

    /// Calls `take` with the line and the cells of every row; it says whether to go on.
    pub fn each(
        &self,
        mut take: impl FnMut(u64, Row<'_>) -> Result<bool, Fault>,
    ) -> Result<(), Fault> {
        match self {
            Self::Text { bytes, dialect } => {
                let mut header = dialect.header;
                each_record(bytes, dialect, |line, record| {
                    if std::mem::take(&mut header) {
                        Ok(true)
                    } else {
                        take(line, Row::Record(record))
                    }
                })
            }
            Self::Columns(columns) => {
                let rows = columns.iter().map(|column| column.cells.len()).min().unwrap_or(0);
                for row in 0..rows {
                    if !take(row as u64 + 1, Row::Across(columns, row))? {
                        break;
                    }
                }
                Ok(())
            }
        }
    }
}

impl Cells {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(cells) => cells.len(),
            Self::Words(cells) => cells.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a> Row<'a> {
    pub fn len(self) -> usize {
        match self {
            Self::Record(record) => record.len(),
            Self::Across(columns, _) => columns.len(),
        }
    }

    /// A cell without the white space around it.
    pub fn cell(self, column: usize) -> Result<Cell<'a>, &'static str> {
        match self {
            Self::Record(record) => {
                let bytes = record.get(column).unwrap_or_default().trim_ascii();
                let text = std::str::from_utf8(bytes).map_err(|_| "is not UTF-8 text")?;
                Ok(Cell::Word(text))
            }
            Self::Across(columns, row) => Ok(match &columns[column].cells {
                Cells::Numbers(cells) => cells[row].map_or(Cell::Missing, Cell::Number),
                Cells::Words(cells) => cells[row].as_deref().map_or(Cell::Missing, Cell::Word),
            }),
        }
    }
}

/// Names, told apart: the second `score` is `score.2`.
fn header_of(line: u64, record: &ByteRecord) -> Result<Vec<String>, Fault> {
    let mut names: Vec<String> = Vec::with_capacity(record.len());
    for (index, cell) in record.iter().enumerate() {
        let name = std::str::from_utf8(cell.trim_ascii()).map_err(|_| {
            Fault::at(line, "the header is not UTF-8 text").column((index + 1).to_string())
        })?;
        let name = name.trim_start_matches('\u{feff}').trim().to_string();
        let same = record.iter().take(index).filter(|c| c.trim_ascii() == name.as_bytes()).count();
        names.push(if same == 0 { name } else { format!("{name}.{}", same + 1) });
    }
    Ok(names)
}

/// Calls `take` with the line and the cells of every line that is not empty or a comment.
pub(crate) fn each_record(
    bytes: &[u8],
    dialect: &Dialect,
    mut take: impl FnMut(u64, &ByteRecord) -> Result<bool, Fault>,
) -> Result<(), Fault> {
    let mut rest = bytes;
    for _ in 0..dialect.skip {
        let end = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
        rest = &rest[end..];
    }
    let mut record = ByteRecord::new();
    let Some(delimiter) = dialect.delimiter else {
        for (line, number) in rest.split(|byte| *byte == b'\n').zip(dialect.skip + 1..) {
            let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            record.clear();
            words.for_each(|word| record.push_field(word));
            let comment = dialect.comment.is_some() && line.first().copied() == dialect.comment;
            if !record.is_empty() && !comment && !take(number, &record)? {
                return Ok(());
            }
        }
        return Ok(());
    };
    let mut builder = ReaderBuilder::new();
    builder.has_headers(false).flexible(true).delimiter(delimiter).comment(dialect.comment);
    let mut reader = builder.from_reader(rest);
    loop {
        let more = reader.read_byte_record(&mut record);
        let more = more.map_err(|error| Fault::new(format!("cannot be read as CSV: {error}")))?;
        if !more {
            return Ok(());
        }
        let line = record.position().map_or(1, |place| line_of(rest, place, dialect));
        let blank = record.len() == 1 && record[0].trim_ascii().is_empty();
        if !blank && !take(line, &record)? {
            return Ok(());
        }
    }
}

/// The line of a record: its position is where reading began, before lines that were skipped.
fn line_of(bytes: &[u8], place: &csv::Position, dialect: &Dialect) -> u64 {
    let mut line = place.line() + dialect.skip;
    let mut rest = bytes.get(place.byte() as usize..).unwrap_or_default();
    loop {
        rest = match rest {
            [b'\r', b'\n', after @ ..] | [b'\n', after @ ..] => after,
            [first, ..] if Some(*first) == dialect.comment => {
                match rest.iter().position(|byte| *byte == b'\n') {
                    Some(end) => &rest[end + 1..],
                    None => return line,
                }
            }
            _ => return line,
        };
        line += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, dialect: Dialect) -> Vec<(u64, Vec<String>)> {
        let mut rows = Vec::new();
        each_record(text.as_bytes(), &dialect, |line, record| {
            let cells = record.iter().map(|c| String::from_utf8_lossy(c).trim().to_string());
            rows.push((line, cells.collect()));
            Ok(true)
        })
        .expect("text");
        rows
    }

    #[test]
    fn lines_are_numbered_as_in_an_editor() {
        let comma = Dialect { delimiter: Some(b','), header: false, comment: Some(b'|'), skip: 1 };
        let found = rows("skipped\n| why\n1, 2\n\n\"a\nb\",3\n4,5\n", comma);
        let lines: Vec<u64> = found.iter().map(|row| row.0).collect();
        assert_eq!(lines, [3, 5, 7]);
        assert_eq!(found[1].1, ["a\nb", "3"]);
        let space = Dialect { delimiter: None, header: false, comment: None, skip: 0 };
        assert_eq!(rows("a  b\n\n c\td \n", space)[1], (3, vec!["c".into(), "d".into()]));
    }

    #[test]
    fn names_that_repeat_are_told_apart() {
        let dialect = Dialect { delimiter: Some(b','), header: true, comment: None, skip: 0 };
        let table = Table::Text { bytes: "\u{feff}a, b,a\n1,2,3\n".into(), dialect };
        assert_eq!(table.header().expect("text").expect("a header"), ["a", "b", "a.2"]);
    }
}
