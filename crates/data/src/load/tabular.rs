//! Tables: CSV, TSV and Parquet.

use undertone_model::dataset::Dataset;
use undertone_real::Real;

use super::{Parts, dataset, dense_rows, sparse_rows};
use crate::encode::{Encoders, Found};
use crate::error::{DataError, Fault};
use crate::recipe::{ColumnKind, Format, Layout, Recipe};
use crate::rows::Rows;
use crate::sources::Sources;
use crate::summary::Counts;
use crate::table::{Dialect, Row, Table};
use crate::target::TargetReader;

/// Wider records are sparse if nothing else is said: most of their features are categories.
const WIDE: u32 = 256;

pub(super) fn load<R: Real>(
    recipe: &Recipe,
    format: Format,
    sources: &Sources,
) -> Result<(Parts<R>, Recipe), DataError> {
    let files = recipe.train_files();
    let open = |file: &String| open(recipe, format, sources, file);
    let tables = files.iter().map(open).collect::<Result<Vec<Table>, _>>()?;
    let test = recipe.test.as_ref().map(open).transpose()?;
    let all: Vec<&Table> = tables.iter().chain(&test).collect();
    let encoders = Encoders::new(recipe, &files[0], &all)?;
    let has_target = encoders.columns.iter().any(|c| c.kind == ColumnKind::Target);
    let targets = match has_target {
        true => TargetReader::new(recipe.target.as_ref())?,
        false => TargetReader::none(),
    };
    let mut reading = Reading { recipe, encoders, targets, order: None };
    let named: Vec<(&str, &Table)> = files.iter().map(String::as_str).zip(&tables).collect();
    let train = reading.part::<R>(&named)?;
    let test = match (&test, &recipe.test) {
        (Some(table), Some(file)) => Some(reading.part::<R>(&[(file, table)])?),
        _ => None,
    };
    reading.finish(&files[0], train, test)
}

pub(crate) fn open(
    recipe: &Recipe,
    format: Format,
    sources: &Sources,
    file: &str,
) -> Result<Table, DataError> {
    let bytes = sources.read(file)?;
    if format != Format::Parquet {
        return Ok(Table::Text { bytes, dialect: Dialect::new(recipe, format)? });
    }
    let read = sources.parquet.ok_or_else(|| {
        let what = "is a Parquet file, which this build does not read; build the command with \
                    `cargo build --release --features parquet`, or convert the file to CSV";
        DataError::new(file, what)
    })?;
    read(&bytes).map(Table::Columns).map_err(|fault| fault.in_file(file))
}

struct Reading<'a> {
    recipe: &'a Recipe,
    encoders: Encoders,
    targets: TargetReader,
    /// Where each feature goes, if not where the table has it.
    order: Option<Vec<u32>>,
}

/// A part whose classes and groups have no final numbers yet.
struct Open<R> {
    rows: Rows<R>,
    targets: Vec<f64>,
    groups: Vec<u32>,
    /// The line of each record.
    lines: Vec<u64>,
    counts: Counts,
}

