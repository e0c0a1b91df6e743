//! Reading a plan, with the place of whatever is wrong.

use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use undertone_data::Recipe;
use undertone_node::plan::{
    DrawnPlan, DrawnWord, NumbersPlan, Plan, PlanError, Variant, expand, overlay,
};

/// A plan file, of the right structure.
pub struct PlanFile {
    name: String,
    text: String,
    value: Value,
}

impl PlanFile {
    /// Reads a file and finds what is no TOML, and keys and words that do not exist.
    pub fn read(path: &Path) -> Result<Self, String> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("{name}: {error}; give the name of a plan in TOML"))?;
        Self::parse(name, text)
    }

    /// The plan that comes with the command.
    pub fn embedded() -> Result<Self, String> {
        Self::parse("the embedded plan".into(), include_str!("default.toml").into())
    }

    /// What to call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// As written.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn parse(name: String, text: String) -> Result<Self, String> {
        let value = toml::from_str::<Value>(&text).and_then(|value| {
            check_data(&value, &text)?;
            toml::from_str::<Plan>(&text).map(|_| value)
        });
        match value {
            Ok(value) => Ok(Self { name, text, value }),
            Err(error) => {
                let place = place(&name, &text, error.span());
                Err(format!("{place}: {}{}", error.message(), suggestion(error.message())))
            }
        }
    }

    /// All variants, with some keys set to other values first.
    pub fn variants(&self, settings: &[String]) -> Result<Vec<Variant>, String> {
        let mut value = self.value.clone();
        for setting in settings {
            let error = || format!("--set {setting}: write KEY=VALUE, such as run.rounds=100");
            let (key, word) = setting.split_once('=').ok_or_else(error)?;
            let read = toml::from_str::<Value>(&format!("value = {word}"));
            let chosen = read.map_or_else(|_| word.into(), |table| table["value"].clone());
            overlay(&mut value, key, chosen).map_err(|e| format!("--set {setting}: {e}"))?;
        }
        let variants = expand(&value);
        variants.map_err(|error| {
            if error.key.is_empty() && !settings.is_empty() {
                let hint = suggestion(&error.message);
                return format!("--set {}: {}{hint}", settings.join(" "), error.message);
            }
            let place = place_of(&value, |key| key == error.key);
            let key = place.map_or_else(|| error.key.clone(), |k| format!("vary.{k}.values"));
            self.say(&error, &key)
        })
    }

    /// What is wrong with a variant, and where in the file.
    pub fn locate(&self, error: &PlanError, variant: &Variant) -> String {
        if error.key.is_empty() {
            return error.message.clone();
        }
        // A varied key is where its values are.
        let varied = place_of(&self.value, |key| error.key.starts_with(key));
        let key = varied.map_or_else(|| error.key.clone(), |index| format!("vary.{index}.values"));
        let label = variant.label();
        let which = if label.is_empty() { String::new() } else { format!(" (variant {label})") };
        format!("{}{which}", self.say(error, &key))
    }

    fn say(&self, error: &PlanError, key: &str) -> String {
        let place = place(&self.name, &self.text, find(&self.text, key));
        let hint = suggestion(&error.message);
        match error.key.as_str() {
            "" => format!("{place}: {}{hint}", error.message),
            key => format!("{place}: {key}: {}{hint}", error.message),
        }
    }
}

/// Which `[[vary]]` has such a key, alone or together with others.
fn place_of(plan: &Value, wanted: impl Fn(&str) -> bool) -> Option<usize> {
    let has = |vary: &Value| match &vary["key"] {
        Value::Array(keys) => keys.iter().filter_map(Value::as_str).any(&wanted),
        key => key.as_str().is_some_and(&wanted),
    };
    plan["vary"].as_array()?.iter().position(has)
}

/// A plan by the type that its `[data]` has, which knows the place of a wrong key.
#[derive(Deserialize)]
struct Only<T> {
    #[serde(rename = "data")]
    _data: T,
}

