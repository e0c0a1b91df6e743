//! Everything that can be known without running a test.

use std::path::Path;
use std::process::Command;

use crate::step::{Outcome, Steps, cargo, exists, outcome_of};
use crate::tidy;
use crate::workspace::Workspace;

const WASM: &str = "wasm32-unknown-unknown";

/// Crates that must build where there is no clock, file, socket or entropy.
const PORTABLE: &[&str] = &[
    "undertone-graph",
    "undertone-model",
    "undertone-node",
    "undertone-privacy",
    "undertone-protocol",
    "undertone-real",
];

/// Runs all steps and prints the table.
pub fn run(workspace: &Workspace) -> Result<(), String> {
    let mut steps = Steps::default();
    steps.run("fmt", || outcome_of(cargo().args(["fmt", "--all", "--check"])));
    steps.run("tidy", || match tidy::run(workspace) {
        Ok(()) => Outcome::Passed,
        Err(message) => Outcome::Failed(message),
    });
    steps.run("clippy", clippy);
    steps.run("doc", documentation);
    steps.run("deny", deny);
    steps.run("wasm", || portable(workspace));
    steps.finish()
}

fn clippy() -> Outcome {
    let lint = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
    outcome_of(cargo().args(lint))
}

fn documentation() -> Outcome {
    let mut command = cargo();
    command.args(["doc", "--workspace", "--no-deps", "--locked"]);
    outcome_of(command.env("RUSTDOCFLAGS", "-D warnings"))
}

/// The advisory database has to be fetched, and a gate must not depend on the network's mood:
/// advisories belong to a nightly job.
fn deny() -> Outcome {
    if !exists("cargo-deny", "--version") {
        return Outcome::Skipped(
            "cargo-deny is not installed (tidy has checked licences, bans and sources)".into(),
        );
    }
    eprintln!("advisories are not checked here: the database cannot be fetched offline");
    outcome_of(Command::new("cargo-deny").args(["check", "licenses", "bans", "sources"]))
}

fn portable(workspace: &Workspace) -> Outcome {
    let library =
        Command::new("rustc").args(["--print", "target-libdir", "--target", WASM]).output();
    let installed = library.is_ok_and(|out| {
        out.status.success() && Path::new(String::from_utf8_lossy(&out.stdout).trim()).is_dir()
    });
    if !installed {
        return Outcome::Skipped(format!("the target {WASM} is not installed"));
    }
    let mut command = cargo();
    command.args(["check", "--locked", "--target", WASM]);
    for package in workspace.ours().filter(|p| PORTABLE.contains(&p.name.as_str())) {
        command.args(["--package", &package.name]);
    }
    outcome_of(&mut command)
}