impl Reading<'_> {
    fn part<R: Real>(&mut self, tables: &[(&str, &Table)]) -> Result<Open<R>, DataError> {
        let width = self.encoders.width;
        let wide = if width > WIDE { Layout::Sparse } else { Layout::Dense };
        let rows = match self.recipe.layout.unwrap_or(wide) {
            Layout::Dense => dense_rows(self.recipe, width as usize),
            Layout::Sparse => sparse_rows(self.recipe),
        };
        let counts = Counts::default();
        let (targets, groups, lines) = (Vec::new(), Vec::new(), Vec::new());
        let mut part = Open { rows, targets, groups, lines, counts };
        let before = self.tally();
        let mut features = Vec::new();
        for (file, table) in tables {
            let read = table.each(|line, row| {
                self.record(line, row, &mut part, &mut features)?;
                Ok(true)
            });
            read.map_err(|fault| fault.in_file(*file))?;
        }
        let after = self.tally();
        part.counts.missing = after.0 - before.0;
        part.counts.clamped = after.1 - before.1;
        part.counts.shortened = part.rows.shortened();
        Ok(part)
    }

    /// Missing and clamped values so far.
    fn tally(&self) -> (u64, u64) {
        let columns = &self.encoders.columns;
        let clamped = columns.iter().map(|column| column.clamped).sum::<u64>();
        let missing = columns.iter().map(|column| column.missing_count).sum();
        (missing, clamped + self.targets.clamped)
    }

    fn record<R: Real>(
        &mut self,
        line: u64,
        row: Row<'_>,
        part: &mut Open<R>,
        features: &mut Vec<(u32, f64)>,
    ) -> Result<(), Fault> {
        let expected = self.encoders.columns.len();
        if row.len() != expected {
            let found = row.len();
            let what = format!(
                "expected {expected} cells, found {found}; is the delimiter right and every quote \
                 closed?"
            );
            return Err(Fault::at(line, what));
        }
        part.counts.read += 1;
        features.clear();
        let (mut target, mut group, mut dropped) = (None, None, false);
        for index in 0..expected {
            match self.encoders.encode(index, line, row, features)? {
                Found::Nothing => {}
                Found::Drop => dropped = true,
                Found::Word(word) => {
                    let name = &self.encoders.columns[index].name;
                    let fault = |why: String| Fault::at(line, why).column(name);
                    if self.encoders.columns[index].kind == ColumnKind::Target {
                        target = Some(self.targets.read(&word).map_err(fault)?);
                    } else {
                        group = Some(self.encoders.groups.number(&word).map_err(fault)?);
                    }
                }
            }
        }
        if dropped {
            part.counts.dropped += 1;
            return Ok(());
        }
        if let Some(order) = &self.order {
            features.iter_mut().for_each(|(column, _)| *column = order[*column as usize]);
            features.sort_unstable_by_key(|(column, _)| *column);
        }
        part.lines.push(line);
        part.rows.push(features).map_err(|why| Fault::at(line, why))?;
        part.targets.extend(target);
        part.groups.extend(group);
        Ok(())
    }

    fn finish<R: Real>(
        mut self,
        file: &str,
        train: Open<R>,
        test: Option<Open<R>>,
    ) -> Result<(Parts<R>, Recipe), DataError> {
        let (names, learned) = self.targets.settle();
        let (groups, renumbered) = self.encoders.groups.sorted();
        let width = self.encoders.width as usize;
        let close = |part: Open<R>| -> Result<(Dataset<R>, Counts), DataError> {
            let targets = self.targets.finish(&part.targets);
            let mut dataset = dataset(file, part.rows.finish(width), targets)?;
            if !groups.is_empty() {
                let numbers = part.groups.iter().map(|g| renumbered[*g as usize]).collect();
                dataset = dataset
                    .with_groups(numbers)
                    .map_err(|error| DataError::new(file, error.to_string()))?;
            }
            Ok((dataset, part.counts))
        };
        let train = close(train)?;
        let test = test.map(close).transpose()?;
        let mut assumptions = self.encoders.assumptions.clone();
        assumptions.extend(learned);
        let declared = Recipe {
            columns: Some(self.encoders.declared(&groups)),
            scaling: Some(self.encoders.scaling()),
            target: Some(self.targets.declared()),
            ..self.recipe.clone()
        };
        let parts = Parts {
            train,
            test,
            columns: self.encoders.summary(),
            features: self.encoders.names(),
            targets: names,
            groups,
            assumptions,
        };
        Ok((parts, declared))
    }
}

/// The records of a table that is encoded as a recipe declares, with features in a given order, and
/// the line of each.
pub(crate) fn load_as<R: Real>(
    recipe: &Recipe,
    (file, table): (&str, &Table),
    order: &[String],
) -> Result<(Dataset<R>, Vec<u64>), DataError> {
    let encoders = Encoders::new(recipe, file, &[table])?;
    let place = |name: &String| order.iter().position(|other| other == name);
    let places: Option<Vec<u32>> =
        encoders.names().iter().map(|name| place(name).map(|k| k as u32)).collect();
    let places = places.filter(|places| places.len() == order.len()).ok_or_else(|| {
        DataError::new(file, "has other features than those that were learned from")
    })?;
    let has_target = encoders.columns.iter().any(|c| c.kind == ColumnKind::Target);
    let targets = match has_target {
        true => TargetReader::new(recipe.target.as_ref())?,
        false => TargetReader::none(),
    };
    let mut reading = Reading { recipe, encoders, targets, order: Some(places) };
    let mut part = reading.part::<R>(&[(file, table)])?;
    let lines = std::mem::take(&mut part.lines);
    let (parts, _) = reading.finish(file, part, None)?;
    Ok((parts.train.0, lines))
}
