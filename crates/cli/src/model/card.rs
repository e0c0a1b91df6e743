//! What a model says of itself: where it comes from, how records are encoded, what it promises.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use undertone_data::Encoding;
use undertone_model::export::{ExportError, write_with_notes};
use undertone_node::Experiment;
use undertone_node::plan::{Precision, Variant};
use undertone_privacy::ledger::Guarantee;
use undertone_report::SIMULATED;
use undertone_sim::{Run, Trained, plan_hash};

/// The name of the card in the metadata of a file.
pub const CARD: &str = "undertone-card";

/// All that a model needs to be used alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Card {
    /// The plan's name.
    pub plan: String,
    /// Which variant of it; empty if it has one.
    pub variant: String,
    pub plan_hash: String,
    pub seed: u64,
    pub rounds: u64,
    pub algorithm: String,
    /// Whose parameters they are.
    pub parameters_of: String,
    /// How far nodes were from their mean in the end, by its norm.
    pub disagreement: f64,
    /// What each kind of node was promised; a model is made of what was released, so it has no
    /// price of its own.
    pub guarantees: Vec<Guarantee>,
    /// The same in words, and last that its noise is no secret.
    pub statement: String,
    /// What a guarantee takes for public.
    pub taken_for_public: Vec<String>,
    /// Names of classes, in the order of scores; of signs the negative one first.
    pub classes: Vec<String>,
    /// How records of a table become features; nothing if they were not from a table.
    pub encoding: Option<Encoding>,
}

impl Card {
    pub fn new(
        variant: &Variant,
        experiment: &Experiment,
        run: &Run,
        trained: &Trained,
        encoding: Option<Encoding>,
    ) -> Self {
        let plan = experiment.plan();
        let mut guarantees: Vec<Guarantee> = Vec::new();
        for guarantee in &run.guarantees {
            let terms = |g: &Guarantee| (g.epsilon, g.delta);
            if !guarantees.iter().any(|known| terms(known) == terms(guarantee)) {
                guarantees.push(guarantee.clone());
            }
        }
        let parameters_of = match trained.alone {
            true => "node 0, which heard nobody".into(),
            false => format!("the mean over {} nodes", experiment.nodes()),
        };
        Self {
            plan: plan.name.clone(),
            variant: variant.label(),
            plan_hash: plan_hash(plan),
            seed: run.seed,
            rounds: run.rounds,
            algorithm: plan.algorithm.name.facts().name.into(),
            parameters_of,
            disagreement: trained.disagreement,
            statement: statement(&guarantees),
            guarantees,
            taken_for_public: Vec::new(),
            classes: encoding.as_ref().map_or(Vec::new(), Encoding::classes),
            encoding,
        }
    }

    /// Whether it promises anything.
    pub fn is_private(&self) -> bool {
        !self.guarantees.is_empty()
            && self.guarantees.iter().all(|guarantee| guarantee.epsilon.get().is_finite())
    }

    /// The model with its card, as safetensors.
    pub fn write(&self, trained: &Trained, precision: Precision) -> Result<Vec<u8>, ExportError> {
        let text = serde_json::to_string(self).expect("a card is plain data");
        let notes = BTreeMap::from([(CARD.to_string(), text)]);
        let (model, x) = (&trained.model, &trained.parameters);
        if let Some(k) = x.iter().position(|v| !v.is_finite()) {
            return Err(ExportError::NotFinite(k));
        }
        match precision {
            Precision::F64 => write_with_notes(model, x, notes),
            Precision::F32 => {
                let x: Vec<f32> = x.iter().map(|v| *v as f32).collect();
                write_with_notes(model, &x, notes)
            }
        }
    }
}

fn statement(guarantees: &[Guarantee]) -> String {
    let line = |guarantee: &Guarantee| match guarantee.epsilon.get().is_finite() {
        true => guarantee.to_string(),
        false => format!("node {}: no guarantee, something left it bare", guarantee.node),
    };
    let lines: Vec<String> = guarantees.iter().map(line).collect();
    format!("{}\n{SIMULATED}", lines.join("\n"))
}
