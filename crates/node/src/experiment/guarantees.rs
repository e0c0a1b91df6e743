//! What ledgers will promise.

use undertone_privacy::ledger::{Guarantee, Store};
use undertone_protocol::{PairwiseSgd, Synchronous};
use undertone_real::Real;

use super::Experiment;
use super::assemble::{AssembleError, Visitor, Wanted};
use crate::oracle::Oracle;
use crate::plan::Precision;

impl Experiment {
    /// What the ledgers of some nodes will promise, before anything is debited.
    pub fn guarantees(&self, seed: u64, wanted: Wanted) -> Result<Vec<Guarantee>, AssembleError> {
        match self.plan().run.precision {
            Precision::F32 => self.assemble::<f32, _>(seed, wanted, Promises),
            Precision::F64 => self.assemble::<f64, _>(seed, wanted, Promises),
        }
    }
}

struct Promises;

impl<R: Real> Visitor<R> for Promises {
    type Out = Vec<Guarantee>;

    fn visit<P, S>(self, nodes: Vec<(P, Oracle<R, S>)>) -> Vec<Guarantee>
    where
        P: Synchronous<R> + Send + Sync + 'static,
        S: Store + Send,
    {
        of(nodes)
    }

    fn visit_pairs<S: Store + Send>(
        self,
        nodes: Vec<(PairwiseSgd<R>, Oracle<R, S>)>,
        _seed: u64,
    ) -> Result<Vec<Guarantee>, AssembleError> {
        Ok(of(nodes))
    }
}

fn of<P, R: Real, S: Store>(nodes: Vec<(P, Oracle<R, S>)>) -> Vec<Guarantee> {
    nodes.iter().map(|(_, oracle)| oracle.guarantee()).collect()
}
