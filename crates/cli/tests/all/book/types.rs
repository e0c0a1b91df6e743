//! Types as their source says them: names, words above them, fields. Enough for plain structs and
//! enums that rustfmt has laid out.

use std::fmt::Write;

use super::pages::root;

/// A struct, an enum, or a variant with fields.
#[derive(Clone, Debug, Default)]
pub struct Item {
    pub name: String,
    pub doc: String,
    /// Of a field: its type. Of a variant: what is in its parentheses.
    pub of: String,
    /// Fields or variants.
    pub parts: Vec<Item>,
    pub is_enum: bool,
    /// Whether it may be left out.
    pub optional: bool,
}

pub fn source(path: &str) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The type of this name; panics if there is none.
pub fn find(source: &str, name: &str) -> Item {
    let all: Vec<&str> = source.lines().collect();
    let is_head = |line: &&str| {
        let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let kind = words.iter().position(|word| ["struct", "enum"].contains(word));
        kind.is_some_and(|k| words.get(k + 1) == Some(&name)) && line.ends_with('{')
    };
    let head = all.iter().position(is_head).unwrap_or_else(|| panic!("no type {name}"));
    let is_above = |line: &&&str| line.trim().starts_with("///") || line.trim().starts_with("#[");
    let above = all[..head].iter().rev().take_while(is_above).count();
    let mut top = Above::default();
    all[head - above..head].iter().for_each(|line| top.read(line.trim()));
    let mut lines = all[head + 1..].iter().map(|line| line.trim());
    Item {
        name: name.into(),
        doc: top.doc.trim().into(),
        parts: parts(&mut lines, top.default),
        is_enum: all[head].contains("enum "),
        ..Item::default()
    }
}

/// What stands above a name.
#[derive(Default)]
struct Above {
    doc: String,
    rename: Option<String>,
    default: bool,
    skip: bool,
    /// Whether a variant is known by what it holds, not by a word.
    untagged: bool,
}

impl Above {
    fn read(&mut self, line: &str) {
        if let Some(text) = line.strip_prefix("///").map(str::trim).filter(|t| !t.is_empty()) {
            self.doc.push(' ');
            // Links within the code lead nowhere here.
            self.doc.push_str(&text.replace("[`", "`").replace("`]", "`"));
        }
        if line.starts_with("#[serde") {
            self.default |= line.contains("default");
            self.skip |= line.contains("(skip)");
            self.untagged |= line.contains("(untagged)");
            let renamed = line.split_once("rename = \"").and_then(|(_, rest)| rest.split_once('"'));
            self.rename = renamed.map(|(word, _)| word.into()).or(self.rename.take());
        }
    }
}

/// Fields or variants up to the closing brace; `all_optional` if the whole has a default.
fn parts<'a>(lines: &mut impl Iterator<Item = &'a str>, all_optional: bool) -> Vec<Item> {
    let mut found = Vec::new();
    let mut above = Above::default();
    while let Some(line) = lines.next() {
        if line == "}" || line == "}," {
            return found;
        }
        if line.starts_with("///") || line.starts_with("#[") {
            above.read(line);
            continue;
        }
        if line.is_empty() || line.starts_with("//") {
            continue;
        }
        let Above { doc, rename, default, skip, untagged } = std::mem::take(&mut above);
        let line = line.trim_start_matches("pub(super) ").trim_start_matches("pub ");
        let end = line.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(line.len());
        let rest = line[end..].trim_end_matches(',');
        let of = rest.trim_start_matches(':').trim();
        let name = rename.unwrap_or_else(|| kebab(&line[..end]));
        let item = Item {
            name: if untagged { String::new() } else { name },
            doc: doc.trim().replace('|', "\\|"),
            of: of.trim_start_matches('(').trim_end_matches([')', '{']).trim().into(),
            parts: if rest.ends_with('{') { parts(lines, false) } else { Vec::new() },
            is_enum: false,
            optional: default || all_optional || of.starts_with("Option<"),
        };
        if !skip {
            found.push(item);
        }
    }
    found
}

