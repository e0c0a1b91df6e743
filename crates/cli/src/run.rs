//! `undertone run`.

pub mod file;
pub mod records;
mod results;

use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use undertone_node::Experiment;
use undertone_node::plan::Variant;
use undertone_sim::{judge, run_all, world_of};

use file::PlanFile;
use records::Library;
use results::Results;

/// Run a plan: all its variants, with results, guarantees and what was expected.
#[derive(Args)]
#[command(after_help = "\
Examples:
  undertone run
  undertone run experiments/004/fig1.toml
  undertone run plan.toml --set run.repeat=5 --set algorithm.name=gossip --out results
  undertone run plan.toml --json --quiet

Exit code 1 means that a band of [[expected]] does not hold, 2 that the plan does not do.")]
pub struct Run {
    /// The plan, in TOML [default: an embedded one, private averaging among 20 nodes]
    plan: Option<PathBuf>,
    /// Where results go, in a folder with the plan's name
    #[arg(long, value_name = "DIR", default_value = "undertone-out")]
    out: PathBuf,
    /// How many threads; results do not depend on it [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Put a value (in TOML, or a word) at a key of the plan, such as algorithm.gamma=0.1
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
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
        let variants = file.variants(&self.set)?;
        let beside = self.plan.as_deref().and_then(Path::parent);
        let beside = beside.filter(|folder| !folder.as_os_str().is_empty());
        let mut library = Library::new(beside.map(Path::to_path_buf));
        let check = |variant: Variant| {
            let records = library.records(&variant.plan);
            let experiment = records.and_then(|records| Experiment::new(&variant.plan, records));
            let checked = experiment.and_then(|e| world_of(&e).map(|_| e));
            match checked {
                Ok(experiment) => Ok((variant, experiment)),
                Err(error) => Err(file.locate(&error, &variant)),
            }
        };
        let experiments: Vec<_> = variants.into_iter().map(check).collect::<Result<_, _>>()?;
        let plan = experiments[0].1.plan().clone();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads.unwrap_or(0)).build();
        let pool = pool.map_err(|error| format!("--threads: {error}"))?;
        let bar = if self.quiet { ProgressBar::hidden() } else { ProgressBar::new(STEPS) };
        let style = ProgressStyle::with_template("{prefix} {wide_bar} {percent:>3}%  {eta} left");
        bar.set_style(style.expect("the template is right"));
        bar.set_prefix(plan.name.clone());
        let progress = |share: f64| bar.set_position((share * STEPS as f64) as u64);
        let outcomes = pool.install(|| run_all(&experiments, &progress));
        bar.finish_and_clear();
        let outcomes = outcomes.map_err(|error| format!("{}: {error}", file.name()))?;
        let verdicts = judge(&plan.expected, &outcomes);
        let report = Results {
            file: &file,
            set: &self.set,
            experiments: &experiments,
            outcomes: &outcomes,
            verdicts: &verdicts,
            assumptions: library.assumptions(),
        }
        .report();
        let folder = self.out.join(&plan.name);
        results::write(&folder, &report, &outcomes)?;
        let text = match self.json {
            true => report.to_json(),
            false if self.quiet => results::text(&report),
            false => {
                let page = folder.join("report.html");
                format!("{}\nresults are in {}", results::text(&report), page.display())
            }
        };
        Ok((text, report.passed))
    }
}

/// Of the progress bar.
const STEPS: u64 = 10_000;
