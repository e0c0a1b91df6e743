//! The book and the README say what is true: their commands run and print what is shown, their
//! plans do, their links lead somewhere, and the reference is what the code says.

mod links;
mod pages;
mod reference;
mod run;
mod types;

use pages::{Page, book, readme};

/// Runs the commands of some pages, and says all that is wrong.
fn all_run(pages: impl IntoIterator<Item = Page>) {
    let wrong: Vec<String> = pages.into_iter().flat_map(|page| run::page(&page)).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
}

fn chapters(wanted: impl Fn(&str) -> bool) -> Vec<Page> {
    let pages: Vec<_> = book().into_iter().filter(|page| wanted(&page.name)).collect();
    assert!(!pages.is_empty());
    pages
}

#[test]
fn the_commands_of_the_readme_do_what_it_says() {
    all_run([readme()]);
}

#[test]
fn the_plans_of_the_algorithms_run() {
    all_run(chapters(|name| name.starts_with("algorithms/")));
}

#[test]
fn the_commands_of_the_other_chapters_do_what_they_say() {
    all_run(chapters(|name| !name.starts_with("algorithms/")));
}

/// Every algorithm that a plan can name, and every method of fair classification, has its page.
#[test]
fn every_algorithm_has_a_page() {
    let names: Vec<String> = book().into_iter().map(|page| page.name).collect();
    let source = types::source("crates/node/src/plan/algorithm.rs");
    let words = types::find(&source, "AlgorithmWord").words();
    assert!(words.len() > 20, "{words:?}");
    let methods = types::source("crates/node/src/experiment/fair/written.rs");
    let methods = types::find(&methods, "Method").words();
    let methods = methods.iter().map(|word| format!("fair-{word}"));
    for word in words.iter().cloned().chain(methods) {
        let page = format!("algorithms/{word}.md");
        assert!(names.contains(&page), "docs/book/src/{page} is missing");
    }
}

#[test]
fn links_lead_somewhere_and_the_summary_is_complete() {
    let wrong = links::wrong();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// `cargo xtask book` writes it.
#[test]
fn the_reference_is_current() {
    for (name, text) in reference::chapters() {
        let path = pages::root().join("docs/book/src/reference").join(name);
        if std::env::var_os("UNDERTONE_WRITE_BOOK").is_some() {
            std::fs::write(&path, text).unwrap();
            continue;
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == text, "{} is not current: run `cargo xtask book`", path.display());
    }
}
