//! Clouds of points, one for each class.

use undertone_real::Real;

use super::{Source, Stream};
use crate::dataset::{Dataset, Features, Targets};

/// Normal points of unit variance around a centre for each class; centres are `separation` from
/// the origin, in directions drawn at random. Panics if there is no class, record or feature.
pub fn gaussian_mixture<R: Real>(
    seed: u64,
    records: usize,
    width: usize,
    classes: u32,
    separation: f64,
) -> Dataset<R> {
    assert!(records > 0 && width > 0 && classes > 0, "a mixture is of something");
    let mut source = Source::named(seed, Stream::Mixture);
    let centres: Vec<Vec<f64>> = (0..classes)
        .map(|_| {
            let direction: Vec<f64> = (0..width).map(|_| source.gaussian()).collect();
            let norm = direction.iter().map(|v| v * v).sum::<f64>().sqrt();
            direction.iter().map(|v| separation * v / norm).collect()
        })
        .collect();
    let mut of = Vec::with_capacity(records);
    let mut values = Vec::with_capacity(records * width);
    for _ in 0..records {
        let class = source.below(classes as usize);
        of.push(class as u32);
        values.extend(centres[class].iter().map(|c| R::from_f64(c + source.gaussian())));
    }
    Dataset::new(Features::Dense { width, values }, Targets::Class { classes, of })
        .expect("records are whole and classes below their number")
}
