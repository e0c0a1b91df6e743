//! Plans of columns, matched with a table and completed from the data.

use std::collections::BTreeSet;

use super::{is_missing, number};
use crate::error::{DataError, Fault, shown};
use crate::recipe::{ColumnKind, ColumnPlan, Others, Recipe, Scaling};
use crate::table::{Cell, Table};

/// What a column taught, if its plan leaves anything open.
#[derive(Default)]
pub(super) struct Learned {
    pub largest: f64,
    pub words: BTreeSet<String>,
}

/// Reads all tables once, if a plan leaves anything open.
pub(super) fn learn(
    recipe: &Recipe,
    plans: &[ColumnPlan],
    missing_words: &[String],
    file: &str,
    tables: &[&Table],
) -> Result<Vec<Learned>, DataError> {
    let mut learned: Vec<Learned> = plans.iter().map(|_| Learned::default()).collect();
    let open = |plan: &ColumnPlan| match plan.kind {
        ColumnKind::Category => plan.values.is_none(),
        ColumnKind::Group => plan.values.is_none() && plan.feature == Some(true),
        ColumnKind::Number => {
            recipe.scaling == Some(Scaling::FromData) && plan.max.is_none() && plan.low.is_none()
        }
        ColumnKind::Drop | ColumnKind::Target => false,
    };
    let open: Vec<usize> = (0..plans.len()).filter(|k| open(&plans[*k])).collect();
    if open.is_empty() {
        return Ok(learned);
    }
    for table in tables {
        let read = table.each(|line, row| {
            for &index in open.iter().filter(|index| **index < row.len()) {
                let fault = |why: String| Fault::at(line, why).column(&plans[index].name);
                let cell = row.cell(index).map_err(|why| fault(why.into()))?;
                if is_missing(cell, missing_words) {
                    continue;
                }
                match (plans[index].kind, cell) {
                    (ColumnKind::Number, _) => {
                        let size = number(cell).map_err(fault)?.abs();
                        learned[index].largest = learned[index].largest.max(size);
                    }
                    (_, Cell::Word(word)) if !learned[index].words.contains(word) => {
                        learned[index].words.insert(word.into());
                    }
                    (_, Cell::Number(value)) => {
                        learned[index].words.insert(value.to_string());
                    }
                    _ => {}
                }
            }
            Ok(true)
        });
        read.map_err(|fault| fault.in_file(file))?;
    }
    Ok(learned)
}

/// A plan for every column of the table, in its order.
pub(super) fn match_columns(
    recipe: &Recipe,
    file: &str,
    table: &Table,
) -> Result<Vec<ColumnPlan>, DataError> {
    let listed = recipe.columns.as_deref().unwrap_or_default();
    let Some(header) = table.header().map_err(|fault| fault.in_file(file))? else {
        return Ok(listed.iter().flat_map(repeated).collect());
    };
    for plan in listed {
        if !header.contains(&plan.name) {
            let found: Vec<&str> = header.iter().take(20).map(String::as_str).collect();
            let message = format!(
                "has no column {}; its columns are {}",
                shown(&plan.name),
                found.join(", ")
            );
            return Err(DataError::new(file, message));
        }
    }
    header
        .into_iter()
        .map(|name| {
            if let Some(plan) = listed.iter().find(|plan| plan.name == name) {
                return Ok(plan.clone());
            }
            let kind = match recipe.others.unwrap_or(Others::Refuse) {
                Others::Drop => ColumnKind::Drop,
                Others::Number => ColumnKind::Number,
                Others::Refuse => {
                    let what = "is not in the recipe; list it, or say others = \"drop\"";
                    return Err(Fault::new(what).column(name).in_file(file));
                }
            };
            Ok(ColumnPlan { name, kind, ..ColumnPlan::default() })
        })
        .collect()
}

fn repeated(plan: &ColumnPlan) -> Vec<ColumnPlan> {
    match plan.repeat {
        None => vec![plan.clone()],
        Some(count) => (1..=count)
            .map(|k| ColumnPlan { name: format!("{}{k}", plan.name), ..plan.clone() })
            .collect(),
    }
}
