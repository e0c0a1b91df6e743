//! Fair classification: nodes agree on noisy sums, and everybody minimises what they make.

mod noise;
mod written;

use std::collections::BTreeMap;

use undertone_model::dataset::Targets;
use undertone_model::fair::Statistics;
use undertone_model::partition::Partition;
use undertone_model::{Dataset, Model};
use undertone_privacy::ledger::{Header, Ledger, OpenError};
use undertone_privacy::noise::Key;
use undertone_real::Real;

use super::learning::{self, Problem, examples, own_budget};
use super::protection::Claim;
use super::records::{Examples, Records};
use crate::oracle::Oracle;
use crate::plan::{AlgorithmWord, ClipPlan, Metric, Plan, PlanError, Precision};
use crate::private::{Bound, Private, PrivateStatistics};
use noise::Shield;
use written::Written;

/// What an experiment with a fair classifier has beside its plan.
pub(super) struct Fair {
    records: Records,
    split: Partition,
    written: Written,
    statistics: Statistics,
    /// Of nodes without a budget of their own.
    common: Shield,
    own: BTreeMap<u32, Shield>,
    nodes: u32,
    /// The records of all nodes; public.
    total: usize,
    /// Numbers of a record.
    width: usize,
    /// The node that has all of these records, if nothing is dealt. It knows no other's.
    owner: Option<u32>,
}

/// Whether a plan is about a fair classifier.
pub(super) fn is_fair(plan: &Plan) -> bool {
    let kind = plan.model.as_ref().and_then(|model| model.get("kind"));
    kind.and_then(|kind| kind.as_str()) == Some(KIND)
}

pub(super) const KIND: &str = "fair-logistic";

impl Fair {
    pub(super) fn new(
        plan: &Plan,
        records: Option<Records>,
        owner: Option<u32>,
    ) -> Result<Self, PlanError> {
        check(plan)?;
        let records = learning::records(plan, records)?;
        match records.precision() {
            Precision::F32 => Self::with::<f32>(plan, records, owner),
            Precision::F64 => Self::with::<f64>(plan, records, owner),
        }
    }

    fn with<R: Real>(plan: &Plan, records: Records, owner: Option<u32>) -> Result<Self, PlanError> {
        let examples = examples::<R>(&records);
        check_records(&examples.train)?;
        learning::check_metrics(plan, &examples.train)?;
        let written = Written::read(plan)?;
        let statistics = written.statistics(examples.train.width())?;
        let common = Shield::new(plan, &written, &statistics, None)?;
        let mut own = BTreeMap::new();
        for node in 0..plan.network.nodes {
            if let Some((budget, key)) = own_budget(plan, node) {
                let shield = Shield::new(plan, &written, &statistics, Some((budget, &key)))?;
                own.insert(node, shield);
            }
        }
        let split = learning::split(plan, examples)?;
        let total = examples.train.records();
        let nodes = plan.network.nodes;
        let width = examples.train.width();
        let fair =
            Self { records, split, written, statistics, common, own, nodes, total, width, owner };
        fair.deal::<R>(plan.seed)?;
        Ok(fair)
    }

    /// How many numbers nodes agree on.
    pub(super) fn dimension(&self) -> usize {
        self.statistics.dimension()
    }

    pub(super) fn claim(&self, node: u32) -> Option<&Claim> {
        self.shield(node).claim.as_ref()
    }

