//! The same plan in the simulator: all estimates and all ledgers, whatever the algorithm is.

use std::path::Path;

use serde_json::Value;
use undertone_node::plan::{Precision, expand};
use undertone_node::{Experiment, Oracle, Visitor, Wanted};
use undertone_privacy::ledger::{Entry, Store};
use undertone_privacy::noise::Key;
use undertone_protocol::{Synchronous, Wirings};
use undertone_real::Real;
use undertone_sim::lockstep::Lockstep;

/// The estimate and the entries of every node.
pub fn run(plan: &Path) -> Vec<(Vec<f64>, Value)> {
    let value: Value = toml::from_str(&std::fs::read_to_string(plan).unwrap()).unwrap();
    let plan = expand(&value).unwrap().remove(0).plan;
    let experiment = Experiment::new(&plan, None).unwrap();
    let (seed, all) = (plan.seed, All { experiment: &experiment });
    match plan.run.precision {
        Precision::F32 => experiment.assemble::<f32, _>(seed, Wanted::All, all).unwrap(),
        Precision::F64 => experiment.assemble::<f64, _>(seed, Wanted::All, all).unwrap(),
    }
}

struct All<'a> {
    experiment: &'a Experiment,
}

impl<R: Real> Visitor<R> for All<'_> {
    type Out = Vec<(Vec<f64>, Value)>;

    fn visit<P, S>(self, nodes: Vec<(P, Oracle<R, S>)>) -> Self::Out
    where
        P: Synchronous<R> + Send + Sync + 'static,
        S: Store + Send,
    {
        let Self { experiment } = self;
        let (seed, rounds) = (experiment.plan().seed, experiment.plan().run.rounds);
        // With ledgers that keep their entries.
        let kept = |(node, oracle): (P, Oracle<R, S>)| {
            (node, oracle.settle(Key::from_seed(seed), Vec::<Entry>::new()).unwrap())
        };
        let (nodes, mut oracles): (Vec<_>, Vec<_>) = nodes.into_iter().map(kept).unzip();
        let mut engine = Lockstep::new(nodes);
        let mut wirings = Wirings::new(experiment.topology(seed).unwrap(), 4);
        for _ in 0..rounds {
            engine.ask(&mut oracles, |oracle, question| oracle.answer(question)).unwrap();
            engine.advance(1, &mut wirings).unwrap();
        }
        let result = |(node, oracle): (&P, &Oracle<R>)| {
            let mut estimate = vec![R::ZERO; node.dimension()];
            node.estimate(&mut estimate);
            let entries = serde_json::to_value(oracle.ledger().entries()).unwrap();
            (estimate.into_iter().map(Real::to_f64).collect(), entries)
        };
        engine.nodes().iter().zip(&oracles).map(result).collect()
    }
}
