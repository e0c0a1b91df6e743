//! The same plan in the simulator: all estimates and all ledgers, whatever the algorithm is.

use std::any::Any;
use std::path::Path;

use serde_json::Value;
use undertone_node::plan::{Precision, expand};
use undertone_node::{Experiment, Oracle, Visitor};
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
        Precision::F32 => experiment.assemble::<f32, _>(seed, 0, None, all).unwrap(),
        Precision::F64 => experiment.assemble::<f64, _>(seed, 0, None, all).unwrap(),
    }
}

struct All<'a> {
    experiment: &'a Experiment,
}

impl<R: Real> Visitor<R> for All<'_> {
    type Out = Vec<(Vec<f64>, Value)>;

    fn visit<P, S>(self, _: P, _: Oracle<R, S>) -> Self::Out
    where
        P: Synchronous<R> + Send + Sync + 'static,
        S: Store,
    {
        let Self { experiment } = self;
        let (seed, rounds) = (experiment.plan().seed, experiment.plan().run.rounds);
        let one = |node| experiment.assemble::<R, _>(seed, node, None, Same { seed }).unwrap();
        let (nodes, mut oracles): (Vec<_>, Vec<_>) = (0..experiment.nodes()).map(one).unzip();
        let nodes = nodes.into_iter().map(|node| *node.downcast::<P>().unwrap());
        let mut engine = Lockstep::new(nodes.collect());
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

/// A node of whatever type, with a ledger that keeps its entries.
struct Same {
    seed: u64,
}

impl<R: Real> Visitor<R> for Same {
    type Out = (Box<dyn Any>, Oracle<R, Vec<Entry>>);

    fn visit<P, S>(self, protocol: P, oracle: Oracle<R, S>) -> Self::Out
    where
        P: Synchronous<R> + Send + Sync + 'static,
        S: Store,
    {
        let oracle = oracle.settle(Key::from_seed(self.seed), Vec::new()).unwrap();
        (Box::new(protocol), oracle)
    }
}
