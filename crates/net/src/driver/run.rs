//! From what an experiment puts together to a node that runs.

use undertone_graph::NodeId;
use undertone_node::{AssembleError, Oracle, Visitor};
use undertone_privacy::ledger::Store as LedgerStore;
use undertone_protocol::{Automaton, Encounters, Machine, PairwiseSgd, Synchronous};
use undertone_real::Real;

use super::{NodeError, Options, Outcome, Status, drive};
use crate::engine::{Engine, EngineError, Setup};

/// Runs a node that an experiment puts together.
pub struct Run<'a> {
    /// What it needs.
    pub setup: Setup,
    /// Where it listens.
    pub options: Options,
    /// Is told where it stands, from time to time.
    pub watch: &'a mut dyn FnMut(&Status),
}

impl<R: Real> Visitor<R> for Run<'_> {
    type Out = Result<Outcome, NodeError>;

    fn visit<P, S>(self, mut nodes: Vec<(P, Oracle<R, S>)>) -> Self::Out
    where
        P: Synchronous<R> + Send + Sync + 'static,
        S: LedgerStore + Send,
    {
        let (protocol, oracle) = nodes.pop().expect("one node was wanted");
        let Setup { node, n_rounds, rounds, .. } = &self.setup;
        let machine = Machine::new(protocol, NodeId(*node), *n_rounds, rounds.patience());
        self.start(machine, oracle)
    }

    fn visit_pairs<S>(
        mut self,
        mut nodes: Vec<(PairwiseSgd<R>, Oracle<R, S>)>,
        seed: u64,
    ) -> Result<Self::Out, AssembleError>
    where
        S: LedgerStore + Send,
    {
        let (algorithm, oracle) = nodes.pop().expect("one node was wanted");
        self.setup.n_rounds = algorithm.activations();
        let node = NodeId(self.setup.node);
        let wiring = match self.setup.topology.wiring_at(0) {
            Ok(wiring) => wiring,
            Err(error) => return Ok(Err(EngineError::from(error).into())),
        };
        let others = wiring.around(node).hearers.to_vec();
        let n_nodes = wiring.graph.n_nodes();
        Ok(self.start(Encounters::new(algorithm, node, others, n_nodes, seed), oracle))
    }
}

impl Run<'_> {
    fn start<M, R, S>(self, machine: M, oracle: Oracle<R, S>) -> Result<Outcome, NodeError>
    where
        M: Automaton<R>,
        R: Real,
        S: LedgerStore,
    {
        let setup = self.setup.clone();
        let engine = Engine::open(machine, oracle, self.setup)?;
        drive(engine, &setup, self.options, self.watch)
    }
}
