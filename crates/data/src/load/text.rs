//! Texts with tags, as bags of hashed words.

use undertone_model::dataset::{Dataset, Targets};
use undertone_real::Real;

use super::{Parts, dataset, sparse_rows};
use crate::error::{DataError, Fault, shown};
use crate::recipe::{Format, Recipe};
use crate::rows::Rows;
use crate::sources::Sources;
use crate::summary::{ColumnSummary, Counts};
use crate::table::{Cell, Dialect, Table};
use crate::target::{Dictionary, TargetReader};
use crate::{tar, words};

/// Before a tag in a file of fastText.
const LABEL: &str = "__label__";

pub(super) fn load<R: Real>(
    recipe: &Recipe,
    format: Format,
    sources: &Sources,
) -> Result<Parts<R>, DataError> {
    let size = recipe.words.ok_or_else(|| {
        DataError::recipe("words", "give the size of the hashed vocabulary, such as words = 10000")
    })?;
    let tags = recipe.tags.as_deref().map(Dictionary::declared).unwrap_or_default();
    let targets = TargetReader::new(recipe.target.as_ref())?;
    let mut reading = Reading { recipe, size, tags, targets };
    let files = recipe.train_files();
    let train = reading.part::<R>(format, sources, &files, recipe.labels.as_deref())?;
    let test = recipe.test.as_ref().map(|file| {
        let labels = recipe.test_labels.as_deref();
        reading.part::<R>(format, sources, std::slice::from_ref(file), labels)
    });
    let test = test.transpose()?;
    reading.finish(format, &files[0], train, test)
}

struct Reading<'a> {
    recipe: &'a Recipe,
    size: u32,
    tags: Dictionary,
    targets: TargetReader,
}

struct Open<R> {
    rows: Rows<R>,
    /// Where each record's tags start, and where the last ends.
    starts: Vec<usize>,
    tags: Vec<u32>,
    classes: Vec<f64>,
    read: u64,
}

