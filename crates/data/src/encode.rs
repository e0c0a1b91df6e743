//! Columns of a table as features.

mod groups;
mod plan;

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::error::{DataError, Fault, shown};
use crate::recipe::{ColumnKind, ColumnPlan, Missing, Recipe, Scaling};
use crate::summary::ColumnSummary;
use crate::table::{Cell, Row, Table};

use groups::Groups;
use plan::{Learned, learn, match_columns};

/// One column, and what to do with it.
pub(crate) struct Encoder {
    pub name: String,
    pub kind: ColumnKind,
    what: What,
    missing: Missing,
    /// The first of its features.
    first: u32,
    pub missing_count: u64,
    pub clamped: u64,
}

enum What {
    Nothing,
    Number { low: f64, high: f64, from_zero: bool },
    Raw,
    Category { numbers: BTreeMap<String, Option<u32>>, names: Vec<String>, ignore_others: bool },
}

/// The value of a category that stands for none.
const MISSING: &str = "(missing)";

/// What a cell turned out to be.
pub(crate) enum Found<'a> {
    /// A word, or the number as a word.
    Word(Cow<'a, str>),
    /// Nothing, and the record is to be left out.
    Drop,
    /// Nothing to be done.
    Nothing,
}

/// Everything that turns a row into a record.
pub(crate) struct Encoders {
    pub columns: Vec<Encoder>,
    pub groups: Groups,
    pub width: u32,
    pub assumptions: Vec<String>,
    missing_words: Vec<String>,
}

impl Encoders {
    /// Matches the plan of a recipe with the columns of a table, and learns from all tables what
    /// the recipe leaves to them.
    pub fn new(recipe: &Recipe, file: &str, tables: &[&Table]) -> Result<Self, DataError> {
        let plans = match_columns(recipe, file, tables[0])?;
        let missing_words = recipe
            .missing_words
            .clone()
            .unwrap_or_else(|| ["", "?", "NA", "NaN"].map(String::from).to_vec());
        let learned = learn(recipe, &plans, &missing_words, file, tables)?;
        let mut all = Self {
            columns: Vec::new(),
            groups: Groups::default(),
            width: 0,
            assumptions: Vec::new(),
            missing_words,
        };
        for (plan, learned) in plans.into_iter().zip(learned) {
            all.add(recipe, plan, learned)?;
        }
        groups::check(recipe, &all.columns)?;
        if all.width == 0 {
            let what = "no column is a feature; give some the kind `number` or `category`";
            return Err(DataError::recipe("columns", what));
        }
        Ok(all)
    }

    fn add(
        &mut self,
        recipe: &Recipe,
        plan: ColumnPlan,
        learned: Learned,
    ) -> Result<(), DataError> {
        let missing = plan.missing.or(recipe.missing).unwrap_or(Missing::Refuse);
        let protected = recipe.protected.as_ref().filter(|p| p.column == plan.name);
        let kind = if protected.is_some() { ColumnKind::Group } else { plan.kind };
        let feature = protected.map_or(plan.feature == Some(true), |p| p.feature);
        let what = match plan.kind {
            _ if kind == ColumnKind::Group && !feature => What::Nothing,
            ColumnKind::Category | ColumnKind::Group => self.category(&plan, &learned, missing)?,
            ColumnKind::Number => self.number(recipe, &plan, &learned)?,
            ColumnKind::Drop | ColumnKind::Target => What::Nothing,
        };
        if kind == ColumnKind::Group {
            self.groups = Groups::new(&plan, protected)?;
            if self.groups.is_open() {
                self.assume(format!("the groups of {} were read from the data", shown(&plan.name)));
            }
        }
        let first = self.width;
        self.width += what.features();
        let name = plan.name;
        let encoder = Encoder { name, kind, what, missing, first, missing_count: 0, clamped: 0 };
        self.columns.push(encoder);
        Ok(())
    }

    fn assume(&mut self, what: String) {
        self.assumptions.push(what);
    }

