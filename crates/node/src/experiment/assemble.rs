//! Nodes of an experiment, put together: algorithm and oracle, for whoever drives them.

use std::sync::Arc;

use undertone_privacy::ledger::{OpenError, Store};
use undertone_protocol::{
    Dsgd, Gossip, PairwiseSgd, PrivSgp, PushSum, QDpsgd, QDpsgd2, RunningSum, Sdm, SparsePushSum,
    StepSize, Steps, Surplus, SurplusGradient, Synchronous, TwoStage,
};
use undertone_real::Real;

use super::{Algorithm, Experiment, Learner};
use crate::oracle::Oracle;
use crate::plan::PlanError;

/// Whoever wants nodes, whatever their algorithm is.
pub trait Visitor<R: Real> {
    /// What it makes of them.
    type Out;

    /// Gets nodes and their oracles, before the first answer.
    fn visit<P, S>(self, nodes: Vec<(P, Oracle<R, S>)>) -> Self::Out
    where
        P: Synchronous<R> + Send + Sync + 'static,
        S: Store + Send;

    /// Gets nodes of an algorithm without rounds, which meet by the luck of a public seed. Whoever
    /// does not say how to drive those refuses them.
    fn visit_pairs<S>(
        self,
        _nodes: Vec<(PairwiseSgd<R>, Oracle<R, S>)>,
        _seed: u64,
    ) -> Result<Self::Out, AssembleError>
    where
        Self: Sized,
        S: Store + Send,
    {
        Err(AssembleError::NoRounds)
    }
}

/// Which nodes are wanted.
#[derive(Clone, Debug, PartialEq)]
pub enum Wanted {
    /// All, in order.
    All,
    /// One of them.
    One {
        /// Which.
        node: u32,
        /// What it averages, if it does, in place of what the plan has for it.
        numbers: Option<Vec<f64>>,
    },
}

/// Why nodes cannot be put together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AssembleError {
    /// There are no rounds.
    #[error("adp2-sgd has no rounds, which this needs; take another algorithm")]
    NoRounds,
    /// A ledger does not open.
    #[error("the ledger does not open: {0}")]
    Open(#[from] OpenError),
    /// With this seed the plan does not do.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// There is no such node.
    #[error("there is no node {0} in the plan")]
    NoNode(u32),
}

impl Experiment {
    /// Puts nodes together. Panics if the numbers of the run are not those of the plan.
    pub fn assemble<R: Real, V: Visitor<R>>(
        &self,
        seed: u64,
        wanted: Wanted,
        visitor: V,
    ) -> Result<V::Out, AssembleError> {
        let d = self.dimension();
        let parts = Parts { experiment: self, seed, wanted };
        match self.algorithm() {
            Algorithm::Admm => parts.minimise(visitor),
            Algorithm::Adp2Sgd { steps } => parts.meet(steps, visitor),
            Algorithm::Dsgd { steps } => {
                parts.learn(steps, |start: &[R], steps, _| Dsgd::new(start, steps), visitor)
            }
            Algorithm::Gossip => parts.average(|| Gossip::<R>::new(d), visitor),
            Algorithm::PrivSgp { steps, reduced } => {
                let node = |start: &[R], steps, learner: &Learner<R>| match reduced {
                    false => PrivSgp::new(start, steps),
                    true => PrivSgp::new(start, steps).with_reduction(learner.records),
                };
                parts.learn(steps, node, visitor)
            }
            Algorithm::PushSum => parts.average(|| PushSum::<R>::new(d), visitor),
            Algorithm::QDpsgd1 { steps, pace, lattice } => {
                let node = |start: &[R], steps, learner: &Learner<R>| {
                    let batches = Arc::clone(&learner.batches);
                    QDpsgd::new(start, steps, pace, lattice, seed).with_batches(batches)
                };
                parts.learn(steps, node, visitor)
            }
            Algorithm::QDpsgd2 { steps, pace, lattice, printed } => {
                let node = |start: &[R], steps, learner: &Learner<R>| {
                    let batches = Arc::clone(&learner.batches);
                    let node = QDpsgd2::new(start, steps, pace, lattice, seed);
                    let node = node.with_batches(batches);
                    if printed { node.printed() } else { node }
                };
                parts.learn(steps, node, visitor)
            }
            Algorithm::RunningSum => parts.average(|| RunningSum::<R>::new(d), visitor),
            Algorithm::Sdm { steps, pace, transmit } => {
                let node = |start: &[R], steps, _: &_| Sdm::new(start, steps, pace, transmit, seed);
                parts.learn(steps, node, visitor)
            }
            Algorithm::SparsePushSum { sparsity } => {
                parts.average(|| SparsePushSum::<R>::new(d, sparsity, seed), visitor)
            }
            Algorithm::Surplus { sparsity, gamma, window } => {
                parts.average(|| Surplus::<R>::new(d, sparsity, seed, window, gamma), visitor)
            }
            Algorithm::SurplusGradient { steps, sparsity, gamma, window } => {
                let node = |start: &[R], steps, _: &_| {
                    SurplusGradient::new(start, steps, sparsity, seed, window, gamma)
                };
                parts.learn(steps, node, visitor)
            }
            Algorithm::TwoStage { domain, steps, first_step } if self.plan().model.is_some() => {
                let node = |start: &[R], _, learner: &Learner<R>| {
                    let first = first_step / learner.records as f64;
                    TwoStage::new(d, domain, steps, first).starting_at(start)
                };
                parts.learn(Steps::new(steps, StepSize::Constant(1.0), 1.0), node, visitor)
            }
            Algorithm::TwoStage { domain, steps, first_step } => {
                parts.average(|| TwoStage::<R>::new(d, domain, steps, first_step), visitor)
            }
        }
    }
}

