//! A plan that was checked: everything a driver needs to run it.

mod admm;
mod algorithm;
mod assemble;
mod batches;
mod charge;
mod checked;
mod data;
mod fair;
mod forecast;
mod guarantees;
mod learning;
mod model;
mod network;
mod pricing;
mod protection;
mod records;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use undertone_graph::{Family, Weights};
use undertone_model::Model;
use undertone_privacy::ledger::OpenError;
use undertone_privacy::noise::Key;
use undertone_protocol::Topology;
use undertone_real::Real;

use crate::oracle::Oracle;
use crate::plan::{AlgorithmWord, ClipPlan, DataPlan, NoisePlan, Plan, PlanError, Target};
use fair::Fair;
use learning::Learning;
use protection::Protection;

pub use admm::{Minimiser, recycling_converges};
pub use algorithm::Algorithm;
pub use assemble::{AssembleError, Visitor, Wanted};
pub use forecast::{Constant, Constants, Estimated, Forecast, Group, Origin, PaperChoice, Row};
pub use learning::{Learner, Problem};
pub use model::OwnObjective;
pub use network::schedule_of;
pub use protection::Claim;
pub use records::{Examples, Records};

/// An experiment that can be run: its numbers are in range and go together.
pub struct Experiment {
    plan: Plan,
    algorithm: Algorithm,
    family: Option<Family>,
    kind: Kind,
}

/// What the nodes are about.
enum Kind {
    /// They agree on a mean.
    Averaging {
        protection: Arc<Protection>,
        /// Of nodes with budgets of their own.
        personal: BTreeMap<u32, Arc<Protection>>,
    },
    /// They agree on what a fair classifier is made of.
    Fair(Box<Fair>),
    /// They learn a model.
    Learning(Box<Learning>),
}

impl Experiment {
    /// Checks a variant of a plan. With a model that learns from files, their records are given.
    pub fn new(plan: &Plan, records: Option<Records>) -> Result<Self, PlanError> {
        Self::with(plan, records, None, None)
    }

    /// Checks a plan with `model = { kind = "own" }` for nodes that learn by gradient steps from
    /// these records, with an objective that no plan can name.
    pub fn with_objective(
        plan: &Plan,
        records: Option<Records>,
        objective: OwnObjective,
    ) -> Result<Self, PlanError> {
        objective.check(plan)?;
        Self::with(plan, records, None, Some(objective))
    }

    /// Finds what is wrong with a plan before anything is read or priced: keys that are missing or
    /// do not go together. To check all variants so, first, saves the time to price some of them.
    pub fn glance(plan: &Plan) -> Result<(), PlanError> {
        check_run(plan)?;
        network::family(&plan.network)?;
        check_own_budgets(plan)?;
        Algorithm::check(plan)
    }

    /// Checks a plan for one node that has these records all to itself: nothing is dealt, and it is
    /// the only [learner](Self::learners).
    pub fn of_owner(plan: &Plan, records: Option<Records>, owner: u32) -> Result<Self, PlanError> {
        Self::with(plan, records, Some(owner), None)
    }

