//! Learning: a model, its records, how batches are drawn, and what that costs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use undertone_model::dataset::Targets;
use undertone_model::partition::Partition;
use undertone_model::{Dataset, Tabled};
use undertone_privacy::ledger::Tally;
use undertone_privacy::noise::Key;
use undertone_real::Real;

use super::model::Described;
use super::pricing::{Answers, Priced, Terms};
use super::protection::{Claim, at};
use super::records::{Examples, Records};
use crate::oracle::Oracle;
use crate::plan::{
    AlgorithmWord, DataPlan, Metric, NodeBudget, Plan, PlanError, Precision, SamplingWord,
};
use crate::private::{Private, PrivateGradients, TableError};

/// What an experiment with a model has beside its plan.
pub(super) struct Learning {
    records: Records,
    split: Partition,
    model: Described,
    /// What was computed already; many nodes are alike.
    priced: Mutex<BTreeMap<Terms, Arc<Priced>>>,
    /// What is claimed for every node, with the plan's seed.
    claims: Vec<Option<Claim>>,
}

/// A node that learns.
pub struct Learner<R: Real> {
    /// Answers from the node's records.
    pub oracle: Oracle<R, Tally>,
    /// How many it has; public.
    pub records: usize,
    /// What its answers, which are sums, are divided by: the expected size of a batch.
    pub divisor: f64,
}

/// What is minimised, for an evaluator that sees everything.
pub struct Problem<'a, R: Real> {
    /// The losses.
    pub objective: Arc<dyn Tabled<R>>,
    /// The records of all nodes.
    pub train: &'a Dataset<R>,
    /// Those that are held out.
    pub test: Option<&'a Dataset<R>>,
}

impl Learning {
    pub(super) fn new(plan: &Plan, records: Option<Records>) -> Result<Self, PlanError> {
        check(plan)?;
        let records = self::records(plan, records)?;
        match records.precision() {
            Precision::F32 => Self::with::<f32>(plan, records),
            Precision::F64 => Self::with::<f64>(plan, records),
        }
    }

    fn with<R: Real>(plan: &Plan, records: Records) -> Result<Self, PlanError> {
        let examples = examples::<R>(&records);
        if examples.test.as_ref().is_some_and(|test| test.width() != examples.train.width()) {
            return Err(PlanError::new(
                "data.test",
                "has other features than the training records",
            ));
        }
        let model = Described::new(plan.model.as_ref().expect("learning"), &examples.train)?;
        check_metrics(plan, &examples.train)?;
        let split = split(plan, examples)?;
        let priced = Mutex::default();
        let mut learning = Self { records, split, model, priced, claims: Vec::new() };
        let sizes = learning.deal::<R>(plan, plan.seed)?;
        let claim = |(node, part): (u32, &Vec<usize>)| {
            learning.price(plan, node, part.len()).map(|priced| priced.claim)
        };
        learning.claims = (0..).zip(&sizes).map(claim).collect::<Result<_, _>>()?;
        Ok(learning)
    }

    pub(super) fn claim(&self, node: u32) -> Option<&Claim> {
        self.claims[node as usize].as_ref()
    }

    pub(super) fn dimension(&self) -> usize {
        self.model.dimension()
    }

    pub(super) fn initial<R: Real>(&self, seed: u64) -> Vec<R> {
        self.model.initial(seed)
    }

