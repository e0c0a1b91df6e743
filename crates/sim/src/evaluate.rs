//! How good the estimates are, for an observer who sees all nodes and all data, which no node does
//! (invariant I7).
//!
//! All sums run in order of nodes and coordinates, in double precision, on one thread: the same
//! states give the same bits (invariant I5).

mod learning;

use std::collections::BTreeMap;

use undertone_node::Experiment;
use undertone_node::plan::{Metric, Target};
use undertone_protocol::{PairwiseSgd, Synchronous};
use undertone_real::Real;

/// What was measured, by the name it has in a plan.
pub type Metrics = BTreeMap<String, f64>;

/// A node that has an estimate.
pub trait Estimate<R> {
    /// Its present estimate of the result.
    fn estimate(&self, out: &mut [R]);
}

impl<R: Real, P: Synchronous<R>> Estimate<R> for P {
    fn estimate(&self, out: &mut [R]) {
        Synchronous::estimate(self, out);
    }
}

/// A node without rounds.
pub struct Paired<'a, R>(pub &'a PairwiseSgd<R>);

// One by one: for all `R` at once somebody could make it an algorithm in rounds, too.
impl Estimate<f32> for Paired<'_, f32> {
    fn estimate(&self, out: &mut [f32]) {
        self.0.estimate(out);
    }
}

impl Estimate<f64> for Paired<'_, f64> {
    fn estimate(&self, out: &mut [f64]) {
        self.0.estimate(out);
    }
}

/// Measures how far the nodes are from where they should be.
pub struct Evaluator<'a> {
    experiment: &'a Experiment,
    /// Of nodes that average.
    averages: Option<Averages>,
}

impl<'a> Evaluator<'a> {
    /// Looks at all data of an experiment.
    pub fn new(experiment: &'a Experiment, seed: u64) -> Self {
        let averaging = experiment.plan().model.is_none();
        Self { experiment, averages: averaging.then(|| Averages::new(experiment, seed)) }
    }

    /// All metrics of the plan. The first call is that of round 0: estimates of averages are then
    /// what was released, and nothing is mixed yet.
    pub fn measure<'n, P, R, I>(&mut self, nodes: I) -> Metrics
    where
        P: Estimate<R> + 'n,
        R: Real,
        I: IntoIterator<Item = &'n P> + Clone,
    {
        let wanted = &self.experiment.plan().evaluate.metrics;
        match &mut self.averages {
            Some(averages) => averages.measure(wanted, nodes),
            None => learning::measure(self.experiment, wanted, nodes),
        }
    }
}

/// What averages are compared with.
struct Averages {
    /// The mean of the data.
    truth: Vec<f64>,
    /// The mean of the records' squared norms.
    moment: f64,
    /// Where residuals are measured from.
    target: Vec<f64>,
    target_is_released: bool,
    /// The residual of the first look.
    first: Option<f64>,
}

impl Averages {
    fn new(experiment: &Experiment, seed: u64) -> Self {
        let dimension = experiment.dimension();
        let (mut sum, mut squares, mut count) = (vec![0.0; dimension], 0.0, 0.0);
        for node in 0..experiment.nodes() {
            for record in experiment.data(seed, node).chunks_exact(dimension) {
                sum.iter_mut().zip(record).for_each(|(sum, v)| *sum += v);
                squares += record.iter().map(|v| v * v).sum::<f64>();
                count += 1.0;
            }
        }
        let truth: Vec<f64> = sum.iter().map(|sum| sum / count).collect();
        Self {
            target: truth.clone(),
            truth,
            moment: squares / count,
            target_is_released: experiment.plan().evaluate.target == Target::Released,
            first: None,
        }
    }

    fn measure<'a, P, R, I>(&mut self, wanted: &[Metric], nodes: I) -> Metrics
    where
        P: Estimate<R> + 'a,
        R: Real,
        I: IntoIterator<Item = &'a P> + Clone,
    {
        let mean = mean(nodes.clone(), self.truth.len());
        if self.first.is_none() && self.target_is_released {
            self.target = mean.clone();
        }
        let residual = residual(nodes.clone(), &self.target);
        let first = *self.first.get_or_insert(residual);
        let measure = |metric: &Metric| match metric {
            Metric::ConsensusError => self::residual(nodes.clone(), &mean),
            Metric::Loss => {
                let mut loss = Loss { truth: &self.truth, moment: self.moment, sum: 0.0, n: 0.0 };
                each(nodes.clone(), self.truth.len(), |estimate| loss.add(estimate));
                loss.sum / loss.n
            }
            Metric::MeanError => relative(&mean, &self.truth),
            Metric::NodeError => {
                let node = self::mean(nodes.clone().into_iter().take(1), self.truth.len());
                relative(&node, &self.truth)
            }
            Metric::RelativeResidual => residual / first,
            Metric::Residual => residual,
            Metric::Accuracy
            | Metric::AverageAccuracy
            | Metric::DisparateImpact
            | Metric::EqualOpportunity
            | Metric::EqualisedOdds
            | Metric::GroupAccuracy
            | Metric::NodeAccuracy
            | Metric::NodeLoss
            | Metric::RiskDifference => {
                unreachable!("a checked plan without a model has none of these")
            }
        };
        wanted.iter().map(|metric| (metric.name().to_string(), measure(metric))).collect()
    }
}

