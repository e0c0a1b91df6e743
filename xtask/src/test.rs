//! The whole gate: verify, then every test and doc-test.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::step::{cargo, exists};
use crate::verify;
use crate::workspace::Workspace;

/// Not `--all-targets`, which would run the benchmarks as tests; clippy has compiled them.
const TESTS: &[&str] = &[
    "test",
    "--workspace",
    "--lib",
    "--bins",
    "--tests",
    "--examples",
    "--locked",
    "--no-fail-fast",
];
const DOC_TESTS: &[&str] = &["test", "--workspace", "--doc", "--locked"];

/// Stops at the first of the three that fails. Cargo's own result lines come last.
pub fn run(workspace: &Workspace) -> Result<(), String> {
    let start = Instant::now();
    make()?;
    verify::run(workspace)?;
    let verified = start.elapsed();
    println!("browser for the test of reports: {}", browser());
    let tests = passed(cargo().args(TESTS))?;
    let tested = start.elapsed();
    let doc_tests = passed(cargo().args(DOC_TESTS))?;
    println!(
        "gate passed: {tests} tests and {doc_tests} doc-tests; verify {:.0} s, tests {:.0} s, \
         doc-tests {:.0} s",
        verified.as_secs_f64(),
        (tested - verified).as_secs_f64(),
        (start.elapsed() - tested).as_secs_f64(),
    );
    Ok(())
}

/// The test of reports looks at a page in Chromium, and passes by itself without one. It is
/// installed where that needs no question: on a system with apt, for root.
fn browser() -> String {
    let there = || {
        let names = ["chromium", "chromium-browser", "google-chrome", "headless_shell"];
        names.into_iter().find(|name| exists(name, "--version"))
    };
    if let Some(name) = there() {
        return name.into();
    }
    let installed = installed("chromium");
    match there().filter(|_| installed) {
        Some(name) => format!("{name}, installed just now"),
        None => "none, so pages are not looked at; install Chromium to have them tested".into(),
    }
}

/// What the command's allocator is built with, beside the C compiler.
fn make() -> Result<(), String> {
    if !cfg!(target_os = "linux") || exists("make", "--version") || installed("make") {
        return Ok(());
    }
    Err("`make` is missing, which the command's allocator is built with; install it and try again"
        .into())
}

/// Whether a package could be installed: by apt, for root, without a question.
fn installed(package: &str) -> bool {
    let mut install = Command::new("apt-get");
    install.args(["install", "--yes", "--no-install-recommends", package]);
    install.stdin(Stdio::null()).env("DEBIAN_FRONTEND", "noninteractive");
    install.output().is_ok_and(|output| output.status.success())
}

/// The long suite of the network: tests that the gate leaves out, one after the other, with their
/// figures. In release mode: they start hundreds of processes.
const NET: &[&str] = &[
    "test",
    "--release",
    "--locked",
    "--package",
    "undertone-cli",
    "--package",
    "undertone-net",
    "--features",
    "undertone-cli/quic",
    "--test",
    "all",
    "--no-fail-fast",
    "--",
    "--ignored",
    "--nocapture",
    "--test-threads=1",
];

/// Runs the long suite of the network.
pub fn run_net() -> Result<(), String> {
    let start = Instant::now();
    let tests = passed(cargo().args(NET))?;
    println!("network suite passed: {tests} tests in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Runs a test command, shows its output and returns how many tests passed.
fn passed(command: &mut Command) -> Result<usize, String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cargo test did not start: {e}"))?;
    let output = child.stdout.take().ok_or("cargo test has no output")?;
    let mut count = 0;
    for line in BufReader::new(output).lines() {
        let line = line.map_err(|e| format!("cannot read what cargo test says: {e}"))?;
        count += count_in(&line);
        println!("{line}");
    }
    let status = child.wait().map_err(|e| format!("cargo test was lost: {e}"))?;
    if status.success() { Ok(count) } else { Err("tests failed".into()) }
}

fn count_in(line: &str) -> usize {
    let Some(result) = line.strip_prefix("test result: ok. ") else { return 0 };
    result.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_are_counted_and_others_are_not() {
        assert_eq!(count_in("test result: ok. 12 passed; 0 failed; 0 ignored; finished"), 12);
        assert_eq!(count_in("test tests::ok ... ok"), 0);
        assert_eq!(count_in("test result: FAILED. 3 passed; 1 failed;"), 0);
    }

    #[test]
    fn a_failing_command_is_an_error() {
        assert!(passed(&mut Command::new("false")).is_err());
        let mut echo = Command::new("echo");
        assert_eq!(passed(echo.arg("test result: ok. 2 passed; 0 failed")), Ok(2));
    }
}
