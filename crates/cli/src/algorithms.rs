//! `undertone algorithms`.

use clap::Args;
use serde_json::{Value, json};
use undertone_node::plan::{AlgorithmWord, Facts};
use undertone_privacy::claims;

use crate::output;
use crate::run::file::nearest;

/// All algorithms: what each needs, over which networks, and what is proved of it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  undertone algorithms
  undertone algorithms priv-sgp
  undertone algorithms --json

The claim is that of the paper, with our verdict (`undertone claims`); what is shipped is what runs
when a plan says noise = \"sound\". `undertone new NAME` writes a plan to start from.")]
pub struct Algorithms {
    /// Everything about one of them
    name: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Algorithms {
    /// The text to print.
    pub fn run(self) -> Result<String, String> {
        let chosen: Vec<Facts> = match &self.name {
            Some(name) => vec![named(name)?.facts()],
            None => AlgorithmWord::ALL.map(AlgorithmWord::facts).to_vec(),
        };
        if self.json {
            return Ok(output::json(&chosen.iter().map(value).collect()));
        }
        if let (Some(_), [facts]) = (&self.name, chosen.as_slice()) {
            return Ok(output::facts(&[
                ("name", facts.name.into()),
                ("what", facts.what.into()),
                ("paper", facts.paper.name().into()),
                ("objective", facts.objective.name().into()),
                ("topology", facts.topology.into()),
                ("needs", facts.needs.into()),
                ("claimed", claimed(facts)),
                ("shipped", facts.shipped.into()),
                ("cost a round", facts.cost.into()),
            ]));
        }
        let row = |facts: &Facts| {
            vec![
                facts.name.to_string(),
                facts.paper.name().into(),
                facts.objective.name().into(),
                facts.topology.into(),
                facts.needs.into(),
                claimed(facts),
                facts.shipped.into(),
                facts.cost.into(),
            ]
        };
        let header =
            ["name", "paper", "objective", "topology", "needs", "claimed", "shipped", "cost"];
        Ok(output::table(&header, chosen.iter().map(row).collect()))
    }
}

/// The algorithm of this name.
pub fn named(name: &str) -> Result<AlgorithmWord, String> {
    let all = AlgorithmWord::ALL;
    all.into_iter().find(|word| word.facts().name == name).ok_or_else(|| {
        let names = all.map(|word| word.facts().name);
        let meant = nearest(name, &names);
        let meant = meant.map_or(String::new(), |word| format!("; did you mean `{word}`"));
        format!("there is no algorithm `{name}`{meant}? `undertone algorithms` lists them")
    })
}

/// What the paper says, and what became of it.
fn claimed(facts: &Facts) -> String {
    match facts.claim.and_then(claims::find) {
        Some(claim) => format!("{}: {}", claim.paper, claim.verdict),
        None => "nothing of its own".into(),
    }
}

fn value(facts: &Facts) -> Value {
    let claim = facts.claim.and_then(claims::find);
    json!({
        "name": facts.name,
        "what": facts.what,
        "paper": facts.paper.name(),
        "objective": facts.objective.name(),
        "topology": facts.topology,
        "needs": facts.needs,
        "claim": claim.map(|claim| json!({
            "name": claim.algorithm,
            "source": claim.paper,
            "verdict": claim.verdict,
        })),
        "shipped": facts.shipped,
        "cost": facts.cost,
    })
}
