//! Learning: a model, its records, how batches are drawn, and what that costs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use undertone_model::dataset::Targets;
use undertone_model::partition::Partition;
use undertone_model::{Dataset, Model, Objective, Tabled};
use undertone_privacy::ledger::Tally;
use undertone_privacy::noise::Key;
use undertone_privacy::sampler::Sampler;
use undertone_protocol::Topology;
use undertone_real::Real;

use super::admm::{self, Minimiser, Prices};
use super::algorithm::gradient_rounds;
use super::batches::Batches;
use super::model::{Described, OwnObjective};
use super::pricing::{Priced, Terms};
use super::protection::{Claim, at};
use super::records::{Examples, Records};
use super::{Algorithm, checked};
use crate::oracle::Oracle;
use crate::plan::{DataPlan, Metric, NodeBudget, Plan, PlanError, Precision};
use crate::private::{Answers, Noise, Private, PrivateGradients, PrivateSteps, TableError};

/// What an experiment with a model has beside its plan.
pub(super) struct Learning {
    records: Records,
    split: Partition,
    model: Described,
    algorithm: Algorithm,
    /// The node whose records they all are, if they are not those of all nodes.
    owner: Option<u32>,
    /// What was computed already; many nodes are alike.
    priced: Mutex<BTreeMap<Terms, Arc<Priced>>>,
    /// The same for minima.
    prices: Prices,
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
    /// The same round by round where batches change, over and over; empty if they do not.
    pub batches: Arc<[f64]>,
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
    pub(super) fn new(
        plan: &Plan,
        records: Option<Records>,
        owner: Option<u32>,
        own: Option<OwnObjective>,
    ) -> Result<Self, PlanError> {
        if plan.algorithm.name.minimises() {
            admm::check(plan)?;
        } else {
            checked::check(plan)?;
        }
        let records = self::records(plan, records)?;
        match records.precision() {
            Precision::F32 => Self::with::<f32>(plan, records, owner, own),
            Precision::F64 => Self::with::<f64>(plan, records, owner, own),
        }
    }

    fn with<R: Real>(
        plan: &Plan,
        records: Records,
        owner: Option<u32>,
        own: Option<OwnObjective>,
    ) -> Result<Self, PlanError> {
        let examples = examples::<R>(&records);
        if examples.test.as_ref().is_some_and(|test| test.width() != examples.train.width()) {
            return Err(PlanError::new(
                "data.test",
                "has other features than the training records",
            ));
        }
        let model = match own {
            Some(own) => Described::Own(own),
            None => Described::new(plan.model.as_ref().expect("learning"), &examples.train)?,
        };
        check_metrics(plan, &examples.train)?;
        let split = split(plan, examples)?;
        let (priced, prices, claims) = (Mutex::default(), Prices::default(), Vec::new());
        let algorithm = Algorithm::new(plan, model.dimension())?;
        let mut learning = Self { records, split, model, algorithm, owner, priced, prices, claims };
        if algorithm == Algorithm::Admm {
            // What that costs depends on who hears whom, too.
            return Ok(learning);
        }
        let sizes = learning.deal::<R>(plan, plan.seed)?;
        let claim = |(node, part): (u32, &Vec<usize>)| {
            learning.price(plan, node, part.len()).map(|(priced, _)| priced.claim)
        };
        learning.claims = (0..).zip(&sizes).map(claim).collect::<Result<_, _>>()?;
        Ok(learning)
    }

    pub(super) fn claim(&self, node: u32) -> Option<&Claim> {
        self.claims[node as usize].as_ref()
    }

    pub(super) fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    pub(super) fn dimension(&self) -> usize {
        self.model.dimension()
    }

