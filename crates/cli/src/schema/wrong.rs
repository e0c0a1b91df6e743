//! Everything that is wrong with the structure of a plan, each with its place.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::PLAN;
use super::{Key, Shape};
use crate::run::file::nearest;

/// What is wrong, and where.
pub struct Wrong {
    pub span: Option<Range<usize>>,
    /// As `algorithm.step`.
    pub key: String,
    pub message: String,
}

/// All keys that do not exist, are missing, or hold something else than they should.
pub fn wrong(root: &Spanned<DeTable<'_>>) -> Vec<Wrong> {
    let mut found = Vec::new();
    table(root.get_ref(), PLAN, "", root.span(), &mut found);
    found.sort_by_key(|wrong| wrong.span.as_ref().map_or(usize::MAX, |span| span.start));
    found
}

fn table(
    given: &DeTable<'_>,
    keys: &[Key],
    path: &str,
    span: Range<usize>,
    found: &mut Vec<Wrong>,
) {
    let at = |name: &str| if path.is_empty() { name.into() } else { format!("{path}.{name}") };
    for (name, value) in given {
        let name_text = name.get_ref().as_ref();
        let Some(key) = keys.iter().find(|key| key.name == name_text) else {
            let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
            let remedy = match nearest(name_text, &names) {
                Some(word) => format!("did you mean `{word}`?"),
                None => format!("there are {}", names.join(", ")),
            };
            let message = format!("there is no such key; {remedy}");
            found.push(Wrong { span: Some(name.span()), key: at(name_text), message });
            continue;
        };
        shape(value, &key.shape, &at(name_text), found);
    }
    for key in keys.iter().filter(|key| key.needed) {
        if !given.iter().any(|(name, _)| name.get_ref().as_ref() == key.name) {
            let message = format!("is missing: {}", key.what);
            let span = Some(span.clone()).filter(|_| !path.is_empty());
            found.push(Wrong { span, key: at(key.name), message });
        }
    }
}

fn shape(value: &Spanned<DeValue<'_>>, wanted: &Shape, path: &str, found: &mut Vec<Wrong>) {
    let mut say = |message: String| {
        found.push(Wrong { span: Some(value.span()), key: path.into(), message });
    };
    match (wanted, value.get_ref()) {
        (Shape::Any, _)
        | (Shape::Boolean, DeValue::Boolean(_))
        | (Shape::Integer, DeValue::Integer(_))
        | (Shape::Number, DeValue::Integer(_) | DeValue::Float(_))
        | (Shape::Text, DeValue::String(_))
        | (Shape::Open, DeValue::Table(_)) => {}
        (Shape::Words(words), DeValue::String(word)) => {
            if !words.contains(&word.as_ref()) {
                let remedy = match nearest(word, words) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("take one of {}", words.join(", ")),
                };
                say(format!("\"{word}\" is none of its words; {remedy}"));
            }
        }
        (Shape::List(items), DeValue::Array(values)) => {
            for (k, value) in values.iter().enumerate() {
                shape(value, items, &format!("{path}.{k}"), found);
            }
        }
        (Shape::Table(keys), DeValue::Table(given)) => {
            table(given, keys, path, value.span(), found);
        }
        (Shape::Either(shapes), _) => {
            // What is wrong with the nearest of them, or what there is.
            let tried = shapes.iter().map(|one| {
                let mut tried = Vec::new();
                shape(value, one, path, &mut tried);
                tried
            });
            let tried: Vec<Vec<Wrong>> = tried.collect();
            if tried.iter().any(Vec::is_empty) {
                return;
            }
            let same_kind = |one: &Shape| {
                matches!(
                    (one, value.get_ref()),
                    (Shape::Table(_), DeValue::Table(_))
                        | (Shape::Words(_), DeValue::String(_))
                        | (Shape::List(_), DeValue::Array(_))
                )
            };
            let place = shapes.iter().position(same_kind);
            match place.and_then(|k| tried.into_iter().nth(k)) {
                Some(nearest) => found.extend(nearest),
                None => say(format!("is {}, not {}", describe(wanted), kind(value.get_ref()))),
            }
        }
        _ => say(format!("is {}, not {}", describe(wanted), kind(value.get_ref()))),
    }
}

fn describe(shape: &Shape) -> String {
    match shape {
        Shape::Any => "anything".into(),
        Shape::Boolean => "true or false".into(),
        Shape::Integer => "a whole number".into(),
        Shape::Number => "a number".into(),
        Shape::Text => "a text in quotes".into(),
        Shape::Words(words) => format!("one of \"{}\"", words.join("\", \"")),
        Shape::List(items) => format!("a list, each of which is {}", describe(items)),
        Shape::Table(keys) => {
            let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
            format!("a table with {}", names.join(", "))
        }
        Shape::Open => "a table".into(),
        Shape::Either(shapes) => shapes.iter().map(describe).collect::<Vec<_>>().join(", or "),
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::Boolean(_) => "true or false",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a point",
        DeValue::String(_) => "a text",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn complaints(text: &str) -> Vec<String> {
        let root = DeTable::parse(text).unwrap();
        wrong(&root).iter().map(|wrong| format!("{}: {}", wrong.key, wrong.message)).collect()
    }

    /// Plans that run have nothing wrong: those of the papers, of recipes' keys, and ours.
    #[test]
    fn all_plans_that_run_are_accepted() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
        let mut count = 0;
        for folder in std::fs::read_dir(root).unwrap().flatten() {
            for file in std::fs::read_dir(folder.path()).into_iter().flatten().flatten() {
                if file.path().extension().is_some_and(|end| end == "toml") {
                    let text = std::fs::read_to_string(file.path()).unwrap();
                    assert_eq!(complaints(&text), [""; 0], "{:?}", file.path());
                    count += 1;
                }
            }
        }
        assert!(count > 20, "{count}");
        assert_eq!(complaints(include_str!("../quickstart/plan.toml")), [""; 0]);
        assert_eq!(complaints(include_str!("../run/default.toml")), [""; 0]);
        for word in undertone_node::plan::AlgorithmWord::ALL {
            assert_eq!(complaints(&crate::fresh::template::plan(word, None)), [""; 0], "{word:?}");
        }
    }

    #[test]
    fn all_faults_are_found_in_the_order_of_the_file() {
        let text = "
            seed = 1.5
            [network]
            nodes = 3
            schedule = \"fixd\"
            [algorithm]
            name = \"push-sum\"
            step = { first = 1.0, powr = 2 }
            [privacy]
            noise = { sgma = 1.0 }
            [[vary]]
            key = 3
            values = []
        ";
        let found = complaints(text);
        let expected = [
            "seed: is a whole number, not a number with a point",
            "network.schedule: \"fixd\" is none of its words; did you mean \"fixed\"?",
            "algorithm.step.powr: there is no such key; did you mean `power`?",
            "privacy.delta: is missing: the budget",
            "privacy.clip: is missing: a norm of gradients, or a set of records",
            "privacy.noise.sigma: is missing: the standard deviation; 0 is no guarantee",
            "privacy.noise.sgma: there is no such key; did you mean `sigma`?",
            "vary.0.key: is a text in quotes, or a list, each of which is a text in quotes, not a \
             whole number",
            "name: is missing: what it is called; the folder of its results, too",
            "data: is missing: what the nodes have",
            "run: is missing: how long",
            "evaluate: is missing: what is measured",
        ];
        for word in expected {
            assert!(found.iter().any(|complaint| complaint == word), "{word}\n{found:#?}");
        }
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        assert!(found[0].starts_with("seed"), "{found:#?}");
    }
}
