//! Choosing noise and rounds: what every number of rounds costs in noise, and what error is to be
//! expected of it.

mod agreement;
mod bound;
mod constants;
mod types;

use std::collections::BTreeMap;

use undertone_privacy::accountant::Accountant;
use undertone_privacy::claims::privsgp::{
    Gradients, single_index_event, table_event, theorem_2_sigma,
};
use undertone_privacy::event::SagaSampling;
use undertone_privacy::noise::Key;
use undertone_privacy::sampler::Sampler;
use undertone_privacy::units::{Adjacency, Epsilon, OutOfRange, Scale};
use undertone_protocol::StepSize;
use undertone_real::Real;

use super::batches::Batches;
use super::charge::{Charge, Statement};
use super::learning::{Learning, own_budget};
use super::pricing::{C2, COUNTS, Run, Terms};
use super::protection::{Asked, at};
use super::records::Records;
use super::{Algorithm, Experiment, Kind};
use crate::plan::{
    AlgorithmWord, EstimatePlan, NoisePlan, Plan, PlanError, PlanningPlan, Precision, PrivacyPlan,
};
use agreement::Agreement;
use bound::{Setting, best_step, descent, equation_12, theorem_1};
use constants::Found;

pub use constants::{Constant, Constants, Origin};
pub use types::{Estimated, Forecast, Group, PaperChoice, Row};

/// More rounds than these are not tried.
const MOST_ROUNDS: u64 = 10_000_000;
const MOST_POINTS: u64 = 200;
const POINTS: u64 = 13;
/// The grid around `run.rounds`.
const SPREAD: u64 = 30;

/// Estimates have ledgers of their own, and with them keys.
const ESTIMATES: u64 = 0x6573_7469_6d61_7465;
/// Generators draw other records by it.
const OTHERS: u64 = 0x6f74_6865_7273_2121;

impl Experiment {
    /// What noise and what error to expect of every number of rounds in a logarithmic grid. With
    /// an estimate from public data, its records are given. Bounds are predictions; the noise and
    /// its price are not.
    pub fn forecast(&self, public: Option<&Records>) -> Result<Forecast, PlanError> {
        let plan = self.plan();
        let Kind::Learning(learning) = &self.kind else {
            let message = "an average is released once, so there are no rounds to choose; plan a \
                           model, with priv-sgp, priv-sgp-vr or dp2-sgd";
            return Err(PlanError::new("algorithm.name", message));
        };
        let Some(privacy) = &plan.privacy else {
            let message = "there is no budget to plan for; add [privacy] with epsilon and delta";
            return Err(PlanError::new("privacy", message));
        };
        if let NoisePlan::Fixed { .. } = privacy.noise {
            let message = "is fixed, so there is nothing to choose; take \"sound\" and an epsilon";
            return Err(PlanError::new("privacy.noise", message));
        }
        use AlgorithmWord::{Dp2Sgd, PrivSgp, PrivSgpVr};
        if !matches!(plan.algorithm.name, Dp2Sgd | PrivSgp | PrivSgpVr) {
            let message = "is not one whose rounds can be chosen; take priv-sgp, priv-sgp-vr or \
                           dp2-sgd";
            return Err(PlanError::new("algorithm.name", message));
        }
        let task = Task { experiment: self, learning, plan, privacy };
        match plan.run.precision {
            Precision::F32 => task.forecast::<f32>(public),
            Precision::F64 => task.forecast::<f64>(public),
        }
    }
}

/// What is to be planned.
struct Task<'a> {
    experiment: &'a Experiment,
    learning: &'a Learning,
    plan: &'a Plan,
    privacy: &'a PrivacyPlan,
}

/// Nodes that are alike.
struct Alike {
    node: u32,
    nodes: u32,
    records: usize,
    asked: Asked,
}

