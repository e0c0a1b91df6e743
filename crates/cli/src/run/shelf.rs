//! Runs that are over, in the folder of results: traces, models, ledgers, and what is needed not to
//! run them again.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::json;
use undertone_data::Encoding;
use undertone_node::Experiment;
use undertone_node::plan::Variant;
use undertone_privacy::ledger::chain;
use undertone_sim::{Run, Shelf, Traced, plan_hash};
use undertone_trace::hash_of;

use crate::model::card::Card;
use crate::output;

/// A folder of results while they come in. Every file appears whole or not at all.
pub struct Folder {
    path: PathBuf,
    /// Runs that are there count only if they are of the same program and the same files.
    stamp: String,
    /// How tables were encoded, variant by variant.
    encodings: Vec<(String, Option<Encoding>)>,
    assumptions: Vec<String>,
    /// Whether runs that are there do not count.
    pub fresh: bool,
    /// Whether ledgers are written.
    pub ledgers: bool,
    found: AtomicUsize,
    made: AtomicUsize,
    /// Held while files are written, so that nobody stops the program in between.
    writing: Mutex<Option<String>>,
}

/// A run, and what it is of.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    plan: String,
    stamp: String,
    trace: String,
    run: Run,
}

impl Folder {
    /// In a folder that is made. Data are as `stamps` say.
    pub fn new(path: PathBuf, stamps: &[String]) -> Result<Self, String> {
        std::fs::create_dir_all(&path)
            .map_err(|e| format!("{}: {e}; choose another --out", path.display()))?;
        let stamp = json!([program(), stamps]).to_string();
        Ok(Self {
            path,
            stamp: hash_of(stamp.as_bytes()),
            encodings: Vec::new(),
            assumptions: Vec::new(),
            fresh: false,
            ledgers: false,
            found: AtomicUsize::new(0),
            made: AtomicUsize::new(0),
            writing: Mutex::new(None),
        })
    }

    /// With what models are to say of their records.
    pub fn describing(
        mut self,
        encodings: Vec<(String, Option<Encoding>)>,
        assumptions: &[String],
    ) -> Self {
        (self.encodings, self.assumptions) = (encodings, assumptions.to_vec());
        self
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many runs were there already, and how many were made.
    pub fn counts(&self) -> (usize, usize) {
        (self.found.load(Ordering::Relaxed), self.made.load(Ordering::Relaxed))
    }

    /// Waits until nothing is being written, and keeps it so.
    pub fn hold(&self) -> impl Drop + '_ {
        self.writing.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The first thing that could not be written, if any.
    pub fn trouble(&self) -> Option<String> {
        self.hold_trouble().clone()
    }

    fn hold_trouble(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.writing.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn read(&self, of: &Of<'_>) -> Option<Traced> {
        let bytes = std::fs::read(self.path.join(of.kept())).ok()?;
        let kept: Kept = serde_json::from_slice(&bytes).ok()?;
        if (&kept.plan, &kept.stamp) != (&plan_hash(of.experiment.plan()), &self.stamp) {
            return None;
        }
        let lines = std::fs::read(self.path.join(of.trace())).ok()?;
        let hash = hash_of(&lines);
        let model = of.experiment.model().is_none() || self.path.join(of.model()).exists();
        let ledgers = !self.ledgers || self.path.join(of.ledgers()).exists();
        let whole = hash == kept.trace && kept.run.seed == of.seed && model && ledgers;
        whole.then_some(Traced { run: kept.run, lines, hash })
    }

    fn write(&self, of: &Of<'_>, traced: &Traced) -> Result<(), String> {
        let write = |name: String, bytes: &[u8]| whole(&self.path.join(name), bytes);
        if let Some(trained) = &traced.run.trained {
            let label = of.variant.label();
            let encoding = self.encodings.iter().find(|(known, _)| *known == label);
            let encoding = encoding.and_then(|(_, encoding)| encoding.clone());
            let mut card = Card::new(of.variant, of.experiment, &traced.run, trained, encoding);
            card.taken_for_public = self.assumptions.clone();
            let precision = of.experiment.plan().run.precision;
            match card.write(trained, precision) {
                Ok(bytes) => write(of.model(), &bytes)?,
                // A run that diverged has no model; its results say so.
                Err(error) => output::warn(&format!("{}: {error}; not written", of.model())),
            }
        }
        if self.ledgers {
            for account in &traced.run.accounts {
                let mut lines = json!({ "header": account.header }).to_string();
                for entry in chain(&account.header, &account.debited) {
                    lines.push('\n');
                    lines.push_str(&json!(entry).to_string());
                }
                let node = account.header.node;
                let name = format!("{}/node-{node}.jsonl", of.ledgers());
                write(name, format!("{lines}\n").as_bytes())?;
            }
        }
        write(of.trace(), &traced.lines)?;
        let kept = Kept {
            plan: plan_hash(of.experiment.plan()),
            stamp: self.stamp.clone(),
            trace: traced.hash.clone(),
            run: traced.run.clone(),
        };
        // Last, because it says that the others are there.
        write(of.kept(), json!(kept).to_string().as_bytes())
    }
}

impl Shelf for Folder {
    fn find(&self, variant: &Variant, experiment: &Experiment, seed: u64) -> Option<Traced> {
        let found = self.read(&Of { variant, experiment, seed }).filter(|_| !self.fresh)?;
        self.found.fetch_add(1, Ordering::Relaxed);
        Some(found)
    }

    fn keep(&self, variant: &Variant, experiment: &Experiment, traced: &Traced) {
        let mut trouble = self.hold_trouble();
        let of = Of { variant, experiment, seed: traced.run.seed };
        if let Err(error) = self.write(&of, traced) {
            trouble.get_or_insert(error);
        }
        self.made.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whose files.
struct Of<'a> {
    variant: &'a Variant,
    experiment: &'a Experiment,
    seed: u64,
}

impl Of<'_> {
    /// Variant and seed, as far as there are several.
    fn name(&self) -> String {
        let (label, repeats) = (self.variant.label(), self.experiment.plan().run.repeat);
        match (label.as_str(), repeats) {
            ("", 1) => self.experiment.plan().name.clone(),
            (_, 1) => label,
            ("", _) => format!("seed-{}", self.seed),
            _ => format!("{label}-seed-{}", self.seed),
        }
    }

    fn trace(&self) -> String {
        let (label, repeats) = (self.variant.label(), self.experiment.plan().run.repeat);
        let dash = if label.is_empty() { "" } else { "-" };
        let seed = if repeats == 1 { String::new() } else { format!("-seed-{}", self.seed) };
        format!("trace{dash}{label}{seed}.jsonl")
    }

    fn model(&self) -> String {
        format!("models/{}.safetensors", self.name())
    }

    fn ledgers(&self) -> String {
        format!("ledgers/{}", self.name())
    }

    fn kept(&self) -> String {
        format!("runs/{}.json", self.name())
    }
}

/// What tells this program from another build: results of other code are not those of this.
fn program() -> String {
    let about = std::env::current_exe().and_then(|path| path.metadata());
    let stamp = about.ok().and_then(|about| {
        let written = about.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(format!("{} {}", about.len(), written.as_nanos()))
    });
    format!("{} {}", env!("CARGO_PKG_VERSION"), stamp.unwrap_or_default())
}

/// Writes a file that is there whole or not at all, and its folder.
pub fn whole(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let at = |error: std::io::Error| format!("{}: {error}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(at)?;
    }
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    std::fs::write(&part, bytes).map_err(at)?;
    std::fs::rename(&part, path).map_err(at)
}