/// The Frobenius distance of all estimates from `target`.
pub fn residual<'a, P, R>(nodes: impl IntoIterator<Item = &'a P>, target: &[f64]) -> f64
where
    P: Estimate<R> + 'a,
    R: Real,
{
    let mut sum = 0.0;
    each(nodes, target.len(), |estimate| sum += square(estimate, target));
    sum.sqrt()
}

/// The mean of all estimates.
pub fn mean<'a, P, R>(nodes: impl IntoIterator<Item = &'a P>, dimension: usize) -> Vec<f64>
where
    P: Estimate<R> + 'a,
    R: Real,
{
    let mut mean = vec![0.0; dimension];
    let mut n_nodes = 0.0_f64;
    each(nodes, dimension, |estimate| {
        n_nodes += 1.0;
        mean.iter_mut().zip(estimate).for_each(|(mean, v)| *mean += v);
    });
    mean.iter_mut().for_each(|mean| *mean /= n_nodes);
    mean
}

fn each<'a, P, R>(
    nodes: impl IntoIterator<Item = &'a P>,
    dimension: usize,
    mut look: impl FnMut(&[f64]),
) where
    P: Estimate<R> + 'a,
    R: Real,
{
    let mut estimate = vec![R::ZERO; dimension];
    let mut wide = vec![0.0; dimension];
    for node in nodes {
        node.estimate(&mut estimate);
        wide.iter_mut().zip(&estimate).for_each(|(wide, v)| *wide = v.to_f64());
        look(&wide);
    }
}

/// `1/2 mean |x - d|^2` over records `d` is `1/2 (|x|^2 - 2 <x, mean> + moment)`.
struct Loss<'a> {
    truth: &'a [f64],
    moment: f64,
    sum: f64,
    n: f64,
}

impl Loss<'_> {
    fn add(&mut self, x: &[f64]) {
        let cross: f64 = x.iter().zip(self.truth).map(|(x, t)| x * (x - 2.0 * t)).sum();
        self.sum += 0.5 * (cross + self.moment);
        self.n += 1.0;
    }
}

/// `|a - b|^2`.
fn square(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum()
}

/// `|x - truth|^2 / |truth|^2`.
fn relative(x: &[f64], truth: &[f64]) -> f64 {
    square(x, truth) / truth.iter().map(|t| t * t).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use undertone_privacy::release::Released;
    use undertone_protocol::{Answer, Gossip};

    use super::*;

    fn nodes(estimates: [[f64; 2]; 2]) -> Vec<Gossip<f64>> {
        let node = |estimate: [f64; 2]| {
            let mut node = Gossip::new(2);
            node.answer(0, Answer::Released(Released::public(estimate.to_vec())));
            node
        };
        estimates.into_iter().map(node).collect()
    }

    #[test]
    fn by_hand() {
        let target = [3.0, 4.0];
        assert_eq!(residual(&nodes([[0.0, 4.0], [3.0, 0.0]]), &target), 5.0);
        let now = nodes([[3.0, 4.0], [3.0, 7.0]]);
        assert_eq!(residual(&now, &target), 3.0);
        assert_eq!(mean(&now, 2), [3.0, 5.5]);
        assert_eq!(residual(&now, &mean(&now, 2)), 4.5_f64.sqrt());
        assert_eq!(relative(&mean(&now, 2), &target), 2.25 / 25.0);
        // Records (1, 0) and (3, 2): the mean is (2, 1), the mean of the squared norms 7.
        let mut loss = Loss { truth: &[2.0, 1.0], moment: 7.0, sum: 0.0, n: 0.0 };
        loss.add(&[1.0, 1.0]);
        assert_eq!(loss.sum, 0.25 * (1.0 + 5.0));
    }
}
