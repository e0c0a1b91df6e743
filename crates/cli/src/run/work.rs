//! All runs of a plan: those that are on the shelf are taken from it, the others are made.

use std::path::PathBuf;
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressStyle};
use undertone_node::Experiment;
use undertone_node::plan::{Plan, Variant};
use undertone_report::Report;
use undertone_sim::{Outcome, judge, run_rest, world_of};

use super::file::PlanFile;
use super::records::Library;
use super::results::{self, Results};
use super::shelf::Folder;
use crate::output;

/// What is to be done with a plan.
pub struct Work {
    /// Where relative names of files are looked up first.
    pub beside: Option<PathBuf>,
    /// `--set`.
    pub settings: Vec<String>,
    /// `--out`.
    pub out: PathBuf,
    /// `--threads`.
    pub threads: Option<usize>,
    /// `--fresh`.
    pub fresh: bool,
    /// `--ledgers`.
    pub ledgers: bool,
    /// `--quiet`.
    pub quiet: bool,
}

/// What came of it.
pub struct Done {
    pub plan: Plan,
    pub outcomes: Vec<Outcome>,
    /// For people and programs.
    pub report: Report,
    folder: PathBuf,
    /// How many runs were there already, and how many were made.
    counts: (usize, usize),
}

impl Work {
    /// Checks all variants, runs what is missing and writes results. Ends the program with exit
    /// code 130 on Ctrl-C.
    pub fn carry_out(self, file: &PlanFile) -> Result<Done, String> {
        let variants = file.variants(&self.settings)?;
        for variant in &variants {
            Experiment::glance(&variant.plan).map_err(|error| file.locate(&error, variant))?;
        }
        let mut library = Library::new(self.beside.clone());
        let check = |variant: Variant| match checked(&variant.plan, &mut library) {
            Ok(experiment) => Ok((variant, experiment)),
            Err(error) => Err(file.locate(&error, &variant)),
        };
        let experiments: Vec<_> = variants.into_iter().map(check).collect::<Result<_, _>>()?;
        let plan = experiments[0].1.plan().clone();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads.unwrap_or(0)).build();
        let pool = pool.map_err(|error| format!("--threads: {error}"))?;
        let encoding = |(variant, experiment): &(Variant, Experiment)| {
            (variant.label(), library.encoding(experiment.plan()).cloned())
        };
        let encodings = experiments.iter().map(encoding).collect();
        let folder = Folder::new(self.out.join(&plan.name), library.stamps())?;
        let mut folder = folder.describing(encodings, library.assumptions());
        (folder.fresh, folder.ledgers) = (self.fresh, self.ledgers);
        let folder = Arc::new(folder);
        let bar = self.bar(&plan.name);
        listen(&folder, &bar, experiments.iter().map(|(_, e)| e.seeds().count()).sum());
        let progress = |share: f64| bar.set_position((share * STEPS as f64) as u64);
        let outcomes = pool.install(|| run_rest(&experiments, &*folder, &progress));
        bar.finish_and_clear();
        let outcomes = outcomes.map_err(|error| format!("{}: {error}", file.name()))?;
        if let Some(trouble) = folder.trouble() {
            return Err(trouble);
        }
        let report = Results {
            file,
            set: &self.settings,
            experiments: &experiments,
            outcomes: &outcomes,
            verdicts: &judge(&plan.expected, &outcomes),
            assumptions: library.assumptions(),
        }
        .report();
        results::write(folder.path(), &report)?;
        let (counts, folder) = (folder.counts(), folder.path().to_path_buf());
        Ok(Done { plan, outcomes, report, folder, counts })
    }

    fn bar(&self, name: &str) -> ProgressBar {
        let bar = if self.quiet { ProgressBar::hidden() } else { ProgressBar::new(STEPS) };
        let style = ProgressStyle::with_template("{prefix} {wide_bar} {percent:>3}%  {eta} left");
        bar.set_style(style.expect("the template is right"));
        bar.set_prefix(name.to_string());
        bar
    }
}

/// A plan that was checked, in the world that it is run in.
pub fn checked(
    plan: &Plan,
    library: &mut Library,
) -> Result<Experiment, undertone_node::plan::PlanError> {
    let experiment = Experiment::new(plan, library.records(plan)?)?;
    world_of(&experiment)?;
    Ok(experiment)
}

impl Done {
    /// Where results are, and which were there already.
    pub fn place(&self) -> String {
        let reused = match self.counts {
            (0, _) => String::new(),
            (found, 0) => format!(" ({found} runs were there; --fresh runs them again)"),
            (found, made) => format!(" ({found} runs were there, {made} are new)"),
        };
        format!("results are in {}{reused}", self.folder.join("report.html").display())
    }
}

/// On Ctrl-C nothing more is written, and the program ends; what is over stays.
fn listen(folder: &Arc<Folder>, bar: &ProgressBar, runs: usize) {
    let (folder, bar) = (Arc::clone(folder), bar.clone());
    let stop = move || {
        let _held = folder.hold();
        let (found, made) = folder.counts();
        bar.finish_and_clear();
        output::warn(&format!(
            "interrupted: {} of {runs} runs are complete in {}; the same command goes on with the \
             others",
            found + made,
            folder.path().display()
        ));
        std::process::exit(130);
    };
    if let Err(error) = ctrlc::set_handler(stop) {
        output::warn(&format!("Ctrl-C ends the program at once: {error}"));
    }
}

/// Of the progress bar.
const STEPS: u64 = 10_000;