    fn with(
        plan: &Plan,
        records: Option<Records>,
        owner: Option<u32>,
        own: Option<OwnObjective>,
    ) -> Result<Self, PlanError> {
        Self::glance(plan)?;
        let family = network::family(&plan.network)?;
        let (algorithm, kind) = if fair::is_fair(plan) {
            let fair = Fair::new(plan, records, owner)?;
            (Algorithm::new(plan, fair.dimension())?, Kind::Fair(Box::new(fair)))
        } else if plan.model.is_some() {
            let learning = Learning::new(plan, records, owner, own)?;
            (learning.algorithm(), Kind::Learning(Box::new(learning)))
        } else {
            let numbers = plan.data.numbers();
            data::check(numbers, plan.network.nodes)?;
            (Algorithm::new(plan, numbers.dimension)?, averaging(plan)?)
        };
        let mut experiment = Self { plan: plan.clone(), algorithm, family, kind };
        let topology = experiment.topology(plan.seed)?;
        if let (Kind::Learning(learning), Algorithm::Admm) = (&mut experiment.kind, algorithm) {
            learning.price_minimisers(plan, &topology)?;
        }
        Ok(experiment)
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The family of its graphs; none if the schedule says it all.
    pub fn family(&self) -> Option<&Family> {
        self.family.as_ref()
    }

    /// How many nodes.
    pub fn nodes(&self) -> u32 {
        self.plan.network.nodes
    }

    /// The seeds it is run with.
    pub fn seeds(&self) -> impl Iterator<Item = u64> + use<> {
        let first = self.plan.seed;
        (0..self.plan.run.repeat).map(move |k| first.wrapping_add(k))
    }

    /// Who hears whom, with what weights.
    pub fn topology(&self, seed: u64) -> Result<Topology, PlanError> {
        let network = &self.plan.network;
        let schedule = schedule_of(network, self.family.as_ref(), seed)?;
        network::check(&schedule, network, self.algorithm)?;
        let topology = Topology::new(schedule);
        Ok(match (self.algorithm, network.weights) {
            (Algorithm::Surplus { .. } | Algorithm::SurplusGradient { .. }, _) => {
                topology.with_pull(Weights::In, 0.0).with_push(Weights::Out)
            }
            (_, Some(weights)) => {
                topology.with_pull(network::rule(weights), network.lazy.unwrap_or(0.0))
            }
            (_, None) => topology,
        })
    }

    /// How many numbers an estimate has.
    pub fn dimension(&self) -> usize {
        match &self.kind {
            Kind::Averaging { .. } => self.plan.data.numbers().dimension,
            Kind::Fair(fair) => fair.dimension(),
            Kind::Learning(learning) => learning.dimension(),
        }
    }

    /// The numbers of a node that averages, one record after the other, as they are: for its
    /// oracle, and for an evaluator that sees everything. Panics if there is a model.
    pub fn data(&self, seed: u64, node: u32) -> Vec<f64> {
        data::of(self.plan.data.numbers(), seed, node)
    }

    /// Whether nodes take gradient steps, so that they are [`learners`](Self::learners); otherwise
    /// they agree on a mean.
    pub fn learns(&self) -> bool {
        matches!(self.kind, Kind::Learning(_))
    }

    /// The oracle of every node that averages, with its data, its noise and its open ledger.
    /// Panics if nodes take gradient steps.
    pub fn oracles<R: Real>(&self, seed: u64) -> Result<Vec<Oracle<R>>, OpenError> {
        if let Kind::Fair(fair) = &self.kind {
            return fair.oracles(seed);
        }
        (0..self.nodes()).map(|node| self.oracle(seed, node, self.data(seed, node))).collect()
    }

    /// The oracle of one node that averages these numbers. Panics if there is a model.
    pub fn oracle<R: Real>(
        &self,
        seed: u64,
        node: u32,
        numbers: Vec<f64>,
    ) -> Result<Oracle<R>, OpenError> {
        let Kind::Averaging { protection, personal } = &self.kind else {
            panic!("nodes that learn a model are learners");
        };
        let protection = personal.get(&node).unwrap_or(protection);
        let private = protection.private(self.plan.data.numbers(), numbers);
        let (event, budget) = (protection.event.clone(), protection.budget);
        Oracle::open(node, private, event, budget, Key::from_seed(seed), Vec::new())
    }

    /// Every node that learns, with its records, its noise and its open ledger. Panics if there is
    /// no model, or the numbers are not those of the plan.
    pub fn learners<R: Real>(&self, seed: u64) -> Result<Vec<Learner<R>>, PlanError> {
        self.learning().learners(&self.plan, seed)
    }

    /// Every node that learns by local minima, with its neighbours, its records, its noise and its
    /// open ledger. Panics if the plan is for another algorithm, or the numbers are not its.
    pub fn minimisers<R: Real>(&self, seed: u64) -> Result<Vec<Minimiser<R>>, PlanError> {
        self.learning().minimisers(&self.plan, &self.topology(seed)?, seed)
    }

    /// Where all nodes that learn start. Panics if there is no model.
    pub fn initial<R: Real>(&self, seed: u64) -> Vec<R> {
        self.learning().initial(seed)
    }

    /// What is minimised, if there is a model, for an evaluator that sees everything. Panics if the
    /// numbers are not those of the plan.
    pub fn problem<R: Real>(&self) -> Option<Problem<'_, R>> {
        match &self.kind {
            Kind::Averaging { .. } => None,
            Kind::Fair(fair) => Some(fair.problem()),
            Kind::Learning(learning) => Some(learning.problem()),
        }
    }

    /// The model whose parameters [`Self::parameters`] are, if there is one that a plan can name.
    pub fn model(&self) -> Option<Model> {
        match &self.kind {
            Kind::Averaging { .. } => None,
            Kind::Fair(fair) => Some(fair.model()),
            Kind::Learning(learning) => learning.model(),
        }
    }

    /// The parameters of the problem that estimates stand for: themselves, unless they are sums of
    /// which a classifier is made.
    pub fn parameters(&self, estimate: Vec<f64>) -> Vec<f64> {
        match &self.kind {
            Kind::Fair(fair) => fair.classifier(&estimate),
            Kind::Averaging { .. } | Kind::Learning(_) => estimate,
        }
    }

    /// What the algorithm's paper claims for the noise of a node, if that is another thing than
    /// what the node's ledger promises.
    pub fn claim(&self, node: u32) -> Option<&Claim> {
        match &self.kind {
            Kind::Averaging { protection, personal } => {
                personal.get(&node).unwrap_or(protection).claim.as_ref()
            }
            Kind::Fair(fair) => fair.claim(node),
            Kind::Learning(learning) => learning.claim(node),
        }
    }

    /// What is to be said of a run beside its guarantees.
    pub fn notes(&self) -> Vec<String> {
        match &self.kind {
            Kind::Averaging { .. } | Kind::Fair(_) => Vec::new(),
            Kind::Learning(_) => charge::note(&self.plan).into_iter().collect(),
        }
    }

