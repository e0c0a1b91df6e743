//! The commands and plans of a page, one after the other in a folder of its own.
//!
//! A comment above a fence says what is special about it:
//!
//! - `file: NAME`: it is written there, for the commands below
//! - `slow: why`: run only if `UNDERTONE_SLOW` is set
//! - `not run: why`: never
//! - `short: ARGUMENTS`: these are added, so that it takes less time; bands may not hold then, and
//!   what is printed is not compared

use std::path::{Path, PathBuf};
use std::process::Command;

use undertone_data::Recipe;
use undertone_node::plan::Plan;

use super::pages::{Fence, Page, root};

const PROGRAM: &str = env!("CARGO_BIN_EXE_undertone");

/// All that is wrong.
pub fn page(page: &Page) -> Vec<String> {
    let folder = Folder::new(&page.name);
    let mut wrong = Vec::new();
    for fence in page.fences() {
        let complaint = match fence.language.as_str() {
            "console" => console(&fence, &folder.0),
            "toml" => toml(&fence, &folder.0),
            // Doc-tests of the facade.
            "rust" if page.name == "rust.md" || page.name == "README.md" => Ok(()),
            "text" | "json" | "csv" => write(&fence, &folder.0),
            other => Err(format!("nobody checks a fence of `{other}`")),
        };
        if let Err(complaint) = complaint {
            wrong.push(format!("{}:{}: {complaint}", page.path.display(), fence.line));
        }
    }
    wrong
}

/// A new folder, removed at the end, from which `experiments` can be seen.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("undertone-book-{}-{}", std::process::id(), name.replace('/', "-"));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(root().join("experiments"), folder.join("experiments")).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn note<'a>(fence: &'a Fence, word: &str) -> Option<&'a str> {
    fence.note.as_ref().filter(|(found, _)| found == word).map(|(_, rest)| rest.as_str())
}

fn write(fence: &Fence, folder: &Path) -> Result<(), String> {
    match note(fence, "file") {
        Some(name) => std::fs::write(folder.join(name), &fence.text).map_err(|e| e.to_string()),
        None => Ok(()),
    }
}

/// A plan, or a part of one that goes with the rest of a small plan.
fn toml(fence: &Fence, folder: &Path) -> Result<(), String> {
    write(fence, folder)?;
    let table: toml::Table = toml::from_str(&fence.text).map_err(|e| e.to_string())?;
    if note(fence, "not run").is_some() {
        return Ok(());
    }
    if let Some(data) = table.get("data").filter(|data| data.get("source").is_none()) {
        data.clone().try_into::<Recipe>().map_err(|e| e.to_string())?;
    }
    let mut whole: toml::Table = toml::from_str(REST).map_err(|e| e.to_string())?;
    whole.extend(table);
    whole.try_into::<Plan>().map(|_| ()).map_err(|e| e.to_string())
}

const REST: &str = r#"
name = "rest"
seed = 1
network = { nodes = 4, schedule = "exponential" }
data = { source = "census", records = 400 }
algorithm = { name = "push-sum" }
run = { rounds = 2, precision = "f64" }
evaluate = { metrics = ["loss"] }
"#;

fn console(fence: &Fence, folder: &Path) -> Result<(), String> {
    let slow = note(fence, "slow").is_some() && std::env::var_os("UNDERTONE_SLOW").is_none();
    if slow || note(fence, "not run").is_some() {
        return Ok(());
    }
    for (command, shown) in commands(&fence.text) {
        let plain = command.replace("cargo run --release -p undertone-cli --", "undertone");
        if !plain.starts_with("undertone") {
            return Err(format!("`{command}` is no command of ours; say why it is not run"));
        }
        let short = note(fence, "short");
        let output = sh(&lengthened(&plain, short), folder)?;
        let (said, asked) = (lines(&output.text), lines(&shown));
        let refusal = shown.trim_start().starts_with("error:");
        let fine = match output.code {
            0 => !refusal,
            1 => short.is_some(),
            2 => refusal,
            _ => false,
        };
        if !fine {
            return Err(format!("`{command}` ends with {}:\n{}", output.code, output.text));
        }
        if short.is_none() && !asked.is_empty() && !matches(&said, &asked) {
            let (said, asked) = (said.join("\n"), asked.join("\n"));
            return Err(format!("`{command}` says\n{said}\nand the page\n{asked}"));
        }
    }
    Ok(())
}

/// Lines that begin with `$`, and what stands below each.
fn commands(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) => found.push((command.into(), String::new())),
            (None, Some((_, shown))) => {
                shown.push_str(line);
                shown.push('\n');
            }
            (None, None) => {}
        }
    }
    found
}

/// With more arguments, before a comment of the shell.
fn lengthened(command: &str, arguments: Option<&str>) -> String {
    let (command, comment) = match command.split_once(" #") {
        Some((command, comment)) => (command.trim_end(), comment),
        None => (command, ""),
    };
    format!("{command} {} #{comment}", arguments.unwrap_or(""))
}

struct Said {
    code: i32,
    /// What was printed; what went wrong if nothing was.
    text: String,
}

fn sh(command: &str, folder: &Path) -> Result<Said, String> {
    let programs = Path::new(PROGRAM).parent().unwrap().display().to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .env("PATH", format!("{programs}:{path}"))
        .env("NO_COLOR", "1")
        .output()
        .map_err(|error| format!("sh: {error}"))?;
    let said = if output.stdout.is_empty() { output.stderr } else { output.stdout };
    let code = output.status.code().unwrap_or(-1);
    Ok(Said { code, text: String::from_utf8_lossy(&said).into_owned() })
}

/// Without rules of tables and blank lines; spaces do not matter.
fn lines(text: &str) -> Vec<String> {
    let plain = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let rule = |line: &String| line.chars().all(|c| "─═╌┄-".contains(c));
    text.lines().map(plain).filter(|line| !line.is_empty() && !rule(line)).collect()
}

/// A line of three dots stands for any lines.
fn matches(said: &[String], shown: &[String]) -> bool {
    match shown.split_first() {
        None => said.is_empty(),
        Some((dots, rest)) if dots == "..." => {
            (0..=said.len()).any(|skipped| matches(&said[skipped..], rest))
        }
        Some((line, rest)) => {
            said.first().is_some_and(|said| is_line(said, line)) && matches(&said[1..], rest)
        }
    }
}

/// Three dots within a line stand for anything.
fn is_line(said: &str, shown: &str) -> bool {
    match shown.split_once("...") {
        None => said == shown,
        Some((start, end)) => {
            said.len() >= start.len() + end.len() && said.starts_with(start) && said.ends_with(end)
        }
    }
}

#[test]
fn dots_stand_for_any_lines_and_other_lines_for_themselves() {
    let text = |words: &str| words.split(' ').map(str::to_string).collect::<Vec<_>>();
    assert!(matches(&text("a b c"), &text("a ... c")));
    assert!(matches(&text("a b c"), &text("a b c ...")));
    assert!(!matches(&text("a b c"), &text("a b")));
    assert!(!matches(&text("a b c"), &text("a ... d")));
    assert!(is_line("one, two, three", "one, ... three") && !is_line("one", "one...one"));
}

#[test]
fn arguments_come_before_comments() {
    assert_eq!(lengthened("undertone run  # all", Some("--json")), "undertone run --json # all");
    assert_eq!(
        commands("$ a\nb\nc\n$ d\n"),
        [("a".into(), "b\nc\n".into()), ("d".into(), "".into())]
    );
}
