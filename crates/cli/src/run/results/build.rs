//! From outcomes to a report.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use undertone_node::Experiment;
use undertone_node::plan::{ChartPlan, Metric, Plan, Variant};
use undertone_privacy::units::Epsilon;
use undertone_report as report;
use undertone_report::{Claim, Nodes, Promise, Report, Spending, Spent, Spread, Stopped};
use undertone_sim::{Outcome, Run, Verdict};
use undertone_trace::{SCHEMA as TRACE_SCHEMA, hash_of};

use super::network::networks;
use crate::run::file::PlanFile;

/// What a report is made of.
pub struct Results<'a> {
    pub file: &'a PlanFile,
    /// What was set on the command line.
    pub set: &'a [String],
    pub experiments: &'a [(Variant, Experiment)],
    pub outcomes: &'a [Outcome],
    pub verdicts: &'a [Verdict],
    /// What was taken from the data and not declared: guarantees hold if it is public.
    pub assumptions: &'a [String],
}

/// More groups of nodes than this are not listed one by one.
const MOST_GROUPS: usize = 100;

/// More lines than this cannot be told apart.
const MOST_FOLLOWED: usize = 12;

impl Results<'_> {
    /// Puts everything together.
    pub fn report(&self) -> Report {
        let plan = self.experiments[0].1.plan();
        Report {
            schema: report::SCHEMA,
            name: plan.name.clone(),
            versions: BTreeMap::from([
                ("trace schema".into(), TRACE_SCHEMA.to_string()),
                ("undertone".into(), env!("CARGO_PKG_VERSION").into()),
            ]),
            plans: vec![report::PlanText {
                name: plan.name.clone(),
                text: self.file.text().into(),
                hash: hash_of(self.file.text().as_bytes()),
                set: self.set.to_vec(),
            }],
            taken_for_public: self.assumptions.to_vec(),
            warnings: Vec::new(),
            metrics: self.metrics(),
            varied: self.varied(),
            variants: self.outcomes.iter().map(variant).collect(),
            networks: networks(self.experiments, self.outcomes),
            chart: Some(chart(plan)),
            expected: self.verdicts.iter().map(|found| verdict(plan, found)).collect(),
            passed: self.verdicts.iter().all(|verdict| verdict.passed),
        }
    }

    fn varied(&self) -> Vec<String> {
        let first = self.outcomes.first().map(|outcome| &outcome.variant.settings);
        first.into_iter().flatten().map(|(key, _)| key.clone()).collect()
    }

    /// Of all variants, in the order of the plan.
    fn metrics(&self) -> Vec<report::Metric> {
        let mut metrics: Vec<report::Metric> = Vec::new();
        let all = self.experiments.iter().flat_map(|(_, e)| &e.plan().evaluate.metrics);
        for metric in all {
            let name = metric.name().to_string();
            if metrics.iter().any(|known| known.name == name) {
                continue;
            }
            use Metric::{Accuracy, DisparateImpact, GroupAccuracy, NodeAccuracy};
            let higher = [Accuracy, DisparateImpact, GroupAccuracy, NodeAccuracy].contains(metric);
            let fairness = metric.is_fairness();
            metrics.push(report::Metric { name, higher_is_better: higher, fairness });
        }
        metrics
    }
}

fn variant(outcome: &Outcome) -> report::Variant {
    let Variant { settings, plan, .. } = &outcome.variant;
    let first = outcome.runs.first().map(|traced| &traced.run);
    let (guarantees, guarantees_left_out) = first.map_or((Vec::new(), 0), promises);
    let finite = |epsilon: Epsilon| epsilon.get().is_finite().then_some(epsilon.get());
    let weakest = outcome.weakest();
    let claim = weakest.zip(first).and_then(|(weakest, run)| claim(run, weakest.node));
    let trace = |traced: &undertone_sim::Traced| report::Trace {
        seed: traced.run.seed,
        hash: traced.hash.clone(),
    };
    let names = first.and_then(|run| run.points.last()).map(|point| point.metrics.keys());
    let last = |name: &String| {
        let of = |run: &Run| run.points.last().and_then(|point| point.metrics.get(name).copied());
        Some((name.clone(), spread(outcome.runs.iter().map(|traced| of(&traced.run)))?))
    };
    report::Variant {
        label: outcome.variant.label(),
        settings: settings.iter().cloned().collect(),
        setup: setup(plan),
        algorithm: json!(plan.algorithm.name).as_str().unwrap_or_default().into(),
        about: plan.algorithm.name.facts().what.into(),
        nodes: plan.network.nodes,
        rounds: outcome.rounds(),
        messages: outcome.messages(),
        bytes: outcome.bytes(),
        metrics: names.into_iter().flatten().filter_map(last).collect(),
        epsilon: weakest.and_then(|guarantee| finite(guarantee.epsilon)),
        claim,
        guarantees,
        guarantees_left_out,
        spending: first.map_or(Vec::new(), spending),
        stopped: first.map_or(Vec::new(), stopped),
        notes: first.map_or(Vec::new(), |run| run.notes.clone()),
        plan_hash: hash_of(&serde_json::to_vec(plan).expect("a plan is plain data")),
        traces: outcome.runs.iter().map(trace).collect(),
        points: points(outcome),
    }
}

/// What was measured, as far as all repetitions went.
fn points(outcome: &Outcome) -> Vec<report::Point> {
    let point = |(k, mean): (usize, undertone_sim::Point)| {
        let at = |name: &String| {
            let of = |run: &Run| run.points[k].metrics.get(name).copied();
            Some((name.clone(), spread(outcome.runs.iter().map(|traced| of(&traced.run)))?))
        };
        let metrics = mean.metrics.keys().filter_map(at).collect();
        report::Point { round: mean.round, time: mean.time, metrics }
    };
    outcome.points().into_iter().enumerate().map(point).collect()
}

