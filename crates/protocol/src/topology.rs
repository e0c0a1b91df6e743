//! The public part of a round: who hears whom, and with what weights.

use std::collections::BTreeMap;
use std::sync::Arc;

use undertone_graph::{Graph, Mixing, NodeId, Schedule, ScheduleError, Weights};

/// A schedule of graphs and the weights that the algorithm needs on them.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    schedule: Schedule,
    pull: Option<Rule>,
    push: Option<Rule>,
}

/// Where weights come from.
#[derive(Clone, Debug, PartialEq)]
struct Rule {
    weights: Weights,
    /// The share that everybody keeps on top.
    lazy: f64,
}

/// Why a round has no wiring.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TopologyError {
    /// The schedule or its weights.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
}

impl Topology {
    /// Without weights: enough for algorithms that split evenly among their hearers.
    pub fn new(schedule: Schedule) -> Self {
        Self { schedule, pull: None, push: None }
    }

    /// With the weights a node gives to what it hears (rows sum to one).
    pub fn with_pull(mut self, weights: Weights, lazy: f64) -> Self {
        self.pull = Some(Rule { weights, lazy });
        self
    }

    /// With the weights by which a node deals out what it has (columns sum to one).
    pub fn with_push(mut self, weights: Weights) -> Self {
        self.push = Some(Rule { weights, lazy: 0.0 });
        self
    }

    /// The schedule.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// What a round looks like.
    pub fn wiring_at(&self, round: u64) -> Result<Wiring, TopologyError> {
        let graph = self.schedule.graph_at(round).map_err(ScheduleError::from)?.into_owned();
        let mixing = |rule: &Rule| {
            let mixing = Mixing::new(&graph, rule.weights)
                .and_then(|m| if rule.lazy > 0.0 { m.lazy(rule.lazy) } else { Ok(m) });
            mixing.map_err(|source| ScheduleError::Mixing { round, source })
        };
        let pull = self.pull.as_ref().map(mixing).transpose()?;
        let push = self.push.as_ref().map(mixing).transpose()?;
        Ok(Wiring { graph, pull, push })
    }
}

/// One round's graph and weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Wiring {
    /// Who hears whom.
    pub graph: Graph,
    /// Weights by receiver; rows sum to one.
    pub pull: Option<Mixing>,
    /// Weights by receiver; columns sum to one.
    pub push: Option<Mixing>,
}

impl Wiring {
    /// What a node sees of the round.
    #[inline(always)]
    pub fn around(&self, node: NodeId) -> Neighbourhood<'_> {
        Neighbourhood {
            node,
            heard: self.graph.in_neighbours(node),
            n_hearers: self.graph.out_degree(node),
            pull: self.pull.as_ref(),
            push: self.push.as_ref(),
        }
    }

    /// Who hears a node, in increasing order.
    pub fn hearers(&self, node: NodeId) -> &[NodeId] {
        self.graph.out_neighbours(node)
    }
}

/// What one node sees of a round.
#[derive(Clone, Copy, Debug)]
pub struct Neighbourhood<'a> {
    /// Who looks.
    pub node: NodeId,
    /// Whom it hears, in increasing order.
    pub heard: &'a [NodeId],
    /// How many hear it.
    pub n_hearers: usize,
    pull: Option<&'a Mixing>,
    push: Option<&'a Mixing>,
}

impl<'a> Neighbourhood<'a> {
    /// The even share of a node that splits what it has among its hearers and itself.
    pub fn share(&self) -> f64 {
        1.0 / (self.n_hearers + 1) as f64
    }

    /// The weight this node gives to what it hears from `from`, or to its own value; over all of
    /// them they sum to one. Panics if the topology has no such weights.
    #[inline(always)]
    pub fn pull(&self, from: NodeId) -> f64 {
        let pull = self.pull.expect("the experiment gives this algorithm pull weights");
        pull.weight(self.node, from)
    }

    /// The share of what `from` deals out that this node gets; over all hearers of `from`, itself
    /// included, they sum to one. Panics if the topology has no such weights.
    #[inline(always)]
    pub fn push(&self, from: NodeId) -> f64 {
        let push = self.push.expect("the experiment gives this algorithm push weights");
        push.weight(self.node, from)
    }
}

/// The wirings that drivers need again: all of a schedule that repeats itself, the last few of any
/// other.
#[derive(Debug)]
pub struct Wirings {
    topology: Topology,
    kept: BTreeMap<u64, Arc<Wiring>>,
    limit: usize,
}

/// Longer periods are computed anew.
const MAX_PERIOD: u64 = 64;

impl Wirings {
    /// Keeps up to `limit` rounds of a schedule that does not repeat itself.
    pub fn new(topology: Topology, limit: usize) -> Self {
        Self { topology, kept: BTreeMap::new(), limit: limit.max(1) }
    }

    /// The wiring of a round.
    pub fn at(&mut self, round: u64) -> Result<Arc<Wiring>, TopologyError> {
        let period = self.topology.schedule.period().filter(|period| *period <= MAX_PERIOD);
        let key = period.map_or(round, |period| round % period);
        if let Some(wiring) = self.kept.get(&key) {
            return Ok(Arc::clone(wiring));
        }
        let wiring = Arc::new(self.topology.wiring_at(round)?);
        if period.is_none() && self.kept.len() >= self.limit {
            self.kept.pop_first();
        }
        self.kept.insert(key, Arc::clone(&wiring));
        Ok(wiring)
    }

    /// What they are the rounds of.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }
}