    pub(super) fn problem<R: Real>(&self) -> Problem<'_, R> {
        let Examples { train, test, .. } = examples(&self.records);
        Problem { objective: self.model.objective(), train, test: test.as_ref() }
    }

    pub(super) fn learners<R: Real>(
        &self,
        plan: &Plan,
        seed: u64,
    ) -> Result<Vec<Learner<R>>, PlanError> {
        let train = &examples::<R>(&self.records).train;
        let objective = self.model.objective::<R>();
        let learner = |(node, part): (u32, Vec<usize>)| {
            let priced = self.price(plan, node, part.len())?;
            let Priced { sampler, clip, noise, answers, divisor, .. } = *priced;
            let objective = Arc::clone(&objective);
            let gradients =
                PrivateGradients::new(objective, train.select(&part), sampler, clip, noise);
            let refused =
                |error: TableError| PlanError::new("algorithm.sampling", error.to_string());
            let gradients = match answers {
                Answers::Adaptive(clip) => gradients.adaptive(clip).map_err(at("privacy.clip"))?,
                Answers::Differences => gradients.with_table().map_err(refused)?,
                Answers::Gradients => gradients,
                Answers::Printed => gradients.printed().map_err(refused)?,
            };
            let ledger = priced.ledger.open_alike(node, Tally::default());
            let ledger = ledger.map_err(|e| PlanError::new("network.nodes", e.to_string()))?;
            let oracle = Oracle::new(Private::Gradients(gradients), ledger, Key::from_seed(seed));
            let records = part.len();
            Ok(Learner { oracle, records, divisor })
        };
        (0..).zip(self.deal::<R>(plan, seed)?).map(learner).collect()
    }

    /// The same model and the same deal for other records.
    pub(super) fn measure<R: Real>(
        &self,
        data: &Dataset<R>,
    ) -> Result<(Arc<dyn Tabled<R>>, &Partition), PlanError> {
        let wanted = data.width() == self.width::<R>();
        if wanted {
            return Ok((self.model.objective(), &self.split));
        }
        let message = "its records have other features than those of [data]";
        Err(PlanError::new("plan.estimate", message))
    }

    fn width<R: Real>(&self) -> usize {
        examples::<R>(&self.records).train.width()
    }

    /// The records of every node, of which there are enough for a batch.
    pub(super) fn deal<R: Real>(
        &self,
        plan: &Plan,
        seed: u64,
    ) -> Result<Vec<Vec<usize>>, PlanError> {
        let train = &examples::<R>(&self.records).train;
        let parts = self
            .split
            .split(train, plan.network.nodes as usize, seed)
            .map_err(|error| PlanError::new("data.split", error.to_string()))?;
        let batch = plan.algorithm.batch.unwrap_or(1);
        match parts.iter().zip(0..).min_by_key(|(part, _)| part.len()) {
            Some((part, node)) if (part.len() as u64) < batch => {
                let most = part.len();
                let message = format!(
                    "is {batch}, but node {node} has only {most} records; take at most {most}, \
                     fewer nodes or another split"
                );
                Err(PlanError::new("algorithm.batch", message))
            }
            _ => Ok(parts),
        }
    }

    fn price(&self, plan: &Plan, node: u32, records: usize) -> Result<Arc<Priced>, PlanError> {
        let own = own_budget(plan, node);
        let terms = Terms::new(plan, own.as_ref().map(|(own, _)| *own), records);
        if let Some(known) = self.priced.lock().expect("nobody panics with it").get(&terms) {
            return Ok(Arc::clone(known));
        }
        let own = own.as_ref().map(|(own, key)| (*own, key.as_str()));
        let priced = Arc::new(Priced::new(plan, own, records)?);
        let mut known = self.priced.lock().expect("nobody panics with it");
        Ok(Arc::clone(known.entry(terms).or_insert(priced)))
    }
}

/// The budget of a node that has its own, and where it is in the plan.
pub(super) fn own_budget(plan: &Plan, node: u32) -> Option<(&NodeBudget, String)> {
    let mut all = plan.privacy.iter().flat_map(|privacy| privacy.node.iter().enumerate());
    all.find(|(_, own)| own.node == node).map(|(k, own)| (own, format!("privacy.node.{k}")))
}