    pub(super) fn model(&self) -> Option<Model> {
        self.model.model().cloned()
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
        train.prepare();
        let objective = self.model.objective::<R>();
        let learner = |(node, part): (u32, Vec<usize>)| {
            let (priced, batches) = self.price(plan, node, part.len())?;
            let schedule = priced.schedule(&batches);
            let records = part.len();
            let size = |drawing: &Option<(Sampler, _)>| {
                drawing.map_or(0.0, |(sampler, _)| sampler.expected_size(records))
            };
            let sizes: Vec<f64> = schedule.iter().map(size).collect();
            let data = train.select(&part);
            let private = self.private(&priced, schedule, Arc::clone(&objective), data, &part)?;
            let ledger = priced.ledger.open_alike(node, Tally::default());
            let ledger = ledger.map_err(|e| PlanError::new("network.nodes", e.to_string()))?;
            let oracle = Oracle::new(private, ledger, Key::from_seed(seed));
            // SAGA as printed is answered as a mean.
            let divisor = match priced.answers {
                Answers::Printed => 1.0,
                _ => sizes.iter().sum::<f64>() / sizes.len() as f64,
            };
            let batches = if batches.vary() { sizes.into() } else { Arc::default() };
            Ok(Learner { oracle, records, divisor, batches })
        };
        let parts = (0..).zip(self.deal::<R>(plan, seed)?);
        parts.filter(|(node, _)| self.is_here(*node)).map(learner).collect()
    }

