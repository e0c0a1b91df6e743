//! What of a plan goes together with a model, before anything is computed.

use crate::plan::{AlgorithmWord, DataPlan, Plan, PlanError, Precision, SamplingWord, StepPlan};
use crate::private::TableError;

/// Finds what is missing, and what no algorithm with a model takes.
pub(super) fn check(plan: &Plan) -> Result<(), PlanError> {
    let error = |key: &str, message: &str| Err(PlanError::new(key, message));
    let written = &plan.algorithm;
    if let DataPlan::Numbers(_) = plan.data {
        let message = "a model learns from records: give a recipe, a file, or a source such as \
                       \"census\"";
        return error("data.source", message);
    }
    if written.name == AlgorithmWord::TwoStage {
        if plan.run.precision == Precision::F64 {
            return Ok(());
        }
        return error("run.precision", "steps of two-stage are in double precision; take \"f64\"");
    }
    check_batches(plan)?;
    let fixed = matches!(written.sampling, Some(SamplingWord::FixedSize | SamplingWord::Single));
    if let (true, Some(why)) = (fixed && plan.privacy.is_some(), needs_poisson(plan)) {
        let message = format!("{why}; take \"poisson\" or \"full\"");
        return error("algorithm.sampling", &message);
    }
    if let (AlgorithmWord::Dsgd, true) = (written.name, plan.privacy.is_some()) {
        return error("algorithm.name", "dsgd adds no noise; take dp2-sgd, or no [privacy]");
    }
    Ok(())
}

/// Why an algorithm has no price with batches of a fixed size, if it has none.
fn needs_poisson(plan: &Plan) -> Option<String> {
    match plan.algorithm.name {
        // As printed there is a bound for a single index.
        AlgorithmWord::PrivSgpVr if plan.algorithm.printed == Some(true) => None,
        AlgorithmWord::PrivSgpVr => Some(TableError::FixedSize.to_string()),
        AlgorithmWord::QDpsgd2 => {
            Some("noise on a lattice is priced for records that are drawn by themselves".into())
        }
        AlgorithmWord::Sdm => {
            Some("masked gradients are priced for records that are drawn by themselves".into())
        }
        _ => None,
    }
}

fn check_batches(plan: &Plan) -> Result<(), PlanError> {
    let error = |key: &str, message: &str| Err(PlanError::new(key, message));
    let written = &plan.algorithm;
    let Some(sampling) = written.sampling else {
        let word = super::word(written.name);
        let message = format!("{word} needs it: poisson, fixed-size, single or full");
        return error("algorithm.sampling", &message);
    };
    if let Some(deadline) = &written.deadline {
        if !(deadline.time > 0.0 && deadline.time.is_finite()) {
            return error("algorithm.deadline.time", "must be positive and finite, in seconds");
        }
        if let Some(complaint) = deadline.speed.complaint() {
            return error("algorithm.deadline.speed", &complaint);
        }
        if written.batch.is_some() {
            return error("algorithm.batch", "follows from the deadline; leave one of them out");
        }
        if matches!(sampling, SamplingWord::Full | SamplingWord::Single) {
            let message = "has one size for all rounds; take \"poisson\" with a deadline";
            return error("algorithm.sampling", message);
        }
        let decays = matches!(written.step, Some(StepPlan::Decaying { .. }));
        if decays && written.name == AlgorithmWord::QDpsgd2 {
            let message = "every size of step and batch has its own price; take steps of one size, \
                           such as \"000\", with a deadline";
            return error("algorithm.step", message);
        }
        return Ok(());
    }
    match (sampling, written.batch) {
        (SamplingWord::Full, Some(_)) => {
            error("algorithm.batch", "the batch is all records; leave it out")
        }
        (SamplingWord::Single, Some(batch)) if batch != 1 => {
            error("algorithm.batch", "is 1 if the sampling is single; leave it out")
        }
        (SamplingWord::Poisson | SamplingWord::FixedSize, None) => {
            error("algorithm.batch", "is needed: how many records a batch has")
        }
        (_, Some(0)) => error("algorithm.batch", "must be at least 1"),
        _ => Ok(()),
    }
}
