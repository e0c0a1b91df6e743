//! An objective of one's own: counts, by Poisson regression, which no plan can name.
//!
//! Ten clinics know how often each of their patients came in a year, and four facts about every
//! patient. They learn what makes people come, without showing a patient to anybody.

use std::error::Error;
use std::fmt::Write;

use undertone::model::dataset::{Dataset, Features, Target, Targets};
use undertone::{Examples, PerRecord, RecordLoss, Study};

const FEATURES: usize = 4;
const TRUTH: [f64; FEATURES] = [0.8, -0.5, 0.3, 0.0];

/// The loss of a count `y` whose logarithm is expected to be `x . features`:
/// `exp(x . features) - y (x . features)`. Its gradient has no bound; the clip norm is the bound.
struct PoissonRegression;

impl RecordLoss<f64> for PoissonRegression {
    fn dimension(&self) -> usize {
        FEATURES
    }

    fn loss(&self, x: &[f64], features: &[f64], target: Target<'_, f64>) -> f64 {
        let rate = dot(x, features);
        rate.exp() - count(target) * rate
    }

    fn gradient(&self, x: &[f64], features: &[f64], target: Target<'_, f64>, out: &mut [f64]) {
        let slope = dot(x, features).exp() - count(target);
        out.iter_mut().zip(features).for_each(|(out, v)| *out = slope * v);
    }

    fn score(&self, x: &[f64], features: &[f64]) -> f64 {
        dot(x, features).exp()
    }
}

/// What is printed.
pub fn report() -> Result<String, Box<dyn Error>> {
    let mut text =
        String::from("privacy           guarantee, epsilon   loss at zero   loss learned\n");
    for (name, privacy) in [
        ("none", ""),
        ("epsilon 1", "privacy = { epsilon = 1.0, delta = 1e-5, clip = 2.0, noise = \"sound\" }"),
        ("epsilon 0.1", "privacy = { epsilon = 0.1, delta = 1e-5, clip = 2.0, noise = \"sound\" }"),
    ] {
        let outcome = study(privacy)?.run()?.remove(0);
        let points = outcome.points();
        let loss = |k: usize| points.get(k).map_or(f64::NAN, |point| point.metrics["loss"]);
        let epsilon = outcome.weakest().ok_or("there are nodes")?.epsilon;
        let epsilon = if epsilon.get().is_finite() { epsilon.to_string() } else { "none".into() };
        let (first, last) = (loss(0), loss(points.len() - 1));
        writeln!(text, "{name:12} {epsilon:>20} {first:14.4} {last:14.4}")?;
    }
    writeln!(text, "the loss of those who drew the counts is {:.4}", truth()?)?;
    Ok(text)
}

fn study(privacy: &str) -> Result<Study, Box<dyn Error>> {
    let plan = format!(
        r#"
        name = "counts"
        seed = 1
        data = {{}}
        model = {{ kind = "own" }}
        {privacy}
        [network]
        nodes = 10
        schedule = "exponential"
        [algorithm]
        name = "priv-sgp"
        step = 0.3
        sampling = "poisson"
        batch = 50
        [run]
        rounds = 60
        precision = "f64"
        [evaluate]
        metrics = ["loss"]
        every = 60
        "#
    );
    let records = Examples { train: patients(5000)?, test: None, split: None };
    let study = Study::from_toml(&plan)?.with_records(records);
    Ok(study.with_objective(PerRecord::new(PoissonRegression)))
}

/// Made up from irrational steps, so that the example needs no generator of random numbers.
fn patients(records: usize) -> Result<Dataset<f64>, Box<dyn Error>> {
    let spread = |record: usize, root: f64| (record as f64 * root.sqrt()).fract();
    let features =
        |record: usize| [2.0, 3.0, 5.0, 7.0].map(|root| 2.0 * spread(record, root) - 1.0);
    let visits = |record: usize| {
        let rate = dot(&TRUTH, &features(record)).exp();
        let (mut k, mut chance, mut left) = (0.0, (-rate).exp(), spread(record, 11.0));
        while left > chance && k < 100.0 {
            left -= chance;
            k += 1.0;
            chance *= rate / k;
        }
        k
    };
    let values = (0..records).flat_map(features).collect();
    let counts = (0..records).map(visits).collect();
    Ok(Dataset::new(Features::Dense { width: FEATURES, values }, Targets::Real(counts))?)
}

fn truth() -> Result<f64, Box<dyn Error>> {
    let data = patients(5000)?;
    let loss = |record| {
        let row = data.dense_row(record).expect("the rows are dense");
        PoissonRegression.loss(&TRUTH, row, data.target(record))
    };
    Ok((0..data.records()).map(loss).sum::<f64>() / data.records() as f64)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn count(target: Target<'_, f64>) -> f64 {
    match target {
        Target::Real(count) => count,
        _ => f64::NAN,
    }
}

#[allow(dead_code)] // A test calls `report` in its place.
fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", report()?);
    Ok(())
}
