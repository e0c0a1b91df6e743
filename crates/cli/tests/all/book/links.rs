//! Links between pages.

use std::collections::BTreeSet;
use std::path::Path;

use super::pages::{Page, book, read, readme, root};

/// Links that lead nowhere, and pages that the summary lacks or has twice.
pub fn wrong() -> Vec<String> {
    let others = ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    let others = others.map(|name| read(root().join(name), name.into()));
    let summary = read(root().join("docs/book/src/SUMMARY.md"), "SUMMARY.md".into());
    let listed = links(&summary.text);
    let mut wrong = Vec::new();
    for page in book() {
        let times = listed.iter().filter(|link| link.trim_start_matches("./") == page.name).count();
        if times != 1 {
            wrong.push(format!("SUMMARY.md has {} {times} times", page.name));
        }
    }
    let pages = book().into_iter().chain(others).chain([readme(), summary]);
    pages.for_each(|page| wrong.extend(broken(&page)));
    wrong
}

fn broken(page: &Page) -> Vec<String> {
    let folder = page.path.parent().unwrap();
    let lost = |link: &String| {
        if link.contains("://") || link.starts_with("mailto:") {
            return false;
        }
        let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
        let target = if file.is_empty() { page.path.clone() } else { folder.join(file) };
        !target.exists() || !(anchor.is_empty() || anchors(&target).contains(anchor))
    };
    let lost = links(&page.text).into_iter().filter(lost);
    lost.map(|link| format!("{}: {link} leads nowhere", page.path.display())).collect()
}

/// What is in the brackets of `[text](link)`, outside of fences and code.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        fenced ^= line.starts_with("```");
        if fenced {
            continue;
        }
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        for part in prose.split("](").skip(1) {
            found.extend(part.split_once(')').map(|(link, _)| link.to_string()));
        }
    }
    found
}

/// The names of headings, as mdBook makes them.
fn anchors(path: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let name = |heading: &str| {
        let kept = heading.trim().chars().filter_map(|c| match c {
            c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_ascii_lowercase()),
            c if c.is_whitespace() => Some('-'),
            _ => None,
        });
        kept.collect::<String>()
    };
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| name(line.trim_start_matches('#'))).collect()
}

#[test]
fn links_are_found_in_prose_only() {
    let text = "[a](b.md) and `[c](d)`, [`e`](f.md#g)\n```text\n[h](i)\n```\n";
    assert_eq!(links(text), ["b.md", "f.md#g"]);
}
