//! One node of an experiment, put together: for drivers that run a node and not all of them.

use undertone_privacy::ledger::{OpenError, Store};
use undertone_protocol::{
    Dsgd, Gossip, PrivSgp, PushSum, RunningSum, SparsePushSum, Steps, Surplus, Synchronous,
    TwoStage,
};
use undertone_real::Real;

use super::{Algorithm, Experiment};
use crate::oracle::Oracle;
use crate::plan::PlanError;

/// Whoever wants one node, whatever its algorithm is.
pub trait Visitor<R: Real> {
    /// What it makes of it.
    type Out;

    /// Gets the algorithm and the oracle, before the first answer.
    fn visit<P, S>(self, protocol: P, oracle: Oracle<R, S>) -> Self::Out
    where
        P: Synchronous<R> + Send + Sync + 'static,
        S: Store;
}

/// Why a node cannot be put together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AssembleError {
    /// Its ledger does not open.
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
    /// Puts a node together. One that averages gets `numbers`, or those that the plan has for it.
    /// Panics if the numbers of the run are not those of the plan.
    pub fn assemble<R: Real, V: Visitor<R>>(
        &self,
        seed: u64,
        node: u32,
        numbers: Option<Vec<f64>>,
        visitor: V,
    ) -> Result<V::Out, AssembleError> {
        if node >= self.nodes() {
            return Err(AssembleError::NoNode(node));
        }
        let part = Part { experiment: self, seed, node, numbers };
        let d = self.dimension();
        match self.algorithm() {
            Algorithm::Dsgd { step, rounds } => {
                let node = |start: &[R], steps, _| Dsgd::new(start, steps);
                part.learns(Steps::new(rounds, step, 1.0), node, visitor)
            }
            Algorithm::Gossip => part.averages(Gossip::<R>::new(d), visitor),
            Algorithm::PrivSgp { step, rounds, reduced } => {
                let node = |start: &[R], steps, records| match reduced {
                    false => PrivSgp::new(start, steps),
                    true => PrivSgp::new(start, steps).with_reduction(records),
                };
                part.learns(Steps::new(rounds, step, 1.0), node, visitor)
            }
            Algorithm::PushSum => part.averages(PushSum::<R>::new(d), visitor),
            Algorithm::RunningSum => part.averages(RunningSum::<R>::new(d), visitor),
            Algorithm::SparsePushSum { sparsity } => {
                part.averages(SparsePushSum::<R>::new(d, sparsity, seed), visitor)
            }
            Algorithm::Surplus { sparsity, gamma, window } => {
                part.averages(Surplus::<R>::new(d, sparsity, seed, window, gamma), visitor)
            }
            Algorithm::TwoStage { domain, steps, first_step } => {
                part.averages(TwoStage::<R>::new(d, domain, steps, first_step), visitor)
            }
        }
    }
}

struct Part<'a> {
    experiment: &'a Experiment,
    seed: u64,
    node: u32,
    numbers: Option<Vec<f64>>,
}

impl Part<'_> {
    fn averages<R, P, V>(self, protocol: P, visitor: V) -> Result<V::Out, AssembleError>
    where
        R: Real,
        P: Synchronous<R> + Send + Sync + 'static,
        V: Visitor<R>,
    {
        let Self { experiment, seed, node, numbers } = self;
        let numbers = numbers.unwrap_or_else(|| experiment.data(seed, node));
        Ok(visitor.visit(protocol, experiment.oracle::<R>(seed, node, numbers)?))
    }

    fn learns<R, P, V>(
        self,
        steps: Steps,
        protocol: impl Fn(&[R], Steps, usize) -> P,
        visitor: V,
    ) -> Result<V::Out, AssembleError>
    where
        R: Real,
        P: Synchronous<R> + Send + Sync + 'static,
        V: Visitor<R>,
    {
        let Self { experiment, seed, node, .. } = self;
        let learners = experiment.learners::<R>(seed)?;
        let own = |learner: &crate::Learner<R>| learner.oracle.ledger().header().node == node;
        let learner = learners.into_iter().find(own).ok_or(AssembleError::NoNode(node))?;
        let steps = Steps { divisor: learner.divisor, ..steps };
        let start = experiment.initial::<R>(seed);
        Ok(visitor.visit(protocol(&start, steps, learner.records), learner.oracle))
    }
}
