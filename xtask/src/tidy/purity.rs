//! Pure crates: no clock, file, socket, terminal, entropy or unordered map.

use super::Complaint;
use super::source::{Source, has_word};

/// Crates whose results must follow from their arguments alone.
const PURE: &[&str] = &["graph", "model", "node", "privacy", "protocol", "real"];

/// Crates that run by virtual time and must give the same bytes every time.
const DETERMINISTIC: &[&str] = &["audit", "sim", "trace"];

/// What would make two runs differ.
const UNREPEATABLE: &[(&str, &str)] = &[
    ("HashMap", "iterates in a random order; use BTreeMap"),
    ("HashSet", "iterates in a random order; use BTreeSet"),
    ("Instant::now", "reads the clock; take the time as an argument"),
    ("SystemTime", "reads the clock; take the time as an argument"),
    ("rand::rng", "is not seeded; take a named stream"),
    ("thread_rng", "is not seeded; take a named stream"),
];

/// What would reach outside.
const OUTSIDE: &[(&str, &str)] = &[
    ("dbg!", "writes to the terminal"),
    ("eprintln!", "writes to the terminal; return a value"),
    ("print!", "writes to the terminal; return a value"),
    ("println!", "writes to the terminal; return a value"),
    ("std::fs", "reads files; that is the driver's task"),
    ("std::net", "opens sockets; that is the task of net"),
];

/// The loaders of data sets are the one part of `model` that opens files.
const LOADERS: &str = "crates/model/src/data";

/// Complains of impure code in a crate that must be pure.
pub fn check(source: &Source) -> Vec<Complaint> {
    let folder = source.folder();
    let pure = PURE.contains(&folder);
    if !pure && !DETERMINISTIC.contains(&folder) {
        return Vec::new();
    }
    let outside = if pure { OUTSIDE } else { &[] };
    let may_read_files = source.path.starts_with(LOADERS);
    let mut complaints = Vec::new();
    let mut in_group = false;
    for (number, line) in source.shipped_code() {
        let line = ungrouped(line, &mut in_group);
        for (token, why) in UNREPEATABLE.iter().chain(outside) {
            if has_word(&line, token) && !(may_read_files && *token == "std::fs") {
                complaints.push(Complaint::at(source, number, format!("`{token}` {why}")));
            }
        }
    }
    complaints
}

/// `use std::{fs, io}` also names `std::fs`, on one line or on several.
fn ungrouped(line: &str, in_group: &mut bool) -> String {
    let group = match line.split_once("std::{") {
        Some((_, group)) => group,
        None if *in_group => line,
        None => return line.to_string(),
    };
    *in_group = !group.contains(';');
    let names = group.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    names.fold(line.to_string(), |all, name| format!("{all} std::{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> usize {
        check(&Source::new(path, text)).len()
    }

    #[test]
    fn every_token_is_refused_in_a_pure_crate() {
        for (token, _) in UNREPEATABLE.iter().chain(OUTSIDE) {
            let text = format!("fn f() {{ {token} }}");
            assert_eq!(complaints("crates/privacy/src/a.rs", &text), 1, "{token}");
        }
        assert_eq!(complaints("crates/graph/src/a.rs", "use std::{fs, io};"), 1);
        assert_eq!(complaints("crates/graph/src/a.rs", "use std::{\n    io,\n    fs,\n};\nfs"), 1);
    }

    #[test]
    fn tests_comments_and_other_crates_are_free() {
        assert_eq!(complaints("crates/privacy/benches/a.rs", "Instant::now()"), 0);
        assert_eq!(complaints("crates/privacy/src/a.rs", "// HashMap\nlet a = \"std::fs\";"), 0);
        assert_eq!(complaints("crates/cli/src/main.rs", "println!()"), 0);
        let tested = "#[cfg(test)]\nmod tests {\n use std::fs;\n}";
        assert_eq!(complaints("crates/node/src/a.rs", tested), 0);
    }

    #[test]
    fn the_simulator_may_print_but_not_read_the_clock() {
        assert_eq!(complaints("crates/sim/src/a.rs", "println!()"), 0);
        assert_eq!(complaints("crates/sim/src/a.rs", "Instant::now()"), 1);
    }

    #[test]
    fn only_loaders_of_data_open_files() {
        assert_eq!(complaints("crates/model/src/data/csv.rs", "use std::fs;"), 0);
        assert_eq!(complaints("crates/model/src/data/csv.rs", "use std::net;"), 1);
        assert_eq!(complaints("crates/model/src/mlp.rs", "use std::fs;"), 1);
    }
}
