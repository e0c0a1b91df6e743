//! A plan in sentences.

use std::time::Instant;

use serde_json::{Value, json};
use undertone_node::plan::{
    AlgorithmWord, DataPlan, NetworkPlan, NoisePlan, Plan, ScheduleWord, Variant,
};
use undertone_node::{Experiment, Wanted};
use undertone_privacy::ledger::Guarantee;
use undertone_sim::{Watch, run};

use crate::output;
use crate::run::records::Library;

/// What a plan will do.
pub struct Explained {
    plan: Plan,
    sentences: Vec<String>,
    variants: usize,
    guarantees: Vec<Guarantee>,
    assumptions: Vec<String>,
    /// Bytes and seconds of one run.
    cost: Option<(f64, f64)>,
}

impl Explained {
    /// Of variants that were checked.
    pub fn new(experiments: &[(Variant, Experiment)], library: &Library) -> Self {
        let (variant, experiment) = &experiments[0];
        let plan = experiment.plan().clone();
        let promises =
            experiment.guarantees(experiment.plan().seed, Wanted::All).unwrap_or_default();
        let cost = cost(&plan, library);
        let runs = experiments.iter().map(|(_, e)| e.seeds().count()).sum::<usize>();
        let mut sentences = vec![network(&plan.network), data(&plan), algorithm(&plan)];
        sentences.push(privacy(&plan, &promises));
        if experiments.len() > 1 {
            let label = variant.label();
            sentences.push(format!(
                "There are {} variants; what is said here is of the first, {label}.",
                experiments.len()
            ));
        }
        sentences.push(match cost {
            Some((bytes, seconds)) => format!(
                "A run takes {} rounds and sends about {}; {runs} of them take about {} here.",
                plan.run.rounds,
                size(bytes),
                duration(seconds * runs as f64)
            ),
            None => format!("A run takes {} rounds; there are {runs}.", plan.run.rounds),
        });
        sentences.push(measures(&plan));
        let assumptions = library.assumptions().to_vec();
        let (variants, guarantees) = (experiments.len(), promises);
        Self { plan, sentences, variants, guarantees, assumptions, cost }
    }

    /// For people.
    pub fn as_text(&self) -> String {
        let mut text = format!("{}\n", self.sentences.join("\n"));
        for guarantee in different(&self.guarantees) {
            text.push_str(&match guarantee.epsilon.get().is_finite() {
                true => format!("\n{guarantee}\n"),
                false => format!("\nnode {}: no guarantee\n", guarantee.node),
            });
        }
        for what in &self.assumptions {
            text.push_str(&format!("\nfrom the data, so taken for public: {what}\n"));
        }
        text
    }

    /// For programs.
    pub fn as_json(&self) -> Value {
        json!({
            "ok": true,
            "name": self.plan.name,
            "sentences": self.sentences,
            "variants": self.variants,
            "rounds": self.plan.run.rounds,
            "guarantees": different(&self.guarantees),
            "taken_for_public": self.assumptions,
            "bytes": self.cost.map(|cost| cost.0),
            "seconds": self.cost.map(|cost| cost.1),
        })
    }
}

/// Those that promise something else than the ones before.
fn different(guarantees: &[Guarantee]) -> Vec<&Guarantee> {
    let mut found: Vec<&Guarantee> = Vec::new();
    for guarantee in guarantees {
        let same = |g: &&Guarantee| (g.epsilon, g.delta) == (guarantee.epsilon, guarantee.delta);
        if !found.iter().any(same) {
            found.push(guarantee);
        }
    }
    found
}

/// Bytes and seconds of a run, from a few rounds of it. They are without noise, which changes
/// neither; nothing if the algorithm does not run without.
fn cost(plan: &Plan, library: &Library) -> Option<(f64, f64)> {
    let mut short = plan.clone();
    let window = plan.algorithm.window.or(plan.network.window).unwrap_or(1);
    let rounds = window.max(2).min(plan.run.rounds);
    (short.privacy, short.run.rounds, short.run.repeat) = (None, rounds, 1);
    (short.algorithm.rounds_of_gradients, short.run.stop_on_budget) = (None, false);
    short.algorithm.steps = plan.algorithm.steps.map(|steps| steps.min(rounds));
    short.evaluate.every = rounds;
    let records = library.known(plan);
    let experiment = Experiment::new(&short, records).ok()?;
    let start = Instant::now();
    let mut watch = Watch { record: &mut |_| {}, progress: &mut |_, _| {} };
    let run = run(&experiment, short.seed, &mut watch).ok()?;
    let share = plan.run.rounds as f64 / rounds as f64;
    Some((run.traffic.bytes as f64 * share, start.elapsed().as_secs_f64() * share))
}

