//! Who hears whom in which round.

use std::borrow::Cow;

use rand::Rng;

use crate::draw::{Stream, generator, shuffle};
use crate::family::{Family, FamilyError, ahead, n_hops};
use crate::graph::{Graph, GraphError};
use crate::mixing::{Mixing, MixingError, Weights};

/// A function from rounds to graphs. Any round can be asked for without those before it.
#[derive(Clone, Debug, PartialEq)]
pub enum Schedule {
    /// Some graphs in turn, over and over.
    Cycle(Cycle),
    /// In round `k`, node `r` is heard by `r + 2^(k mod hops)` modulo the number of nodes, where
    /// `hops = floor(log2(nodes - 1)) + 1`: the topology of document 003 (appendix D). With
    /// [`Weights::Out`] everybody keeps one half and sends the other.
    Exponential {
        /// How many nodes.
        nodes: u32,
    },
    /// The same graph always.
    Fixed(Graph),
    /// Every round pairs all nodes (but one, if their number is odd) at random.
    Matching {
        /// How many nodes.
        nodes: u32,
        /// Of the pairings.
        seed: u64,
    },
    /// Every round pairs neighbours in a symmetric graph at random until no pair is left. Of a
    /// directed graph only edges that run both ways are used.
    NeighbourMatching {
        /// Who can be paired with whom.
        graph: Graph,
        /// Of the pairings.
        seed: u64,
    },
    /// Every round draws a graph of its own.
    PerRound {
        /// What is drawn.
        family: Family,
        /// Of the draws.
        seed: u64,
    },
}

/// At least one graph, all of one size.
#[derive(Clone, Debug, PartialEq)]
pub struct Cycle(Vec<Graph>);

impl Cycle {
    /// Checks the graphs.
    pub fn new(graphs: Vec<Graph>) -> Result<Self, ScheduleError> {
        let left = graphs.first().ok_or(ScheduleError::NoGraphs)?.n_nodes();
        if let Some(other) = graphs.iter().find(|graph| graph.n_nodes() != left) {
            return Err(GraphError::SizeMismatch { left, right: other.n_nodes() }.into());
        }
        Ok(Self(graphs))
    }

    /// The graphs in turn.
    pub fn graphs(&self) -> &[Graph] {
        &self.0
    }
}

/// Why a schedule cannot be made or does not do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScheduleError {
    /// A cycle has at least one graph.
    #[error("a cycle needs at least one graph")]
    NoGraphs,
    /// Graphs do not go together.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A round's graph cannot be drawn.
    #[error(transparent)]
    Family(#[from] FamilyError),
    /// A round's graph has no such weights.
    #[error("round {round}: {source}")]
    Mixing {
        /// The round.
        round: u64,
        /// What is wrong.
        source: MixingError,
    },
    /// A window has at least one round.
    #[error("a window needs at least one round")]
    EmptyWindow,
    /// In some window not everybody reaches everybody.
    #[error("rounds {start} to {end} together are not strongly connected")]
    NotConnected {
        /// The first round of the window.
        start: u64,
        /// The last one.
        end: u64,
    },
}

/// How far a check of all windows reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowCheck {
    /// The schedule repeats itself, so every window there will ever be is connected.
    Always,
    /// All windows that start before this round are connected; later ones were not drawn.
    Before(u64),
}

impl Schedule {
    /// How many nodes there are, if the schedule has any.
    pub fn n_nodes(&self) -> Result<u32, FamilyError> {
        Ok(self.graph_at(0)?.n_nodes())
    }

    /// After how many rounds the schedule repeats itself, if it does.
    pub fn period(&self) -> Option<u64> {
        match self {
            Self::Cycle(Cycle(graphs)) => Some(graphs.len() as u64),
            Self::Exponential { nodes } => Some(u64::from(n_hops(*nodes)).max(1)),
            Self::Fixed(_) => Some(1),
            Self::Matching { .. } | Self::NeighbourMatching { .. } | Self::PerRound { .. } => None,
        }
    }

