//! Pages, and the fences in them.

use std::path::{Path, PathBuf};

/// A file in Markdown.
pub struct Page {
    /// As in the book, `algorithms/push-sum.md`.
    pub name: String,
    pub path: PathBuf,
    pub text: String,
}

/// What stands between two lines of three backticks.
pub struct Fence {
    /// `console`, `toml`, `rust`.
    pub language: String,
    /// What the comment above says of it: a word and what follows it.
    pub note: Option<(String, String)>,
    /// The number of its first line.
    pub line: usize,
    pub text: String,
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

pub fn readme() -> Page {
    read(root().join("README.md"), "README.md".into())
}

/// All pages of the book but its summary.
pub fn book() -> Vec<Page> {
    let source = root().join("docs/book/src");
    let mut pages = Vec::new();
    let mut folders = vec![source.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(&source).unwrap().display().to_string();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".md") && name != "SUMMARY.md" {
                pages.push(read(path, name));
            }
        }
    }
    pages.sort_by(|a, b| a.name.cmp(&b.name));
    pages
}

pub fn read(path: PathBuf, name: String) -> Page {
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Page { name, path, text }
}

impl Page {
    pub fn fences(&self) -> Vec<Fence> {
        let mut fences = Vec::new();
        let mut open: Option<Fence> = None;
        let mut above = "";
        for (number, line) in (1..).zip(self.text.lines()) {
            match (&mut open, line.strip_prefix("```")) {
                (Some(_), Some(_)) => fences.extend(open.take()),
                (Some(fence), None) => {
                    fence.text.push_str(line);
                    fence.text.push('\n');
                }
                (None, Some(language)) => {
                    let (language, text) = (language.trim().to_string(), String::new());
                    let note = note(above);
                    open = Some(Fence { language, note, line: number + 1, text });
                }
                (None, None) => {}
            }
            above = line;
        }
        assert!(open.is_none(), "{}: a fence is not closed", self.name);
        fences
    }
}

/// `<!-- slow: it takes a minute -->`.
fn note(line: &str) -> Option<(String, String)> {
    let inner = line.trim().strip_prefix("<!--")?.strip_suffix("-->")?;
    let (word, rest) = inner.split_once(':')?;
    Some((word.trim().into(), rest.trim().into()))
}

#[test]
fn fences_have_notes_and_lines() {
    let text = "a\n<!-- file: plan.toml -->\n```toml\nb = 1\n```\n\n```console\n$ c\n```\n";
    let page = Page { name: "p".into(), path: PathBuf::new(), text: text.into() };
    let fences = page.fences();
    assert_eq!(fences.len(), 2);
    assert_eq!(fences[0].note, Some(("file".into(), "plan.toml".into())));
    assert_eq!((fences[0].line, fences[0].text.as_str()), (4, "b = 1\n"));
    assert_eq!((fences[1].language.as_str(), &fences[1].note), ("console", &None));
}
