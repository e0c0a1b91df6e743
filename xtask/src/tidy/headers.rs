//! A crate begins by saying what it is and what it never does.

use super::Complaint;
use super::source::Source;

/// Complains of crates whose first lines do not say it.
pub fn check(sources: &[Source]) -> Vec<Complaint> {
    let roots = sources.iter().filter(|s| {
        s.path.ends_with("/src/lib.rs")
            || (s.path.ends_with("/src/main.rs") && !s.path.starts_with("xtask"))
    });
    roots.filter_map(complaint).collect()
}

fn complaint(source: &Source) -> Option<Complaint> {
    let header: Vec<&str> = source
        .text
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    if header.is_empty() {
        let what =
            "the first line of a crate (`//!`) says what it is, the second what it never does";
        return Some(Complaint::new(&source.path, what));
    }
    let library = source.path.ends_with("lib.rs");
    if library && !header[1..].iter().any(|line| line.contains("never")) {
        let what = "the second line of a crate says what it never does";
        return Some(Complaint::new(&source.path, what));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> usize {
        check(&[Source::new(path, text)]).len()
    }

    #[test]
    fn a_library_says_what_it_is_and_what_it_never_does() {
        let lib = "crates/a/src/lib.rs";
        assert_eq!(complaints(lib, "pub mod a;"), 1);
        assert_eq!(complaints(lib, "//! Graphs.\n\npub mod a;"), 1);
        assert_eq!(complaints(lib, "//! Graphs.\n//!\n//! It never sleeps.\n"), 1);
        assert_eq!(complaints(lib, "//! Graphs.\n//! It never sleeps.\n"), 0);
    }

    #[test]
    fn a_program_says_what_it_is_and_other_files_need_not() {
        assert_eq!(complaints("crates/cli/src/main.rs", "fn main() {}"), 1);
        assert_eq!(complaints("crates/cli/src/main.rs", "//! The command.\n"), 0);
        assert_eq!(complaints("crates/a/src/b.rs", "fn b() {}"), 0);
    }
}