    /// The graph of a round.
    pub fn graph_at(&self, round: u64) -> Result<Cow<'_, Graph>, FamilyError> {
        Ok(match self {
            Self::Cycle(Cycle(graphs)) => {
                Cow::Borrowed(&graphs[(round % graphs.len() as u64) as usize])
            }
            &Self::Exponential { nodes } => {
                let n_hops = n_hops(nodes);
                // A single node has nobody to send to.
                let hop = if n_hops == 0 { 0 } else { 1 << (round % u64::from(n_hops)) };
                let senders = (0..nodes).filter(|_| hop > 0);
                let edges = senders.map(|r| (r, ahead(r, hop, nodes)));
                Cow::Owned(Graph::from_edges(nodes, edges)?)
            }
            Self::Fixed(graph) => Cow::Borrowed(graph),
            &Self::Matching { nodes, seed } => {
                let mut order: Vec<u32> = (0..nodes).collect();
                shuffle(&mut generator(seed, Stream::Round(round)), &mut order);
                let pairs = order.chunks_exact(2).map(|pair| (pair[0], pair[1]));
                Cow::Owned(Graph::undirected(nodes, pairs)?)
            }
            Self::NeighbourMatching { graph, seed } => {
                Cow::Owned(neighbour_matching(graph, *seed, round)?)
            }
            Self::PerRound { family, seed } => {
                // The round's own seed comes from the round's own stream.
                let own = generator(*seed, Stream::Round(round)).next_u64();
                Cow::Owned(family.build(own)?)
            }
        })
    }

    /// The weights of a round.
    pub fn mixing_at(&self, round: u64, rule: Weights) -> Result<Mixing, ScheduleError> {
        let graph = self.graph_at(round)?;
        Mixing::new(&graph, rule).map_err(|source| ScheduleError::Mixing { round, source })
    }

    /// All edges of `window` rounds from `start` on.
    pub fn union_over(&self, start: u64, window: u64) -> Result<Graph, ScheduleError> {
        if window == 0 {
            return Err(ScheduleError::EmptyWindow);
        }
        // Rounds of a second turn add nothing.
        let n_rounds = self.period().map_or(window, |period| period.min(window));
        let mut n_nodes = 0;
        let mut edges = Vec::new();
        for round in start..start.saturating_add(n_rounds) {
            let graph = self.graph_at(round)?;
            n_nodes = graph.n_nodes();
            edges.extend(graph.edges().map(|(a, b)| (a.0, b.0)));
        }
        Ok(Graph::from_edges(n_nodes, edges)?)
    }

    /// Checks that any `window` rounds in a row are strongly connected taken together (B-strong
    /// connectivity). A schedule that repeats itself is checked for good, any other for windows
    /// that start before round `horizon`.
    pub fn check_windows(&self, window: u64, horizon: u64) -> Result<WindowCheck, ScheduleError> {
        for start in 0..self.period().unwrap_or(horizon) {
            if !self.union_over(start, window)?.is_strongly_connected() {
                return Err(ScheduleError::NotConnected {
                    start,
                    end: start.saturating_add(window - 1),
                });
            }
        }
        Ok(self.period().map_or(WindowCheck::Before(horizon), |_| WindowCheck::Always))
    }
}

fn neighbour_matching(graph: &Graph, seed: u64, round: u64) -> Result<Graph, GraphError> {
    let mutual = graph.edges().filter(|&(a, b)| a < b && graph.has_edge(b, a));
    let mut edges: Vec<_> = mutual.collect();
    shuffle(&mut generator(seed, Stream::Round(round)), &mut edges);
    let mut taken = vec![false; graph.n_nodes() as usize];
    edges.retain(|&(a, b)| {
        let free = !taken[a.idx()] && !taken[b.idx()];
        if free {
            taken[a.idx()] = true;
            taken[b.idx()] = true;
        }
        free
    });
    Graph::undirected(graph.n_nodes(), edges.into_iter().map(|(a, b)| (a.0, b.0)))
}

#[cfg(test)]
mod tests;