/// Those that are given, or drawn, in the numbers of the run.
pub(super) fn records(plan: &Plan, given: Option<Records>) -> Result<Records, PlanError> {
    if let DataPlan::Numbers(_) = plan.data {
        let message = "a model learns from records: give a recipe, a file, or a source such as \
                       \"census\"";
        return Err(PlanError::new("data.source", message));
    }
    let records = match given {
        Some(records) => records,
        None => Records::drawn(plan)?.ok_or_else(|| {
            let message = "its records are in files; load them first, or take a source such as \
                           \"census\"";
            PlanError::new("data", message)
        })?,
    };
    if records.precision() != plan.run.precision {
        let message = "is not that of the records; load them in the same";
        return Err(PlanError::new("run.precision", message));
    }
    Ok(records)
}

pub(super) fn examples<R: Real>(records: &Records) -> &Examples<R> {
    records.examples().expect("the caller runs in the plan's precision, which is theirs")
}

pub(super) fn split<R: Real>(plan: &Plan, examples: &Examples<R>) -> Result<Partition, PlanError> {
    let DataPlan::Records(table) = &plan.data else { return Ok(Partition::Even) };
    match table.get("split") {
        None => Ok(examples.split.clone().unwrap_or(Partition::Even)),
        Some(written) => serde_json::from_value(written.clone())
            .map_err(|error| PlanError::new("data.split", error.to_string())),
    }
}

/// What of a plan goes together with a model.
fn check(plan: &Plan) -> Result<(), PlanError> {
    let error = |key: &str, message: String| Err(PlanError::new(key, message));
    let written = &plan.algorithm;
    let word = super::word(written.name);
    let Some(sampling) = written.sampling else {
        let message = format!("{word} needs it: poisson, fixed-size, single or full");
        return error("algorithm.sampling", message);
    };
    match (sampling, written.batch) {
        (SamplingWord::Full, Some(_)) => {
            error("algorithm.batch", "the batch is all records; leave it out".into())?;
        }
        (SamplingWord::Single, Some(batch)) if batch != 1 => {
            error("algorithm.batch", "is 1 if the sampling is single; leave it out".into())?;
        }
        (SamplingWord::Poisson | SamplingWord::FixedSize, None) => {
            error("algorithm.batch", "is needed: how many records a batch has".into())?;
        }
        (_, Some(0)) => error("algorithm.batch", "must be at least 1".into())?,
        _ => {}
    }
    if let Some(rounds) = written.rounds_of_gradients
        && !(1..=plan.run.rounds).contains(&rounds)
    {
        let most = plan.run.rounds;
        let message = format!("must be at least 1 and at most run.rounds ({most}), got {rounds}");
        return error("algorithm.rounds-of-gradients", message);
    }
    let fixed = matches!(sampling, SamplingWord::FixedSize | SamplingWord::Single);
    let remembers = written.name == AlgorithmWord::PrivSgpVr && written.printed != Some(true);
    if fixed && remembers && plan.privacy.is_some() {
        let message = format!("{}; take \"poisson\" or \"full\"", TableError::FixedSize);
        return error("algorithm.sampling", message);
    }
    if let (AlgorithmWord::Dsgd, true) = (written.name, plan.privacy.is_some()) {
        return error("algorithm.name", "dsgd adds no noise; take dp2-sgd, or no [privacy]".into());
    }
    Ok(())
}

pub(super) fn check_metrics<R: Real>(plan: &Plan, data: &Dataset<R>) -> Result<(), PlanError> {
    let signs = matches!(data.targets(), Targets::Sign(_));
    let counts = signs || matches!(data.targets(), Targets::Class { .. });
    let wrong = |metric: &Metric, what: &str| {
        let message = format!("{} is {what}", metric.name());
        Err(PlanError::new("evaluate.metrics", message))
    };
    for metric in &plan.evaluate.metrics {
        if matches!(metric, Metric::Accuracy | Metric::NodeAccuracy) && !counts {
            return wrong(metric, "of signs and classes; take \"loss\" for these records");
        }
        if metric.is_fairness() && !(signs && data.groups().is_some()) {
            return wrong(metric, "of signs of two groups; give a column of kind \"group\"");
        }
    }
    Ok(())
}
