//! Named families of graphs.

mod fixed_degree;
mod layout;
mod random;
mod repair;

use serde::{Deserialize, Serialize};

use crate::draw::{Stream, generator};
use crate::graph::{Graph, GraphError};

pub use layout::spring_layout;

/// A family of graphs with its parameters. Random families are drawn from a seed: same family,
/// same seed, same graph on every machine.
///
/// `connected: true` redraws, a bounded number of times, until every node reaches every other.
/// The two families of a fixed degree one way ([`Family::InRegular`], [`Family::OutRegular`]) are
/// repaired instead: about `nodes * exp(-degree)` nodes of a draw lack any edge the other way, and
/// for large graphs no draw would do. Every component that nobody can leave or enter has one edge
/// replaced, which keeps the degree and is nearly, not exactly, uniform among the connected ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", tag = "family")]
pub enum Family {
    /// Everybody hears everybody.
    Complete {
        /// How many nodes.
        nodes: u32,
    },
    /// Every ordered pair is an edge, independently.
    DirectedErdosRenyi {
        /// How many nodes.
        nodes: u32,
        /// Of each directed edge.
        probability: f64,
        /// Redraw until strongly connected.
        connected: bool,
    },
    /// Those that are named.
    Edges {
        /// How many nodes.
        nodes: u32,
        /// Pairs of nodes, `[sender, receiver]`; one that is named twice counts once.
        edges: Vec<(u32, u32)>,
        /// Whether a pair is heard one way only; both hear each other if not given.
        #[serde(default)]
        directed: bool,
    },
    /// Every unordered pair hears each other, independently.
    ErdosRenyi {
        /// How many nodes.
        nodes: u32,
        /// Of each undirected edge.
        probability: f64,
        /// Redraw until connected.
        connected: bool,
    },
    /// A connected Erdos-Renyi graph less two directed edges, still strongly connected: the
    /// topology of the experiments of Ribero et al. (document 001).
    ErdosRenyiMinusTwo {
        /// How many nodes.
        nodes: u32,
        /// Of each undirected edge.
        probability: f64,
    },
    /// Node `r` is heard by `r + 2^j` modulo the number of nodes, for all `2^j` below it.
    Exponential {
        /// How many nodes.
        nodes: u32,
    },
    /// Points in the unit square hear each other within a radius.
    Geometric {
        /// How many nodes.
        nodes: u32,
        /// The farthest that two nodes hear each other.
        radius: f64,
        /// Redraw until connected.
        connected: bool,
    },
    /// A rectangle; neighbours share a side.
    Grid {
        /// Nodes from top to bottom.
        rows: u32,
        /// Nodes from left to right.
        columns: u32,
    },
    /// Node numbers that differ in one binary digit.
    Hypercube {
        /// How many binary digits.
        dimension: u32,
    },
    /// Every node hears the same number of others, drawn without repetition. The quickest to
    /// draw, for a new graph in every round.
    InRegular {
        /// How many nodes.
        nodes: u32,
        /// In-degree.
        degree: u32,
        /// Repair what is not strongly connected.
        connected: bool,
    },
    /// Every node is heard by the same number of others, drawn without repetition.
    OutRegular {
        /// How many nodes.
        nodes: u32,
        /// Out-degree.
        degree: u32,
        /// Repair what is not strongly connected.
        connected: bool,
    },
    /// A line.
    Path {
        /// How many nodes.
        nodes: u32,
    },
    /// An undirected graph whose nodes all have the same degree, drawn by repeated random
    /// pairing (nearly uniform, not exactly).
    RandomRegular {
        /// How many nodes.
        nodes: u32,
        /// Degree.
        degree: u32,
        /// Redraw until connected.
        connected: bool,
    },
    /// A line whose ends meet.
    Ring {
        /// How many nodes.
        nodes: u32,
    },
    /// Watts and Strogatz: a ring where everybody hears the nearest, with edges redirected.
    SmallWorld {
        /// How many nodes.
        nodes: u32,
        /// Degree before edges are redirected; even.
        degree: u32,
        /// Probability that an edge's far end is redrawn.
        rewiring: f64,
        /// Redraw until connected.
        connected: bool,
    },
    /// Node 0 in the middle.
    Star {
        /// How many nodes, the middle included.
        nodes: u32,
    },
    /// A grid whose opposite sides meet.
    Torus {
        /// Nodes from top to bottom.
        rows: u32,
        /// Nodes from left to right.
        columns: u32,
    },
    /// Two complete graphs joined by a single edge: the slowest mixing for its size.
    TwoCliques {
        /// Nodes of each of the two.
        clique: u32,
    },
}

