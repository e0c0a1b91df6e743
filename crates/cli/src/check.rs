//! `undertone check`.

mod explain;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use toml::de::DeTable;
use undertone_node::Experiment;

use crate::output;
use crate::run::checked;
use crate::run::file::{PlanFile, column, place};
use crate::run::records::Library;
use crate::schema::wrong::wrong;
use explain::Explained;

/// Say what a plan will do and what it costs, or everything that is wrong with it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  undertone check plan.toml
  undertone check plan.toml --set privacy.epsilon=0.5
  undertone check plan.toml --json

Nothing is run but one or two rounds without noise, to see how long they take and how much they
send. Exit code 2 means that the plan does not do; all that is wrong is listed with its place.")]
pub struct Check {
    /// The plan, in TOML
    plan: PathBuf,
    /// Put a value (in TOML, or a word) at a key of the plan, as for `undertone run`
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Print JSON, also of what is wrong
    #[arg(long)]
    json: bool,
}

/// What is wrong, and where.
struct Fault {
    /// `file:line:column: key: message`.
    text: String,
    at: Option<(usize, usize)>,
    key: String,
}

impl Check {
    /// The text to print, and whether the plan does.
    pub fn run(self) -> Result<(String, bool), String> {
        let name = self.plan.display().to_string();
        let text = std::fs::read_to_string(&self.plan)
            .map_err(|error| format!("{name}: {error}; give the name of a plan in TOML"))?;
        let found = self.look(&name, &text);
        match (found, self.json) {
            (Ok(explained), true) => Ok((output::json(&explained.as_json()), true)),
            (Ok(explained), false) => Ok((explained.as_text(), true)),
            (Err(faults), true) => {
                let fault = |fault: &Fault| {
                    let (line, column) = fault.at.unzip();
                    json!({
                        "message": fault.text,
                        "key": fault.key,
                        "line": line,
                        "column": column,
                    })
                };
                let faults: Vec<_> = faults.iter().map(fault).collect();
                output::print(&output::json(&json!({ "ok": false, "wrong": faults })));
                Err(format!("{name}: {} things are wrong", faults.len()))
            }
            (Err(faults), false) => {
                let lines: Vec<&str> = faults.iter().map(|fault| fault.text.as_str()).collect();
                Err(lines.join("\nerror: "))
            }
        }
    }

    fn look(&self, name: &str, text: &str) -> Result<Explained, Vec<Fault>> {
        // What is no TOML has one fault, and so has what a reader of a single table refuses.
        let structure = DeTable::parse(text).map(|root| wrong(&root)).unwrap_or_default();
        if !structure.is_empty() {
            let fault = |wrong: crate::schema::wrong::Wrong| Fault {
                at: wrong.span.as_ref().and_then(|span| column(text, span.start)),
                text: format!(
                    "{}: {}: {}",
                    place(name, text, wrong.span),
                    wrong.key,
                    wrong.message
                ),
                key: wrong.key,
            };
            return Err(structure.into_iter().map(fault).collect());
        }
        let one = |text: String| vec![Fault { text, at: None, key: String::new() }];
        let file = PlanFile::parse(name.into(), text.into()).map_err(one)?;
        let variants = file.variants(&self.set).map_err(one)?;
        let beside = self.plan.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut library = Library::new(beside.map(Path::to_path_buf));
        let (mut experiments, mut faults) = (Vec::new(), Vec::<Fault>::new());
        let glances = variants.iter().map(|v| Experiment::glance(&v.plan).err());
        let clear = glances.flatten().count() == 0;
        for variant in variants {
            // Nothing is priced as long as a variant cannot run at all.
            let checked = match clear {
                true => checked(&variant.plan, &mut library).map(Some),
                false => Experiment::glance(&variant.plan).map(|()| None),
            };
            match checked {
                Ok(experiment) => experiments.extend(experiment.map(|e| (variant, e))),
                Err(error) => {
                    // Variants mostly have the same fault; it is said once.
                    let said = faults.iter().any(|fault| fault.key == error.key);
                    if !said {
                        let text = file.locate(&error, &variant);
                        faults.push(Fault { text, at: None, key: error.key });
                    }
                }
            }
        }
        match faults.is_empty() {
            true => Ok(Explained::new(&experiments, &library)),
            false => Err(faults),
        }
    }
}
