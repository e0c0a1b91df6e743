//! Who hears whom.

use serde_json::{Map, Value};
use undertone_graph::{Cycle, Family, Schedule, Weights};

use super::Algorithm;
use crate::plan::{NetworkPlan, PlanError, ScheduleWord, WeightsWord};

/// The schedule that a plan describes, drawn from a seed.
pub fn schedule_of(
    network: &NetworkPlan,
    family: Option<&Family>,
    seed: u64,
) -> Result<Schedule, PlanError> {
    let nodes = network.nodes;
    let needed = || {
        let message = "this schedule needs one, such as topology = { family = \"ring\" }";
        family.cloned().ok_or_else(|| PlanError::new("network.topology", message))
    };
    let schedule = match network.schedule {
        ScheduleWord::Cycle => cycle(network, seed)?,
        ScheduleWord::Exponential => Schedule::Exponential { nodes },
        ScheduleWord::Fixed => Schedule::Fixed(build(&needed()?, seed)?),
        ScheduleWord::Matching => match family {
            Some(family) => Schedule::NeighbourMatching { graph: build(family, seed)?, seed },
            None => Schedule::Matching { nodes, seed },
        },
        ScheduleWord::PerRound => Schedule::PerRound { family: needed()?, seed },
        ScheduleWord::Window => {
            let needs = || PlanError::new("network.window", "the schedule window needs it");
            let window = network.window.ok_or_else(needs)?;
            Schedule::windowed(needed()?, window, seed)
                .map_err(|e| PlanError::new("network.window", e.to_string()))?
        }
    };
    let found =
        schedule.n_nodes().map_err(|e| PlanError::new("network.topology", e.to_string()))?;
    if found != nodes {
        let message = format!("the topology has {found} nodes, but network.nodes is {nodes}");
        return Err(PlanError::new("network.nodes", message));
    }
    Ok(schedule)
}

/// The family with the number of nodes filled in.
pub(super) fn family(network: &NetworkPlan) -> Result<Option<Family>, PlanError> {
    let error = |key: &str, message: String| Err(PlanError::new(format!("network.{key}"), message));
    if network.nodes == 0 {
        return error("nodes", "must be at least 1".into());
    }
    if network.lazy.is_some_and(|share| !(0.0..1.0).contains(&share)) {
        return error("lazy", "is the share that is kept: at least 0 and below 1".into());
    }
    if network.schedule != ScheduleWord::Window && network.window.is_some() {
        return error("window", "only the schedule \"window\" takes it; leave it out".into());
    }
    if network.window == Some(0) {
        return error("window", "must be at least 1".into());
    }
    if (network.schedule == ScheduleWord::Cycle) == network.topologies.is_empty() {
        let message = "the schedule \"cycle\" takes several, such as [{ family = \"ring\" }, { \
                       family = \"star\" }]; all others take one topology";
        return error("topologies", message.into());
    }
    let Some(written) = &network.topology else { return Ok(None) };
    if matches!(network.schedule, ScheduleWord::Exponential | ScheduleWord::Cycle) {
        let message = "this schedule has its own; leave it out";
        return error("topology", message.into());
    }
    read_family(written, network.nodes, "topology").map(Some)
}

/// A family as written, which is at `key` of the network.
fn read_family(written: &Map<String, Value>, nodes: u32, key: &str) -> Result<Family, PlanError> {
    let error = |key: &str, message: String| Err(PlanError::new(format!("network.{key}"), message));
    let mut filled = written.clone();
    filled.entry("nodes").or_insert_with(|| nodes.into());
    let family: Family = match serde_json::from_value(Value::Object(filled)) {
        Ok(family) => family,
        Err(e) => return error(key, e.to_string()),
    };
    // The family's own reader passes over keys that it does not know.
    let known = serde_json::to_value(&family).expect("a family is plain data");
    match written.keys().find(|key| known.get(key.as_str()).is_none()) {
        Some(other) => error(&format!("{key}.{other}"), "this family does not take it".into()),
        None => Ok(family),
    }
}