    fn number(
        &mut self,
        recipe: &Recipe,
        plan: &ColumnPlan,
        learned: &Learned,
    ) -> Result<What, DataError> {
        let no = |why: &str| DataError::recipe("columns", format!("{}: {why}", shown(&plan.name)));
        match (plan.low, plan.high, plan.max) {
            (None, None, Some(max)) if max > 0.0 && max.is_finite() => {
                return Ok(What::Number { low: -max, high: max, from_zero: false });
            }
            (Some(low), Some(high), None) if low < high && (high - low).is_finite() => {
                return Ok(What::Number { low, high, from_zero: true });
            }
            (None, None, None) => {}
            _ => return Err(no("give either a positive `max`, or `low` below `high`")),
        }
        match recipe.scaling {
            Some(Scaling::None) => Ok(What::Raw),
            Some(Scaling::FromData) => {
                self.assume(format!(
                    "the scale of {} was computed from the data ({})",
                    shown(&plan.name),
                    learned.largest
                ));
                let max = if learned.largest > 0.0 { learned.largest } else { 1.0 };
                Ok(What::Number { low: -max, high: max, from_zero: false })
            }
            Some(Scaling::Declared) | None => Err(no(
                "has no bounds; give `max`, or `low` and `high`, or say scaling = \"from-data\" \
                 if the data's own maxima are public knowledge",
            )),
        }
    }

    fn category(
        &mut self,
        plan: &ColumnPlan,
        learned: &Learned,
        missing: Missing,
    ) -> Result<What, DataError> {
        let mut values = match &plan.values {
            Some(values) => values.clone(),
            None => {
                let count = learned.words.len();
                let name = shown(&plan.name);
                self.assume(format!("the {count} values of {name} were read from the data"));
                learned.words.iter().cloned().collect()
            }
        };
        if missing == Missing::Category {
            values.push(MISSING.into());
        }
        let (mut numbers, mut names) = (BTreeMap::new(), Vec::new());
        for value in values {
            let number = match &plan.reference {
                Some(reference) if *reference == value => None,
                _ => {
                    names.push(format!("{}={value}", plan.name));
                    Some(names.len() as u32 - 1)
                }
            };
            if numbers.insert(value.clone(), number).is_some() {
                let what = format!("{}: {} is listed twice", shown(&plan.name), shown(&value));
                return Err(DataError::recipe("columns", what));
            }
        }
        if let Some(reference) = plan.reference.as_ref().filter(|r| !numbers.contains_key(*r)) {
            let what = format!("{}: `reference` {} is no value", plan.name, shown(reference));
            return Err(DataError::recipe("columns", what));
        }
        let ignore_others = plan.ignore_others.unwrap_or(false);
        Ok(What::Category { numbers, names, ignore_others })
    }

    /// Adds the features of a cell, and answers with what it is beside them.
    pub fn encode<'a>(
        &mut self,
        index: usize,
        line: u64,
        row: Row<'a>,
        features: &mut Vec<(u32, f64)>,
    ) -> Result<Found<'a>, Fault> {
        let column = &mut self.columns[index];
        if column.kind == ColumnKind::Drop {
            return Ok(Found::Nothing);
        }
        let fault = |column: &Encoder, why: String| Fault::at(line, why).column(&column.name);
        let cell = row.cell(index).map_err(|why| fault(column, why.into()))?;
        if is_missing(cell, &self.missing_words) {
            column.missing_count += 1;
            return column.absent(features).map_err(|why| fault(column, why));
        }
        column.present(cell, features).map_err(|why| fault(column, why))
    }

    /// Names of features, in order.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::with_capacity(self.width as usize);
        for column in &self.columns {
            match &column.what {
                What::Nothing => {}
                What::Number { .. } | What::Raw => names.push(column.name.clone()),
                What::Category { names: values, .. } => names.extend(values.iter().cloned()),
            }
        }
        names
    }

    /// Plans that leave nothing to the data. Groups that were met are given.
    pub fn declared(&self, groups: &[String]) -> Vec<ColumnPlan> {
        self.columns.iter().map(|column| column.declared(groups)).collect()
    }

    /// Where bounds come from that the declared plans do not have.
    pub fn scaling(&self) -> Scaling {
        let raw = self.columns.iter().any(|column| matches!(column.what, What::Raw));
        if raw { Scaling::None } else { Scaling::Declared }
    }

    /// For the summary.
    pub fn summary(&self) -> Vec<ColumnSummary> {
        let line = |column: &Encoder| ColumnSummary {
            name: column.name.clone(),
            kind: format!("{:?}", column.kind).to_lowercase(),
            features: column.what.features() as usize,
            missing: column.missing_count,
            clamped: column.clamped,
        };
        self.columns.iter().map(line).collect()
    }
}

impl What {
    fn features(&self) -> u32 {
        match self {
            Self::Nothing => 0,
            Self::Number { .. } | Self::Raw => 1,
            Self::Category { names, .. } => names.len() as u32,
        }
    }
}