    fn learning(&self) -> &Learning {
        match &self.kind {
            Kind::Averaging { .. } | Kind::Fair(_) => panic!("these nodes take no gradient steps"),
            Kind::Learning(learning) => learning,
        }
    }
}

fn averaging(plan: &Plan) -> Result<Kind, PlanError> {
    let protection = Arc::new(Protection::new(plan, None)?);
    let mut personal = BTreeMap::new();
    for (index, own) in plan.privacy.iter().flat_map(|p| p.node.iter().enumerate()) {
        let key = format!("privacy.node.{index}");
        personal.insert(own.node, Arc::new(Protection::new(plan, Some((own, &key)))?));
    }
    Ok(Kind::Averaging { protection, personal })
}

fn check_own_budgets(plan: &Plan) -> Result<(), PlanError> {
    let mut seen = BTreeSet::new();
    for (index, own) in plan.privacy.iter().flat_map(|p| p.node.iter().enumerate()) {
        let error = |message| Err(PlanError::new(format!("privacy.node.{index}.node"), message));
        if own.node >= plan.network.nodes {
            return error(format!("there are only nodes 0 to {}", plan.network.nodes - 1));
        }
        if !seen.insert(own.node) {
            return error(format!("node {} has two budgets; leave one out", own.node));
        }
    }
    Ok(())
}

fn check_run(plan: &Plan) -> Result<(), PlanError> {
    let error = |key: &str, message: &str| Err(PlanError::new(key, message));
    let named = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if plan.name.is_empty() || !plan.name.chars().all(named) || plan.name.starts_with('.') {
        return error("name", "names a folder: letters, digits, - and _ only");
    }
    if plan.run.rounds == 0 {
        return error("run.rounds", "must be at least 1");
    }
    if plan.run.repeat == 0 {
        return error("run.repeat", "must be at least 1");
    }
    if plan.run.stop_below.is_some_and(|limit| !(limit > 0.0 && limit.is_finite())) {
        return error("run.stop-below", "must be positive and finite; leave it out to run on");
    }
    if plan.evaluate.every == 0 {
        return error("evaluate.every", "must be at least 1");
    }
    if plan.evaluate.metrics.is_empty() {
        return error("evaluate.metrics", "needs at least one metric, such as \"residual\"");
    }
    if plan.algorithm.name.takes_model() && plan.evaluate.target == Target::Released {
        return error("evaluate.target", "gradient steps have no released mean; take \"data\"");
    }
    check_kind(plan)
}

/// Whether all parts of a plan are about a model, or none.
fn check_kind(plan: &Plan) -> Result<(), PlanError> {
    let error = |key: &str, message: String| Err(PlanError::new(key, message));
    let learns = plan.model.is_some();
    match (learns, plan.algorithm.name) {
        (false, name) if name.learns() => {
            let name = word(name);
            let message = format!("{name} learns one; add [model] with kind = \"logistic\"");
            return error("model", message);
        }
        (true, name) if !name.takes_model() && !fair::is_fair(plan) => {
            let name = word(name);
            let message = format!("{name} has no gradients; take priv-sgp, dp2-sgd or dsgd");
            return error("algorithm.name", message);
        }
        _ => {}
    }
    if let (false, DataPlan::Records(_)) = (learns, &plan.data) {
        let message = "averages need numbers: source = \"uniform\" with a dimension, or values; \
                       records need a [model]";
        return error("data", message.into());
    }
    if let Some(metric) = plan.evaluate.metrics.iter().find(|metric| !metric.is_of(learns)) {
        let (what, other) = match learns {
            true => ("averages", "loss, accuracy, node-loss, node-accuracy or consensus-error"),
            false => ("models", "residual, mean-error, loss or consensus-error"),
        };
        let message = format!("{} is a metric of {what}; take {other}", metric.name());
        return error("evaluate.metrics", message);
    }
    let privacy = plan.privacy.as_ref();
    let clip = privacy.map(|privacy| privacy.clip);
    if let (false, Some(ClipPlan::Adaptive(_) | ClipPlan::Norm(_))) = (learns, clip) {
        let message = "records are clipped to a set, such as { clip = \"box\", radius = 1.0 }";
        return error("privacy.clip", message.into());
    }
    if !learns && plan.run.stop_on_budget {
        let message = "an average is released once; leave it out".into();
        return error("run.stop-on-budget", message);
    }
    if !learns && privacy.is_some_and(|privacy| privacy.adjacency.is_some()) {
        return error("privacy.adjacency", "averages hide replacement; leave it out".into());
    }
    Ok(())
}

/// As in a plan.
fn word(name: AlgorithmWord) -> String {
    name.facts().name.into()
}

/// Whether somebody chose the noise, so that the budget follows from it.
fn is_fixed(noise: NoisePlan) -> bool {
    matches!(noise, NoisePlan::Fixed { .. })
}
