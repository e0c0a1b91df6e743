//! `[data]` and `[model]` for a table of one's own.

use std::path::Path;

use serde_json::json;
use undertone_data::recipe::{ColumnKind, ColumnPlan, Scaling, TargetKind};
use undertone_data::{Format, Recipe, guess, load};

use super::template::Records;

/// Looks at a table, and writes what it found as a `[data]` table that declares everything.
pub fn records(file: &Path, target: Option<&str>, convex: bool) -> Result<Records, String> {
    let name = file.display().to_string();
    let sources = crate::data::sources(None);
    let guessed = guess(&name, &sources).map_err(|error| error.to_string())?;
    let format = guessed.recipe.format;
    if !matches!(format, Some(Format::Csv | Format::Tsv)) {
        return Err(format!(
            "--data {name}: is no table; see `undertone data recipes` for other kinds of files"
        ));
    }
    let mut recipe = Recipe { scaling: Some(Scaling::FromData), ..guessed.recipe };
    if let Some(target) = target {
        choose(&mut recipe, target).map_err(|error| format!("--target {target}: {error}"))?;
    }
    let loaded = load::<f64>(&recipe, &sources).map_err(|error| error.to_string())?;
    let encoding = loaded.encoding.ok_or("a table has an encoding")?;
    let found = encoding.recipe.target.unwrap_or_default();
    let classes = found.values.unwrap_or_default();
    let (target, model) = match (found.kind, classes.as_slice()) {
        (Some(TargetKind::Class), [negative, positive]) => (
            format!(
                "{{ positive = {}, values = {} }}",
                json!(positive),
                json!([negative, positive])
            ),
            "logistic",
        ),
        (Some(TargetKind::Class), _) => (format!("{{ values = {} }}", json!(classes)), "softmax"),
        (Some(TargetKind::Sign), _) => {
            (format!("{{ positive = {} }}", json!(found.positive)), "logistic")
        }
        (Some(TargetKind::Real), _) => ("{ kind = \"real\", low = 0, high = 1 }".into(), "linear"),
        (Some(TargetKind::None) | None, _) => {
            return Err(format!(
                "--data {name}: nothing to predict was found; name a column with --target"
            ));
        }
    };
    if convex && model == "softmax" {
        return Err(format!(
            "--data {name}: has {} classes, but ADMM tells two apart; take priv-sgp",
            classes.len()
        ));
    }
    let columns = encoding.recipe.columns.unwrap_or_default();
    let lines: String = columns.iter().map(|column| format!("    {},\n", line(column))).collect();
    let header = match recipe.header {
        Some(false) => "header = false\n",
        _ => "",
    };
    let delimiter = match recipe.delimiter.as_deref() {
        None | Some(",") => String::new(),
        Some(other) => format!("delimiter = {}\n", json!(other)),
    };
    let count = loaded.train.records();
    let held = (count / 5).max(1);
    let holdout = format!("holdout = {held}");
    let data = format!(
        "[data]\nfile = {}\n{header}{delimiter}\
         {holdout:35} # the last records, to measure accuracy\n\
         clip-rows = 1.0                     # no record is longer\n\
         # Bounds and values were read from the file. A guarantee takes them for public:\n\
         # put what everybody may know in their place.\n\
         target = {target}\ncolumns = [\n{lines}]\n\n",
        json!(name),
    );
    Ok(Records { data, model, count: count - held })
}

/// Another column is predicted.
fn choose(recipe: &mut Recipe, target: &str) -> Result<(), String> {
    let columns = recipe.columns.as_mut().ok_or("the table has no columns")?;
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    if !names.iter().any(|name| name == target) {
        return Err(format!("there is no such column; there are {}", names.join(", ")));
    }
    for column in columns {
        match (column.name == target, column.kind) {
            (true, _) => *column = ColumnPlan { kind: ColumnKind::Target, ..named(column) },
            (false, ColumnKind::Target) => column.kind = ColumnKind::Category,
            _ => {}
        }
    }
    Ok(())
}

fn named(column: &ColumnPlan) -> ColumnPlan {
    ColumnPlan { name: column.name.clone(), ..ColumnPlan::default() }
}

fn line(column: &ColumnPlan) -> String {
    let mut parts = vec![format!("name = {}", json!(column.name))];
    let kind = match column.kind {
        ColumnKind::Category => "category",
        ColumnKind::Drop => "drop",
        ColumnKind::Group => "group",
        ColumnKind::Number => "number",
        ColumnKind::Target => "target",
    };
    parts.push(format!("kind = \"{kind}\""));
    parts.extend(column.max.map(|max| format!("max = {max}")));
    let bounds = column.low.zip(column.high);
    parts.extend(bounds.map(|(low, high)| format!("low = {low}, high = {high}")));
    if column.kind == ColumnKind::Category {
        parts.extend(column.values.as_ref().map(|values| format!("values = {}", json!(values))));
    }
    let missing = column.missing.filter(|_| column.kind != ColumnKind::Target);
    let missing = missing.filter(|_| column.kind != ColumnKind::Drop);
    parts.extend(missing.map(|missing| format!("missing = {}", json!(missing))));
    format!("{{ {} }}", parts.join(", "))
}