impl Task<'_> {
    fn forecast<R: Real>(&self, public: Option<&Records>) -> Result<Forecast, PlanError> {
        let plan = self.plan;
        let table = plan.plan.clone().unwrap_or_default();
        let parts = self.learning.deal::<R>(plan, plan.seed)?;
        let alike = self.alike(&parts)?;
        let first = self.run_of(alike[0].records, 1)?;
        let (clip, adjacency) = (first.clip, first.adjacency());
        let start: Vec<R> = self.learning.initial(plan.seed);
        let statements = self.statements(&parts, &start)?;
        let found = match &statements {
            Some((said, _)) => Some((Found::in_statements(said), Origin::Private)),
            None => self.found(&table, public, &start, clip.get())?,
        };
        let square = start.iter().map(|v| v.to_f64().powi(2)).sum();
        let constants = Constants::new(&table, found, square, clip.get())?;
        let constant = table.constant.unwrap_or(C2);
        if !(constant > 0.0 && constant.is_finite()) {
            let message = format!("must be positive and finite, got {constant}");
            return Err(PlanError::new("plan.constant", message));
        }
        let dimension = self.learning.dimension();
        let spread = |alike: &Alike| -> Result<f64, PlanError> {
            let sigma = self.paper_sigma(alike, clip.get(), constant, 1);
            Ok(f64::from(alike.nodes) * sigma.map_err(at("plan.constant"))?.powi(2))
        };
        let spread = alike.iter().map(spread).sum::<Result<f64, _>>()?;
        let spread = spread / f64::from(plan.network.nodes);
        let exact = equation_12(&constants, dimension as f64, spread);
        let rounds = (exact.round() as u64).max(1);
        let rounds = (exact.is_finite() && rounds <= MOST_ROUNDS).then_some(rounds);
        let paper = PaperChoice { constant, exact, rounds };
        let agreement = self.agreement()?;
        let mut rows = Vec::new();
        let mut unpredicted = None;
        for rounds in self.grid(&table, rounds)? {
            match self.row(rounds, &alike, &constants, constant, &agreement) {
                Ok((row, missing)) => {
                    unpredicted = unpredicted.or(missing);
                    rows.push(row);
                }
                // So many noisy counts cost too much, but fewer may not.
                Err(error) if error.key == COUNTS && !rows.is_empty() => {
                    unpredicted = unpredicted.or(Some(format!("for {rounds} rounds {error}")));
                }
                Err(error) => return Err(error),
            }
        }
        let of_plan = rows.iter().any(|row| row.error.is_some());
        let error = |row: &Row| if of_plan { row.error } else { row.best_error };
        let known = rows.iter().filter_map(|row| Some((row.rounds, error(row)?)));
        let ours = known.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(rounds, _)| rounds);
        let estimated = statements.map(|(_, estimated)| estimated);
        let (nodes, clip) = (plan.network.nodes, clip.get());
        Ok(Forecast {
            nodes,
            dimension,
            clip,
            adjacency,
            constants,
            estimated,
            rows,
            paper,
            ours,
            unpredicted,
        })
    }

    /// Nodes by their terms, in the order of the first of each.
    fn alike(&self, parts: &[Vec<usize>]) -> Result<Vec<Alike>, PlanError> {
        let mut known: BTreeMap<Terms, usize> = BTreeMap::new();
        let mut all: Vec<Alike> = Vec::new();
        for (node, part) in (0..).zip(parts) {
            let own = own_budget(self.plan, node);
            let records = part.len();
            let batches = Batches::new(self.plan, node, records, 1)?;
            let one = own.as_ref().map(|(own, _)| *own);
            let terms = Terms::new(self.plan, one, records, &batches);
            if let Some(place) = known.get(&terms) {
                all[*place].nodes += 1;
                continue;
            }
            known.insert(terms, all.len());
            let own = own.as_ref().map(|(own, key)| (*own, key.as_str()));
            let asked = self.run_of(records, 1)?.asked(self.privacy, own)?;
            all.push(Alike { node, nodes: 1, records, asked });
        }
        Ok(all)
    }

    /// What nodes say of their own records, if the plan wants that, and what it costs.
    fn statements<R: Real>(
        &self,
        parts: &[Vec<usize>],
        start: &[R],
    ) -> Result<Option<(Vec<Statement>, Estimated)>, PlanError> {
        let problem = self.learning.problem::<R>();
        let (mut said, mut estimated) = (Vec::new(), None::<Estimated>);
        let key = Key::from_seed(self.plan.seed ^ ESTIMATES);
        for (node, part) in (0..).zip(parts) {
            let run = self.run_of(part.len(), 1)?;
            let own = own_budget(self.plan, node);
            let own = own.as_ref().map(|(own, key)| (*own, key.as_str()));
            let asked = Asked::new(self.privacy, own)?;
            let Some(charge) = Charge::of(self.plan, &asked, run.adjacency())? else {
                return Ok(None);
            };
            let data = problem.train.select(part);
            let one = charge.state(node, &*problem.objective, &data, start, run.clip, &key)?;
            let spent = charge.spent();
            if estimated.as_ref().is_none_or(|known| spent.epsilon > known.epsilon) {
                let guarantee = one.guarantee.to_string();
                let (event, epsilon, delta) = (charge.event(), spent.epsilon, spent.delta);
                estimated = Some(Estimated { event, epsilon, delta, guarantee });
            }
            said.push(one);
        }
        Ok(estimated.map(|estimated| (said, estimated)))
    }

    /// What records that are no secret show.
    fn found<R: Real>(
        &self,
        table: &PlanningPlan,
        public: Option<&Records>,
        start: &[R],
        clip: f64,
    ) -> Result<Option<(Found, Origin)>, PlanError> {
        let mut others = self.plan.clone();
        others.seed ^= OTHERS;
        let drawn = || Records::drawn(&others);
        let (records, origin) = match &table.estimate {
            Some(EstimatePlan::Public(_)) => {
                let missing = || PlanError::new("plan.estimate.public", "its records are not read");
                (public.cloned().ok_or_else(missing)?, Origin::Public)
            }
            Some(EstimatePlan::Generator) => {
                let message = "the records of [data] are in files and have no generator; take \
                               { public = { recipe = \"...\" } }, or give the constants";
                let missing = || PlanError::new("plan.estimate", message);
                (drawn()?.ok_or_else(missing)?, Origin::Generator)
            }
            _ => match drawn()? {
                Some(records) => (records, Origin::Generator),
                None => return Ok(None),
            },
        };
        let Some(examples) = records.examples::<R>() else {
            let message = "its records are not in the precision of the run";
            return Err(PlanError::new("plan.estimate", message));
        };
        let (objective, split) = self.learning.measure(&examples.train)?;
        let nodes = self.plan.network.nodes;
        let found = Found::in_public(&*objective, &examples.train, split, nodes, clip, start)?;
        Ok(Some((found, origin)))
    }

    fn agreement(&self) -> Result<Agreement, PlanError> {
        let topology = self.experiment.topology(self.plan.seed)?;
        let mixes_first = matches!(self.experiment.algorithm(), Algorithm::Dsgd { .. });
        Agreement::of(&topology, mixes_first)
    }

    /// Numbers of rounds, evenly on a logarithmic scale; those of the plan and of the paper, too.
    fn grid(&self, table: &PlanningPlan, paper: Option<u64>) -> Result<Vec<u64>, PlanError> {
        let error = |key: &str, message: String| Err(PlanError::new(key, message));
        let rounds = self.plan.run.rounds;
        let least = table.least_rounds.unwrap_or((rounds / SPREAD).max(1));
        let most = table.most_rounds.unwrap_or(rounds.saturating_mul(SPREAD).min(MOST_ROUNDS));
        let points = table.points.unwrap_or(POINTS);
        if least == 0 || least > most {
            let message = format!("must be at least 1 and at most most-rounds ({most})");
            return error("plan.least-rounds", message);
        }
        if most > MOST_ROUNDS {
            return error("plan.most-rounds", format!("must be at most {MOST_ROUNDS}, got {most}"));
        }
        if !(1..=MOST_POINTS).contains(&points) {
            return error("plan.points", format!("must be between 1 and {MOST_POINTS}"));
        }
        let ratio = (most as f64 / least as f64).ln() / (points.max(2) - 1) as f64;
        let on_grid = (0..points).map(|k| (least as f64 * (k as f64 * ratio).exp()).round() as u64);
        let named = [Some(rounds), paper].into_iter().flatten().filter(|k| *k <= MOST_ROUNDS);
        let mut all: Vec<u64> = on_grid.chain(named).map(|k| k.clamp(1, MOST_ROUNDS)).collect();
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    fn row(
        &self,
        rounds: u64,
        alike: &[Alike],
        constants: &Constants,
        constant: f64,
        agreement: &Agreement,
    ) -> Result<(Row, Option<String>), PlanError> {
        let n = f64::from(self.plan.network.nodes);
        let dimension = self.learning.dimension() as f64;
        let (mut noise, mut batches, mut memory, mut paper_noise) = (0.0, 0.0, 0.0, 0.0);
        let mut groups = Vec::new();
        for alike in alike {
            let run = self.run_of(alike.records, rounds)?;
            let chosen = run.noise(NoisePlan::Sound, &alike.asked)?;
            let sigma = run.of_mean(chosen);
            let epsilon = run.price(chosen, alike.asked.delta)?;
            let paper_sigma = self.paper_sigma(alike, run.clip.get(), constant, rounds);
            let paper_sigma = paper_sigma.map_err(at("plan.constant"))?;
            let paper_epsilon = self.paper_price(alike, &run, paper_sigma, rounds)?;
            let share = f64::from(alike.nodes) / n;
            let drawn = (run.batch() / alike.records.max(1) as f64).min(1.0);
            noise += share * sigma * sigma;
            paper_noise += share * paper_sigma * paper_sigma;
            if run.sampler() != Sampler::Full {
                batches += share * (1.0 - drawn) * constants.variance.value / run.batch();
            }
            if run.remembers() {
                memory += share * (drawn * sigma).powi(2);
            }
            groups.push(Group {
                node: alike.node,
                nodes: alike.nodes,
                records: alike.records,
                budget: alike.asked.epsilon(),
                delta: alike.asked.delta,
                sigma,
                epsilon,
                paper_sigma,
                paper_epsilon,
            });
        }
        let setting = Setting { nodes: n, dimension, rounds, noise, batches, memory };
        let step = self.step(rounds);
        let predicted = descent(constants, &setting, agreement, step);
        let best = best_step(constants, &setting, agreement);
        let missing = predicted.err().map(|error| format!("for {rounds} rounds {error}"));
        let row = Row {
            rounds,
            groups,
            error: predicted.ok(),
            best_step: best.map(|(step, _)| step),
            best_error: best.map(|(_, error)| error),
            theorem_1: theorem_1(constants, &setting),
            equation_14: theorem_1(constants, &Setting { noise: paper_noise, ..setting }),
        };
        Ok((row, missing))
    }

    /// So many rounds of a node with so many records.
    fn run_of(&self, records: usize, rounds: u64) -> Result<Run<'_>, PlanError> {
        // Batches have one size in the algorithms that are planned, whichever the node.
        let batches = Batches::new(self.plan, 0, records, rounds)?;
        let (algorithm, dimension) = (self.learning.algorithm(), self.learning.dimension());
        Run::new(self.plan, algorithm, dimension, records, &batches)
    }

    /// The plan's, for so many rounds.
    fn step(&self, rounds: u64) -> StepSize {
        let written = self.plan.algorithm.step.expect("checked with the algorithm");
        written.size(self.plan.network.nodes, rounds)
    }

    /// 003 theorem 2.
    fn paper_sigma(
        &self,
        alike: &Alike,
        clip: f64,
        constant: f64,
        rounds: u64,
    ) -> Result<f64, OutOfRange> {
        let moved = if self.is_reduced() { 3.0 * clip } else { clip };
        let (epsilon, delta) = (alike.asked.epsilon(), alike.asked.delta);
        let records = alike.records as u64;
        theorem_2_sigma(constant, moved, epsilon, delta, rounds, records).map(|sigma| sigma.get())
    }

    /// What the paper's noise costs with the paper's own algorithm.
    fn paper_price(
        &self,
        alike: &Alike,
        run: &Run<'_>,
        sigma: f64,
        rounds: u64,
    ) -> Result<Epsilon, PlanError> {
        let wrong = at("plan.constant");
        let sigma = Scale::new(sigma).map_err(&wrong)?;
        let gradients = Gradients { records: alike.records as u64, clip: run.clip, rounds };
        let event = match self.is_reduced() {
            true => table_event(&gradients, SagaSampling::SingleIndex, sigma),
            false => single_index_event(&gradients, sigma).map_err(&wrong)?,
        };
        let delta = alike.asked.delta;
        let price = Accountant::Best.epsilon_upper(&event, Adjacency::Replace, delta);
        price.map(|bound| bound.epsilon).map_err(|e| PlanError::new("privacy", e.to_string()))
    }

    fn is_reduced(&self) -> bool {
        self.plan.algorithm.name == AlgorithmWord::PrivSgpVr
    }
}
