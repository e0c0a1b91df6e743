//! Groups of a protected attribute.

use super::Encoder;
use crate::error::{DataError, shown};
use crate::recipe::{ColumnKind, ColumnPlan, ProtectedPlan, Recipe};
use crate::target::Dictionary;

/// From a word to the number of its group.
#[derive(Default)]
pub(crate) struct Groups {
    /// Of all words, or of two groups.
    dictionary: Dictionary,
    /// If all words make two groups.
    two: Option<Two>,
}

enum Two {
    /// These words, and the others, of which a list may say what they are.
    Against { these: Vec<String>, known: Option<Dictionary> },
    /// Smaller numbers, and the others.
    Below(f64),
}

impl Groups {
    pub fn new(plan: &ColumnPlan, protected: Option<&ProtectedPlan>) -> Result<Self, DataError> {
        let wrong = |what: String| Err(DataError::recipe("protected", what));
        let name = &plan.name;
        let against = protected.and_then(|p| p.against.clone()).map(Vec::from);
        let declared = plan.values.as_deref().map(Dictionary::declared);
        match (against, protected.and_then(|p| p.below)) {
            (Some(_), Some(_)) => wrong("give `against` or `below`, not both".into()),
            (None, None) => Ok(Self { dictionary: declared.unwrap_or_default(), two: None }),
            (Some(these), None) => {
                let mut known = declared;
                let unknown = |word: &&String| {
                    known.as_mut().is_some_and(|known| known.number(word).is_none())
                };
                if let Some(word) = these.iter().find(unknown) {
                    return wrong(format!("{} is no value of {}", shown(word), shown(name)));
                }
                if these.is_empty() {
                    return wrong("`against` needs a word, or several".into());
                }
                let names = [these.join(" or "), "all others".into()];
                let dictionary = Dictionary::declared(&names);
                Ok(Self { dictionary, two: Some(Two::Against { these, known }) })
            }
            (None, Some(below)) if below.is_finite() => {
                let names = [format!("below {below}"), format!("{below} and more")];
                let dictionary = Dictionary::declared(&names);
                Ok(Self { dictionary, two: Some(Two::Below(below)) })
            }
            (None, Some(_)) => wrong("`below` must be a finite number".into()),
        }
    }

    /// Whether groups are read from the data.
    pub fn is_open(&self) -> bool {
        !self.dictionary.is_declared()
    }

    pub fn number(&mut self, word: &str) -> Result<u32, String> {
        let undeclared = || format!("{} is no declared group", shown(word));
        match &mut self.two {
            None => self.dictionary.number(word).ok_or_else(undeclared),
            Some(Two::Against { these, known }) => {
                if known.as_mut().is_some_and(|known| known.number(word).is_none()) {
                    return Err(undeclared());
                }
                Ok(u32::from(!these.iter().any(|these| these == word)))
            }
            Some(Two::Below(below)) => match word.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(u32::from(number >= *below)),
                _ => Err(format!("expected a number, found {}; take `against`", shown(word))),
            },
        }
    }

    /// Names in their final order, and the new number of each old one.
    pub fn sorted(&self) -> (Vec<String>, Vec<u32>) {
        self.dictionary.sorted()
    }
}

/// There is one protected attribute at most, and it is there if the recipe names it.
pub(super) fn check(recipe: &Recipe, columns: &[Encoder]) -> Result<(), DataError> {
    let mut groups = columns.iter().filter(|column| column.kind == ColumnKind::Group);
    let first = groups.next();
    if let (Some(first), Some(second)) = (first, groups.next()) {
        let what = format!(
            "{} and {} are both protected; one attribute can be",
            shown(&first.name),
            shown(&second.name)
        );
        return Err(DataError::recipe("protected", what));
    }
    match &recipe.protected {
        Some(protected) if first.is_none_or(|first| first.name != protected.column) => {
            let what = format!("there is no column {}", shown(&protected.column));
            Err(DataError::recipe("protected", what))
        }
        _ => Ok(()),
    }
}
