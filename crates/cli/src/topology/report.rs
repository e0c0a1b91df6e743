//! What is known of a topology, for people and as JSON.

use serde_json::{Value, json};
use undertone_graph::{
    Diameter, Graph, Mixing, Properties, Schedule, SpectrumError, Weights, rounds_to,
    second_modulus, window_contraction,
};

use super::Topology;
use super::choose::{Chosen, say};
use super::degrees::Degrees;
use crate::output::{self, significant, significant_below};

const TOLERANCE: f64 = 1e-6;

/// The numbers.
pub struct Report {
    name: String,
    family: Value,
    /// The graph of the first round.
    first: Graph,
    /// All edges of the window.
    pub union: Graph,
    diameter: Diameter,
    rule: Weights,
    properties: Properties,
    /// Of a fixed matrix: in the long run.
    modulus: Option<Rate>,
    /// Of what is directed or changes: over the window.
    window: Option<Window>,
}

struct Window {
    n_rounds: u64,
    contraction: Rate,
}

/// A number, and whether its last digits are to be trusted.
#[derive(Clone, Copy)]
struct Rate {
    value: f64,
    converged: bool,
}

impl Rate {
    fn new(found: Result<f64, SpectrumError>) -> Result<Self, String> {
        match found {
            Ok(value) => Ok(Self { value, converged: true }),
            Err(SpectrumError::Slow { estimate, .. }) => {
                Ok(Self { value: estimate, converged: false })
            }
            Err(error) => Err(error.to_string()),
        }
    }

    fn text(&self) -> String {
        let about = if self.converged { "" } else { "about " };
        // Below rounding there is nothing but rounding.
        let value = if self.value < 1e-14 { 0.0 } else { self.value };
        format!("{about}{}", significant(value))
    }
}

impl Report {
    pub fn new(chosen: &Chosen, flags: &Topology) -> Result<Self, String> {
        let schedule = &chosen.schedule;
        let first = schedule.graph_at(0).map_err(say)?.into_owned();
        let fixed = matches!(schedule, Schedule::Fixed(_));
        let mut looked = Looked::new(schedule, &first, 1, flags)?;
        let mut modulus = None;
        let mut window = None;
        if fixed {
            let rate = Rate::new(second_modulus(&looked.mixings[0]))?;
            if !looked.properties.symmetric || flags.window.is_some() {
                // About as many rounds as shrink disagreement a hundredfold.
                let enough = rounds_to(within_one(rate.value), 0.01).unwrap_or(1).min(64);
                let n_rounds = flags.window.unwrap_or(enough);
                check_work(n_rounds, &first)?;
                looked.mixings = vec![looked.mixings[0].clone(); n_rounds as usize];
                window = Some(looked.contraction()?);
            }
            modulus = Some(rate);
        } else {
            let mut n_rounds = flags.window.unwrap_or_else(|| usual_window(schedule, &first));
            loop {
                looked = Looked::new(schedule, &first, n_rounds, flags)?;
                let found = looked.contraction()?;
                let is_enough = found.contraction.value < 0.5 || n_rounds >= LONG;
                window = Some(found);
                if flags.window.is_some() || is_enough || check_work(2 * n_rounds, &first).is_err()
                {
                    break;
                }
                n_rounds *= 2;
            }
        }
        let family = match (&chosen.family, &flags.edges) {
            (Some(family), _) => json!(family),
            (None, Some(file)) => json!({ "edges": file }),
            (None, None) => Value::Null,
        };
        Ok(Self {
            name: chosen.name.clone(),
            family,
            diameter: diameter(&looked.union),
            first,
            union: looked.union,
            rule: looked.rule,
            properties: looked.properties,
            modulus,
            window,
        })
    }

    /// One line for a picture.
    pub fn title(&self) -> String {
        let (n_nodes, n_edges) = (self.union.n_nodes(), self.union.n_edges());
        let edges = if self.union.is_symmetric() {
            format!("{} edges", n_edges / 2)
        } else {
            format!("{n_edges} directed edges")
        };
        let rate = match (&self.modulus, &self.window) {
            (Some(rate), _) => format!("{} {}", self.modulus_name(), rate.text()),
            (None, Some(window)) => {
                format!("contraction of {} {}", rounds(window.n_rounds), window.contraction.text())
            }
            (None, None) => String::new(),
        };
        format!("{}: {n_nodes} nodes, {edges}, {rate}", self.name)
    }

