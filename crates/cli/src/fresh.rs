//! `undertone new`.

mod table;
pub mod template;

use std::path::PathBuf;

use clap::Args;
use undertone_node::plan::AlgorithmWord;

use crate::algorithms::named;
use crate::output;
use crate::run::shelf::whole;

/// Write a plan with a comment on every line, to start from.
#[derive(Args)]
#[command(after_help = "\
Examples:
  undertone new --list
  undertone new priv-sgp --out plan.toml
  undertone new priv-sgp --data people.csv --target income --out plan.toml
  undertone new push-sum | less

Then: `undertone check plan.toml` says what it will do, `undertone run plan.toml` does it.")]
pub struct New {
    /// An algorithm, see --list
    algorithm: Option<String>,
    /// Learn from this table (CSV or TSV): its columns are looked at, and declared
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// The column of the table that is predicted [default: the last]
    #[arg(long, value_name = "COLUMN", requires = "data")]
    target: Option<String>,
    /// The file [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write over a file that is there
    #[arg(long)]
    force: bool,
    /// Names of all algorithms, with a word on each
    #[arg(long, conflicts_with_all = ["algorithm", "data", "out"])]
    list: bool,
}

impl New {
    /// The text to print.
    pub fn run(self) -> Result<String, String> {
        let Some(name) = self.algorithm else {
            if !self.list {
                return Err("name an algorithm, such as priv-sgp; --list shows all".into());
            }
            let all = AlgorithmWord::ALL.map(AlgorithmWord::facts);
            return Ok(output::facts(&all.map(|facts| (facts.name, facts.what.to_string()))));
        };
        let word = named(&name)?;
        if self.data.is_some() && !word.learns() {
            return Err(format!(
                "--data: {name} agrees on a mean; take one that learns, see --list"
            ));
        }
        let records = match &self.data {
            Some(file) => Some(table::records(file, self.target.as_deref(), word.minimises())?),
            None => None,
        };
        let text = template::plan(word, records.as_ref());
        let Some(out) = self.out else { return Ok(text) };
        let shown = out.display();
        if out.exists() && !self.force {
            return Err(format!("{shown}: is there already; choose another --out, or --force"));
        }
        whole(&out, text.as_bytes()).map_err(|error| format!("{error}; choose another --out"))?;
        Ok(format!("wrote {shown}; next: undertone check {shown}, undertone run {shown}"))
    }
}
