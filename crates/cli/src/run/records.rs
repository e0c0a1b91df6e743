//! The records that plans with a model learn from.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use undertone_data::{DataError, Encoding, Recipe, Sources, load};
use undertone_node::plan::{DataPlan, Plan, PlanError, Precision};
use undertone_node::{Examples, Records};
use undertone_real::Real;

use crate::data;

/// Reads and draws records, the same only once for all variants.
pub struct Library {
    sources: Sources,
    known: Vec<(Value, Records)>,
    /// How tables were encoded, by the same keys.
    encodings: Vec<(Value, Encoding)>,
    /// Files as they were when they were read.
    stamps: Vec<String>,
    /// What a guarantee takes for granted, file by file.
    assumptions: Vec<String>,
}

impl Library {
    /// Of files beside a plan, here, and in the folder of data sets.
    pub fn new(beside: Option<PathBuf>) -> Self {
        Self {
            sources: data::sources(beside),
            known: Vec::new(),
            encodings: Vec::new(),
            stamps: Vec::new(),
            assumptions: Vec::new(),
        }
    }

    /// Those of a plan; none if it has no model. An error without a key is about a file.
    pub fn records(&mut self, plan: &Plan) -> Result<Option<Records>, PlanError> {
        let (DataPlan::Records(table), Some(_)) = (&plan.data, &plan.model) else {
            return Ok(None);
        };
        let key = key(table, plan);
        if let Some((_, records)) = self.known.iter().find(|(known, _)| *known == key) {
            return Ok(Some(records.clone()));
        }
        let records = match Records::drawn(plan)? {
            Some(records) => records,
            None => {
                let recipe: Recipe = serde_json::from_value(Value::Object(table.clone()))
                    .map_err(|error| PlanError::new("data", error.to_string()))?;
                match plan.run.precision {
                    Precision::F32 => Records::F32(self.read(&recipe, &key)?),
                    Precision::F64 => Records::F64(self.read(&recipe, &key)?),
                }
            }
        };
        self.known.push((key, records.clone()));
        Ok(Some(records))
    }

    /// Those of a plan, if they were read or drawn before.
    pub fn known(&self, plan: &Plan) -> Option<Records> {
        let DataPlan::Records(table) = &plan.data else { return None };
        let key = key(table, plan);
        self.known.iter().find(|(known, _)| *known == key).map(|(_, records)| records.clone())
    }

    /// What was read from data that is not declared, so that it counts as public.
    pub fn assumptions(&self) -> &[String] {
        &self.assumptions
    }

    /// How the table of a plan was encoded, if its records are from one.
    pub fn encoding(&self, plan: &Plan) -> Option<&Encoding> {
        let DataPlan::Records(table) = &plan.data else { return None };
        let key = key(table, plan);
        self.encodings.iter().find(|(known, _)| *known == key).map(|(_, encoding)| encoding)
    }

    /// What tells the files that were read from changed ones.
    pub fn stamps(&self) -> &[String] {
        &self.stamps
    }

    fn read<R: Real>(
        &mut self,
        recipe: &Recipe,
        key: &Value,
    ) -> Result<Arc<Examples<R>>, PlanError> {
        let loaded = load::<R>(recipe, &self.sources).map_err(in_plan)?;
        let stamps = loaded.summary.files.iter().filter_map(|file| self.sources.stamp(file));
        self.stamps.extend(stamps.collect::<Vec<_>>());
        self.encodings.extend(loaded.encoding.map(|encoding| (key.clone(), encoding)));
        let split = recipe.resolved().map_err(in_plan)?.split;
        for assumption in loaded.summary.public_assumptions {
            if !self.assumptions.contains(&assumption) {
                self.assumptions.push(assumption);
            }
        }
        Ok(Arc::new(Examples { train: loaded.train, test: loaded.test, split }))
    }
}

fn key(table: &Map<String, Value>, plan: &Plan) -> Value {
    json!([table, plan.run.precision, plan.seed])
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
