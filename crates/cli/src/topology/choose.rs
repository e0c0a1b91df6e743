//! From flags to a schedule of graphs.

use serde_json::{Map, Value, json};
use undertone_graph::{
    Family, FamilyError, Graph, Schedule, ScheduleError, Weights, parse_edge_list, spring_layout,
};

use super::Topology;
use crate::parse;

/// Every family, and the flags it needs; `connected` may be left out.
const FAMILIES: [(&str, &[&str]); 17] = [
    ("complete", &["nodes"]),
    ("directed-erdos-renyi", &["nodes", "probability", "connected"]),
    ("erdos-renyi", &["nodes", "probability", "connected"]),
    ("erdos-renyi-minus-two", &["nodes", "probability"]),
    ("exponential", &["nodes"]),
    ("geometric", &["nodes", "radius", "connected"]),
    ("grid", &["rows", "columns"]),
    ("hypercube", &["dimension"]),
    ("in-regular", &["nodes", "degree", "connected"]),
    ("out-regular", &["nodes", "degree", "connected"]),
    ("path", &["nodes"]),
    ("random-regular", &["nodes", "degree", "connected"]),
    ("ring", &["nodes"]),
    ("small-world", &["nodes", "degree", "rewiring", "connected"]),
    ("star", &["nodes"]),
    ("torus", &["rows", "columns"]),
    ("two-cliques", &["nodes"]),
];

/// `--schedule`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Timing {
    Alternating,
    Exponential,
    Fixed,
    Matching,
    PerRound,
    Window(u64),
}

/// What the flags say.
pub struct Chosen {
    pub schedule: Schedule,
    /// None for an edge list, and for schedules that have no family.
    pub family: Option<Family>,
    /// For people.
    pub name: String,
    seed: u64,
}

impl Chosen {
    pub fn new(flags: &Topology) -> Result<Self, String> {
        let seed = flags.seed;
        let lone = |schedule: Result<Schedule, ScheduleError>, name: &str| {
            let schedule = schedule.map_err(|error| error.to_string())?;
            flags.refuse_all_but(&["nodes"], &format!("--schedule {name}"))?;
            if flags.family.is_some() || flags.edges.is_some() {
                return Err(format!(
                    "--schedule {name} brings its own graphs: leave out --family and --edges"
                ));
            }
            Ok(Self { schedule, family: None, name: format!("{name} schedule"), seed })
        };
        let nodes =
            || flags.nodes.ok_or("--nodes is missing: this schedule needs a number of nodes");
        match flags.schedule {
            Timing::Alternating => return lone(Schedule::alternating(nodes()?), "alternating"),
            Timing::Exponential => {
                return lone(Ok(Schedule::Exponential { nodes: nodes()? }), "exponential");
            }
            Timing::Matching if flags.family.is_none() && flags.edges.is_none() => {
                return lone(Ok(Schedule::Matching { nodes: nodes()?, seed }), "matching");
            }
            _ => {}
        }
        if let Some(file) = &flags.edges {
            flags.refuse_all_but(&["nodes"], "--edges")?;
            let graph = read_edges(file, flags.nodes)?;
            let schedule = match flags.schedule {
                Timing::Fixed => Schedule::Fixed(graph),
                Timing::Matching => Schedule::NeighbourMatching { graph, seed },
                _ => {
                    return Err("--edges gives one graph: take --schedule fixed or matching".into());
                }
            };
            return Ok(Self { schedule, family: None, name: file.clone(), seed });
        }
        let name = flags.family.ok_or(
            "--family is missing: name one, such as `--family ring --nodes 16`, or give --edges",
        )?;
        let family = flags.family(name)?;
        let build = || family.build(seed).map_err(say);
        let schedule = match flags.schedule {
            Timing::Matching => Schedule::NeighbourMatching { graph: build()?, seed },
            Timing::PerRound => Schedule::PerRound { family: family.clone(), seed },
            Timing::Window(window) => Schedule::windowed(family.clone(), window, seed)
                .map_err(|error| format!("--schedule window={window}: {error}"))?,
            _ => Schedule::Fixed(build()?),
        };
        Ok(Self { schedule, family: Some(family), name: name.into(), seed })
    }

    /// Where the nodes of the picture go.
    pub fn places(&self, graph: &Graph) -> Vec<(f64, f64)> {
        places(&self.schedule, self.family.as_ref(), self.seed, graph)
    }
}

/// Where the nodes of a picture go, in the unit square.
pub fn places(
    schedule: &Schedule,
    family: Option<&Family>,
    seed: u64,
    graph: &Graph,
) -> Vec<(f64, f64)> {
    let drawn_anew = matches!(schedule, Schedule::PerRound { .. } | Schedule::Window { .. });
    match family {
        // Points of a round are not where those of another one are.
        Some(Family::Geometric { .. }) if drawn_anew => spring_layout(graph),
        Some(family) => family.layout(seed, graph),
        None if matches!(schedule, Schedule::Fixed(_) | Schedule::NeighbourMatching { .. }) => {
            spring_layout(graph)
        }
        None => Family::Ring { nodes: graph.n_nodes() }.layout(seed, graph),
    }
}

