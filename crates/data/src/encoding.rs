//! How the records of one table were encoded, for others that come later.

use serde::{Deserialize, Serialize};
use undertone_model::Dataset;
use undertone_real::Real;

use crate::error::DataError;
use crate::load::tabular::{load_as, open};
use crate::recipe::{ColumnKind, Format, Recipe, TargetKind};
use crate::sources::Sources;
use crate::summary::Summary;

/// A recipe that leaves nothing to the data, and the features that it made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Encoding {
    /// Columns with bounds and values, and the target with its classes. It names no file.
    pub recipe: Recipe,
    /// Names of features, in order.
    pub features: Vec<String>,
}

/// Records of another table.
pub struct Encoded<R> {
    /// Features in the order of the encoding; targets if the table has them.
    pub data: Dataset<R>,
    /// The line, or row, of each record: some may be left out because a value is missing.
    pub lines: Vec<u64>,
}

impl Encoding {
    pub(crate) fn new(recipe: Recipe, format: Format, summary: &Summary) -> Self {
        let recipe = Recipe {
            recipe: None,
            file: None,
            files: None,
            test: None,
            holdout: None,
            split: None,
            format: Some(format),
            ..recipe
        };
        Self { recipe, features: summary.features.clone() }
    }

    /// The words for what is predicted, in the order of scores: of a sign the negative one first,
    /// if there is a single one.
    pub fn classes(&self) -> Vec<String> {
        let Some(target) = &self.recipe.target else { return Vec::new() };
        if target.kind != Some(TargetKind::Sign) {
            return target.values.clone().unwrap_or_default();
        }
        let positive = target.positive.clone().map_or(Vec::new(), Vec::<String>::from);
        let listed = target.values.iter().flatten();
        let negative: Vec<&String> = listed.filter(|word| !positive.contains(word)).collect();
        let word = positive.join("|");
        match negative.as_slice() {
            [one] => vec![(*one).clone(), word],
            _ => vec![format!("not {word}"), word],
        }
    }

    /// The column of what is predicted.
    pub fn target(&self) -> Option<&str> {
        let columns = self.recipe.columns.iter().flatten();
        columns.into_iter().find(|c| c.kind == ColumnKind::Target).map(|c| c.name.as_str())
    }

    /// Reads a table, which has the columns of the first in any order; that of what is predicted
    /// may be missing, and so may those that were not looked at.
    pub fn read<R: Real>(&self, file: &str, sources: &Sources) -> Result<Encoded<R>, DataError> {
        let format = self.recipe.format.unwrap_or(Format::Csv);
        let table = open(&self.recipe, format, sources, file)?;
        let mut recipe = self.recipe.clone();
        let mut columns = recipe.columns.take().unwrap_or_default();
        if let Some(header) = table.header().map_err(|fault| fault.in_file(file))? {
            // Without a target there is nothing to compare with, which is no fault.
            columns.retain(|column| {
                let needed = !matches!(column.kind, ColumnKind::Drop | ColumnKind::Target);
                (needed && !is_idle_group(column)) || header.contains(&column.name)
            });
        }
        recipe.columns = Some(columns);
        let (data, lines) = load_as(&recipe, (file, &table), &self.features)?;
        Ok(Encoded { data, lines })
    }
}

/// A group that is no feature is for measures of fairness only.
fn is_idle_group(column: &crate::recipe::ColumnPlan) -> bool {
    column.kind == ColumnKind::Group && column.feature != Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load;
    use undertone_model::dataset::Targets;

    const PEOPLE: &str = "age,city,note,happy\n30,Kobe,x,yes\n60,Oslo,y,no\n90,,z,no\n";
    const RECIPE: &str = r#"
        file = "people.csv"
        scaling = "from-data"
        missing = "drop"
        others = "drop"
        target = { positive = "yes" }
        columns = [
            { name = "age", kind = "number" },
            { name = "city", kind = "category" },
            { name = "happy", kind = "target" },
        ]
    "#;

    fn encoding() -> Encoding {
        let recipe: Recipe = toml::from_str(RECIPE).unwrap();
        let sources = Sources::only("people.csv", PEOPLE.into());
        load::<f64>(&recipe, &sources).unwrap().encoding.unwrap()
    }

    fn read(text: &str) -> Result<Encoded<f64>, DataError> {
        encoding().read("new.csv", &Sources::only("new.csv", text.into()))
    }

    #[test]
    fn others_are_encoded_as_the_first_was() {
        let encoding = encoding();
        assert_eq!(encoding.features, ["age", "city=Kobe", "city=Oslo"]);
        assert_eq!(encoding.classes(), ["not yes", "yes"]);
        assert_eq!(encoding.target(), Some("happy"));
        let text = serde_json::to_string(&encoding).unwrap();
        assert_eq!(serde_json::from_str::<Encoding>(&text).unwrap(), encoding);
        // Another order, no target, a greater number, and a record that is left out.
        let found = read("city,age\nOslo,45\n,1\nKobe,180\n").unwrap();
        assert_eq!(found.lines, [2, 4]);
        assert_eq!(found.data.dense_row(0).unwrap(), [0.5, 0.0, 1.0]);
        assert_eq!(found.data.dense_row(1).unwrap(), [1.0, 1.0, 0.0]);
        assert!(matches!(found.data.targets(), Targets::None));
        let found = read("happy,city,age\nyes,Oslo,45\nno,Kobe,9\n").unwrap();
        let Targets::Sign(signs) = found.data.targets() else { panic!("there are signs") };
        assert_eq!(*signs, [1.0, -1.0]);
    }

    #[test]
    fn other_columns_and_values_are_refused() {
        let message = |text: &str| read(text).err().unwrap().to_string();
        let missing = message("city\nOslo\n");
        assert!(missing.contains("new.csv") && missing.contains("no column"), "{missing}");
        let unknown = message("age,city\n1,Rome\n");
        assert!(unknown.contains("Rome") && unknown.contains("declared values"), "{unknown}");
        let word = message("age,city\nold,Oslo\n");
        assert!(word.contains("expected a number"), "{word}");
    }
}
