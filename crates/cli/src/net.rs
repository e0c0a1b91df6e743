//! Commands of nodes that are processes.

pub mod cluster;
pub mod keygen;
pub mod ledger;
pub mod network;
pub mod node;

use std::path::Path;

use undertone_node::plan::{Plan, Variant};

use crate::run::file::PlanFile;

/// The one plan that a network runs.
fn plan(path: &Path, settings: &[String]) -> Result<(PlanFile, Variant), String> {
    let file = PlanFile::read(path)?;
    let mut variants = file.variants(settings)?;
    if variants.len() != 1 || variants[0].plan.run.repeat != 1 {
        let name = path.display();
        return Err(format!(
            "{name}: a network runs one plan once; take out [[vary]] and run.repeat, or choose \
             with --set"
        ));
    }
    let variant = variants.remove(0);
    Ok((file, variant))
}

/// What nodes agree on. Bands, charts and metrics are for those who look on.
fn hash(plan: &Plan) -> String {
    undertone_net::hex(&undertone_net::plan_hash(plan))
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
