//! What is to be predicted, from words.

use std::collections::BTreeMap;

use undertone_model::dataset::Targets;
use undertone_real::Real;

use crate::error::{DataError, shown};
use crate::recipe::{TargetKind, TargetPlan, Words};

/// Words and their numbers: declared, or in the order in which they were met.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dictionary {
    words: Vec<String>,
    numbers: BTreeMap<String, u32>,
    declared: bool,
}

impl Dictionary {
    /// Exactly these words.
    pub fn declared(words: &[String]) -> Self {
        let mut dictionary = Self::default();
        for word in words {
            dictionary.number(word);
        }
        dictionary.declared = true;
        dictionary
    }

    /// The number of a word; none if it is not among those that are declared.
    pub fn number(&mut self, word: &str) -> Option<u32> {
        if let Some(number) = self.numbers.get(word) {
            return Some(*number);
        }
        if self.declared {
            return None;
        }
        let number = self.words.len() as u32;
        self.words.push(word.to_string());
        self.numbers.insert(word.to_string(), number);
        Some(number)
    }

    pub fn is_declared(&self) -> bool {
        self.declared
    }

    /// In the order of their numbers.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The words in order (by value if all are numbers), and the new number of each old one.
    /// Declared words stay where they are.
    pub fn sorted(&self) -> (Vec<String>, Vec<u32>) {
        let mut order: Vec<usize> = (0..self.words.len()).collect();
        if !self.declared {
            let values: Option<Vec<f64>> = self.words.iter().map(|w| w.parse().ok()).collect();
            match values {
                Some(values) => order.sort_by(|a, b| values[*a].total_cmp(&values[*b])),
                None => order.sort_by(|a, b| self.words[*a].cmp(&self.words[*b])),
            }
        }
        let mut renumbered = vec![0; order.len()];
        for (new, old) in order.iter().enumerate() {
            renumbered[*old] = new as u32;
        }
        (order.into_iter().map(|old| self.words[old].clone()).collect(), renumbered)
    }
}

/// Reads targets of one data set.
pub(crate) struct TargetReader {
    kind: Kind,
    dictionary: Dictionary,
    positive: Vec<String>,
    trim: Option<String>,
    range: Option<(f64, f64)>,
    /// Whether the kind was left to the data, and `read` gave numbers of the dictionary.
    guessed: bool,
    /// Numbers of `Real` that were outside of their range.
    pub clamped: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    None,
    Sign,
    Class,
    Real,
    /// To be decided when all have been seen.
    Auto,
}

/// With no plan, more classes than this are numbers.
const MOST_CLASSES: usize = 100;

impl TargetReader {
    pub fn new(plan: Option<&TargetPlan>) -> Result<Self, DataError> {
        let empty = TargetPlan::default();
        let plan = plan.unwrap_or(&empty);
        let positive = plan.positive.clone().map(Vec::from).unwrap_or_default();
        let kind = match plan.kind {
            Some(TargetKind::None) => Kind::None,
            Some(TargetKind::Sign) => Kind::Sign,
            Some(TargetKind::Class) => Kind::Class,
            Some(TargetKind::Real) => Kind::Real,
            None if !positive.is_empty() => Kind::Sign,
            None if plan.values.is_some() => Kind::Class,
            None => Kind::Auto,
        };
        if kind == Kind::Sign && positive.is_empty() {
            return Err(DataError::recipe("target", "a sign needs `positive`, the words for 1"));
        }
        let range = match (plan.low, plan.high) {
            (None, None) => None,
            (Some(low), Some(high)) if low < high && (high - low).is_finite() => Some((low, high)),
            _ => return Err(DataError::recipe("target", "give `low` and `high`, low below high")),
        };
        let guessed = kind == Kind::Auto;
        let dictionary = plan.values.as_deref().map(Dictionary::declared).unwrap_or_default();
        Ok(Self { kind, dictionary, positive, trim: plan.trim.clone(), range, guessed, clamped: 0 })
    }

    /// Nothing is to be predicted.
    pub fn none() -> Self {
        let plan = TargetPlan { kind: Some(TargetKind::None), ..TargetPlan::default() };
        Self::new(Some(&plan)).expect("nothing is needed for nothing")
    }

    /// A number for a word: its value, sign or number in the dictionary.
    pub fn read(&mut self, word: &str) -> Result<f64, String> {
        let word = match &self.trim {
            Some(end) => word.strip_suffix(end.as_str()).unwrap_or(word),
            None => word,
        };
        match self.kind {
            Kind::None => Ok(0.0),
            Kind::Sign => {
                // Every other word is negative, unless the list says what there is.
                let known = self.dictionary.number(word).is_some();
                let positive = self.positive.iter().any(|p| p == word);
                if !positive && !known {
                    return Err(self.unknown(word));
                }
                Ok(if positive { 1.0 } else { -1.0 })
            }
            Kind::Class | Kind::Auto => {
                self.dictionary.number(word).map(f64::from).ok_or_else(|| self.unknown(word))
            }
            Kind::Real => {
                let value: f64 =
                    word.parse().ok().filter(|v: &f64| v.is_finite()).ok_or_else(|| {
                        format!("expected a number to predict, found {}", shown(word))
                    })?;
                let Some((low, high)) = self.range else { return Ok(value) };
                let inside = value.clamp(low, high);
                self.clamped += u64::from(inside != value);
                Ok((inside - low) / (high - low) * 2.0 - 1.0)
            }
        }
    }

    fn unknown(&self, word: &str) -> String {
        let known: Vec<String> =
            self.dictionary.words().iter().take(12).map(|w| shown(w)).collect();
        format!(
            "expected one of the declared targets ({}), found {}; add it to `values`",
            known.join(", "),
            shown(word)
        )
    }

