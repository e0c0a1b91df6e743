//! Files that can be read in one sitting.

use super::Complaint;
use super::source::Source;

const LINES: usize = 400;
const COLUMNS: usize = 100;

/// Complains of long files (without their tests) and wide lines.
pub fn check(source: &Source) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    if !source.is_test() && source.shipped_lines > LINES {
        let what = format!(
            "{} lines without tests, at most {LINES}; make it a folder",
            source.shipped_lines
        );
        complaints.push(Complaint::new(&source.path, what));
    }
    for (index, line) in source.text.lines().enumerate() {
        let width = line.chars().count();
        if width > COLUMNS {
            let what = format!("{width} columns, at most {COLUMNS}");
            complaints.push(Complaint::at(source, index + 1, what));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_are_refused_and_their_tests_are_free() {
        let long = "fn a() {}\n".repeat(LINES + 1);
        assert_eq!(check(&Source::new("crates/a/src/b.rs", long.clone())).len(), 1);
        assert_eq!(check(&Source::new("crates/a/src/tests.rs", long.clone())), []);
        assert_eq!(check(&Source::new("crates/a/tests/b.rs", long.clone())), []);
        let tested = format!("fn b() {{}}\n#[cfg(test)]\nmod tests {{\n{long}}}\n");
        assert_eq!(check(&Source::new("crates/a/src/b.rs", tested)), []);
    }

    #[test]
    fn wide_lines_are_refused_even_in_comments() {
        let wide = format!("// {}\n", "\u{3b5}".repeat(COLUMNS - 3));
        assert_eq!(check(&Source::new("crates/a/src/b.rs", wide.clone())), []);
        let complaints = check(&Source::new("crates/a/src/b.rs", format!("\n//{wide}")));
        assert_eq!(complaints[0].to_string(), "crates/a/src/b.rs:2: 102 columns, at most 100");
    }
}
