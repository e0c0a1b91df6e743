//! `undertone run`.

pub mod file;
pub mod records;
mod results;
pub mod shelf;
mod work;

use std::path::{Path, PathBuf};

use clap::Args;

use file::PlanFile;
pub use work::{Done, Work, checked};

/// Run a plan: all its variants, with results, guarantees and what was expected.
#[derive(Args)]
#[command(after_help = "\
Examples:
  undertone run
  undertone run experiments/004/fig1.toml
  undertone run plan.toml --set privacy.epsilon=3 --repeat 5 --out results
  undertone run plan.toml --json --quiet

Results go into a folder with the plan's name: the plan, traces, a report, charts, and in models/
what was learned. Runs that are over are kept there: after Ctrl-C the same command goes on, and one
that is over is not run again, as long as plan, data and program are the same.

Exit code 1 means that a band of [[expected]] does not hold, 2 that the plan does not do, 130 that
it was interrupted.")]
pub struct Run {
    /// The plan, in TOML [default: an embedded one, private averaging among 20 nodes]
    plan: Option<PathBuf>,
    /// Where results go, in a folder with the plan's name
    #[arg(long, value_name = "DIR", default_value = "undertone-out")]
    out: PathBuf,
    /// How many threads, over variants, repetitions and nodes; results do not depend on it
    /// [default: one for each core]
    #[arg(long, visible_alias = "jobs", value_name = "N")]
    threads: Option<usize>,
    /// With so many seeds, in place of run.repeat of the plan
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    repeat: Option<u64>,
    /// Put a value (in TOML, or a word) at a key of the plan, such as algorithm.gamma=0.1
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Run everything, also what is in the folder already
    #[arg(long)]
    fresh: bool,
    /// Write what every node was charged, for `undertone ledger`
    #[arg(long)]
    ledgers: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    /// No progress, no files' names
    #[arg(long)]
    quiet: bool,
}

impl Run {
    /// The text to print, and whether all that was expected holds.
    pub fn run(self) -> Result<(String, bool), String> {
        let file = self.plan.as_deref().map_or_else(PlanFile::embedded, PlanFile::read)?;
        let beside = self.plan.as_deref().and_then(Path::parent);
        let beside = beside.filter(|folder| !folder.as_os_str().is_empty());
        let mut settings = self.set;
        settings.extend(self.repeat.map(|repeat| format!("run.repeat={repeat}")));
        let work = Work {
            beside: beside.map(Path::to_path_buf),
            settings,
            out: self.out,
            threads: self.threads,
            fresh: self.fresh,
            ledgers: self.ledgers,
            quiet: self.quiet,
        };
        let done = work.carry_out(&file)?;
        let text = match self.json {
            true => done.report.to_json(),
            false if self.quiet => results::text(&done.report),
            false => format!("{}\n{}", results::text(&done.report), done.place()),
        };
        Ok((text, done.report.passed))
    }
}
