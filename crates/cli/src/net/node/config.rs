//! A node's file: as written, and what it leads to.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};
use undertone_node::plan::{DataPlan, Plan, Variant};
use undertone_node::{Experiment, Wanted};

use crate::net::read;
use crate::run::file::{PlanFile, place};
use crate::run::records::Library;

/// A node's file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Config {
    /// The file that everybody signed.
    pub network: PathBuf,
    /// The plan that it is for.
    pub plan: PathBuf,
    /// Keys of the plan with other values, as `undertone run --set` takes them.
    #[serde(default)]
    pub set: Vec<String>,
    /// The node's key.
    pub key: PathBuf,
    /// Where it keeps what it must not forget.
    pub store: PathBuf,
    /// Where peers reach it.
    pub listen: String,
    /// Where its owner looks.
    pub metrics: Option<SocketAddr>,
    /// How many seconds it stays for peers after the last round.
    #[serde(default = "minute")]
    pub linger: u64,
    /// The most that a plan may cost.
    budget: Option<Budget>,
    /// Its records.
    data: Option<Map<String, Value>>,
    /// For demonstrations: the records that the plan deals to this node.
    #[serde(default)]
    data_from_plan: bool,
    /// For tests: noise from a public seed.
    pub test_seed: Option<u64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Budget {
    epsilon: f64,
    delta: f64,
}

/// What a node runs.
pub struct Loaded {
    /// The plan, checked for this node.
    pub experiment: Experiment,
    /// Its numbers, if it averages numbers of its own.
    pub numbers: Option<Vec<f64>>,
}

impl Config {
    /// Reads the file; names in it are relative to its folder.
    pub fn read(path: &Path) -> Result<Self, String> {
        let (name, text) = (path.display().to_string(), read(path)?);
        let mut config: Self = toml::from_str(&text).map_err(|error| {
            format!("{}: {}", place(&name, &text, error.span()), error.message())
        })?;
        if config.data.is_none() && !config.data_from_plan {
            return Err(format!("{name}: data: is missing; give [data] with this node's records"));
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        for file in [&mut config.network, &mut config.plan, &mut config.key, &mut config.store] {
            *file = folder.join(&*file);
        }
        if let Some(Value::String(numbers)) =
            config.data.as_mut().and_then(|data| data.get_mut("numbers"))
        {
            *numbers = folder.join(&*numbers).display().to_string();
        }
        Ok(config)
    }

    /// Loads the node's records and checks the plan for them.
    pub fn load(&self, file: &PlanFile, variant: &Variant, node: u32) -> Result<Loaded, String> {
        let at = |error| file.locate(&error, variant);
        let plan = &variant.plan;
        let mut library = Library::new(self.plan.parent().map(Path::to_path_buf));
        let Some(data) = &self.data else {
            let records = library.records(plan).map_err(at)?;
            let experiment = Experiment::new(plan, records).map_err(at)?;
            return Ok(Loaded { experiment, numbers: None });
        };
        if plan.model.is_none() {
            let experiment = Experiment::new(plan, None).map_err(at)?;
            let numbers = numbers(data, plan)?;
            return Ok(Loaded { experiment, numbers: Some(numbers) });
        }
        let own = Plan { data: DataPlan::Records(data.clone()), ..plan.clone() };
        let records = library.records(&own).map_err(at)?;
        let experiment = Experiment::of_owner(&own, records, node).map_err(at)?;
        Ok(Loaded { experiment, numbers: None })
    }

    /// Refuses a plan that costs more than this node allows.
    pub fn check_budget(&self, loaded: &Loaded, seed: u64, node: u32) -> Result<(), String> {
        let Some(Budget { epsilon, delta }) = self.budget else { return Ok(()) };
        let Loaded { experiment, numbers } = loaded;
        let wanted = Wanted::One { node, numbers: numbers.clone() };
        let promises = experiment.guarantees(seed, wanted).map_err(|error| error.to_string())?;
        let promise = promises.first().expect("of one node");
        if promise.epsilon.get() <= epsilon && promise.delta.get() <= delta {
            return Ok(());
        }
        Err(format!(
            "budget: this node allows epsilon {epsilon} at delta {delta}, but the plan costs {} at \
             {}; raise [budget], or agree on another plan",
            promise.epsilon, promise.delta
        ))
    }
}

/// The numbers of a node that averages: one record a line, as many as the plan says.
fn numbers(data: &Map<String, Value>, plan: &Plan) -> Result<Vec<f64>, String> {
    let Some(Value::String(path)) = data.get("numbers").filter(|_| data.len() == 1) else {
        return Err("data: a node that averages needs numbers = \"file\", and nothing else".into());
    };
    let DataPlan::Numbers(expected) = &plan.data else {
        return Err("data: the plan has no numbers to average".into());
    };
    let text = read(Path::new(path))?;
    let mut numbers = Vec::new();
    for (line, record) in (1..).zip(text.lines()).filter(|(_, record)| !record.trim().is_empty()) {
        let before = numbers.len();
        for word in record.split([',', ' ', '\t', ';']).filter(|word| !word.is_empty()) {
            let number: f64 =
                word.parse().map_err(|_| format!("{path}:{line}: {word:?} is not a number"))?;
            numbers.push(number);
        }
        let found = numbers.len() - before;
        if found != expected.dimension {
            let expected = expected.dimension;
            return Err(format!("{path}:{line}: has {found} numbers, the plan has {expected}"));
        }
    }
    let (found, wanted) = (numbers.len() / expected.dimension, expected.records as usize);
    if found != wanted {
        return Err(format!(
            "{path}: has {found} records, but data.records of the plan, which is public, says \
             {wanted}"
        ));
    }
    Ok(numbers)
}

fn minute() -> u64 {
    60
}
