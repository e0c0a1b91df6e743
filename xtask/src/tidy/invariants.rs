//! Every implemented invariant of ARCHITECTURE.md is cited by a test or a doc-test.

use super::Complaint;
use super::source::{Source, has_word};

const PLACE: &str = "ARCHITECTURE.md";

/// Complains of an implemented invariant that no test cites, and of a list that cannot be read.
pub fn check(architecture: &str, sources: &[Source]) -> Vec<Complaint> {
    let invariants: Vec<Invariant> = architecture.lines().filter_map(parse).collect();
    if invariants.is_empty() {
        return vec![Complaint::new(PLACE, "no invariants found: `- **I1** (planned) ...`")];
    }
    let mut complaints = Vec::new();
    for (index, invariant) in invariants.iter().enumerate() {
        let name = &invariant.name;
        if *name != format!("I{}", index + 1) {
            complaints.push(Complaint::new(PLACE, format!("{name} is out of order")));
        }
        match invariant.status.as_str() {
            "planned" => {}
            "implemented" if sources.iter().any(|s| cites(s, name)) => {}
            "implemented" => {
                complaints.push(Complaint::new(PLACE, format!("no test or doc-test cites {name}")));
            }
            other => {
                let what = format!("{name} is `{other}`; say `implemented` or `planned`");
                complaints.push(Complaint::new(PLACE, what));
            }
        }
    }
    complaints
}

struct Invariant {
    name: String,
    status: String,
}

/// `- **I7** (implemented) Text.`
fn parse(line: &str) -> Option<Invariant> {
    let (name, rest) = line.strip_prefix("- **")?.split_once("**")?;
    name.strip_prefix('I')?.parse::<usize>().ok()?;
    let status = rest.trim_start().strip_prefix('(').and_then(|r| r.split_once(')'));
    let status = status.map_or(String::new(), |(status, _)| status.to_string());
    Some(Invariant { name: name.to_string(), status })
}

fn cites(source: &Source, name: &str) -> bool {
    // The gate's own tests write such numbers as examples.
    if source.path.starts_with("xtask") {
        return false;
    }
    let first_test_line = if source.is_test() { 0 } else { source.shipped_lines };
    source.text.lines().skip(first_test_line).any(|line| has_word(line, name))
        || doc_blocks(&source.text).any(|doc| doc.contains("```") && has_word(&doc, name))
}

/// Runs of doc comment lines; one with a code fence is a doc-test.
fn doc_blocks(text: &str) -> impl Iterator<Item = String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_doc = |line: &str| line.starts_with("///") || line.starts_with("//!");
    let blocks = lines.split(move |line| !is_doc(line)).map(|block| block.join("\n"));
    blocks.filter(|block| !block.is_empty()).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# A\n- **I1** (implemented) One.\n- **I2** (planned) Two.\n";

    fn complaints(text: &str) -> Vec<String> {
        let source = Source::new("crates/a/src/b.rs", text);
        check(LIST, &[source]).iter().map(Complaint::to_string).collect()
    }

    #[test]
    fn an_implemented_invariant_needs_a_test() {
        let none = ["ARCHITECTURE.md: no test or doc-test cites I1"];
        assert_eq!(complaints("fn a() {}"), none);
        assert_eq!(complaints("// I1\nfn a() {}"), none);
        assert_eq!(complaints("/// I1\nfn a() {}"), none);
        assert_eq!(complaints("#[cfg(test)]\nmod tests {\n // I12\n}"), none);
        assert!(complaints("#[cfg(test)]\nmod tests {\n // I1: so.\n}").is_empty());
        assert!(complaints("/// I1\n/// ```\n/// ```\nfn a() {}").is_empty());
    }

    #[test]
    fn a_list_that_cannot_be_read_is_a_complaint() {
        assert_eq!(check("# nothing", &[]).len(), 1);
        assert_eq!(check("- **I1** (done) One.", &[]).len(), 1);
        assert_eq!(check("- **I1** (planned) One.\n- **I3** (planned) Three.", &[]).len(), 1);
    }

    #[test]
    fn the_gate_itself_cites_nothing() {
        let source = Source::new("xtask/tests/b.rs", "// I1");
        assert_eq!(check(LIST, &[source]).len(), 1);
    }
}