    /// Whether a node's records are among these.
    fn is_here(&self, node: u32) -> bool {
        self.owner.is_none_or(|own| own == node)
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

    /// What a node with these records answers from.
    fn private<R: Real>(
        &self,
        priced: &Priced,
        schedule: Vec<Option<(Sampler, Noise)>>,
        objective: Arc<dyn Tabled<R>>,
        data: Dataset<R>,
        part: &[usize],
    ) -> Result<Private<R>, PlanError> {
        let clip = priced.clip;
        let refused = |error: TableError| PlanError::new("algorithm.sampling", error.to_string());
        let gradients =
            |objective, data| PrivateGradients::scheduled(objective, data, clip, &schedule);
        Ok(match priced.answers {
            Answers::Adaptive(clip) => {
                let gradients = gradients(objective, data).adaptive(clip);
                Private::Gradients(gradients.map_err(at("privacy.clip"))?)
            }
            Answers::Gradients => Private::Gradients(gradients(objective, data)),
            Answers::Masked(transmit) => {
                Private::Gradients(gradients(objective, data).masked(transmit))
            }
            Answers::Differences => {
                Private::Gradients(gradients(objective, data).with_table().map_err(refused)?)
            }
            Answers::Printed => {
                Private::Gradients(gradients(objective, data).printed().map_err(refused)?)
            }
            Answers::Points { lattice, printed } => {
                let samplers = schedule.iter().map(|drawing| drawing.map(|(s, _)| s)).collect();
                let (objective, noise) = (objective as Arc<dyn Objective<R>>, priced.noise());
                let points = match printed {
                    false => Private::points,
                    true => Private::printed_points,
                };
                points(objective, data, samplers, clip, noise, lattice)
            }
            Answers::Steps => {
                // In double precision, which a checked plan has.
                let data = examples::<f64>(&self.records).train.select(part);
                let steps = PrivateSteps::of_objective(self.model.objective::<f64>(), data, clip);
                let Algorithm::TwoStage { domain, .. } = self.algorithm else {
                    unreachable!("only two stages ask for steps")
                };
                Private::Steps(steps.within(domain), priced.noises().into())
            }
        })
    }

    /// Prices what nodes do that learn by local minima, for all of them.
    pub(super) fn price_minimisers(
        &mut self,
        plan: &Plan,
        topology: &Topology,
    ) -> Result<(), PlanError> {
        let parts = match self.records.precision() {
            Precision::F32 => self.deal::<f32>(plan, plan.seed)?,
            Precision::F64 => self.deal::<f64>(plan, plan.seed)?,
        };
        let (model, around) = (self.model.linear()?, admm::neighbours(plan, topology)?);
        let sizes: Vec<_> = parts.iter().zip(&around).map(|(p, a)| (p.len(), a.len())).collect();
        admm::check_condition(plan, &model, &sizes, topology)?;
        let claim = |(node, sizes): (u32, &(usize, usize))| {
            let own = own_budget(plan, node);
            let own = own.as_ref().map(|(own, key)| (*own, key.as_str()));
            self.prices.of(plan, &model, node, *sizes, own).map(|priced| priced.claim())
        };
        self.claims = (0..).zip(&sizes).map(claim).collect::<Result<_, _>>()?;
        Ok(())
    }

    pub(super) fn minimisers<R: Real>(
        &self,
        plan: &Plan,
        topology: &Topology,
        seed: u64,
    ) -> Result<Vec<Minimiser<R>>, PlanError> {
        let train = &examples::<R>(&self.records).train;
        let (model, around) = (self.model.linear()?, admm::neighbours(plan, topology)?);
        let start = self.initial::<R>(seed);
        let open = |((node, part), around): ((u32, Vec<usize>), Vec<_>)| {
            let own = own_budget(plan, node);
            let own = own.as_ref().map(|(own, key)| (*own, key.as_str()));
            let sizes = (part.len(), around.len());
            let priced = self.prices.of(plan, &model, node, sizes, own)?;
            priced.open(plan, node, (&start, &around), (&model, &train.select(&part)), seed)
        };
        let parts = (0..).zip(self.deal::<R>(plan, seed)?).zip(around);
        parts.filter(|((node, _), _)| self.is_here(*node)).map(open).collect()
    }

    /// The records of every node, of which there are enough for a batch.
    pub(super) fn deal<R: Real>(
        &self,
        plan: &Plan,
        seed: u64,
    ) -> Result<Vec<Vec<usize>>, PlanError> {
        let train = &examples::<R>(&self.records).train;
        let n_nodes = plan.network.nodes as usize;
        let parts = match self.owner {
            Some(_) => vec![(0..train.records()).collect(); n_nodes],
            None => self
                .split
                .split(train, n_nodes, seed)
                .map_err(|error| PlanError::new("data.split", error.to_string()))?,
        };
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

    fn price(
        &self,
        plan: &Plan,
        node: u32,
        records: usize,
    ) -> Result<(Arc<Priced>, Batches), PlanError> {
        let batches = Batches::new(plan, node, records, gradient_rounds(plan)?)?;
        let own = own_budget(plan, node);
        let terms = Terms::new(plan, own.as_ref().map(|(own, _)| *own), records, &batches);
        if let Some(known) = self.priced.lock().expect("nobody panics with it").get(&terms) {
            return Ok((Arc::clone(known), batches));
        }
        let own = own.as_ref().map(|(own, key)| (*own, key.as_str()));
        let (algorithm, dimension) = (self.algorithm, self.dimension());
        let priced = Priced::new(plan, algorithm, dimension, own, records, &batches)?;
        let mut known = self.priced.lock().expect("nobody panics with it");
        Ok((Arc::clone(known.entry(terms).or_insert(Arc::new(priced))), batches))
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

pub(super) fn check_metrics<R: Real>(plan: &Plan, data: &Dataset<R>) -> Result<(), PlanError> {
    let signs = matches!(data.targets(), Targets::Sign(_));
    let counts = signs || matches!(data.targets(), Targets::Class { .. });
    let wrong = |metric: &Metric, what: &str| {
        let message = format!("{} is {what}", metric.name());
        Err(PlanError::new("evaluate.metrics", message))
    };
    for metric in &plan.evaluate.metrics {
        if matches!(metric, Metric::Accuracy | Metric::AverageAccuracy | Metric::NodeAccuracy)
            && !counts
        {
            return wrong(metric, "of signs and classes; take \"loss\" for these records");
        }
        if metric.is_fairness() && !(signs && data.groups().is_some()) {
            return wrong(metric, "of signs of two groups; give a column of kind \"group\"");
        }
    }
    Ok(())
}
