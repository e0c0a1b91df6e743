//! Who hears whom in which round.

use std::borrow::Cow;

use rand::Rng;

use crate::draw::{Stream, below_long, fast_generator, generator, shuffle};
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
    /// Every `window` rounds draw a graph together, and each of its directed edges is in one of
    /// them, chosen at random: any window that starts at a multiple of `window` has the drawn
    /// graph as its union, as document 001 assumes (2.4), though a single round may have hardly
    /// an edge. With a window of one it is [`Schedule::PerRound`]. See [`Schedule::windowed`].
    Window {
        /// What is drawn.
        family: Family,
        /// How many rounds share a graph; at least one.
        window: u64,
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
    /// A [`Schedule::Window`], checked.
    pub fn windowed(family: Family, window: u64, seed: u64) -> Result<Self, ScheduleError> {
        if window == 0 {
            return Err(ScheduleError::EmptyWindow);
        }
        Ok(Self::Window { family, window, seed })
    }

    /// Two sparse directed graphs in turn, neither of which is strongly connected while both
    /// together are: the periodic topology of document 001's experiments. The document shows its
    /// edges in a picture only; this is a stand-in of the same kind. On a circle, even nodes are
    /// heard by the next and by the third next in even rounds, odd nodes in odd rounds.
    pub fn alternating(nodes: u32) -> Result<Self, ScheduleError> {
        let half = |parity: u32| {
            let senders = (0..nodes).filter(move |i| i % 2 == parity);
            let edges = senders.flat_map(|i| [1, 3].map(|hop| (i, ahead(i, hop, nodes))));
            // Around a circle of one or three a hop can come back to where it started.
            Graph::from_edges(nodes, edges.filter(|(a, b)| a != b))
        };
        Ok(Self::Cycle(Cycle::new(vec![half(0)?, half(1)?])?))
    }

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
            Self::Matching { .. }
            | Self::NeighbourMatching { .. }
            | Self::PerRound { .. }
            | Self::Window { .. } => None,
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
            Self::PerRound { family, seed } => Cow::Owned(draw(family, *seed, round)?),
            Self::Window { family, window, seed } => {
                Cow::Owned(deal(family, *window, *seed, round)?)
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
        let starts = 0..self.period().unwrap_or(horizon);
        self.check_starts(starts, window)?;
        Ok(self.period().map_or(WindowCheck::Before(horizon), |_| WindowCheck::Always))
    }

    /// As [`Schedule::check_windows`], for windows that start at a multiple of `window` only: less
    /// is asked, and it is what document 001 assumes (2.4).
    pub fn check_aligned_windows(
        &self,
        window: u64,
        horizon: u64,
    ) -> Result<WindowCheck, ScheduleError> {
        if window == 0 {
            return Err(ScheduleError::EmptyWindow);
        }
        // Windows repeat themselves after as many rounds as are a multiple of both.
        let turn = self.period().map(|period| lcm(period, window));
        let starts = (0..turn.unwrap_or(horizon)).step_by(window.min(usize::MAX as u64) as usize);
        self.check_starts(starts, window)?;
        Ok(turn.map_or(WindowCheck::Before(horizon), |_| WindowCheck::Always))
    }

    fn check_starts<S>(&self, mut starts: S, window: u64) -> Result<(), ScheduleError>
    where
        S: Iterator<Item = u64>,
    {
        starts.try_for_each(|start| {
            if self.union_over(start, window)?.is_strongly_connected() {
                return Ok(());
            }
            Err(ScheduleError::NotConnected { start, end: start.saturating_add(window - 1) })
        })
    }
}

/// The round's own seed comes from the round's own stream.
fn draw(family: &Family, seed: u64, round: u64) -> Result<Graph, FamilyError> {
    family.build(generator(seed, Stream::Round(round)).next_u64())
}

/// The edges that a round is dealt of its window's graph.
fn deal(family: &Family, window: u64, seed: u64, round: u64) -> Result<Graph, FamilyError> {
    if window == 0 {
        let wanted = "at least 1 round";
        return Err(FamilyError::Parameter { name: "window", value: 0.0, wanted });
    }
    let whole = draw(family, seed, round / window)?;
    let rng = &mut fast_generator(seed, Stream::Deal(round / window));
    // Every round of the window draws for all edges in order, so that all rounds agree.
    let dealt = whole.edges().filter(|_| below_long(rng, window) == round % window);
    Ok(Graph::from_edges(whole.n_nodes(), dealt.map(|(a, b)| (a.0, b.0)))?)
}

fn lcm(a: u64, b: u64) -> u64 {
    let (mut divisor, mut rest) = (a, b);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor).saturating_mul(b)
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
