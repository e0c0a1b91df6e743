//! What is left of a run: the model, and what every node was charged for.

use std::sync::Arc;

use undertone_model::Model;
use undertone_node::{Experiment, Oracle};
use undertone_privacy::event::Event;
use undertone_privacy::ledger::{Header, Store};
use undertone_real::Real;

use super::Run;
use crate::evaluate::{Estimate, mean, residual};

/// A model at the end of a run. It is made of what nodes released, so that it costs nothing more.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// What it is.
    pub model: Model,
    /// Its parameters.
    pub parameters: Vec<f64>,
    /// Whether they are those of node 0, which heard nobody; otherwise the mean over all nodes.
    pub alone: bool,
    /// How far nodes are from their mean, all together, by its norm.
    pub disagreement: f64,
}

/// What one node was charged for.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// The terms of its ledger.
    pub header: Header,
    /// What was debited how often, in order.
    pub debited: Vec<(Arc<Event>, u64)>,
}

impl Account {
    /// Of runs with more nodes there are none: nobody reads so many, and they take memory.
    pub const MOST: usize = 1000;

    pub(super) fn all<R: Real, S: Store>(oracles: &[&Oracle<R, S>]) -> Vec<Self> {
        if oracles.len() > Self::MOST {
            return Vec::new();
        }
        let account = |oracle: &&Oracle<R, S>| {
            let ledger = oracle.ledger();
            Self { header: ledger.header().clone(), debited: ledger.store().debited() }
        };
        oracles.iter().map(account).collect()
    }
}

impl Run {
    /// With the model that the nodes ended with.
    pub(super) fn with_trained<'n, P, R, I>(self, experiment: &Experiment, nodes: I) -> Self
    where
        P: Estimate<R> + 'n,
        R: Real,
        I: IntoIterator<Item = &'n P> + Clone,
    {
        let Some(model) = experiment.model() else { return self };
        let middle = mean(nodes.clone(), experiment.dimension());
        let norm = middle.iter().map(|v| v * v).sum::<f64>().sqrt();
        let disagreement = residual(nodes.clone(), &middle) / norm;
        let alone = experiment.plan().network.leaves_nodes_alone();
        let estimate = match alone {
            true => mean(nodes.into_iter().take(1), experiment.dimension()),
            false => middle,
        };
        let parameters = experiment.parameters(estimate);
        Self { trained: Some(Trained { model, parameters, alone, disagreement }), ..self }
    }
}