/// Nothing if a repetition has no value.
fn spread(values: impl Iterator<Item = Option<f64>>) -> Option<Spread> {
    let values: Vec<f64> = values.collect::<Option<_>>()?;
    Some(Spread::of(&values))
}

/// Nodes with the same promise, and how many groups are left out. What is spent tells groups apart
/// if there are few.
fn promises(run: &Run) -> (Vec<Promise>, usize) {
    let by_debits = grouped(run, true);
    let mut groups = if by_debits.len() > 8 { grouped(run, false) } else { by_debits };
    let left_out = groups.len().saturating_sub(MOST_GROUPS);
    if left_out > 0 {
        let epsilon = |promise: &Promise| promise.guarantee.epsilon.get();
        groups.sort_by(|a, b| epsilon(b).total_cmp(&epsilon(a)));
        groups.truncate(MOST_GROUPS);
    }
    (groups, left_out)
}

fn grouped(run: &Run, by_debits: bool) -> Vec<Promise> {
    let mut groups: Vec<Promise> = Vec::new();
    let mut known: BTreeMap<[u64; 5], usize> = BTreeMap::new();
    for guarantee in &run.guarantees {
        let claim = claim(run, guarantee.node);
        let debits = if by_debits { guarantee.debits } else { 0 };
        let key = [
            guarantee.epsilon.get().to_bits(),
            guarantee.delta.get().to_bits(),
            guarantee.budget.epsilon.get().to_bits(),
            claim.as_ref().map_or(0, |claim| claim.epsilon.to_bits()),
            debits,
        ];
        let place = *known.entry(key).or_insert(groups.len());
        if place == groups.len() {
            let (nodes, guarantee) = (Nodes::default(), guarantee.clone());
            groups.push(Promise { nodes, guarantee, claim });
        }
        groups[place].nodes.push(guarantee.node);
    }
    groups
}

fn claim(run: &Run, node: u32) -> Option<Claim> {
    let claim = run.claims.get(node as usize)?.as_ref()?;
    let (epsilon, delta) = (claim.epsilon.get(), claim.delta.get());
    Some(Claim { source: claim.source.into(), epsilon, delta })
}

/// Nodes that spent the same at all times are one group; of many, those that spent most.
fn spending(run: &Run) -> Vec<Spending> {
    let mut groups: Vec<Spending> = Vec::new();
    for (index, (node, count)) in run.spending.nodes.iter().enumerate() {
        let at = |spent: &undertone_sim::Spent| {
            let epsilon = spent.epsilons[index].map(Epsilon::get);
            Spent { round: spent.round, time: spent.time, epsilon }
        };
        let points: Vec<Spent> = run.spending.points.iter().map(at).collect();
        match groups.iter_mut().find(|group| group.points == points) {
            Some(group) => {
                group.nodes.push(*node);
                group.nodes.count += count - 1;
            }
            None => {
                let mut nodes = Nodes::one(*node);
                nodes.count = *count;
                groups.push(Spending { nodes, points });
            }
        }
    }
    if groups.len() > MOST_FOLLOWED {
        let last = |group: &Spending| group.points.last().and_then(|spent| spent.epsilon);
        let order = |group: &Spending| last(group).unwrap_or(f64::INFINITY);
        groups.sort_by(|a, b| order(b).total_cmp(&order(a)));
        groups.truncate(MOST_FOLLOWED);
    }
    groups
}

fn stopped(run: &Run) -> Vec<Stopped> {
    let mut groups: BTreeMap<u64, Nodes> = BTreeMap::new();
    for (node, steps) in (0..).zip(&run.stopped) {
        if let Some(steps) = steps {
            groups.entry(*steps).or_default().push(node);
        }
    }
    groups.into_iter().map(|(steps, nodes)| Stopped { nodes, steps }).collect()
}

/// Every key of a plan that says what is run, and its value.
fn setup(plan: &Plan) -> BTreeMap<String, Value> {
    let mut setup = BTreeMap::new();
    let value = serde_json::to_value(plan).expect("a plan is plain data");
    let Value::Object(tables) = value else { return setup };
    for (key, value) in tables {
        if !["name", "expected", "chart", "plan"].contains(&key.as_str()) {
            flatten(key, value, &mut setup);
        }
    }
    setup
}

fn flatten(key: String, value: Value, setup: &mut BTreeMap<String, Value>) {
    const LONG: usize = 16;
    match value {
        Value::Object(table) => {
            let table: Map<String, Value> = table;
            table.into_iter().for_each(|(k, v)| flatten(format!("{key}.{k}"), v, setup));
        }
        Value::Array(items) if items.len() > LONG => {
            let hash = hash_of(Value::Array(items.clone()).to_string().as_bytes());
            setup.insert(key, format!("{} values, blake3 {hash}", items.len()).into());
        }
        other => {
            setup.insert(key, other);
        }
    }
}

fn chart(plan: &Plan) -> report::ChartAsked {
    let usual = || ChartPlan {
        x: "round".into(),
        y: plan.evaluate.metrics[0].name().into(),
        log_x: false,
        log_y: true,
    };
    let ChartPlan { x, y, log_x, log_y } = plan.chart.clone().unwrap_or_else(usual);
    report::ChartAsked { x, y, log_x, log_y }
}

fn verdict(plan: &Plan, verdict: &Verdict) -> report::Verdict {
    let band = &plan.expected[verdict.index];
    report::Verdict {
        what: verdict.what.clone(),
        why: band.why.clone(),
        found: verdict.found,
        min: band.min,
        max: band.max,
        passed: verdict.passed,
    }
}