impl Topology {
    /// The flags that are parameters of families.
    fn given(&self) -> Map<String, Value> {
        let all = json!({
            "nodes": self.nodes, "degree": self.degree, "probability": self.probability,
            "radius": self.radius, "rewiring": self.rewiring, "rows": self.rows,
            "columns": self.columns, "dimension": self.dimension, "connected": self.connected,
        });
        let Value::Object(mut given) = all else { unreachable!("it is written as an object") };
        given.retain(|_, value| !value.is_null());
        given
    }

    fn refuse_all_but(&self, wanted: &[&str], whom: &str) -> Result<(), String> {
        match self.given().keys().find(|flag| !wanted.contains(&flag.as_str())) {
            None => Ok(()),
            Some(flag) => Err(format!("--{flag} is not for {whom}: leave it out")),
        }
    }

    fn family(&self, name: &str) -> Result<Family, String> {
        let wanted = FAMILIES.iter().find(|family| family.0 == name).expect("clap has checked").1;
        let needed: Vec<String> = wanted.iter().map(|flag| format!("--{flag}")).collect();
        let needed = needed.join(" ");
        let whom = format!("--family {name}");
        self.refuse_all_but(wanted, &whom)
            .map_err(|error| format!("{error} (it takes {needed})"))?;
        let mut given = self.given();
        if wanted.contains(&"connected") {
            given.entry("connected").or_insert(json!(true));
        }
        if let Some(flag) = wanted.iter().find(|flag| !given.contains_key(**flag)) {
            return Err(format!("--{flag} is missing: {whom} takes {needed}"));
        }
        if name == "two-cliques" {
            let nodes = self.nodes.expect("found above");
            if nodes % 2 == 1 {
                return Err(format!(
                    "--nodes is {nodes}, but two equal cliques need an even number"
                ));
            }
            given.insert("clique".into(), json!(nodes / 2));
        }
        given.insert("family".into(), json!(name));
        serde_json::from_value(Value::Object(given)).map_err(|error| format!("{whom}: {error}"))
    }
}

/// What is wrong with a family's parameters, in terms of flags.
pub fn say(error: FamilyError) -> String {
    match error {
        FamilyError::Parameter { name, value, wanted } => {
            format!("--{name} is {value}, but has to be {wanted}")
        }
        FamilyError::Unlucky { .. } => {
            format!("{error}, and --connected false does without")
        }
        _ => error.to_string(),
    }
}

fn read_edges(file: &str, nodes: Option<u32>) -> Result<Graph, String> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        format!("{file}: {error}; --edges takes a text file with one edge a line")
    })?;
    parse_edge_list(&text, nodes).map_err(|error| format!("{file}: {error}"))
}

/// A family by name.
pub fn family_name(text: &str) -> Result<&'static str, String> {
    let names = FAMILIES.iter().map(|family| family.0);
    if let Some(name) = names.clone().find(|name| *name == text) {
        return Ok(name);
    }
    let nearest = names.min_by_key(|name| edit_distance(name, text)).expect("there are families");
    Err(format!("no such family; did you mean {nearest}? `undertone topology --help` lists all"))
}

/// A count that fits.
pub fn size(text: &str) -> Result<u32, String> {
    let count = parse::count(text)?;
    u32::try_from(count).map_err(|_| format!("expected at most {}, got {text}", u32::MAX))
}

/// A rule of weights.
pub fn weights(text: &str) -> Result<Weights, String> {
    match text {
        "in" => Ok(Weights::In),
        "laplacian-max" => Ok(Weights::LaplacianMax),
        "metropolis" => Ok(Weights::Metropolis),
        "out" => Ok(Weights::Out),
        _ => text
            .strip_prefix("laplacian=")
            .and_then(|kappa| kappa.parse().ok())
            .map(|kappa| Weights::Laplacian { kappa })
            .ok_or_else(|| {
                "expected metropolis, laplacian-max, laplacian=K, in or out; K is a number, at \
                 least the largest degree"
                    .into()
            }),
    }
}

/// A schedule.
pub fn timing(text: &str) -> Result<Timing, String> {
    match text {
        "alternating" => Ok(Timing::Alternating),
        "exponential" => Ok(Timing::Exponential),
        "fixed" => Ok(Timing::Fixed),
        "matching" => Ok(Timing::Matching),
        "per-round" => Ok(Timing::PerRound),
        _ => text
            .strip_prefix("window=")
            .and_then(|rounds| parse::count(rounds).ok())
            .map(Timing::Window)
            .ok_or_else(|| {
                "expected fixed, per-round, window=B, matching, exponential or alternating; B is \
                 a number of rounds, at least 1"
                    .into()
            }),
    }
}

/// How many letters have to be changed, put in or left out.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_family_is_suggested() {
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "ring"), 4);
        assert_eq!(family_name("torus"), Ok("torus"));
        assert!(family_name("hyper-cube").unwrap_err().contains("did you mean hypercube?"));
        assert!(family_name("erdosrenyi").unwrap_err().contains("did you mean erdos-renyi?"));
    }

    #[test]
    fn rules_and_schedules_are_read() {
        assert_eq!(weights("laplacian=4.5"), Ok(Weights::Laplacian { kappa: 4.5 }));
        assert!(weights("laplacian").unwrap_err().contains("laplacian=K"));
        assert_eq!(timing("window=3"), Ok(Timing::Window(3)));
        assert!(timing("window=0").unwrap_err().contains("at least 1"));
        assert_eq!(size("1e3"), Ok(1000));
        assert!(size("1e10").unwrap_err().contains("at most 4294967295"));
    }
}
