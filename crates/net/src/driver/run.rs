//! From what an experiment puts together to a node that runs.

use undertone_graph::NodeId;
use undertone_node::plan::Precision;
use undertone_node::{AssembleError, Experiment, Oracle, Visitor, Wanted};
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
        self.start(Box::new(machine), oracle)
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
        let others = wiring.hearers(node).to_vec();
        let n_nodes = wiring.graph.n_nodes();
        let machine = Encounters::new(algorithm, node, others, n_nodes, seed);
        Ok(self.start(Box::new(machine), oracle))
    }
}

impl Run<'_> {
    /// Runs one node of an experiment, in the precision of its plan. Machines are compiled here and
    /// not where this is called; there is one engine for all.
    pub fn node(
        self,
        experiment: &Experiment,
        precision: Precision,
        seed: u64,
        numbers: Option<Vec<f64>>,
    ) -> Result<Result<Outcome, NodeError>, AssembleError> {
        let wanted = Wanted::One { node: self.setup.node, numbers };
        match precision {
            Precision::F32 => experiment.assemble::<f32, _>(seed, wanted, self),
            Precision::F64 => experiment.assemble::<f64, _>(seed, wanted, self),
        }
    }

    fn start<R: Real, S: LedgerStore>(
        self,
        machine: Box<dyn Automaton<R>>,
        oracle: Oracle<R, S>,
    ) -> Result<Outcome, NodeError> {
        let setup = self.setup.clone();
        let engine = Engine::open(machine, oracle, self.setup)?;
        drive(engine, &setup, self.options, self.watch)
    }
}