/// Every graph is drawn from a seed of its own, so that two of a family differ.
fn cycle(network: &NetworkPlan, seed: u64) -> Result<Schedule, PlanError> {
    let graph = |(k, written): (u64, &Map<String, Value>)| {
        let family = read_family(written, network.nodes, &format!("topologies.{k}"))?;
        build(&family, seed.wrapping_add(k))
    };
    let graphs = (0..).zip(&network.topologies).map(graph).collect::<Result<_, _>>()?;
    let cycle = Cycle::new(graphs);
    cycle.map(Schedule::Cycle).map_err(|e| PlanError::new("network.topologies", e.to_string()))
}

/// Windows drawn to see whether they are connected: enough to find a family that rarely is.
const CHECKED_WINDOWS: u64 = 20;

/// Finds what would never agree.
pub(super) fn check(
    schedule: &Schedule,
    network: &NetworkPlan,
    algorithm: Algorithm,
) -> Result<(), PlanError> {
    if algorithm == Algorithm::RunningSum && network.schedule != ScheduleWord::Fixed {
        let message = "running-sum needs hearers that stay; take \"fixed\"";
        return Err(PlanError::new("network.schedule", message));
    }
    let stays = match algorithm {
        Algorithm::Sdm { .. } => Some("sdm follows neighbours by their changes"),
        Algorithm::Adp2Sgd { .. } => Some("adp2-sgd has no rounds"),
        _ => None,
    };
    if let (Some(why), true) = (stays, network.schedule != ScheduleWord::Fixed) {
        let message = format!("{why}, so the graph has to stay; take \"fixed\"");
        return Err(PlanError::new("network.schedule", message));
    }
    if let (Schedule::Window { .. }, Some(window)) = (schedule, network.window) {
        let checked =
            schedule.check_aligned_windows(window, window.saturating_mul(CHECKED_WINDOWS));
        checked.map_err(|e| {
            let message = format!("{e}; add connected = true to the topology, or more edges");
            PlanError::new("network.topology", message)
        })?;
    }
    if let Schedule::Cycle(graphs) = schedule {
        let together = graphs.graphs().len() as u64;
        schedule
            .check_aligned_windows(together, together)
            .map_err(|e| PlanError::new("network.topologies", format!("{e}; take more edges")))?;
    }
    if let Schedule::Fixed(graph) = schedule {
        // Without any edge everybody is alone, which was asked for.
        if !network.leaves_nodes_alone() && !graph.is_strongly_connected() {
            let message = "not everybody reaches everybody; add connected = true, or more edges";
            return Err(PlanError::new("network.topology", message));
        }
        if let (Algorithm::Adp2Sgd { .. }, false) = (algorithm, graph.is_symmetric()) {
            let message = "two that meet change both; take a topology where whoever is heard hears";
            return Err(PlanError::new("network.topology", message));
        }
        let symmetric = [Some(WeightsWord::Metropolis), Some(WeightsWord::LaplacianMax)];
        if symmetric.contains(&network.weights) && !graph.is_symmetric() {
            let message = "these weights need a topology where whoever is heard hears; take \
                           another topology, or push-sum";
            return Err(PlanError::new("network.weights", message));
        }
    }
    Ok(())
}

pub(super) fn rule(word: WeightsWord) -> Weights {
    match word {
        WeightsWord::In => Weights::In,
        WeightsWord::LaplacianMax => Weights::LaplacianMax,
        WeightsWord::Metropolis => Weights::Metropolis,
        WeightsWord::Out => Weights::Out,
    }
}

fn build(family: &Family, seed: u64) -> Result<undertone_graph::Graph, PlanError> {
    family.build(seed).map_err(|e| PlanError::new("network.topology", e.to_string()))
}