    /// Settles what is still open, once everything has been read. Answers with the names of
    /// classes, and with what was taken from the data.
    pub fn settle(&mut self) -> (Vec<String>, Option<String>) {
        if self.kind == Kind::Auto {
            self.kind = self.guess();
        }
        let (names, _) = self.dictionary.sorted();
        match self.kind {
            Kind::None | Kind::Real | Kind::Auto => (Vec::new(), None),
            Kind::Sign => {
                let rest = names.iter().filter(|n| !self.positive.contains(n));
                let negative: Vec<&str> = rest.map(String::as_str).collect();
                (
                    vec![
                        format!("-1: {}", negative.join(", ")),
                        format!("1: {}", self.positive.join(", ")),
                    ],
                    None,
                )
            }
            Kind::Class if self.dictionary.is_declared() => (names, None),
            Kind::Class => {
                let learned = format!("the list of {} classes was read from the data", names.len());
                (names, Some(learned))
            }
        }
    }

    /// A plan that leaves nothing to the data. Only after `settle`.
    pub fn declared(&self) -> TargetPlan {
        let (names, _) = self.dictionary.sorted();
        let kind = match self.kind {
            Kind::None | Kind::Auto => TargetKind::None,
            Kind::Sign => TargetKind::Sign,
            Kind::Class => TargetKind::Class,
            Kind::Real => TargetKind::Real,
        };
        let listed = kind == TargetKind::Class || self.dictionary.is_declared();
        TargetPlan {
            kind: Some(kind),
            positive: (kind == TargetKind::Sign).then(|| Words::Many(self.positive.clone())),
            values: (listed && kind != TargetKind::Real).then_some(names),
            trim: self.trim.clone(),
            low: self.range.map(|range| range.0),
            high: self.range.map(|range| range.1),
        }
    }

    fn guess(&mut self) -> Kind {
        let words = self.dictionary.words();
        let values: Option<Vec<f64>> = words.iter().map(|word| word.parse().ok()).collect();
        match values {
            Some(values) if values.len() == 2 && values.iter().all(|v| v.abs() == 1.0) => {
                let positive = values.iter().position(|v| *v == 1.0);
                self.positive = positive.map(|k| vec![words[k].clone()]).unwrap_or_default();
                Kind::Sign
            }
            Some(values) if values.iter().any(|v| v.fract() != 0.0) => Kind::Real,
            Some(values) if values.len() > MOST_CLASSES => Kind::Real,
            _ => Kind::Class,
        }
    }

    /// The targets, of which `read` gave the numbers. Only after `settle`.
    pub fn finish<R: Real>(&self, numbers: &[f64]) -> Targets<R> {
        let words = self.dictionary.words();
        match self.kind {
            Kind::None | Kind::Auto => Targets::None,
            Kind::Sign if self.guessed => {
                let sign = |n: &f64| self.positive.contains(&words[*n as usize]);
                let signs = numbers.iter().map(|n| if sign(n) { R::ONE } else { -R::ONE });
                Targets::Sign(signs.collect())
            }
            Kind::Sign => Targets::Sign(numbers.iter().map(|n| R::from_f64(*n)).collect()),
            Kind::Real if self.guessed => {
                let value = |n: &f64| words[*n as usize].parse().unwrap_or(0.0);
                Targets::Real(numbers.iter().map(|n| R::from_f64(value(n))).collect())
            }
            Kind::Real => Targets::Real(numbers.iter().map(|n| R::from_f64(*n)).collect()),
            Kind::Class => {
                let (names, renumbered) = self.dictionary.sorted();
                let of = numbers.iter().map(|n| renumbered[*n as usize]).collect();
                Targets::Class { classes: names.len() as u32, of }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Words;

    fn read(plan: Option<&TargetPlan>, words: &[&str]) -> (Targets<f64>, Vec<String>) {
        let mut reader = TargetReader::new(plan).expect("a plan");
        let numbers: Vec<f64> = words.iter().map(|w| reader.read(w).expect("known")).collect();
        let (names, _) = reader.settle();
        (reader.finish(&numbers), names)
    }

    #[test]
    fn words_become_what_the_plan_says() {
        let plan = TargetPlan {
            positive: Some(Words::One(">50K".into())),
            trim: Some(".".into()),
            ..TargetPlan::default()
        };
        let (targets, names) = read(Some(&plan), &["<=50K", ">50K.", ">50K"]);
        assert!(targets == Targets::Sign(vec![-1.0, 1.0, 1.0]));
        assert_eq!(names, ["-1: <=50K", "1: >50K"]);
        let plan = TargetPlan {
            kind: Some(TargetKind::Real),
            low: Some(0.0),
            high: Some(10.0),
            ..TargetPlan::default()
        };
        let (targets, _) = read(Some(&plan), &["5", "-3", "1e9"]);
        assert!(targets == Targets::Real(vec![0.0, -1.0, 1.0]));
    }

    #[test]
    fn without_a_plan_the_words_decide() {
        let (targets, _) = read(None, &["+1", "-1", "+1"]);
        assert!(targets == Targets::Sign(vec![1.0, -1.0, 1.0]));
        let (targets, names) = read(None, &["10", "2", "10"]);
        assert!(targets == Targets::Class { classes: 2, of: vec![1, 0, 1] });
        assert_eq!(names, ["2", "10"]);
        let (targets, _) = read(None, &["0.5", "2"]);
        assert!(targets == Targets::Real(vec![0.5, 2.0]));
    }
}