/// `TwoStage` and `two_stage` are `two-stage` in a plan.
pub fn kebab(name: &str) -> String {
    let mut word = String::new();
    for (k, c) in name.chars().enumerate() {
        if c.is_uppercase() && k > 0 {
            word.push('-');
        }
        word.push(if c == '_' { '-' } else { c.to_ascii_lowercase() });
    }
    word
}

impl Item {
    /// The words of an enum.
    pub fn words(&self) -> Vec<String> {
        self.parts.iter().map(|part| part.name.clone()).collect()
    }

    /// A table for people.
    pub fn to_markdown(&self) -> String {
        let mut text = String::from(if self.is_enum {
            "| word | with | meaning |\n|---|---|---|\n"
        } else {
            "| key | is | meaning |\n|---|---|---|\n"
        });
        for part in &self.parts {
            let Item { name, doc, .. } = part;
            if !self.is_enum {
                let _ = writeln!(text, "| `{name}` | {} | {doc} |", kind(part));
                continue;
            }
            let fields: Vec<String> = part
                .parts
                .iter()
                .map(|f| format!("`{}` ({}): {}", f.name, kind(f), f.doc))
                .collect();
            let with = match fields.is_empty() {
                true if part.of.is_empty() => String::new(),
                true => kind(part),
                false => fields.join("<br>"),
            };
            let word = if name.is_empty() { "no word".into() } else { format!("`{name}`") };
            let _ = writeln!(text, "| {word} | {with} | {doc} |");
        }
        text
    }
}

fn kind(part: &Item) -> String {
    let inner = part.of.strip_prefix("Option<").and_then(|of| of.strip_suffix('>'));
    let of = word(inner.unwrap_or(&part.of));
    if part.optional { format!("{of}, optional") } else { of }
}

fn word(of: &str) -> String {
    let list = of.strip_prefix("Vec<").and_then(|of| of.strip_suffix('>'));
    let array = of.strip_prefix('[').and_then(|of| of.split_once(';')).map(|(of, _)| of);
    if let Some(of) = list.or(array) {
        return format!("list of {}", word(of));
    }
    match of {
        "bool" => "yes or no".into(),
        "f64" => "number".into(),
        "u32" | "u64" | "usize" => "whole number".into(),
        "Time" => "seconds".into(),
        "String" | "&'static str" => "text".into(),
        "(u32, u32)" => "pair of nodes".into(),
        "Map<String, Value>" => "table".into(),
        "Value" => "anything".into(),
        other => other.trim_end_matches("Plan").trim_end_matches("Word").to_lowercase(),
    }
}

#[test]
fn a_type_is_read_as_it_is_written() {
    let source = "\
/// A plan.
#[serde(rename_all = \"kebab-case\")]
pub struct Plan {
    /// How many,
    /// at least.
    pub n_nodes: u32,
    /// Which.
    #[serde(default, skip_serializing_if = \"Option::is_none\")]
    pub word: Option<f64>,
}

/// Words.
pub enum Word {
    /// One.
    #[serde(rename = \"uno\")]
    One,
    /// Two.
    TwoThree {
        /// Of both.
        alpha: f64,
    },
    /// Four.
    #[serde(untagged)]
    Four(Vec<usize>),
}
";
    let plan = find(source, "Plan");
    assert_eq!(plan.doc, "A plan.");
    assert_eq!(plan.words(), ["n-nodes", "word"]);
    assert_eq!(plan.parts[0].doc, "How many, at least.");
    assert_eq!(kind(&plan.parts[1]), "number, optional");
    let word = find(source, "Word");
    assert_eq!(word.words(), ["uno", "two-three", ""]);
    assert!(word.to_markdown().contains("| `two-three` | `alpha` (number): Of both. | Two. |"));
    assert!(word.to_markdown().contains("| no word | list of whole number | Four. |"));
}
