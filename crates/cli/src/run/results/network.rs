//! Who heard whom, as a picture can show it.

use std::collections::{BTreeSet, VecDeque};

use undertone_graph::{Graph, NodeId, spring_layout};
use undertone_node::Experiment;
use undertone_node::plan::Variant;
use undertone_privacy::ledger::Guarantee;
use undertone_report::{Network, ShownNode};
use undertone_sim::Outcome;

use crate::topology::places;

/// Larger networks are sampled.
const MOST_NODES: u32 = 300;
const SAMPLE: usize = 150;
/// More lines would be a blot, and a file of megabytes.
const MOST_LINES: usize = 3000;
/// Schedules that never repeat themselves are shown over so many rounds.
const WINDOW: u64 = 16;

/// The network of every variant, the same only once.
pub fn networks(experiments: &[(Variant, Experiment)], outcomes: &[Outcome]) -> Vec<Network> {
    let mut networks: Vec<Network> = Vec::new();
    let mut drawn: Option<(String, Network)> = None;
    for (index, ((_, experiment), outcome)) in experiments.iter().zip(outcomes).enumerate() {
        let plan = experiment.plan();
        let key = serde_json::to_string(&(&plan.network, plan.seed, plan.run.rounds > WINDOW))
            .expect("a plan is plain data");
        // Variants often share a network, and to lay one out takes a while.
        let bare = match drawn.take().filter(|(known, _)| *known == key) {
            Some((_, network)) => network,
            None => match lay_out(experiment) {
                Some(network) => network,
                None => continue,
            },
        };
        let mut network = bare.clone();
        drawn = Some((key, bare));
        let run = outcome.runs.first().map(|traced| &traced.run);
        let guarantees = run.map_or(&[][..], |run| &run.guarantees);
        network.shown.iter_mut().for_each(|node| fill(node, guarantees));
        let same = |known: &&mut Network| {
            (&known.shown, &known.lines, &known.what)
                == (&network.shown, &network.lines, &network.what)
        };
        match networks.iter_mut().find(same) {
            Some(known) => known.variants.push(index),
            None => networks.push(Network { variants: vec![index], ..network }),
        }
    }
    networks
}

fn fill(node: &mut ShownNode, guarantees: &[Guarantee]) {
    let Some(guarantee) = guarantees.get(node.node as usize) else { return };
    let finite = |value: f64| value.is_finite().then_some(value);
    node.budget = finite(guarantee.budget.epsilon.get());
    node.epsilon = finite(guarantee.epsilon.get());
    node.spent = guarantee.spent;
}

/// Without budgets; nothing if the schedule has no graph.
fn lay_out(experiment: &Experiment) -> Option<Network> {
    let plan = experiment.plan();
    let topology = experiment.topology(plan.seed).ok()?;
    let schedule = topology.schedule();
    let large = plan.network.nodes > MOST_NODES;
    let (window, what) = match schedule.period() {
        Some(1) => (1, "The same lines in every round".to_string()),
        _ if large => (1, "The lines of the first round; others have other ones".into()),
        Some(period) if period <= WINDOW => {
            (period, format!("The lines of {period} rounds together, which come again and again"))
        }
        _ => {
            let window = WINDOW.min(plan.run.rounds);
            (window, format!("The lines of the first {window} rounds together"))
        }
    };
    let graph = schedule.union_over(0, window).ok()?;
    let directed = !graph.is_symmetric();
    let chosen = if large { near(&graph) } else { graph.nodes().collect() };
    let lines = lines_among(&graph, &chosen, directed);
    let places = match large {
        false => places(schedule, experiment.family(), plan.seed, &graph),
        true => spring_layout(&induced(&lines, chosen.len() as u32, directed)?),
    };
    let shown = chosen.iter().zip(places).map(|(node, (x, y))| ShownNode {
        node: node.0,
        place: [rounded(x), rounded(y)],
        budget: None,
        epsilon: None,
        spent: 0.0,
    });
    let edges = if directed { graph.n_edges() } else { graph.n_edges() / 2 };
    let cut = lines.len() > MOST_LINES;
    let what = if cut { format!("{what}; {MOST_LINES} of them are drawn") } else { what };
    let stride = lines.len().div_ceil(MOST_LINES).max(1);
    Some(Network {
        variants: Vec::new(),
        what,
        nodes: graph.n_nodes(),
        edges,
        directed,
        shown: shown.collect(),
        lines: lines.into_iter().step_by(stride).collect(),
    })
}

/// Some nodes around the first, in order.
fn near(graph: &Graph) -> Vec<NodeId> {
    let mut found = BTreeSet::from([NodeId(0)]);
    let mut queue = VecDeque::from([NodeId(0)]);
    while let Some(node) = queue.pop_front() {
        for other in graph.out_neighbours(node).iter().chain(graph.in_neighbours(node)) {
            if found.len() < SAMPLE && found.insert(*other) {
                queue.push_back(*other);
            }
        }
    }
    found.into_iter().collect()
}

/// By places among the chosen; one line for both directions if there are always both.
fn lines_among(graph: &Graph, chosen: &[NodeId], directed: bool) -> Vec<[u32; 2]> {
    let place = |node: &NodeId| chosen.binary_search(node).ok().map(|place| place as u32);
    let mut lines = Vec::new();
    for (from, node) in (0..).zip(chosen) {
        for to in graph.out_neighbours(*node).iter().filter_map(place) {
            if directed || from < to {
                lines.push([from, to]);
            }
        }
    }
    lines
}

fn induced(lines: &[[u32; 2]], n_nodes: u32, directed: bool) -> Option<Graph> {
    let edges = lines.iter().map(|[from, to]| (*from, *to));
    match directed {
        true => Graph::from_edges(n_nodes, edges).ok(),
        false => Graph::undirected(n_nodes, edges).ok(),
    }
}

/// A tenth of a pixel is enough.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
