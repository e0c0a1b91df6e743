//! The records that plans with a model learn from.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use undertone_data::{DataError, Recipe, Sources, load};
use undertone_node::plan::{DataPlan, Plan, PlanError, Precision};
use undertone_node::{Examples, Records};
use undertone_real::Real;

use crate::data;

/// Reads and draws records, the same only once for all variants.
pub struct Library {
    sources: Sources,
    known: Vec<(Value, Records)>,
    /// What a guarantee takes for granted, file by file.
    assumptions: Vec<String>,
}

impl Library {
    /// Of files beside a plan, here, and in the folder of data sets.
    pub fn new(beside: Option<PathBuf>) -> Self {
        Self { sources: data::sources(beside), known: Vec::new(), assumptions: Vec::new() }
    }

    /// Those of a plan; none if it has no model. An error without a key is about a file.
    pub fn records(&mut self, plan: &Plan) -> Result<Option<Records>, PlanError> {
        let (DataPlan::Records(table), Some(_)) = (&plan.data, &plan.model) else {
            return Ok(None);
        };
        let key = json!([table, plan.run.precision, plan.seed]);
        if let Some((_, records)) = self.known.iter().find(|(known, _)| *known == key) {
            return Ok(Some(records.clone()));
        }
        let records = match Records::drawn(plan)? {
            Some(records) => records,
            None => {
                let recipe: Recipe = serde_json::from_value(Value::Object(table.clone()))
                    .map_err(|error| PlanError::new("data", error.to_string()))?;
                match plan.run.precision {
                    Precision::F32 => Records::F32(self.read(&recipe)?),
                    Precision::F64 => Records::F64(self.read(&recipe)?),
                }
            }
        };
        self.known.push((key, records.clone()));
        Ok(Some(records))
    }

    /// What was read from data that is not declared, so that it counts as public.
    pub fn assumptions(&self) -> &[String] {
        &self.assumptions
    }

    fn read<R: Real>(&mut self, recipe: &Recipe) -> Result<Arc<Examples<R>>, PlanError> {
        let loaded = load::<R>(recipe, &self.sources).map_err(in_plan)?;
        let split = recipe.resolved().map_err(in_plan)?.split;
        for assumption in loaded.summary.public_assumptions {
            if !self.assumptions.contains(&assumption) {
                self.assumptions.push(assumption);
            }
        }
        Ok(Arc::new(Examples { train: loaded.train, test: loaded.test, split }))
    }
}

fn in_plan(error: DataError) -> PlanError {
    match error.key() {
        Some(key) => {
            let message = error.message[key.len() + 1..].trim_start();
            PlanError::new(format!("data.{key}"), message)
        }
        None => PlanError::new("", error.to_string()),
    }
}
