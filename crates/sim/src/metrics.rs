//! The evaluator: sees all estimates and all data, which no node does (invariant I7).

use std::collections::BTreeMap;

use undertone_node::Experiment;
use undertone_node::plan::{Metric, Target};
use undertone_protocol::Synchronous;
use undertone_real::Real;

/// What was measured, by the name it has in a plan.
pub type Metrics = BTreeMap<String, f64>;

/// Measures how far the nodes are from where they should be. Sums run over nodes in their order,
/// so that results do not depend on the number of threads (invariant I5).
#[derive(Debug)]
pub struct Evaluator {
    wanted: Vec<Metric>,
    /// The mean of the data.
    truth: Vec<f64>,
    /// Where residuals are measured from.
    target: Vec<f64>,
    target_is_released: bool,
    /// The residual of round 0.
    first: Option<f64>,
}

impl Evaluator {
    /// Looks at all data of an experiment.
    pub fn new(experiment: &Experiment, seed: u64) -> Self {
        let dimension = experiment.plan().data.dimension;
        let mut sum = vec![0.0; dimension];
        for node in 0..experiment.nodes() {
            for record in experiment.data(seed, node).chunks_exact(dimension) {
                sum.iter_mut().zip(record).for_each(|(sum, v)| *sum += v);
            }
        }
        let count = f64::from(experiment.nodes()) * experiment.plan().data.records as f64;
        let truth: Vec<f64> = sum.iter().map(|sum| sum / count).collect();
        let evaluate = &experiment.plan().evaluate;
        Self {
            wanted: evaluate.metrics.clone(),
            target: truth.clone(),
            truth,
            target_is_released: evaluate.target == Target::Released,
            first: None,
        }
    }

    /// All metrics of the plan. The first call is that of round 0: estimates are then what was
    /// released, and nothing is mixed yet.
    pub fn measure<R: Real, P: Synchronous<R>>(&mut self, nodes: &[P]) -> Metrics {
        let dimension = self.truth.len();
        let mut estimates = vec![0.0; nodes.len() * dimension];
        let mut estimate = vec![R::ZERO; dimension];
        for (node, row) in nodes.iter().zip(estimates.chunks_exact_mut(dimension)) {
            node.estimate(&mut estimate);
            row.iter_mut().zip(&estimate).for_each(|(out, v)| *out = v.to_f64());
        }
        let mean = mean_of(&estimates, dimension);
        if self.first.is_none() && self.target_is_released {
            self.target = mean.clone();
        }
        let residual = distance(&estimates, &self.target);
        let first = *self.first.get_or_insert(residual);
        let measure = |metric: &Metric| match metric {
            Metric::ConsensusError => distance(&estimates, &mean),
            Metric::MeanError => relative(&mean, &self.truth),
            Metric::NodeError => relative(&estimates[..dimension], &self.truth),
            Metric::RelativeResidual => residual / first,
            Metric::Residual => residual,
        };
        self.wanted.iter().map(|metric| (metric.name().to_string(), measure(metric))).collect()
    }
}

fn mean_of(rows: &[f64], dimension: usize) -> Vec<f64> {
    let mut sum = vec![0.0; dimension];
    for row in rows.chunks_exact(dimension) {
        sum.iter_mut().zip(row).for_each(|(sum, v)| *sum += v);
    }
    let count = (rows.len() / dimension) as f64;
    sum.iter().map(|sum| sum / count).collect()
}

/// The Frobenius norm of rows less a point.
fn distance(rows: &[f64], point: &[f64]) -> f64 {
    let square = |row: &[f64]| row.iter().zip(point).map(|(v, p)| (v - p).powi(2)).sum::<f64>();
    rows.chunks_exact(point.len()).map(square).sum::<f64>().sqrt()
}

/// `|x - truth|^2 / |truth|^2`.
fn relative(x: &[f64], truth: &[f64]) -> f64 {
    let off: f64 = x.iter().zip(truth).map(|(x, t)| (x - t).powi(2)).sum();
    off / truth.iter().map(|t| t * t).sum::<f64>()
}