    fn modulus_name(&self) -> &'static str {
        if self.properties.symmetric { "second eigenvalue" } else { "second modulus" }
    }

    pub fn as_text(&self, flags: &Topology) -> String {
        let yes = |fact: bool| if fact { "yes" } else { "no" }.to_string();
        let changes = self.modulus.is_none();
        let mut facts = vec![
            ("topology", self.name.clone()),
            ("nodes", self.first.n_nodes().to_string()),
            ("directed edges", self.first.n_edges().to_string()),
            ("symmetric", yes(self.first.is_symmetric())),
            ("in-degree", Degrees::inward(&self.first).text()),
            ("out-degree", Degrees::outward(&self.first).text()),
        ];
        if changes {
            facts[2].0 = "edges of round 0";
            facts.push(("edges of window", self.union.n_edges().to_string()));
        }
        facts.push(("strongly connected", yes(self.union.is_strongly_connected())));
        facts.push((
            "diameter",
            match self.diameter {
                Diameter::Exact(hops) => hops.to_string(),
                Diameter::AtLeast(hops) => format!("at least {hops}"),
                Diameter::Infinite => "infinite".into(),
            },
        ));
        facts.push(("weights", self.weights_text(flags.lazy)));
        if let Some(rate) = &self.modulus {
            facts.push((self.modulus_name(), rate.text()));
            let about = if rate.converged { "" } else { "about " };
            let gap = significant_below((1.0 - rate.value).max(0.0));
            facts.push(("spectral gap", format!("{about}{gap}")));
        }
        if let Some(window) = &self.window {
            facts.push(("window", rounds(window.n_rounds)));
            facts.push(("contraction", window.contraction.text()));
        }
        facts.push(("rounds to 1e-6", self.rounds_text()));
        if let Some(file) = &flags.svg {
            facts.push(("picture", file.clone()));
        }
        let histogram = Degrees::inward(&self.first).histogram();
        format!("{}\nin-degree  nodes\n{histogram}", output::facts(&facts))
    }

    fn weights_text(&self, lazy: Option<f64>) -> String {
        let rule = match self.rule {
            Weights::In => "in".into(),
            Weights::Laplacian { kappa } => format!("laplacian={kappa}"),
            Weights::LaplacianMax => "laplacian-max".into(),
            Weights::Metropolis => "metropolis".into(),
            Weights::Out => "out".to_string(),
        };
        let lazy = lazy.map_or(String::new(), |share| format!(", lazy {share}"));
        let known = self.properties;
        let sums = match (known.row_stochastic, known.column_stochastic) {
            (true, true) => "doubly stochastic",
            (true, false) => "row-stochastic",
            _ => "column-stochastic",
        };
        let symmetric = if known.symmetric { "symmetric" } else { "not symmetric" };
        let sign = if known.nonnegative { "" } else { ", some negative" };
        format!("{rule}{lazy} ({sums}, {symmetric}{sign})")
    }

    /// In the long run, and for sure.
    fn rounds_text(&self) -> String {
        let never = || "never".to_string();
        let slow = self.modulus.map(|rate| rounds_to(within_one(rate.value), TOLERANCE));
        match (slow, self.sure_rounds()) {
            (Some(long_run), None) if self.window.is_none() => {
                long_run.map_or_else(never, |n| n.to_string())
            }
            (Some(long_run), sure) => {
                let long_run = long_run.map_or_else(never, |n| format!("about {n}"));
                let sure = sure.map_or("unknown: try a longer --window".into(), |n| n.to_string());
                format!("{long_run} in the long run, for sure {sure}")
            }
            (None, Some(sure)) => format!("{sure}, if all windows contract as this one"),
            (None, None) => "not from this window: try a longer --window".into(),
        }
    }

    fn sure_rounds(&self) -> Option<u64> {
        // What has not converged is too low, and nothing is sure then.
        let window = self.window.as_ref().filter(|window| window.contraction.converged)?;
        let n_windows = rounds_to(within_one(window.contraction.value), TOLERANCE)?;
        Some(n_windows.saturating_mul(window.n_rounds))
    }

    pub fn as_json(&self, flags: &Topology) -> Value {
        let rate = |rate: &Rate| json!({ "value": rate.value, "converged": rate.converged });
        let known = self.properties;
        let long_run = self.modulus.and_then(|rate| rounds_to(within_one(rate.value), TOLERANCE));
        let window = self.window.as_ref().map(|window| {
            json!({
                "rounds": window.n_rounds,
                "directed_edges": self.union.n_edges(),
                "contraction": rate(&window.contraction),
                "rounds_to_1e-6": self.sure_rounds(),
            })
        });
        json!({
            "name": self.name,
            "family": self.family,
            "seed": flags.seed,
            "nodes": self.first.n_nodes(),
            "directed_edges": self.first.n_edges(),
            "symmetric": self.first.is_symmetric(),
            "in_degree": Degrees::inward(&self.first).json(),
            "out_degree": Degrees::outward(&self.first).json(),
            "strongly_connected": self.union.is_strongly_connected(),
            "diameter": match self.diameter {
                Diameter::Exact(hops) => json!({ "exact": hops }),
                Diameter::AtLeast(hops) => json!({ "at_least": hops }),
                Diameter::Infinite => Value::Null,
            },
            "weights": {
                "rule": self.rule,
                "lazy": flags.lazy,
                "row_stochastic": known.row_stochastic,
                "column_stochastic": known.column_stochastic,
                "symmetric": known.symmetric,
                "nonnegative": known.nonnegative,
            },
            "second_modulus": self.modulus.as_ref().map(rate),
            "spectral_gap": self.modulus.map(|rate| (1.0 - rate.value).max(0.0)),
            "rounds_to_1e-6": long_run,
            "window": window,
            "svg": flags.svg,
        })
    }
}

