//! `undertone data`.

mod picture;
mod report;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Deserialize;
use undertone_data::{DataError, Recipe, Sources, VARIABLE, guess, load};
use undertone_report::{Chart, Series};

use crate::output;
use crate::run::file::{find, place, suggestion};

/// Look at data before anything is learned from it.
#[derive(Args)]
pub struct Data {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Shape, types, class balance, norms, missing values, and what every node gets
    Inspect(Inspect),
    /// The recipes that come with the command, or the text of one
    Recipes {
        /// Of which the text is printed
        name: Option<String>,
    },
}

/// Shape, types, class balance, norms, missing values, and what every node gets.
///
/// What is printed is computed from the data and is not private: it is for those who hold the
/// data.
#[derive(Args)]
#[command(after_help = "\
A file is read as it seems to be (CSV, TSV, NPY, NPZ, LIBSVM, IDX, CIFAR-10, fastText, Parquet if
built with it; gzip or xz around any of them), and what was guessed is said. A plan (.toml) is read
by its [data] table. Relative names are looked up beside the plan, here, and in the folder that the
environment variable UNDERTONE_DATA names.

Examples:
  undertone data inspect people.csv
  undertone data inspect adult/adult.data.gz --recipe adult-105 --nodes 5
  undertone data inspect plan.toml --svg norms.svg --json
  undertone data recipes adult-105")]
struct Inspect {
    /// A file of records, or a plan in TOML
    file: String,
    /// Read the file by a recipe of ours, see `undertone data recipes`
    #[arg(long, value_name = "NAME")]
    recipe: Option<String>,
    /// Show what so many nodes get [default: those of the plan]
    #[arg(long, value_name = "N")]
    nodes: Option<usize>,
    /// The most bytes a file may unpack to
    #[arg(long, value_name = "BYTES", default_value_t = Sources::LIMIT)]
    limit: u64,
    /// Draw how the norms of records are distributed
    #[arg(long, value_name = "FILE")]
    svg: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Data {
    pub fn run(self) -> Result<String, String> {
        match self.command {
            Command::Inspect(inspect) => inspect.run(),
            Command::Recipes { name: None } => {
                Ok(undertone_data::recipe::names().collect::<Vec<_>>().join("\n"))
            }
            Command::Recipes { name: Some(name) } => {
                Recipe::named(&name).map_err(|error| error.to_string())?;
                Ok(undertone_data::recipe::text(&name).unwrap_or_default().into())
            }
        }
    }
}

/// What of a plan speaks of data.
#[derive(Deserialize)]
struct Plan {
    #[serde(default)]
    seed: u64,
    data: Recipe,
    network: Option<Network>,
}

#[derive(Deserialize)]
struct Network {
    nodes: Option<usize>,
}

/// What is to be read, and for whom.
struct Task {
    recipe: Recipe,
    notes: Vec<String>,
    nodes: Option<usize>,
    seed: u64,
    /// The text of the plan.
    plan: Option<String>,
}

impl Inspect {
    fn run(self) -> Result<String, String> {
        let path = Path::new(&self.file);
        let is_plan = path.extension().is_some_and(|end| end == "toml");
        let beside = path.parent().filter(|_| is_plan).map(Path::to_path_buf);
        let mut sources = sources(beside);
        sources.limit = self.limit;
        let task = if is_plan { self.plan(path)? } else { self.lone_file(&sources)? };
        let loaded = load::<f32>(&task.recipe, &sources)
            .map_err(|error| self.locate(&error, task.plan.as_deref()))?;
        let nodes = self.nodes.or(task.nodes);
        let split = task.recipe.split.as_ref();
        let nodes = nodes.map(|nodes| report::deal(&loaded.train, split, nodes, task.seed));
        let report = report::Report::new(&loaded, task.notes, nodes.transpose()?);
        if let Some(file) = &self.svg {
            std::fs::write(file, norms(&loaded).to_svg()).map_err(|error| {
                format!("--svg {file}: {error}; name a file in a folder that can be written to")
            })?;
        }
        Ok(if self.json { output::json(&report.as_json()) } else { report.as_text() })
    }

    /// What is wrong with the recipe itself is said with its place in the plan.
    fn locate(&self, error: &DataError, plan: Option<&str>) -> String {
        match (error.key(), plan) {
            (Some(key), Some(text)) => {
                let key = format!("data.{key}");
                format!("{}: data.{}", place(&self.file, text, find(text, &key)), error.message)
            }
            _ => error.to_string(),
        }
    }

    fn lone_file(&self, sources: &Sources) -> Result<Task, String> {
        let (recipe, notes) = match &self.recipe {
            Some(name) => {
                let (recipe, file) = (Some(name.clone()), Some(self.file.clone()));
                (Recipe { recipe, file, ..Recipe::default() }, Vec::new())
            }
            None => {
                let guess = guess(&self.file, sources).map_err(|error| error.to_string())?;
                (guess.recipe, guess.notes)
            }
        };
        Ok(Task { recipe, notes, nodes: None, seed: 1, plan: None })
    }

    fn plan(&self, path: &Path) -> Result<Task, String> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("{name}: {error}; give a file of records or a plan"))?;
        let table = toml::from_str::<serde_json::Value>(&text).ok();
        if table
            .is_some_and(|table| ["source", "values"].iter().any(|k| !table["data"][k].is_null()))
        {
            let what = "draws its records from the seed or lists them; there is no file to inspect";
            return Err(format!("{name}: {what}"));
        }
        let plan: Plan = toml::from_str(&text).map_err(|error| {
            let place = place(&name, &text, error.span());
            format!("{place}: {}{}", error.message(), suggestion(error.message()))
        })?;
        let mut recipe = plan.data;
        recipe.recipe = self.recipe.clone().or(recipe.recipe);
        let nodes = plan.network.and_then(|network| network.nodes);
        Ok(Task { recipe, notes: Vec::new(), nodes, seed: plan.seed, plan: Some(text) })
    }
}

/// Files beside something, here, and in the folder of data sets.
#[cfg_attr(not(feature = "parquet"), allow(unused_mut, reason = "the reader is optional"))]
pub fn sources(beside: Option<PathBuf>) -> Sources {
    let library = std::env::var_os(VARIABLE).map(PathBuf::from);
    let mut sources = Sources::new(beside.into_iter().chain([PathBuf::from(".")]).chain(library));
    #[cfg(feature = "parquet")]
    {
        sources.parquet = Some(undertone_parquet::columns);
    }
    sources
}

/// The share of records that are no longer than so much.
fn norms(loaded: &undertone_data::Loaded<f32>) -> Chart {
    let parts = [("train", Some(&loaded.train)), ("test", loaded.test.as_ref())];
    let series = parts.into_iter().filter_map(|(name, data)| {
        let norms = undertone_data::sorted_norms(data?);
        let share = |k: usize| (k + 1) as f64 / norms.len() as f64;
        let points = norms.iter().enumerate().map(|(k, norm)| (*norm, share(k))).collect();
        Some(Series { name: name.into(), points, band: Vec::new() })
    });
    Chart {
        title: "Norms of records".into(),
        x: "L2 norm".into(),
        y: "share of records up to it".into(),
        log_x: false,
        log_y: false,
        series: series.collect(),
    }
}