impl Reading<'_> {
    fn part<R: Real>(
        &mut self,
        format: Format,
        sources: &Sources,
        files: &[String],
        labels: Option<&str>,
    ) -> Result<Open<R>, DataError> {
        let mut part = Open {
            rows: sparse_rows(self.recipe),
            starts: vec![0],
            tags: Vec::new(),
            classes: Vec::new(),
            read: 0,
        };
        for file in files {
            let bytes = sources.read(file)?;
            let read = match format {
                Format::TaggedTsv => self.tagged(bytes, &mut part),
                Format::Fasttext => self.fasttext(&bytes, &mut part),
                _ => {
                    let labels = labels.ok_or_else(|| {
                        DataError::recipe("labels", "give the file with one label a line")
                    })?;
                    let labels = (labels, &sources.read(labels)?[..]);
                    self.titles((file, &bytes), labels, &mut part)?;
                    Ok(())
                }
            };
            read.map_err(|fault| fault.in_file(file))?;
        }
        Ok(part)
    }

    fn text<R: Real>(&self, line: u64, text: &str, part: &mut Open<R>) -> Result<(), Fault> {
        part.read += 1;
        part.rows.push(&words::bag(text, self.size)).map_err(|why| Fault::at(line, why))
    }

    fn tags<'t, R: Real>(
        &mut self,
        line: u64,
        tags: impl Iterator<Item = &'t str>,
        part: &mut Open<R>,
    ) -> Result<(), Fault> {
        let start = part.tags.len();
        for tag in tags {
            let number = self.tags.number(tag).ok_or_else(|| {
                let what = format!("{} is not among the declared tags", shown(tag));
                Fault::at(line, format!("{what}; add it to `tags`"))
            })?;
            if !part.tags[start..].contains(&number) {
                part.tags.push(number);
            }
        }
        part.starts.push(part.tags.len());
        Ok(())
    }

    fn tagged<R: Real>(&mut self, bytes: Vec<u8>, part: &mut Open<R>) -> Result<(), Fault> {
        let dialect = Dialect { delimiter: Some(b'\t'), header: true, comment: None, skip: 0 };
        let table = Table::Text { bytes, dialect };
        let header = table.header()?.unwrap_or_default();
        if header != ["title", "tags"] {
            let found = shown(&header.join(", "));
            return Err(Fault::at(
                1,
                format!("expected the columns title and tags, found {found}"),
            ));
        }
        table.each(|line, row| {
            if row.len() != 2 {
                let found = row.len();
                return Err(Fault::at(
                    line,
                    format!("expected a title and tags, found {found} cells"),
                ));
            }
            let cell = |index| match row.cell(index) {
                Ok(Cell::Word(word)) => Ok(word),
                _ => Err(Fault::at(line, "is not UTF-8 text").column(header[index].as_str())),
            };
            let (title, tags) = (cell(0)?, cell(1)?);
            let tags = words::python_list(tags)
                .map_err(|why| Fault::at(line, why).column(header[1].as_str()))?;
            self.text(line, title, part)?;
            self.tags(line, tags.iter().map(String::as_str), part)?;
            Ok(true)
        })
    }

    fn fasttext<R: Real>(&mut self, bytes: &[u8], part: &mut Open<R>) -> Result<(), Fault> {
        let content = member(bytes, self.recipe.member.as_deref())?;
        for (text, line) in lines(content) {
            let text = text.map_err(|why| Fault::at(line, why))?;
            let mut rest = text.trim();
            if rest.is_empty() {
                continue;
            }
            let mut tags = Vec::new();
            while let Some(after) = rest.strip_prefix(LABEL) {
                let end = after.find(char::is_whitespace).unwrap_or(after.len());
                tags.push(&after[..end]);
                rest = after[end..].trim_start();
            }
            if tags.is_empty() {
                let found = shown(rest);
                return Err(Fault::at(line, format!("expected {LABEL}tag first, found {found}")));
            }
            self.text(line, rest, part)?;
            self.tags(line, tags.into_iter(), part)?;
        }
        Ok(())
    }

    fn titles<R: Real>(
        &mut self,
        (file, titles): (&str, &[u8]),
        (labels_file, labels): (&str, &[u8]),
        part: &mut Open<R>,
    ) -> Result<(), DataError> {
        let (titles, labels): (Vec<_>, Vec<_>) = (lines(titles).collect(), lines(labels).collect());
        let whole = |lines: &[(Result<&str, &str>, u64)]| match lines {
            [rest @ .., (Ok(""), _)] => rest.len(),
            all => all.len(),
        };
        let (count, found) = (whole(&titles), whole(&labels));
        if count != found {
            let what = format!("expected {count} labels, one for each title, found {found}");
            return Err(DataError::new(labels_file, what));
        }
        for ((title, line), (label, _)) in titles.into_iter().zip(labels).take(count) {
            let wrong = |why: String| Fault::at(line, why).in_file(labels_file);
            let label = label.map_err(|why| wrong(why.into()))?.trim();
            part.classes.push(self.targets.read(label).map_err(wrong)?);
            let title = title.map_err(|why| Fault::at(line, why).in_file(file))?;
            self.text(line, title, part).map_err(|fault| fault.in_file(file))?;
        }
        Ok(())
    }

    fn finish<R: Real>(
        mut self,
        format: Format,
        file: &str,
        train: Open<R>,
        test: Option<Open<R>>,
    ) -> Result<Parts<R>, DataError> {
        let single = format == Format::Titles;
        let (tag_names, renumbered) = self.tags.sorted();
        let (class_names, learned) = self.targets.settle();
        let targets = &self.targets;
        let close = |part: Open<R>| -> Result<(Dataset<R>, Counts), DataError> {
            let shortened = part.rows.shortened();
            let found = match single {
                true => targets.finish(&part.classes),
                false => tags_of(&part.starts, &part.tags, &renumbered),
            };
            let features = part.rows.finish(self.size as usize);
            let counts = Counts { read: part.read, shortened, ..Counts::default() };
            Ok((dataset(file, features, found)?, counts))
        };
        let mut assumptions: Vec<String> = learned.filter(|_| single).into_iter().collect();
        if !single && !self.tags.is_declared() {
            let count = tag_names.len();
            assumptions.push(format!("the list of {count} tags was read from the data"));
        }
        let (name, kind) = ("words".into(), "hashed words".into());
        let features = self.size as usize;
        Ok(Parts {
            train: close(train)?,
            test: test.map(close).transpose()?,
            columns: vec![ColumnSummary { name, kind, features, missing: 0, clamped: 0 }],
            features: Vec::new(),
            targets: if single { class_names } else { tag_names },
            groups: Vec::new(),
            assumptions,
        })
    }
}

fn tags_of<R: Real>(starts: &[usize], tags: &[u32], renumbered: &[u32]) -> Targets<R> {
    let mut of: Vec<u32> = tags.iter().map(|tag| renumbered[*tag as usize]).collect();
    for ends in starts.windows(2) {
        of[ends[0]..ends[1]].sort_unstable();
    }
    Targets::Tags { tags: renumbered.len() as u32, starts: starts.to_vec(), of }
}

/// The one text file of a tar, or the one that is named; the bytes themselves if they are no tar.
fn member<'a>(bytes: &'a [u8], name: Option<&str>) -> Result<&'a [u8], Fault> {
    if !tar::is_tar(bytes) {
        return Ok(bytes);
    }
    let members = tar::members(bytes)?;
    let fits = |member: &str| match name {
        Some(name) => member == name,
        None => members.len() == 1,
    };
    let found = members.iter().find(|(member, _)| fits(member));
    found.map(|(_, content)| *content).ok_or_else(|| {
        let names: Vec<String> = members.iter().map(|(name, _)| shown(name)).collect();
        Fault::new(format!("name one of its files with `member`: {}", names.join(", ")))
    })
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = (Result<&str, &'static str>, u64)> {
    let text = |line| std::str::from_utf8(line).map_err(|_| "is not UTF-8 text");
    bytes.split(|byte| *byte == b'\n').map(text).zip(1..)
}