fn check_data(plan: &Value, text: &str) -> Result<(), toml::de::Error> {
    let data = &plan["data"];
    match (plan.get("model"), data.get("source")) {
        _ if !data.is_object() => Ok(()),
        (None, _) if is_recipe(data) => Ok(()),
        (None, _) => toml::from_str::<Only<NumbersPlan>>(text).map(|_| ()),
        (Some(_), Some(_)) => toml::from_str::<Only<DrawnPlan>>(text).map(|_| ()),
        (Some(_), None) => toml::from_str::<Only<Recipe>>(text).map(|_| ()),
    }
}

/// Whether it needs a model, which is missed later, with a better word.
fn is_recipe(data: &Value) -> bool {
    let drawn = serde_json::from_value::<DrawnWord>(data["source"].clone()).is_ok();
    drawn || ["recipe", "file", "files"].iter().any(|key| data.get(key).is_some())
}

/// `file:line:column`, as far as that is known.
pub fn place(name: &str, text: &str, span: Option<Range<usize>>) -> String {
    match span.and_then(|span| column(text, span.start)) {
        Some((line, column)) => format!("{name}:{line}:{column}"),
        None => name.into(),
    }
}

/// Line and column of a place, from 1.
pub fn column(text: &str, start: usize) -> Option<(usize, usize)> {
    let before = text.get(..start)?;
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    Some((line, column))
}

/// Where a key is, or the innermost table around it that is there.
pub fn find(text: &str, key: &str) -> Option<Range<usize>> {
    let root = DeTable::parse(text).ok()?;
    let mut parts = key.split('.');
    let (name, mut value) = entry(root.get_ref(), parts.next()?)?;
    let mut span = name;
    for part in parts {
        let next = match value.get_ref() {
            DeValue::Table(table) => entry(table, part),
            DeValue::Array(items) => {
                part.parse::<usize>().ok().and_then(|k| items.get(k)).map(|v| (v.span(), v))
            }
            _ => None,
        };
        let Some((name, inner)) = next else { break };
        (span, value) = (name, inner);
    }
    Some(span)
}

fn entry<'a, 'b>(
    table: &'a DeTable<'b>,
    key: &str,
) -> Option<(Range<usize>, &'a Spanned<DeValue<'b>>)> {
    let found = table.iter().find(|(name, _)| name.get_ref().as_ref() == key);
    found.map(|(name, value)| (name.span(), value))
}

/// The word that was meant, from a message that names an unknown one and those that exist.
pub fn suggestion(message: &str) -> String {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let (Some((unknown, known)), true) = (quoted.split_first(), message.contains("unknown "))
    else {
        return String::new();
    };
    match nearest(unknown, known) {
        Some(word) => format!("; did you mean `{word}`?"),
        None => String::new(),
    }
}

/// The word that was probably meant.
pub fn nearest<'a>(unknown: &str, known: &[&'a str]) -> Option<&'a str> {
    let nearest = known.iter().min_by_key(|word| distance(unknown, word))?;
    (distance(unknown, nearest) <= 2.max(unknown.len() / 3)).then_some(nearest)
}

/// Levenshtein: letters put in, left out or changed.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted_and_the_nearest_word_is_meant() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        let message = "unknown field `dimnsion`, expected one of `source`, `dimension`";
        assert_eq!(suggestion(message), "; did you mean `dimension`?");
        assert_eq!(suggestion("unknown field `zzzzzz`, expected `a` or `b`"), "");
        assert_eq!(suggestion("missing field `delta`"), "");
    }

    #[test]
    fn keys_are_found_in_tables_and_lists() {
        let text = "a = 1\n[b]\nc = { d = 2 }\n[[e]]\nf = 1\n[[e]]\nf = 2\n";
        let at = |key| place("p", text, find(text, key));
        assert_eq!(at("b.c.d"), "p:3:7");
        assert_eq!(at("e.1.f"), "p:7:1");
        assert_eq!(at("b.missing"), "p:2:2");
        assert_eq!(at("missing"), "p");
    }
}
