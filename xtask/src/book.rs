//! The book: its reference from the code, and its pages where mdBook is installed.

use std::process::Command;

use crate::step::cargo;
use crate::workspace::Workspace;

/// Writes `docs/book/src/reference`, then builds the book into the target folder.
pub fn run(workspace: &Workspace) -> Result<(), String> {
    let test = ["test", "--locked", "--package", "undertone-cli", "--test", "all"];
    let written = cargo()
        .args(test)
        .args(["--", "--exact", "book::the_reference_is_current"])
        .env("UNDERTONE_WRITE_BOOK", "1")
        .status();
    if !written.is_ok_and(|status| status.success()) {
        return Err("the reference could not be written".into());
    }
    if Command::new("mdbook").arg("--version").output().is_err() {
        println!("the reference is written; for pages, `cargo install mdbook --locked` first");
        return Ok(());
    }
    let out = workspace.target.join("book");
    let mut mdbook = Command::new("mdbook");
    let built =
        mdbook.arg("build").arg(workspace.root.join("docs/book")).arg("--dest-dir").arg(&out);
    match built.status() {
        Ok(status) if status.success() => {
            println!("{}", out.join("index.html").display());
            Ok(())
        }
        _ => Err("mdbook failed; it says why above".into()),
    }
}
