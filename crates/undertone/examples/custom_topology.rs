//! A topology of one's own: two towns, the roads between them, and what a road is worth.
//!
//! Five clinics in each of two towns average a private number. Everybody hears everybody in town;
//! how fast the towns agree depends on the roads between them. Privacy does not: whoever hears a
//! message, its sender has paid for it.

use std::error::Error;
use std::fmt::Write;

use undertone::Study;
use undertone::graph::{Family, Mixing, Weights, rounds_to, second_eigenvalue};

/// What is printed.
pub fn report() -> Result<String, Box<dyn Error>> {
    let mut text =
        String::from("roads between towns   rounds to 1e-6: predicted, counted   epsilon\n");
    for roads in [&[(4, 5)][..], &[(4, 5), (0, 9)], &[(4, 5), (0, 9), (2, 7)]] {
        let edges = towns(roads);
        let graph = Family::Edges { nodes: 10, edges: edges.clone(), directed: false }.build(0)?;
        let mixing = Mixing::new(&graph, Weights::Metropolis)?;
        let predicted = rounds_to(second_eigenvalue(&mixing)?, 1e-6).unwrap_or(0);
        let outcome = study(&edges)?.run()?.remove(0);
        let (rounds, left) = (outcome.rounds(), outcome.last("relative-residual"));
        let epsilon = outcome.weakest().ok_or("there are nodes")?.epsilon;
        writeln!(text, "{:19} {predicted:26} {rounds:9} {:>9}", roads.len(), epsilon.to_string())?;
        assert!(left.is_some_and(|left| left < 1e-6), "{left:?}");
    }
    let outcome = in_turn()?.run()?.remove(0);
    writeln!(
        text,
        "a road each way, open in turn: {} rounds, one way at a time",
        outcome.rounds()
    )?;
    Ok(text)
}

/// Towns of nodes 0 to 4 and 5 to 9.
fn towns(roads: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let town =
        |first: u32| (first..first + 5).flat_map(move |a| (a + 1..first + 5).map(move |b| (a, b)));
    town(0).chain(town(5)).chain(roads.iter().copied()).collect()
}

/// Averaging with symmetric weights, until they agree to six digits.
fn study(edges: &[(u32, u32)]) -> Result<Study, Box<dyn Error>> {
    let study = Study::from_toml(PLAN)?;
    let topology = serde_json::json!({ "family": "edges", "edges": edges });
    Ok(study.set("network.topology", topology)?)
}

/// One-way roads, of which one is open in even rounds and the other in odd ones: push-sum takes
/// graphs like these, symmetric weights do not.
fn in_turn() -> Result<Study, Box<dyn Error>> {
    let both = |edges: Vec<(u32, u32)>| edges.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]);
    let open = |road: (u32, u32)| {
        let edges: Vec<_> = both(towns(&[])).chain([road]).collect();
        serde_json::json!({ "family": "edges", "edges": edges, "directed": true })
    };
    let mut plan: serde_json::Value = toml::from_str(PLAN)?;
    plan["network"] = serde_json::json!({
        "nodes": 10, "schedule": "cycle", "topologies": [open((4, 5)), open((9, 0))],
    });
    plan["algorithm"] = serde_json::json!({ "name": "push-sum" });
    Ok(Study::from_json(plan)?)
}

const PLAN: &str = r#"
name = "towns"
seed = 3
[network]
nodes = 10
schedule = "fixed"
topology = { family = "complete" }
weights = "metropolis"
[data]
source = "uniform"
low = 0.0
high = 1.0
dimension = 1
records = 1000
[algorithm]
name = "gossip"
[privacy]
epsilon = 0.5
delta = 1e-6
clip = { clip = "box", radius = 1.0 }
noise = "sound"
[run]
rounds = 2000
precision = "f64"
stop-below = 1e-6
[evaluate]
metrics = ["relative-residual"]
target = "released"
"#;

#[allow(dead_code)] // A test calls `report` in its place.
fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", report()?);
    Ok(())
}
