//! What a forecast says.

use serde::Serialize;
use undertone_privacy::event::Event;
use undertone_privacy::units::{Adjacency, Delta, Epsilon};

use super::constants::Constants;

/// What noise every number of rounds needs, what error is predicted, and what is best.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// How many nodes.
    pub nodes: u32,
    /// How many numbers a model has.
    pub dimension: usize,
    /// What gradients are clipped to: `G`.
    pub clip: f64,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
    /// What is known of the problem.
    pub constants: Constants,
    /// What an estimate from the nodes' own records cost, if there was one.
    pub estimated: Option<Estimated>,
    /// By number of rounds.
    pub rows: Vec<Row>,
    /// What paper 003 chooses.
    pub paper: PaperChoice,
    /// The rounds with the least error that is predicted: for the plan's steps or, where nothing is
    /// proved for those, for the best steps. None if nothing is predicted at all.
    pub ours: Option<u64>,
    /// Why errors are not predicted, if they are not.
    pub unpredicted: Option<String>,
}

/// One number of rounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// `K`.
    pub rounds: u64,
    /// Nodes that are alike, by the first of them.
    pub groups: Vec<Group>,
    /// The predicted mean squared gradient, with the plan's steps, batches and network.
    pub error: Option<f64>,
    /// The constant step for which that would be least.
    pub best_step: Option<f64>,
    /// What is predicted for it.
    pub best_error: Option<f64>,
    /// 003 theorem 1 with the noise that is needed in truth.
    pub theorem_1: f64,
    /// The same with the noise of 003 theorem 2: equation 14.
    pub equation_14: f64,
}

/// Nodes with as many records and the same budget.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Group {
    /// The first of them.
    pub node: u32,
    /// How many they are.
    pub nodes: u32,
    /// Of each.
    pub records: usize,
    /// What may be spent on gradients.
    pub budget: Epsilon,
    /// What may be spent on gradients.
    pub delta: Delta,
    /// The least noise in a mean gradient that keeps the budget.
    pub sigma: f64,
    /// What that costs in truth: at most the budget.
    pub epsilon: Epsilon,
    /// The noise of 003 theorem 2.
    pub paper_sigma: f64,
    /// What that costs in truth, by the paper's own sampling: one uniform record a round,
    /// replace-one. Infinite means no guarantee.
    #[serde(serialize_with = "or_null")]
    pub paper_epsilon: Epsilon,
}

/// What paper 003 chooses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PaperChoice {
    /// `c2`.
    pub constant: f64,
    /// Equation 12, before it is rounded.
    pub exact: f64,
    /// The same as a number of rounds; none beyond what can be run.
    pub rounds: Option<u64>,
}

/// The price of estimating from the nodes' own records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimated {
    /// What every node's ledger was debited.
    pub event: Event,
    /// What that costs the node that it costs most.
    pub epsilon: Epsilon,
    /// At the delta that was taken off the budget for it.
    pub delta: Delta,
    /// What a node's ledger says of it.
    pub guarantee: String,
}

impl Row {
    /// The nodes with the most noise.
    pub fn worst(&self) -> &Group {
        let most = self.groups.iter().max_by(|a, b| a.sigma.total_cmp(&b.sigma));
        most.expect("there is a node")
    }

    /// The least and the most noise.
    pub fn sigmas(&self) -> (f64, f64) {
        let all = || self.groups.iter().map(|group| group.sigma);
        (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max))
    }

    /// What the paper's noise costs the node that it costs most.
    pub fn paper_epsilon(&self) -> Epsilon {
        self.groups
            .iter()
            .map(|group| group.paper_epsilon)
            .fold(Epsilon::ZERO, |a, b| if b > a { b } else { a })
    }
}

fn or_null<S: serde::Serializer>(epsilon: &Epsilon, serializer: S) -> Result<S::Ok, S::Error> {
    epsilon.get().is_finite().then_some(epsilon.get()).serialize(serializer)
}