fn network(network: &NetworkPlan) -> String {
    let family = network.topology.as_ref().and_then(|table| table["family"].as_str());
    let graph = match family {
        _ if network.leaves_nodes_alone() => {
            return format!("{} nodes, each alone: nobody hears anybody.", network.nodes);
        }
        Some("edges") => "a graph of your own".into(),
        Some(family) => format!("a graph of the family {family}"),
        None => "graphs of its own".into(),
    };
    let when = match network.schedule {
        ScheduleWord::Cycle => "several graphs, one after the other".into(),
        ScheduleWord::Exponential => "hops by powers of two, one power a round".into(),
        ScheduleWord::Fixed => format!("{graph}, the same in every round"),
        ScheduleWord::Matching => "pairs that are drawn anew in every round".into(),
        ScheduleWord::PerRound => format!("{graph}, drawn anew in every round"),
        ScheduleWord::Window => {
            let window = network.window.unwrap_or(1);
            format!("{graph}, drawn anew and dealt out over every {window} rounds")
        }
    };
    format!("{} nodes talk to their neighbours over {when}.", network.nodes)
}

fn data(plan: &Plan) -> String {
    match &plan.data {
        DataPlan::Numbers(numbers) => format!(
            "Every node has {} records of {} numbers, and all want their mean.",
            numbers.records, numbers.dimension
        ),
        DataPlan::Records(table) => {
            let word = |key: &str| table.get(key).and_then(Value::as_str).map(String::from);
            let from = word("source")
                .map(|source| format!("made up by the generator {source}"))
                .or(word("recipe").map(|recipe| format!("read by the recipe {recipe}")))
                .or(word("file").map(|file| format!("read from {file}")))
                .unwrap_or("read from files".into());
            let model = plan.model.as_ref().and_then(|model| model["kind"].as_str());
            let model = model.unwrap_or("model");
            format!("Records are {from} and dealt to the nodes, which learn one {model} model.")
        }
    }
}

fn algorithm(plan: &Plan) -> String {
    let facts = plan.algorithm.name.facts();
    let (name, what, cost) = (facts.name, facts.what, facts.cost);
    let paper = facts.paper.name();
    format!("The algorithm is {name}: {what} ({paper}). A round costs a node {cost}.")
}

fn privacy(plan: &Plan, promises: &[Guarantee]) -> String {
    let Some(privacy) = &plan.privacy else {
        return "Nothing is hidden: there is no [privacy], so there is no guarantee.".into();
    };
    let noise = match privacy.noise {
        NoisePlan::Sound => "the least that keeps the budget, as proved".into(),
        NoisePlan::Paper => "that of the paper; its true price is below".into(),
        NoisePlan::Fixed { sigma: 0.0 } => return "There is no noise and no guarantee.".into(),
        NoisePlan::Fixed { sigma } => format!("of standard deviation {sigma}"),
    };
    let releases = releases(plan);
    let worst = promises.iter().map(|promise| promise.epsilon.get()).fold(0.0, f64::max);
    let worst = match worst.is_finite() {
        true => format!("needs epsilon {} at delta", output::significant(worst)),
        false => "has no guarantee, whatever".into(),
    };
    format!(
        "The noise is {noise}. A node releases something {releases}, which {worst} {}.",
        privacy.delta
    )
}

fn releases(plan: &Plan) -> String {
    let name = plan.algorithm.name;
    let rounds = plan.algorithm.rounds_of_gradients.unwrap_or(plan.run.rounds);
    match (name, plan.algorithm.steps, plan.algorithm.admm.as_ref()) {
        (_, Some(steps), _) => format!("{steps} times"),
        (AlgorithmWord::IppAdmm, _, Some(admm)) => {
            format!("{} times at most", admm.cutoff.unwrap_or(rounds))
        }
        _ if name.learns() => format!("in each of {rounds} rounds"),
        _ => "once".into(),
    }
}

fn measures(plan: &Plan) -> String {
    let names: Vec<&str> = plan.evaluate.metrics.iter().map(|metric| metric.name()).collect();
    format!(
        "After every {} rounds the simulator, which sees everything, measures {}.",
        plan.evaluate.every,
        names.join(", ")
    )
}

fn size(bytes: f64) -> String {
    match bytes {
        b if b >= 1e9 => format!("{:.1} GB", b / 1e9),
        b if b >= 1e6 => format!("{:.1} MB", b / 1e6),
        b => format!("{:.1} kB", b / 1e3),
    }
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s >= 5400.0 => format!("{:.1} hours", s / 3600.0),
        s if s >= 90.0 => format!("{:.0} minutes", s / 60.0),
        s if s >= 1.0 => format!("{s:.0} seconds"),
        _ => "a second or less".into(),
    }
}