/// Why a graph of a family cannot be had.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FamilyError {
    /// The edges do not make a graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A number is out of its range.
    #[error("{name} is {value}, but has to be {wanted}")]
    Parameter {
        /// What it is called.
        name: &'static str,
        /// What it is.
        value: f64,
        /// What it has to be.
        wanted: &'static str,
    },
    /// The graph would not fit into memory.
    #[error("about {edges:.0} directed edges are too many (at most {MAX_EDGES})")]
    TooLarge {
        /// How many would be expected.
        edges: f64,
    },
    /// No draw had the property that was asked for.
    #[error("no draw of {draws} was {wanted}; more edges per node make it likelier")]
    Unlucky {
        /// How many draws were made.
        draws: u32,
        /// What no draw was.
        wanted: &'static str,
    },
}

/// More directed edges than this are refused: some 4 GB with both directions of search.
const MAX_EDGES: u64 = 1 << 28;

/// How often a random graph is drawn before its being connected is given up.
const MAX_DRAWS: u32 = 1000;

impl Family {
    /// The graph. The seed matters to random families only.
    pub fn build(&self, seed: u64) -> Result<Graph, FamilyError> {
        self.check_size()?;
        let rng = &mut generator(seed, Stream::Family);
        let graph = match *self {
            Self::Complete { nodes } => Graph::undirected(nodes, clique(0, nodes)),
            Self::DirectedErdosRenyi { nodes, probability, connected } => {
                check_unit("probability", probability)?;
                return redraw(connected, || random::directed(nodes, probability, rng));
            }
            Self::Edges { nodes, ref edges, directed } => match directed {
                true => Graph::from_edges(nodes, edges.iter().copied()),
                false => Graph::undirected(nodes, edges.iter().copied()),
            },
            Self::ErdosRenyi { nodes, probability, connected } => {
                check_unit("probability", probability)?;
                return redraw(connected, || random::undirected(nodes, probability, rng));
            }
            Self::ErdosRenyiMinusTwo { nodes, probability } => {
                check_unit("probability", probability)?;
                return random::minus_two(nodes, probability, rng);
            }
            Self::Exponential { nodes } => {
                let hops = (0..n_hops(nodes)).map(|j| 1 << j);
                let edges =
                    hops.flat_map(|hop: u32| (0..nodes).map(move |r| (r, ahead(r, hop, nodes))));
                Graph::from_edges(nodes, edges)
            }
            Self::Geometric { nodes, radius, connected } => {
                if !(radius > 0.0 && radius.is_finite()) {
                    return Err(parameter("radius", radius, "positive and finite"));
                }
                return redraw(connected, || random::geometric(nodes, radius, rng));
            }
            Self::Grid { rows, columns } => {
                let nodes = rows * columns;
                let right = (0..nodes).filter(|i| i % columns + 1 < columns).map(|i| (i, i + 1));
                let down = (0..nodes).filter(|i| i / columns + 1 < rows);
                Graph::undirected(nodes, right.chain(down.map(|i| (i, i + columns))))
            }
            Self::Hypercube { dimension } => {
                let nodes = 1 << dimension;
                let edges = (0..nodes).flat_map(|i| (0..dimension).map(move |j| (i, i ^ (1 << j))));
                Graph::from_edges(nodes, edges)
            }
            Self::InRegular { nodes, degree, connected } => {
                return fixed_degree::in_regular(nodes, degree, connected, seed);
            }
            Self::OutRegular { nodes, degree, connected } => {
                return fixed_degree::out_regular(nodes, degree, connected, seed);
            }
            Self::Path { nodes } => Graph::undirected(nodes, (1..nodes).map(|i| (i - 1, i))),
            Self::RandomRegular { nodes, degree, connected } => {
                if degree >= nodes {
                    return Err(parameter("degree", degree, "below the number of nodes"));
                }
                if nodes % 2 == 1 && degree % 2 == 1 {
                    return Err(parameter("degree", degree, "even, as the number of nodes is odd"));
                }
                return redraw(connected, || random::regular(nodes, degree, rng));
            }
            Self::Ring { nodes } => Graph::undirected(nodes, wrap(nodes)),
            Self::SmallWorld { nodes, degree, rewiring, connected } => {
                check_unit("rewiring", rewiring)?;
                if degree >= nodes || degree % 2 == 1 {
                    return Err(parameter("degree", degree, "even and below the number of nodes"));
                }
                return redraw(connected, || random::small_world(nodes, degree, rewiring, rng));
            }
            Self::Star { nodes } => Graph::undirected(nodes, (1..nodes).map(|i| (0, i))),
            Self::Torus { rows, columns } => {
                let across = (0..rows).flat_map(|r| {
                    wrap(columns).map(move |(a, b)| (r * columns + a, r * columns + b))
                });
                let down = (0..columns)
                    .flat_map(|c| wrap(rows).map(move |(a, b)| (a * columns + c, b * columns + c)));
                Graph::undirected(rows * columns, across.chain(down))
            }
            Self::TwoCliques { clique: size } => {
                let bridge = (size > 0).then(|| (size - 1, size));
                let edges = clique(0, size).chain(clique(size, 2 * size)).chain(bridge);
                Graph::undirected(2 * size, edges)
            }
        };
        Ok(graph?)
    }

