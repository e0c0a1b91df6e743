//! Named steps that are timed, and the commands they run.

use std::process::Command;
use std::time::{Duration, Instant};

/// What became of a step.
pub enum Outcome {
    /// It held.
    Passed,
    /// It could not be tried here, and why.
    Skipped(String),
    /// It did not hold, and why.
    Failed(String),
}

/// The steps of one run, in order.
#[derive(Default)]
pub struct Steps {
    done: Vec<(String, Duration, Outcome)>,
}

impl Steps {
    /// Runs one step, whatever became of those before it: one run shows all that is wrong.
    pub fn run(&mut self, name: &str, work: impl FnOnce() -> Outcome) {
        eprintln!("==> {name}");
        let start = Instant::now();
        let outcome = work();
        self.done.push((name.to_string(), start.elapsed(), outcome));
    }

    /// Prints the table; an error names the steps that failed.
    pub fn finish(self) -> Result<(), String> {
        let mut failed = Vec::new();
        eprintln!();
        for (name, time, outcome) in &self.done {
            let word = match outcome {
                Outcome::Passed => "ok".to_string(),
                Outcome::Skipped(why) => format!("skipped: {why}"),
                Outcome::Failed(why) => {
                    failed.push(name.as_str());
                    format!("FAILED: {why}")
                }
            };
            eprintln!("  {name:<10} {:>7.1} s  {word}", time.as_secs_f64());
        }
        if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
    }
}

/// Runs a command to its end with our own output; the outcome is its exit status.
pub fn outcome_of(command: &mut Command) -> Outcome {
    match command.status() {
        Ok(status) if status.success() => Outcome::Passed,
        Ok(status) => Outcome::Failed(format!("`{}` gave {status}", spelled(command))),
        Err(error) => Outcome::Failed(format!("`{}` did not start: {error}", spelled(command))),
    }
}

/// Cargo, the one that runs us.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Whether a program can be started at all.
pub fn exists(program: &str, argument: &str) -> bool {
    Command::new(program).arg(argument).output().is_ok_and(|out| out.status.success())
}

fn spelled(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|w| w.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_fails_the_run_but_not_the_next_step() {
        let mut steps = Steps::default();
        steps.run("one", || Outcome::Failed("broken".into()));
        let mut ran = false;
        steps.run("two", || {
            ran = true;
            Outcome::Skipped("no tool".into())
        });
        assert!(ran);
        assert_eq!(steps.finish(), Err("failed: one".to_string()));
    }

    #[test]
    fn a_command_that_fails_or_does_not_exist_is_a_failure() {
        assert!(matches!(outcome_of(&mut Command::new("false")), Outcome::Failed(_)));
        assert!(matches!(outcome_of(&mut Command::new("no-such-tool")), Outcome::Failed(_)));
        assert!(matches!(outcome_of(&mut Command::new("true")), Outcome::Passed));
    }
}
