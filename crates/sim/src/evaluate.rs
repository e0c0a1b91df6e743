//! How good the estimates are, for an observer who sees all nodes.
//!
//! All sums run in order of nodes and coordinates, in double precision, on one thread: the same
//! states give the same bits.

use undertone_protocol::Synchronous;
use undertone_real::Real;

/// How far the nodes are from the truth and from each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluation {
    /// Frobenius distance of all estimates from the target: the root of the sum of squares over
    /// nodes and coordinates.
    pub residual: f64,
    /// The same over what it was in the beginning.
    pub relative_residual: f64,
    /// Frobenius distance of all estimates from their own mean.
    pub consensus_error: f64,
    /// `|mean of estimates - target|^2 / |target|^2`.
    pub error_of_mean: f64,
}

/// Compares estimates with a target.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluator {
    target: Vec<f64>,
    initial: f64,
}

impl Evaluator {
    /// For a target, relative to the estimates that `nodes` have now.
    pub fn new<'a, P, R>(target: Vec<f64>, nodes: impl IntoIterator<Item = &'a P>) -> Self
    where
        P: Synchronous<R> + 'a,
        R: Real,
    {
        let initial = residual(nodes, &target);
        Self { target, initial }
    }

    /// How the nodes stand.
    pub fn evaluate<'a, P, R, I>(&self, nodes: I) -> Evaluation
    where
        P: Synchronous<R> + 'a,
        R: Real,
        I: IntoIterator<Item = &'a P> + Clone,
    {
        let residual = residual(nodes.clone(), &self.target);
        let mean = mean(nodes.clone(), self.target.len());
        Evaluation {
            residual,
            relative_residual: residual / self.initial,
            consensus_error: self::residual(nodes, &mean),
            error_of_mean: square(&mean, &self.target) / square(&self.target, &[]),
        }
    }
}

/// The Frobenius distance of all estimates from `target`.
pub fn residual<'a, P, R>(nodes: impl IntoIterator<Item = &'a P>, target: &[f64]) -> f64
where
    P: Synchronous<R> + 'a,
    R: Real,
{
    let mut sum = 0.0;
    each(nodes, target.len(), |estimate| sum += square(estimate, target));
    sum.sqrt()
}

/// The mean of all estimates.
pub fn mean<'a, P, R>(nodes: impl IntoIterator<Item = &'a P>, dimension: usize) -> Vec<f64>
where
    P: Synchronous<R> + 'a,
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
    P: Synchronous<R> + 'a,
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

/// `|a - b|^2`; a `b` that is shorter goes on with zeros.
fn square(a: &[f64], b: &[f64]) -> f64 {
    let b = b.iter().copied().chain(std::iter::repeat(0.0));
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum()
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
        let evaluator = Evaluator::new(vec![3.0, 4.0], &nodes([[0.0, 4.0], [3.0, 0.0]]));
        let now = evaluator.evaluate(&nodes([[3.0, 4.0], [3.0, 7.0]]));
        assert_eq!(now.residual, 3.0);
        assert_eq!(now.relative_residual, 0.6);
        assert_eq!(now.consensus_error, 4.5_f64.sqrt());
        assert_eq!(now.error_of_mean, 2.25 / 25.0);
    }
}