/// Some rounds from the first on.
struct Looked {
    union: Graph,
    rule: Weights,
    properties: Properties,
    mixings: Vec<Mixing>,
}

impl Looked {
    fn new(
        schedule: &Schedule,
        first: &Graph,
        n_rounds: u64,
        flags: &Topology,
    ) -> Result<Self, String> {
        check_work(n_rounds, first)?;
        let graphs = (0..n_rounds)
            .map(|round| schedule.graph_at(round).map_err(say))
            .collect::<Result<Vec<_>, _>>()?;
        let symmetric = graphs.iter().all(|graph| graph.is_symmetric());
        let usual = if symmetric { Weights::Metropolis } else { Weights::Out };
        let rule = flags.weights.unwrap_or(usual);
        let mixings = graphs
            .iter()
            .map(|graph| weigh(graph, rule, flags.lazy))
            .collect::<Result<Vec<_>, _>>()?;
        let properties = mixings.iter().map(Mixing::properties).reduce(both).expect("a round");
        let union = schedule.union_over(0, n_rounds).map_err(|error| error.to_string())?;
        Ok(Self { union, rule, properties, mixings })
    }

    fn contraction(&self) -> Result<Window, String> {
        let contraction = Rate::new(window_contraction(&self.mixings))?;
        Ok(Window { n_rounds: self.mixings.len() as u64, contraction })
    }
}

/// A window is doubled until it contracts by half, but not beyond this.
const LONG: u64 = 256;

/// The period if there is one, and otherwise enough rounds for news to get around.
fn usual_window(schedule: &Schedule, first: &Graph) -> u64 {
    match schedule {
        Schedule::Window { window, .. } => *window,
        _ => schedule
            .period()
            .unwrap_or_else(|| 2 * u64::from(u32::BITS - first.n_nodes().leading_zeros())),
    }
}

/// A window that would not fit into memory is refused before it is drawn.
fn check_work(n_rounds: u64, first: &Graph) -> Result<(), String> {
    let entries = n_rounds.saturating_mul(first.n_edges() as u64 + u64::from(first.n_nodes()));
    if entries <= 1 << 28 {
        return Ok(());
    }
    Err(format!("{n_rounds} rounds of so large a graph do not fit: take a shorter --window"))
}

fn weigh(graph: &Graph, rule: Weights, lazy: Option<f64>) -> Result<Mixing, String> {
    let flag = |error: undertone_graph::MixingError| match error {
        undertone_graph::MixingError::Share(_) => format!("--lazy: {error}"),
        _ => format!("--weights: {error}"),
    };
    let mixing = Mixing::new(graph, rule).map_err(flag)?;
    lazy.map_or(Ok(mixing.clone()), |share| mixing.lazy(share)).map_err(flag)
}

/// What holds of both.
fn both(a: Properties, b: Properties) -> Properties {
    Properties {
        row_stochastic: a.row_stochastic && b.row_stochastic,
        column_stochastic: a.column_stochastic && b.column_stochastic,
        symmetric: a.symmetric && b.symmetric,
        nonnegative: a.nonnegative && b.nonnegative,
    }
}

fn diameter(graph: &Graph) -> Diameter {
    let n_nodes = u64::from(graph.n_nodes());
    let is_small = n_nodes * (n_nodes + graph.n_edges() as u64) <= 300_000_000;
    graph.diameter(if is_small { graph.n_nodes() } else { 20 })
}

/// A rate of one less rounding is one: nobody agrees in 1e16 rounds.
fn within_one(rate: f64) -> f64 {
    if rate > 1.0 - 1e-13 { 1.0 } else { rate.max(0.0) }
}

fn rounds(n: u64) -> String {
    if n == 1 { "1 round".into() } else { format!("{n} rounds") }
}
