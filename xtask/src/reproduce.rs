//! Every experiment of the papers again, held to its bands.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use crate::step::cargo;
use crate::workspace::Workspace;

/// Runs `experiments/*/*.toml`, or those whose path holds `wanted`, as `001` or `fig1a`.
pub fn run(workspace: &Workspace, wanted: Option<&str>) -> Result<(), String> {
    let plans = plans(&workspace.root, wanted)?;
    let built =
        cargo().args(["build", "--release", "--locked", "--package", "undertone-cli"]).status();
    if !built.is_ok_and(|status| status.success()) {
        return Err("the undertone command does not build".into());
    }
    let program = workspace.target.join("release").join("undertone");
    let out = workspace.target.join("reproduce");
    let mut failed = 0;
    for plan in &plans {
        let name = plan.strip_prefix(&workspace.root).unwrap_or(plan).display().to_string();
        if std::env::var_os("UNDERTONE_DATA").is_none() && needs_files(plan) {
            println!("{name:<32} skipped: its records are in files; set UNDERTONE_DATA");
            continue;
        }
        let start = Instant::now();
        let judged = summary(&program, plan, &out).map(|summary| bands(&summary));
        let seconds = start.elapsed().as_secs_f64();
        match judged {
            Ok(bands) => {
                let bad: Vec<_> = bands.iter().filter(|band| !band.passed).collect();
                failed += usize::from(!bad.is_empty());
                let word = if bad.is_empty() { "ok" } else { "FAILED" };
                println!("{name:<32} {word:<7} {:>3} bands {seconds:>6.1} s", bands.len());
                bad.iter().for_each(|band| println!("    {}", band.text));
            }
            Err(error) => {
                failed += 1;
                println!("{name:<32} FAILED  {error}");
            }
        }
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} of {} plans failed", plans.len())) }
}

struct Band {
    text: String,
    passed: bool,
}

fn plans(root: &Path, wanted: Option<&str>) -> Result<Vec<PathBuf>, String> {
    let entries = |folder: &Path| -> Result<Vec<PathBuf>, String> {
        let read = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(read.flatten().map(|entry| entry.path()).collect())
    };
    let mut plans = Vec::new();
    for folder in entries(&root.join("experiments"))?.iter().filter(|path| path.is_dir()) {
        plans.extend(
            entries(folder)?.into_iter().filter(|p| p.extension().is_some_and(|e| e == "toml")),
        );
    }
    plans.retain(|plan| {
        let name = plan.strip_prefix(root).unwrap_or(plan).display().to_string();
        wanted.is_none_or(|wanted| name.contains(wanted))
    });
    plans.sort();
    match (plans.is_empty(), wanted) {
        (true, Some(wanted)) => Err(format!("no plan in experiments has `{wanted}` in its path")),
        (true, None) => Err("there is no plan in experiments".into()),
        (false, _) => Ok(plans),
    }
}

/// Whether a plan reads records from files, as a recipe does.
fn needs_files(plan: &Path) -> bool {
    let text = std::fs::read_to_string(plan).unwrap_or_default();
    text.lines().any(|line| line.starts_with("recipe = "))
}

/// A plan whose bands fail still has a summary; one that does not run has none.
fn summary(program: &Path, plan: &Path, out: &Path) -> Result<Value, String> {
    let mut command = Command::new(program);
    command.arg("run").arg(plan).args(["--json", "--quiet", "--out"]).arg(out);
    let output = command.output().map_err(|e| format!("undertone did not start: {e}"))?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| String::from_utf8_lossy(&output.stderr).trim().to_string())
}

fn bands(summary: &Value) -> Vec<Band> {
    let list = summary["expected"].as_array().map(Vec::as_slice).unwrap_or_default();
    let band = |value: &Value| Band {
        text: format!(
            "{}: {}, expected {} to {}",
            value["what"].as_str().unwrap_or("?"),
            value["found"],
            value["min"],
            value["max"]
        ),
        passed: value["passed"] == true,
    };
    list.iter().map(band).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_are_read_and_failures_named() {
        let text = r#"{"expected":[{"what":"a","found":3.0,"min":1,"max":2,"passed":false},
                                   {"what":"b","found":1.5,"min":1,"max":2,"passed":true}]}"#;
        let bands = bands(&serde_json::from_str(text).expect("the text above is JSON"));
        assert_eq!(bands.iter().map(|band| band.passed).collect::<Vec<_>>(), [false, true]);
        assert_eq!(bands[0].text, "a: 3.0, expected 1 to 2");
        assert_eq!(super::bands(&Value::Null).len(), 0);
    }

    #[test]
    fn a_program_that_fails_says_why() {
        let error = summary(Path::new("false"), Path::new("a"), Path::new("b"));
        assert_eq!(error, Err(String::new()));
        assert!(summary(Path::new("no-such-tool"), Path::new("a"), Path::new("b")).is_err());
    }
}
