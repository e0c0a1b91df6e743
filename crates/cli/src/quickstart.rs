//! `undertone quickstart`.

use std::path::PathBuf;

use clap::Args;
use undertone_model::synthetic::census_csv;
use undertone_report::SIMULATED;
use undertone_sim::Outcome;

use crate::output;
use crate::run::file::PlanFile;
use crate::run::shelf::whole;
use crate::run::{Done, Work};

/// See what this is about: eight offices learn together, each record hidden.
///
/// A census that is made up is dealt to eight nodes, which talk over a directed graph that changes
/// in every round. Four runs are put side by side: with and without privacy, together and alone.
#[derive(Args)]
#[command(after_help = "\
Examples:
  undertone quickstart
  undertone quickstart --epsilon 0.5
  undertone quickstart --out /tmp/try --json

It takes some seconds and writes undertone-out/quickstart: the table people.csv, the plan, models,
the ledger of every node, traces and a report. Nothing is read but what it wrote itself.")]
pub struct Quickstart {
    /// Where results go, in a folder `quickstart`
    #[arg(long, value_name = "DIR", default_value = "undertone-out")]
    out: PathBuf,
    /// What every record may lose over the whole run, whoever sees every message
    #[arg(long, value_name = "E", default_value_t = 1.0)]
    epsilon: f64,
    /// How many threads; results do not depend on it [default: one for each core]
    #[arg(long, visible_alias = "jobs", value_name = "N")]
    threads: Option<usize>,
    /// Run everything, also what is in the folder already
    #[arg(long)]
    fresh: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// No progress, and only the table
    #[arg(long)]
    quiet: bool,
}

/// People in the table; the plan holds the last of them out.
const PEOPLE: usize = 10_000;

impl Quickstart {
    /// The text to print.
    pub fn run(self) -> Result<String, String> {
        let folder = self.out.join("quickstart");
        let people = census_csv(1, PEOPLE, 0.0);
        let table = folder.join("people.csv");
        // A table that is there already is not touched, so that its runs still count.
        if std::fs::read(&table).ok().as_deref() != Some(people.as_bytes()) {
            whole(&table, people.as_bytes())
                .map_err(|error| format!("{error}; choose another --out"))?;
        }
        let file = PlanFile::parse(
            "the quickstart's plan".into(),
            include_str!("quickstart/plan.toml").into(),
        )?;
        let work = Work {
            beside: Some(folder.clone()),
            settings: vec![format!("privacy.epsilon={}", self.epsilon)],
            out: self.out.clone(),
            threads: self.threads,
            fresh: self.fresh,
            ledgers: true,
            quiet: self.quiet || self.json,
        };
        let done = work.carry_out(&file)?;
        if self.json {
            return Ok(done.report.to_json());
        }
        let table = side_by_side(&done);
        if self.quiet {
            return Ok(table);
        }
        Ok(format!("{table}\n{}", words(&done, &folder.display().to_string())))
    }
}

fn side_by_side(done: &Done) -> String {
    let row = |outcome: &Outcome| {
        let percent = |metric: &str| {
            outcome.last(metric).map_or("-".into(), |share| format!("{:.1}%", 100.0 * share))
        };
        let epsilon = outcome.weakest().map_or("-".into(), |g| output::epsilon(g.epsilon));
        let bytes = outcome.bytes() / f64::from(done.plan.network.nodes);
        vec![
            outcome.variant.label(),
            percent("average-accuracy"),
            percent("node-accuracy"),
            epsilon,
            format!("{:.1} kB", bytes / 1e3),
        ]
    };
    let header = ["", "accuracy", "worst node", "epsilon of every node", "sent by a node"];
    output::table(&header, done.outcomes.iter().map(row).collect())
}

/// What it means, and what to do next.
fn words(done: &Done, folder: &str) -> String {
    let of = |label: &str| {
        let found = done.outcomes.iter().find(|o| o.variant.label() == label);
        found.and_then(|o| o.last("average-accuracy")).map_or(f64::NAN, |share| 100.0 * share)
    };
    let (together, alone, open) =
        (of("private-together"), of("private-alone"), of("open-together"));
    let private = done.outcomes.iter().find(|o| o.variant.label() == "private-together");
    let promise = private.and_then(Outcome::weakest).map_or(String::new(), ToString::to_string);
    format!(
        "With privacy, eight offices together predict {together:.1}% of incomes that none has\n\
         seen, each alone {alone:.1}%, together without privacy {open:.1}%. Accuracy is that of\n\
         a node's own model, averaged over nodes; the simulator measures it, no node could.\n\n\
         {promise}\n\
         That is the promise of one run; whoever shows several on the same records pays for each.\n\
         {SIMULATED}\n\n\
         {place}. Now try:\n  \
         undertone ledger show {folder}/ledgers/private-together/node-0.jsonl\n  \
         undertone predict {folder}/models/private-together.safetensors {folder}/people.csv\n  \
         undertone export {folder}/models/private-together.safetensors --format onnx\n  \
         undertone check {folder}/plan.toml\n  \
         undertone run {folder}/plan.toml --set privacy.epsilon=0.3 --repeat 3\n  \
         undertone new priv-sgp --out mine.toml        a plan of your own; --list shows all\n",
        place = done.place(),
    )
}
