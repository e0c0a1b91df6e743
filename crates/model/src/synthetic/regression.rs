//! The linear regression of paper 001.

use undertone_real::Real;

use super::{Source, Stream};
use crate::dataset::{Dataset, Features, Targets};

/// Measurements, and what they measure.
#[derive(Clone)]
pub struct Regression<R> {
    /// Groups are the nodes that hold the records.
    pub data: Dataset<R>,
    /// The parameters that measurements were made of.
    pub truth: Vec<f64>,
}

/// Measurements `y = <d, x> + noise` of a normal vector `x`: `d` is normal and divided by the sum
/// of its numbers, the noise has variance 0.01. A row whose sum is within 1/2 of zero is drawn
/// again, because dividing by it would leave a single record to decide. Panics if there is no
/// node, record or feature.
///
/// # References
///
/// Paper 001, section 4.2, has 200 records of 5 numbers at each node, and does not say what it does
/// with small sums.
pub fn linear_regression<R: Real>(
    seed: u64,
    nodes: usize,
    records_per_node: usize,
    width: usize,
) -> Regression<R> {
    assert!(nodes * records_per_node * width > 0, "a regression is of something");
    let mut source = Source::named(seed, Stream::Regression);
    let truth: Vec<f64> = (0..width).map(|_| source.gaussian()).collect();
    let (mut values, mut targets, mut groups) = (Vec::new(), Vec::new(), Vec::new());
    for record in 0..nodes * records_per_node {
        let row = row(width, &mut source);
        let exact: f64 = row.iter().zip(&truth).map(|(d, x)| d * x).sum();
        targets.push(R::from_f64(exact + 0.1 * source.gaussian()));
        values.extend(row.into_iter().map(R::from_f64));
        groups.push((record / records_per_node) as u32);
    }
    let data = Dataset::new(Features::Dense { width, values }, Targets::Real(targets))
        .and_then(|data| data.with_groups(groups))
        .expect("a target and a group a record");
    Regression { data, truth }
}

fn row(width: usize, source: &mut Source) -> Vec<f64> {
    loop {
        let row: Vec<f64> = (0..width).map(|_| source.gaussian()).collect();
        let sum: f64 = row.iter().sum();
        if sum.abs() > 0.5 {
            return row.into_iter().map(|v| v / sum).collect();
        }
    }
}