struct Parts<'a> {
    experiment: &'a Experiment,
    seed: u64,
    wanted: Wanted,
}

impl Parts<'_> {
    /// Nodes that agree on a mean.
    fn average<R, P, V>(self, node: impl Fn() -> P, visitor: V) -> Result<V::Out, AssembleError>
    where
        R: Real,
        P: Synchronous<R> + Send + Sync + 'static,
        V: Visitor<R>,
    {
        let Self { experiment, seed, wanted } = self;
        let oracles: Vec<Oracle<R>> = match wanted {
            Wanted::All => experiment.oracles(seed)?,
            Wanted::One { node, .. } if node >= experiment.nodes() => {
                return Err(AssembleError::NoNode(node));
            }
            Wanted::One { node, .. } if experiment.plan().model.is_some() => {
                experiment.oracles(seed)?.into_iter().skip(node as usize).take(1).collect()
            }
            Wanted::One { node, numbers } => {
                let numbers = numbers.unwrap_or_else(|| experiment.data(seed, node));
                vec![experiment.oracle(seed, node, numbers)?]
            }
        };
        Ok(visitor.visit(oracles.into_iter().map(|oracle| (node(), oracle)).collect()))
    }

    /// Nodes that learn a model. A node is made of where all start, its steps, and what is public
    /// about its records.
    fn learn<R, P, V>(
        self,
        steps: Steps,
        node: impl Fn(&[R], Steps, &Learner<R>) -> P,
        visitor: V,
    ) -> Result<V::Out, AssembleError>
    where
        R: Real,
        P: Synchronous<R> + Send + Sync + 'static,
        V: Visitor<R>,
    {
        let Self { experiment, seed, wanted } = self;
        let start = experiment.initial::<R>(seed);
        let split = |learner: Learner<R>| {
            let steps = Steps { divisor: learner.divisor, ..steps };
            (node(&start, steps, &learner), learner.oracle)
        };
        let nodes = experiment.learners::<R>(seed)?.into_iter().map(split);
        Ok(visitor.visit(chosen(nodes.collect(), &wanted)?))
    }

    /// Nodes that learn and meet in pairs.
    fn meet<R: Real, V: Visitor<R>>(
        self,
        steps: Steps,
        visitor: V,
    ) -> Result<V::Out, AssembleError> {
        let Self { experiment, seed, wanted } = self;
        let start = experiment.initial::<R>(seed);
        let split = |learner: Learner<R>| {
            let steps = Steps { divisor: learner.divisor, ..steps };
            (PairwiseSgd::new(&start, steps), learner.oracle)
        };
        let nodes = experiment.learners::<R>(seed)?.into_iter().map(split);
        visitor.visit_pairs(chosen(nodes.collect(), &wanted)?, seed)
    }

    /// Nodes that learn by local minima.
    fn minimise<R: Real, V: Visitor<R>>(self, visitor: V) -> Result<V::Out, AssembleError> {
        let nodes = self.experiment.minimisers::<R>(self.seed)?;
        Ok(visitor.visit(chosen(nodes, &self.wanted)?))
    }
}

/// Nodes and their oracles.
type Nodes<P, R, S> = Vec<(P, Oracle<R, S>)>;

/// Those that are wanted.
fn chosen<P, R: Real, S: Store>(
    mut nodes: Nodes<P, R, S>,
    wanted: &Wanted,
) -> Result<Nodes<P, R, S>, AssembleError> {
    if let Wanted::One { node, .. } = wanted {
        nodes.retain(|(_, oracle)| oracle.ledger().header().node == *node);
        if nodes.is_empty() {
            return Err(AssembleError::NoNode(*node));
        }
    }
    Ok(nodes)
}
