//! `undertone plan`.

mod report;

use std::path::{Path, PathBuf};

use clap::Args;
use undertone_node::plan::{DataPlan, EstimatePlan, Plan as PlanTable, PlanError};
use undertone_node::{Experiment, Forecast, Records};

use crate::output;
use crate::run::file::PlanFile;
use crate::run::records::Library;

/// Choose noise and rounds for a plan's budgets: for every number of rounds the noise that is
/// needed in truth, and the error that is predicted.
///
/// The noise and its price are proved; errors are predictions, by a bound whose constants are given
/// in the table `plan` or estimated.
#[derive(Args)]
#[command(after_help = "\
Examples:
  undertone plan experiments/003/fig8.toml
  undertone plan plan.toml --set privacy.epsilon=3 --json
  undertone plan plan.toml --svg error.svg

Constants of the problem are keys of [plan]: smoothness, gap, heterogeneity, variance; those that
are not given are estimated, from the generator of [data], from public records or, charged to the
budget, from the nodes' own. See the chapter on plans in docs/book.")]
pub struct Plan {
    /// The plan, in TOML
    plan: PathBuf,
    /// Put a value (in TOML, or a word) at a key of the plan, such as privacy.epsilon=3
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Draw the predicted error against the rounds into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Plan {
    pub fn run(self) -> Result<String, String> {
        let file = PlanFile::read(&self.plan)?;
        // What varies is left aside: one plan is chosen for, the one that is written.
        let mut settings = self.set;
        settings.push("vary=[]".into());
        let variants = file.variants(&settings)?;
        let variant = variants.first().ok_or("the plan has no variant")?;
        let beside = self.plan.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut library = Library::new(beside.map(Path::to_path_buf));
        let forecast = forecast(&variant.plan, &mut library);
        let forecast = forecast.map_err(|error| file.locate(&error, variant))?;
        let report = report::Report::new(&variant.plan, &forecast, library.assumptions());
        if let Some(path) = &self.svg {
            std::fs::write(path, report.chart().to_svg())
                .map_err(|error| format!("{}: {error}; choose another --svg", path.display()))?;
        }
        Ok(if self.json { output::json(&report.as_json()) } else { report.as_text() })
    }
}

fn forecast(plan: &PlanTable, library: &mut Library) -> Result<Forecast, PlanError> {
    let public = public(plan, library)?;
    let records = library.records(plan)?;
    Experiment::new(plan, records)?.forecast(public.as_ref())
}

/// The records that are declared to be public, if the plan estimates from some.
fn public(plan: &PlanTable, library: &mut Library) -> Result<Option<Records>, PlanError> {
    let estimate = plan.plan.as_ref().and_then(|table| table.estimate.as_ref());
    let Some(EstimatePlan::Public(table)) = estimate else { return Ok(None) };
    let data = DataPlan::Records(table.clone());
    let records = library.records(&PlanTable { data, ..plan.clone() });
    records.map_err(|error| match error.key.strip_prefix("data") {
        Some(rest) => PlanError::new(format!("plan.estimate.public{rest}"), error.message),
        None => error,
    })
}
