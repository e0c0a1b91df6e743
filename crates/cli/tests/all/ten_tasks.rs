//! docs/ten-tasks.md, command by command, in an empty folder.

use std::path::Path;
use std::process::Command;

use crate::support::folder;

const PAGE: &str = include_str!("../../../../docs/ten-tasks.md");

#[test]
fn every_command_of_the_page_does_what_it_says() {
    let folder = folder("ten_tasks");
    let program = Path::new(env!("CARGO_BIN_EXE_undertone")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let commands: Vec<&str> = PAGE.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    assert!(commands.len() > 20, "{commands:?}");
    let slow = std::env::var_os("UNDERTONE_SLOW").is_some();
    for command in commands.into_iter().filter(|command| slow || !command.ends_with("# slow")) {
        let mut run = Command::new("sh");
        run.args(["-c", command]).env("PATH", &path).current_dir(&folder);
        let output = run.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let expected = if command.contains("# exit code 2") { 2 } else { 0 };
        assert_eq!(output.status.code(), Some(expected), "{command}\n{said}");
        // What the page shows of an error is what is said.
        if expected == 2 {
            let shown = PAGE.lines().filter(|line| line.starts_with("error: "));
            let shown: Vec<&str> = shown.collect();
            assert!(!shown.is_empty());
            assert!(shown.iter().all(|line| said.contains(line)), "{said}");
        }
    }
    assert!(folder.join("model.onnx").exists() && folder.join("predicted.csv").exists());
}
