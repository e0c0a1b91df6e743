//! A Rust file as the rules see it: as written, and with comments and strings blanked out.

use std::fs;
use std::path::Path;

/// One Rust file of ours.
pub struct Source {
    /// From the root, with forward slashes.
    pub path: String,
    /// As written.
    pub text: String,
    /// The same lines and columns, but comments, strings and characters are spaces.
    pub code: String,
    /// Lines before `#[cfg(test)] mod ... {`, which ends a file by our convention.
    pub shipped_lines: usize,
}

/// Every Rust file under `crates` and `xtask`, in order of path.
pub fn read_all(root: &Path) -> Result<Vec<Source>, String> {
    let mut sources = Vec::new();
    for folder in ["crates", "xtask"] {
        read_folder(root, &root.join(folder), &mut sources)?;
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(sources)
}

fn read_folder(root: &Path, folder: &Path, sources: &mut Vec<Source>) -> Result<(), String> {
    let say = |e| format!("cannot read {}: {e}", folder.display());
    for entry in fs::read_dir(folder).map_err(say)? {
        let path = entry.map_err(say)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                read_folder(root, &path, sources)?;
            }
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&path)
                .map_err(|e| format!("cannot read {}: {e}", path.display()))?;
            let inside = path.strip_prefix(root).unwrap_or(&path);
            sources.push(Source::new(&inside.to_string_lossy().replace('\\', "/"), text));
        }
    }
    Ok(())
}

impl Source {
    /// Blanks comments and strings, and finds where the tests begin.
    pub fn new(path: &str, text: impl Into<String>) -> Self {
        let text = text.into();
        let code = blank(&text);
        let shipped_lines = shipped_lines(&code);
        Self { path: path.to_string(), text, code, shipped_lines }
    }

    /// `privacy` for a file under `crates/privacy`.
    pub fn folder(&self) -> &str {
        self.path.strip_prefix("crates/").and_then(|p| p.split('/').next()).unwrap_or_default()
    }

    /// Whether the whole file is tests or benchmarks.
    pub fn is_test(&self) -> bool {
        self.path.ends_with("/tests.rs")
            || ["/tests/", "/benches/", "/examples/"].iter().any(|part| self.path.contains(part))
    }

    /// Numbered lines of code that a user may run: no tests, comments or strings.
    pub fn shipped_code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = if self.is_test() { 0 } else { self.shipped_lines };
        self.code.lines().take(lines).enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// Whether `word` occurs in `line` not as a part of a longer identifier.
pub fn has_word(line: &str, word: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let word_ends_in_name = word.chars().next_back().is_some_and(part_of_name);
        let begins = !before.is_some_and(part_of_name);
        let ends = !word_ends_in_name || !after.is_some_and(part_of_name);
        begins && ends
    })
}

fn shipped_lines(code: &str) -> usize {
    let lines: Vec<&str> = code.lines().map(str::trim).collect();
    let begins_tests = |&at: &usize| {
        let next = lines[at + 1..].iter().find(|l| !l.is_empty() && !l.starts_with("#["));
        lines[at] == "#[cfg(test)]"
            && next.is_some_and(|l| l.split(' ').any(|w| w == "mod") && l.ends_with('{'))
    };
    (0..lines.len()).find(begins_tests).unwrap_or(lines.len())
}

/// Just enough of a lexer: line and nested block comments, strings, raw strings, characters.
fn blank(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = match chars[at] {
            '/' if chars.get(at + 1) == Some(&'/') => end_of_line(&chars, at),
            '/' if chars.get(at + 1) == Some(&'*') => end_of_block(&chars, at),
            '"' => end_of_string(&chars, at + 1),
            'r' if !follows_name(&chars, at) => end_of_raw(&chars, at),
            '\'' => end_of_char(&chars, at),
            _ => at,
        };
        if end == at {
            out.push(chars[at]);
            at += 1;
            continue;
        }
        out.extend(chars[at..end].iter().map(|&c| if c == '\n' { '\n' } else { ' ' }));
        at = end;
    }
    out
}

fn end_of_line(chars: &[char], at: usize) -> usize {
    (at..chars.len()).find(|&i| chars[i] == '\n').unwrap_or(chars.len())
}

fn end_of_block(chars: &[char], mut at: usize) -> usize {
    let mut depth = 0;
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at.min(chars.len())
}

fn end_of_string(chars: &[char], mut at: usize) -> usize {
    while at < chars.len() && chars[at] != '"' {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(chars.len())
}

fn end_of_raw(chars: &[char], at: usize) -> usize {
    let hashes = chars[at + 1..].iter().take_while(|&&c| c == '#').count();
    let open = at + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        return at;
    }
    let closes = |&i: &usize| {
        chars[i] == '"' && chars[i + 1..].iter().take_while(|&&c| c == '#').count() >= hashes
    };
    (open + 1..chars.len()).find(closes).map_or(chars.len(), |i| i + 1 + hashes)
}

fn end_of_char(chars: &[char], at: usize) -> usize {
    if chars.get(at + 1) == Some(&'\\') {
        let close = (at + 3..chars.len()).find(|&i| chars[i] == '\'');
        return close.map_or(chars.len(), |i| i + 1);
    }
    // Anything else without a quote two further on is a lifetime.
    if chars.get(at + 2) == Some(&'\'') { at + 3 } else { at }
}

fn follows_name(chars: &[char], at: usize) -> bool {
    at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_') && chars[at - 1] != 'b'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_characters_are_blank() {
        let code = blank("a // b\nc /* d /* e */ f */ g \"h\\\" i\" j r#\"k \" l\"# m 'n' '\\'' o");
        assert_eq!(code.split_whitespace().collect::<Vec<_>>(), ["a", "c", "g", "j", "m", "o"]);
        assert_eq!(blank("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
        assert_eq!(blank("x\"\ny\"z").lines().count(), 2);
        assert_eq!(blank("for\"a\""), "for   ");
    }

    #[test]
    fn tests_end_the_shipped_code() {
        let source = Source::new("crates/a/src/b.rs", "fn a() {}\n#[cfg(test)]\nmod tests {\n}\n");
        assert_eq!(source.shipped_lines, 1);
        assert_eq!(source.folder(), "a");
        let helper = Source::new("crates/a/src/b.rs", "#[cfg(test)]\nfn a() {}\nfn b() {}\n");
        assert_eq!(helper.shipped_lines, 3);
        let all_test = Source::new("crates/a/tests/b.rs", "fn a() {}\n");
        assert_eq!(all_test.shipped_code().count(), 0);
    }

    #[test]
    fn words_are_whole() {
        assert!(has_word("use std::collections::HashMap;", "HashMap"));
        assert!(!has_word("MyHashMap HashMaps", "HashMap"));
        assert!(has_word("println!(1)", "println!"));
        assert!(!has_word("eprintln!(1)", "println!"));
    }
}