impl Encoder {
    fn declared(&self, groups: &[String]) -> ColumnPlan {
        let (name, kind, missing) = (self.name.clone(), self.kind, Some(self.missing));
        let mut plan = ColumnPlan { name, kind, missing, ..ColumnPlan::default() };
        match &self.what {
            What::Nothing | What::Raw => {}
            What::Number { low, high, from_zero: true } => {
                (plan.low, plan.high) = (Some(*low), Some(*high));
            }
            What::Number { high, .. } => plan.max = Some(*high),
            What::Category { numbers, ignore_others, .. } => {
                // In the order of their features; the one without a feature may be anywhere.
                let mut values: Vec<(&String, &Option<u32>)> = numbers.iter().collect();
                values.sort_by_key(|(_, number)| **number);
                plan.reference =
                    values.iter().find(|(_, n)| n.is_none()).map(|(value, _)| (*value).clone());
                let values = values.into_iter().map(|(value, _)| value.clone());
                plan.values = Some(values.filter(|value| value != MISSING).collect());
                plan.ignore_others = ignore_others.then_some(true);
                plan.feature = (kind == ColumnKind::Group).then_some(true);
            }
        }
        if kind == ColumnKind::Group && plan.values.is_none() {
            plan.values = Some(groups.to_vec());
        }
        plan
    }

    fn absent<'a>(&self, features: &mut Vec<(u32, f64)>) -> Result<Found<'a>, String> {
        if self.missing == Missing::Drop {
            return Ok(Found::Drop);
        }
        let needed = matches!(self.kind, ColumnKind::Target | ColumnKind::Group);
        if self.missing == Missing::Refuse || needed {
            return Err(
                "a value is missing; say missing = \"drop\" to leave such records out, or \
                        \"zero\" or \"category\" to keep them"
                    .into(),
            );
        }
        if let What::Category { numbers, .. } = &self.what
            && let Some(Some(number)) = numbers.get(MISSING)
        {
            features.push((self.first + number, 1.0));
        }
        Ok(Found::Nothing)
    }

    fn present<'a>(
        &mut self,
        cell: Cell<'a>,
        features: &mut Vec<(u32, f64)>,
    ) -> Result<Found<'a>, String> {
        let value = match cell {
            Cell::Word(word) => Cow::Borrowed(word),
            Cell::Number(number) => Cow::Owned(number.to_string()),
            Cell::Missing => return Ok(Found::Nothing),
        };
        match &self.what {
            What::Nothing => {}
            What::Raw => features.push((self.first, number(cell)?)),
            What::Number { low, high, from_zero } => {
                let found = number(cell)?;
                let inside = found.clamp(*low, *high);
                self.clamped += u64::from(inside != found);
                let scaled = if *from_zero { (inside - low) / (high - low) } else { inside / high };
                features.push((self.first, scaled));
            }
            What::Category { numbers, names, ignore_others } => match numbers.get(&*value) {
                Some(Some(number)) => features.push((self.first + number, 1.0)),
                Some(None) => {}
                None if *ignore_others => {}
                None => {
                    let known: Vec<&str> = names.iter().take(8).map(String::as_str).collect();
                    return Err(format!(
                        "found {}, which is not among the {} declared values ({} ...); add it to \
                         `values` or say ignore-others = true",
                        shown(&value),
                        names.len(),
                        known.join(", ")
                    ));
                }
            },
        }
        Ok(match self.kind {
            ColumnKind::Target | ColumnKind::Group => Found::Word(value),
            _ => Found::Nothing,
        })
    }
}

pub(crate) fn is_missing(cell: Cell<'_>, words: &[String]) -> bool {
    match cell {
        Cell::Missing => true,
        Cell::Number(number) => number.is_nan(),
        Cell::Word(word) => words.iter().any(|missing| missing == word),
    }
}

pub(crate) fn number(cell: Cell<'_>) -> Result<f64, String> {
    let (value, word) = match cell {
        Cell::Number(number) => (Some(number), number.to_string()),
        Cell::Word(word) => (word.parse().ok(), word.to_string()),
        Cell::Missing => (None, String::new()),
    };
    value.filter(|value: &f64| value.is_finite()).ok_or_else(|| {
        let found = shown(&word);
        format!("expected a number, found {found}; mend it or list it in `missing-words`")
    })
}
