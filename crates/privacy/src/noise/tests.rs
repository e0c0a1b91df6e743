//! Goodness of fit of every sampler, with fixed seeds, at a rate of false alarms of 1e-6 a test.

mod continuous;
mod discrete;

use super::{Key, Purpose, Stream, StreamId};

/// The normal quantile at 1 - 1e-6.
const Z: f64 = 4.753_424;

fn key() -> Key {
    Key::from_seed(2024)
}

fn id(index: u64) -> StreamId {
    StreamId::new(Purpose::Noise, 1, index).unwrap()
}

fn stream(index: u64) -> Stream {
    Stream::new(&key(), id(index))
}

/// Pearson's test. Cells that expect fewer than ten samples are pooled with the next.
fn assert_fits(name: &str, observed: &[u64], probabilities: &[f64]) {
    let count = observed.iter().sum::<u64>() as f64;
    let mass: f64 = probabilities.iter().sum();
    assert!((mass - 1.0).abs() < 1e-9, "{name}: probabilities add up to {mass}");
    let mut cells: Vec<(f64, f64)> = vec![(0.0, 0.0)];
    for (&o, &p) in observed.iter().zip(probabilities) {
        let last = cells.last_mut().unwrap();
        if last.1 < 10.0 {
            *last = (last.0 + o as f64, last.1 + p * count);
        } else {
            cells.push((o as f64, p * count));
        }
    }
    if cells.len() > 1 && cells.last().unwrap().1 < 10.0 {
        let (o, e) = cells.pop().unwrap();
        let last = cells.last_mut().unwrap();
        *last = (last.0 + o, last.1 + e);
    }
    assert!(cells.len() > 2, "{name}: too few cells to test anything");
    let statistic: f64 = cells.iter().map(|(o, e)| (o - e).powi(2) / e).sum();
    let limit = critical(cells.len() - 1);
    assert!(statistic < limit, "{name}: chi-square {statistic} above {limit}");
}

/// The chi-square quantile at 1 - 1e-6 by Wilson and Hilferty 1931, which at this level is too
/// high by 7 % with 3 degrees of freedom, 1 % with 20 and 0.2 % with 100 (against mpmath).
fn critical(freedom: usize) -> f64 {
    let v = 2.0 / (9.0 * freedom as f64);
    freedom as f64 * (1.0 - v + Z * v.sqrt()).powi(3)
}

/// Mean, variance and fourth moment of samples that should have the given ones, each within its
/// own standard error; the last argument is the eighth moment.
fn assert_moments(name: &str, samples: &[f64], [m2, m4, m8]: [f64; 3]) {
    let n = samples.len() as f64;
    let moment = |k: i32| samples.iter().map(|x| x.powi(k)).sum::<f64>() / n;
    // Two-sided, hence slightly more than Z.
    let z = 4.9;
    let (first, second, fourth) = (moment(1), moment(2), moment(4));
    assert!(first.abs() < z * (m2 / n).sqrt(), "{name}: mean {first}");
    let error = z * ((m4 - m2 * m2) / n).sqrt();
    assert!((second - m2).abs() < error, "{name}: second moment {second}, not {m2}");
    let error = z * ((m8 - m4 * m4) / n).sqrt();
    assert!((fourth - m4).abs() < error, "{name}: fourth moment {fourth}, not {m4}");
}

#[test]
fn the_test_of_fit_can_fail() {
    let fair = [0.25; 4];
    assert_fits("fair", &[2500, 2480, 2520, 2500], &fair);
    let biased = || assert_fits("biased", &[2800, 2400, 2400, 2400], &fair);
    assert!(std::panic::catch_unwind(biased).is_err());
    let shifted: Vec<f64> = (0..10_000).map(|i| f64::from(i % 2) * 2.0 - 0.8).collect();
    let moments = || assert_moments("shifted", &shifted, [1.0, 3.0, 105.0]);
    assert!(std::panic::catch_unwind(moments).is_err());
}
