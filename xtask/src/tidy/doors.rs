//! Trusted doors: functions whose caller vouches for a privacy fact that no type can check.
//! Every call site in shipped code is listed here, so that adding one is seen in review.

use super::Complaint;
use super::source::{Source, has_word};

struct Door {
    /// The name of the function, as called.
    name: &'static str,
    /// Where it may be called; the file that defines it is among them.
    callers: &'static [&'static str],
    /// What the caller vouches for.
    vouches: &'static str,
}

const DOORS: &[Door] = &[
    Door {
        name: "Released::public",
        callers: &[
            "crates/protocol/src/initial.rs",
            "crates/privacy/src/release.rs",
            "crates/protocol/src/wire.rs",
        ],
        vouches: "the value never depended on private data, or was released by its sender",
    },
    Door {
        name: "ClippedSum::trust_clipped",
        callers: &["crates/node/src/private/gradients.rs", "crates/privacy/src/release.rs"],
        vouches: "every record's share of the sum is within the clip norm",
    },
    Door {
        name: "Several::trust_each_clipped",
        callers: &["crates/node/src/oracle/plain.rs", "crates/privacy/src/mechanism/several.rs"],
        vouches: "every record's share of the sums is within the clip norm",
    },
];

/// Complains of a door that is opened where it is not listed.
pub fn check(source: &Source) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (number, line) in source.shipped_code() {
        for door in DOORS.iter().filter(|door| opens(line, door.name)) {
            if !door.callers.contains(&source.path.as_str()) {
                let what = format!(
                    "`{}` vouches that {}; list the file in xtask/src/tidy/doors.rs and say why",
                    door.name, door.vouches
                );
                complaints.push(Complaint::at(source, number, what));
            }
        }
    }
    complaints
}

/// Also with a turbofish between the type and the function. A function with a telling name is
/// found through an alias of its type, and as a method, too.
fn opens(line: &str, name: &str) -> bool {
    let Some((owner, function)) = name.split_once("::") else { return has_word(line, name) };
    let follows = |mark: &str| {
        let path = format!("{mark}{function}");
        line.match_indices(&path).any(|(at, _)| {
            !line[at + path.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
        })
    };
    match function.contains('_') {
        true => follows("::") || follows("."),
        false => follows("::") && has_word(line, owner),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> usize {
        check(&Source::new(path, text)).len()
    }

    #[test]
    fn unlisted_call_sites_are_refused() {
        let path = "crates/protocol/src/dsgd.rs";
        assert_eq!(complaints(path, "let x = Released::public(x);"), 1);
        assert_eq!(complaints(path, "let x = Released::<Vec<f64>>::public(x);"), 1);
        assert_eq!(complaints(path, "let f = ClippedSum::trust_clipped;"), 1);
        assert_eq!(complaints(path, "let f = Sum::trust_clipped(x);"), 1);
        assert_eq!(complaints(path, "several.trust_each_clipped(x, batch, receipt, key)?;"), 1);
    }

    #[test]
    fn listed_ones_tests_and_definitions_pass() {
        assert_eq!(complaints("crates/protocol/src/wire.rs", "Released::public(x)"), 0);
        assert_eq!(complaints("crates/protocol/tests/a.rs", "Released::public(x)"), 0);
        assert_eq!(complaints("crates/node/src/a.rs", "// Released::public(x)"), 0);
        assert_eq!(complaints("crates/node/src/a.rs", "Key::public(x)"), 0);
        assert_eq!(complaints("crates/privacy/src/secret.rs", "pub fn trust_clipped() {}"), 0);
    }
}