    /// Refuses what would not fit, before anything is allocated or multiplied in `u32`.
    fn check_size(&self) -> Result<(), FamilyError> {
        let pairs = |nodes: u32| f64::from(nodes) * f64::from(nodes.saturating_sub(1));
        let (nodes, edges) = match *self {
            Self::Complete { nodes } => (f64::from(nodes), pairs(nodes)),
            Self::DirectedErdosRenyi { nodes, probability, .. }
            | Self::ErdosRenyi { nodes, probability, .. }
            | Self::ErdosRenyiMinusTwo { nodes, probability } => {
                (f64::from(nodes), pairs(nodes) * probability)
            }
            Self::Edges { nodes, ref edges, .. } => (f64::from(nodes), 2.0 * edges.len() as f64),
            Self::Exponential { nodes } => {
                (f64::from(nodes), f64::from(nodes) * f64::from(n_hops(nodes)))
            }
            Self::Geometric { nodes, radius, .. } => {
                (f64::from(nodes), pairs(nodes) * (3.2 * radius * radius).min(1.0))
            }
            Self::Grid { rows, columns } | Self::Torus { rows, columns } => {
                let nodes = f64::from(rows) * f64::from(columns);
                (nodes, 4.0 * nodes)
            }
            Self::Hypercube { dimension } => {
                let nodes = 2_f64.powi(dimension.min(99) as i32);
                (nodes, nodes * f64::from(dimension))
            }
            Self::InRegular { nodes, degree, .. }
            | Self::OutRegular { nodes, degree, .. }
            | Self::RandomRegular { nodes, degree, .. }
            | Self::SmallWorld { nodes, degree, .. } => {
                (f64::from(nodes), f64::from(nodes) * f64::from(degree))
            }
            Self::Path { nodes } | Self::Ring { nodes } | Self::Star { nodes } => {
                (f64::from(nodes), 2.0 * f64::from(nodes))
            }
            Self::TwoCliques { clique } => (2.0 * f64::from(clique), 2.0 * pairs(clique)),
        };
        if nodes == 0.0 {
            return Err(GraphError::NoNodes.into());
        }
        if edges.max(nodes) > MAX_EDGES as f64 {
            return Err(FamilyError::TooLarge { edges: edges.max(nodes) });
        }
        Ok(())
    }
}

/// How many powers of two are below the number of nodes.
pub(crate) fn n_hops(nodes: u32) -> u32 {
    u32::BITS - nodes.saturating_sub(1).leading_zeros()
}

/// The node `hop` places further on, around.
pub(crate) fn ahead(node: u32, hop: u32, nodes: u32) -> u32 {
    ((u64::from(node) + u64::from(hop)) % u64::from(nodes)) as u32
}

fn clique(start: u32, end: u32) -> impl Iterator<Item = (u32, u32)> {
    (start..end).flat_map(move |a| (a + 1..end).map(move |b| (a, b)))
}

/// The edges of a ring; one node has none, and two have one.
fn wrap(nodes: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..nodes).filter(move |_| nodes > 1).map(move |i| (i, ahead(i, 1, nodes)))
}

fn check_unit(name: &'static str, value: f64) -> Result<(), FamilyError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(parameter(name, value, "between 0 and 1"))
}

fn parameter(name: &'static str, value: impl Into<f64>, wanted: &'static str) -> FamilyError {
    FamilyError::Parameter { name, value: value.into(), wanted }
}

fn redraw<D>(connected: bool, mut draw: D) -> Result<Graph, FamilyError>
where
    D: FnMut() -> Result<Graph, FamilyError>,
{
    for _ in 0..MAX_DRAWS {
        let graph = draw()?;
        if !connected || graph.is_strongly_connected() {
            return Ok(graph);
        }
    }
    Err(FamilyError::Unlucky { draws: MAX_DRAWS, wanted: "connected" })
}

#[cfg(test)]
mod tests;