    pub(super) fn problem<R: Real>(&self) -> Problem<'_, R> {
        let Examples { train, test, .. } = examples(&self.records);
        Problem { objective: self.model().tabled().into(), train, test: test.as_ref() }
    }

    /// What the classifier is.
    pub(super) fn model(&self) -> Model {
        Model::Logistic { features: self.width, intercept: false }
    }

    /// The classifier that the mean of all nodes' sums makes: post-processing. Panics for a single
    /// owner, who does not know how many records the others have.
    pub(super) fn classifier(&self, mean: &[f64]) -> Vec<f64> {
        assert!(self.owner.is_none(), "whoever makes the classifier knows all records' number");
        let n_nodes = f64::from(self.nodes);
        let sums: Vec<f64> = mean.iter().map(|v| v * n_nodes).collect();
        let records = self.total as f64;
        let polynomial = self.statistics.polynomial(&sums, records);
        let squares = (0..self.nodes).map(|node| self.shield(node).noise.deviation().powi(2));
        let deviation = self.statistics.quadratic_noise(squares.sum::<f64>().sqrt()) / records;
        let ridge = self.written.ridge(deviation, polynomial.linear.len());
        polynomial.minimiser(self.written.alpha(), self.written.tau, ridge)
    }

    pub(super) fn oracles<R: Real>(&self, seed: u64) -> Result<Vec<Oracle<R>>, OpenError> {
        let train = &examples::<R>(&self.records).train;
        let parts = self.deal::<R>(seed).expect("the same split was made for another seed");
        let open = |(node, part): (u32, Vec<usize>)| {
            let Shield { noise, event, budget, .. } = self.shield(node);
            let sums = PrivateStatistics::new(&self.statistics, &train.select(&part), *noise)
                .expect("the noise was priced with this sensitivity");
            let private = Private::Statistics(sums);
            let (adjacency, unit) = (noise::ADJACENCY, private.unit());
            let filter = noise::filter(event);
            let header = Header { node, budget: *budget, adjacency, unit, filter };
            let ledger = Ledger::open(header, Vec::new())?;
            Ok(Oracle::new(private, ledger, Key::from_seed(seed)))
        };
        (0..).zip(parts).map(open).collect()
    }

    fn shield(&self, node: u32) -> &Shield {
        self.own.get(&node).unwrap_or(&self.common)
    }

    fn deal<R: Real>(&self, seed: u64) -> Result<Vec<Vec<usize>>, PlanError> {
        let train = &examples::<R>(&self.records).train;
        if let Some(owner) = self.owner {
            let all = |node| if node == owner { (0..train.records()).collect() } else { vec![] };
            return Ok((0..self.nodes).map(all).collect());
        }
        let parts = self.split.split(train, self.nodes as usize, seed);
        parts.map_err(|error| PlanError::new("data.split", error.to_string()))
    }
}

fn check(plan: &Plan) -> Result<(), PlanError> {
    let error = |key: &str, message: &str| Err(PlanError::new(key, message));
    use AlgorithmWord::{Gossip, PushSum, RunningSum};
    if !matches!(plan.algorithm.name, Gossip | PushSum | RunningSum) {
        let message = "nodes agree on sums for a fair classifier; take push-sum, running-sum or \
                       gossip";
        return error("algorithm.name", message);
    }
    if let Some(privacy) = &plan.privacy {
        let unit = ClipPlan::Within(Bound::Ball { radius: 1.0 });
        if privacy.clip != unit {
            let message = "records of a fair classifier are in the unit ball; take { clip = \
                           \"ball\", radius = 1.0 } and scale features in [data]";
            return error("privacy.clip", message);
        }
        if privacy.adjacency.is_some_and(|adjacency| adjacency != noise::ADJACENCY) {
            return error("privacy.adjacency", "sums hide replacement; take \"replace\"");
        }
    }
    if plan.run.stop_on_budget {
        return error("run.stop-on-budget", "sums are released once; leave it out");
    }
    match plan.evaluate.metrics.contains(&Metric::NodeLoss) {
        true => error("evaluate.metrics", "node-loss is of models that are trained; take loss"),
        false => Ok(()),
    }
}

fn check_records<R: Real>(data: &Dataset<R>) -> Result<(), PlanError> {
    let error = |message: String| Err(PlanError::new("data", message));
    if !matches!(data.targets(), Targets::Sign(_)) {
        return error("a fair classifier tells two classes apart; give a target of two".into());
    }
    let Some(groups) = data.groups() else {
        let message = "a fair classifier needs a protected attribute; give a column of kind \
                       \"group\", or take source = \"census\"";
        return error(message.into());
    };
    match groups.iter().max() {
        Some(most) if *most > 1 => {
            let groups = most + 1;
            error(format!(
                "the protected attribute has {groups} groups; make two of them with protected = \
                 {{ column = \"...\", against = \"...\" }} in [data]"
            ))
        }
        _ => Ok(()),
    }
}
