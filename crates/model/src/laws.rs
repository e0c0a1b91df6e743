//! What every objective must do, as tests that each of them calls.

use undertone_real::Real;

use crate::dataset::{Dataset, Features, Targets};
use crate::objective::{At, Batch, Clipped, Objective, Scratch};
use crate::synthetic::Source;
use crate::table::{Table, Tabled};

/// From so short that all is shortened to so long that nothing is.
pub(crate) const CLIPS: [f64; 5] = [1e-6, 0.1, 1.0, 10.0, f64::INFINITY];

/// All laws of objectives, at a point drawn from a seed.
pub(crate) fn check<R: Real>(objective: &dyn Objective<R>, data: &Dataset<R>, seed: u64) {
    let x = point(objective, seed);
    gradient_is_the_slope(objective, data, &x, seed);
    nothing_gives_zero(objective, data, &x);
    for clip in CLIPS {
        clipping_equals_the_reference(objective, data, &x, clip);
        nothing_is_longer_than_the_clip(objective, data, &x, clip);
        records_that_are_not_finite_are_counted(objective, data, &x, clip);
        what_ran_before_does_not_matter(objective, data, &x, clip);
        sums_together_are_sums_alone(objective, data, clip, seed);
    }
}

/// All laws of tables, at points drawn from a seed.
pub(crate) fn check_table<R: Real>(objective: &dyn Tabled<R>, data: &Dataset<R>, seed: u64) {
    for clip in CLIPS {
        an_exchange_telescopes(objective, data, clip, seed);
    }
}

/// Parameters of ordinary size.
pub(crate) fn point<R: Real>(objective: &dyn Objective<R>, seed: u64) -> Vec<R> {
    let values = Source::new(seed, 7).uniform(-1.0, 1.0, objective.dimension());
    values.into_iter().map(R::from_f64).collect()
}

/// Records with every kind of target that a loss may ask for.
pub(crate) fn features<R: Real>(records: usize, width: usize, seed: u64) -> Features<R> {
    let values = Source::new(seed, 1).uniform(-1.0, 1.0, records * width);
    Features::Dense { width, values: values.into_iter().map(R::from_f64).collect() }
}

/// The same with most numbers left out; every record keeps its last number.
pub(crate) fn sparse_features<R: Real>(records: usize, width: usize, seed: u64) -> Features<R> {
    let mut source = Source::new(seed, 2);
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for _ in 0..records {
        for k in 0..width {
            let [v, keep] = [source.uniform(-1.0, 1.0, 1)[0], source.uniform(0.0, 1.0, 1)[0]];
            if keep < 0.3 || k + 1 == width {
                columns.push(k as u32);
                values.push(R::from_f64(v));
            }
        }
        starts.push(values.len());
    }
    Features::Sparse { width, starts, columns, values }
}

pub(crate) fn signs<R: Real>(records: usize, seed: u64) -> Targets<R> {
    let draws = Source::new(seed, 3).uniform(-1.0, 1.0, records);
    Targets::Sign(draws.into_iter().map(|v| R::from_f64(v.signum())).collect())
}

pub(crate) fn numbers<R: Real>(records: usize, seed: u64) -> Targets<R> {
    let draws = Source::new(seed, 3).uniform(-2.0, 2.0, records);
    Targets::Real(draws.into_iter().map(R::from_f64).collect())
}

pub(crate) fn classes<R: Real>(records: usize, classes: u32, seed: u64) -> Targets<R> {
    let draws = Source::new(seed, 3).uniform(0.0, f64::from(classes), records);
    Targets::Class { classes, of: draws.into_iter().map(|v| v as u32).collect() }
}

pub(crate) fn tags<R: Real>(records: usize, tags: u32, seed: u64) -> Targets<R> {
    let mut source = Source::new(seed, 3);
    let (mut starts, mut of) = (vec![0], Vec::new());
    for _ in 0..records {
        let draws = source.uniform(0.0, 1.0, tags as usize);
        of.extend((0..tags).filter(|t| draws[*t as usize] < 0.4));
        starts.push(of.len());
    }
    Targets::Tags { tags, starts, of }
}

/// Central differences of the loss in some directions.
fn gradient_is_the_slope<R: Real>(
    objective: &dyn Objective<R>,
    data: &Dataset<R>,
    x: &[R],
    seed: u64,
) {
    let single = size_of::<R>() == 4;
    let (h, tolerance) = if single { (1.0 / 64.0, 5e-3) } else { (1e-5, 1e-6) };
    let (batch, scratch) = (Batch::all(data), &mut Scratch::default());
    let mut gradient = vec![R::ZERO; x.len()];
    objective.gradient(x, batch, scratch, &mut gradient);
    let size = norm(&gradient).max(1.0);
    let mut source = Source::new(seed, 9);
    for attempt in 0..12 {
        let mut direction = source.uniform(-1.0, 1.0, x.len());
        if attempt > 1 {
            let k = (source.uniform(0.0, x.len() as f64, 1)[0]) as usize;
            direction.fill(0.0);
            direction[k] = 1.0;
        }
        let length = norm(&direction);
        direction.iter_mut().for_each(|v| *v /= length);
        let mut at = |h: f64| {
            let moved: Vec<R> =
                x.iter().zip(&direction).map(|(x, v)| R::from_f64(x.to_f64() + h * v)).collect();
            objective.loss(&moved, batch, scratch)
        };
        let slope = (at(h) - at(-h)) / (2.0 * h);
        let along: f64 = gradient.iter().zip(&direction).map(|(g, v)| g.to_f64() * v).sum();
        assert!((slope - along).abs() < tolerance * size, "{slope} {along}");
    }
}

fn nothing_gives_zero<R: Real>(objective: &dyn Objective<R>, data: &Dataset<R>, x: &[R]) {
    let (batch, scratch) = (Batch::of(data, &[]), &mut Scratch::default());
    let mut out = vec![R::ONE; x.len()];
    assert_eq!(objective.clipped_sum(x, batch, 1.0, scratch, &mut out), Clipped::default());
    assert!(out.iter().all(|v| *v == R::ZERO));
    assert_eq!(objective.loss(x, batch, scratch), 0.0);
    objective.scores(x, batch, scratch, &mut []);
}

/// In bits, for points with a record each and for points with others.
fn sums_together_are_sums_alone<R: Real>(
    objective: &dyn Objective<R>,
    data: &Dataset<R>,
    clip: f64,
    seed: u64,
) {
    let n = data.records();
    let (scratch, mut spare) = (&mut Scratch::default(), Vec::new());
    for (count, odd) in [(0, 9), (1, 9), (5, 9), (17, 99), (18, 11)] {
        let records: Vec<Vec<usize>> = (0..count)
            .map(|k| if k == odd { (0..n.min(3)).collect() } else { vec![(7 * k + 1) % n] })
            .collect();
        let point = |k: usize| point(objective, seed + k as u64);
        let batch = |k: usize| Batch::of(data, &records[k]);
        let mut together: Vec<At<'_, R>> =
            (0..count).map(|k| At { point: point(k), batch: batch(k) }).collect();
        objective.clipped_sums(&mut together, clip, scratch, &mut spare);
        for (k, At { point: sum, .. }) in together.iter().enumerate() {
            let mut alone = vec![R::ONE; sum.len()];
            objective.clipped_sum(&point(k), batch(k), clip, scratch, &mut alone);
            let bits = |values: &[R]| -> Vec<u64> {
                values.iter().map(|v| v.to_f64().to_bits()).collect()
            };
            assert_eq!(bits(&alone), bits(sum), "{k} of {count}");
        }
    }
}

/// Invariant I8.
fn clipping_equals_the_reference<R: Real>(
    objective: &dyn Objective<R>,
    data: &Dataset<R>,
    x: &[R],
    clip: f64,
) {
    let scratch = &mut Scratch::default();
    let mut expected = vec![0.0; x.len()];
    let (mut size, mut shortened) = (0.0, 0);
    let mut one = vec![R::ZERO; x.len()];
    for record in 0..data.records() {
        objective.gradient(x, Batch::of(data, &[record]), scratch, &mut one);
        let length = norm(&one);
        let factor = if length > clip { clip / length } else { 1.0 };
        // Not within rounding of the clip, where either answer is right.
        shortened += u64::from(length > clip);
        size += length * factor;
        expected.iter_mut().zip(&one).for_each(|(sum, g)| *sum += factor * g.to_f64());
    }
    let mut fast = vec![R::ZERO; x.len()];
    let clipped = objective.clipped_sum(x, Batch::all(data), clip, scratch, &mut fast);
    assert_eq!(clipped.dropped, 0);
    assert_eq!(clipped.shortened, shortened);
    close(&fast, &expected, size);
}

fn nothing_is_longer_than_the_clip<R: Real>(
    objective: &dyn Objective<R>,
    data: &Dataset<R>,
    x: &[R],
    clip: f64,
) {
    let scratch = &mut Scratch::default();
    let mut one = vec![R::ZERO; x.len()];
    for record in 0..data.records() {
        // Exactly at its length as well, where rounding decides.
        objective.gradient(x, Batch::of(data, &[record]), scratch, &mut one);
        let length = norm(&one);
        for clip in [clip, length, length * (1.0 - 1e-9), length * (1.0 + 1e-9)] {
            objective.clipped_sum(x, Batch::of(data, &[record]), clip, scratch, &mut one);
            assert!(norm(&one) <= clip, "{} {clip}", norm(&one));
        }
    }
}

fn records_that_are_not_finite_are_counted<R: Real>(
    objective: &dyn Objective<R>,
    data: &Dataset<R>,
    x: &[R],
    clip: f64,
) {
    let bad = [(1, f64::NAN), (2, f64::INFINITY), (data.records() - 1, f64::NEG_INFINITY)];
    let poisoned = poison(data, &bad);
    let scratch = &mut Scratch::default();
    let (mut all, mut rest) = (vec![R::ZERO; x.len()], vec![R::ZERO; x.len()]);
    let with = objective.clipped_sum(x, Batch::all(&poisoned), clip, scratch, &mut all);
    let good: Vec<usize> =
        (0..data.records()).filter(|r| bad.iter().all(|(b, _)| b != r)).collect();
    let without = objective.clipped_sum(x, Batch::of(data, &good), clip, scratch, &mut rest);
    assert_eq!(with, Clipped { dropped: bad.len() as u64, ..without });
    let rest: Vec<f64> = rest.iter().map(|v| v.to_f64()).collect();
    close(&all, &rest, clip.min(100.0) * good.len() as f64);
    for (record, _) in bad {
        let one = Batch::of(&poisoned, std::slice::from_ref(&record));
        let clipped = objective.clipped_sum(x, one, clip, scratch, &mut all);
        assert_eq!(clipped, Clipped { shortened: 0, dropped: 1 });
        assert!(all.iter().all(|v| *v == R::ZERO));
    }
}

fn what_ran_before_does_not_matter<R: Real>(
    objective: &dyn Objective<R>,
    data: &Dataset<R>,
    x: &[R],
    clip: f64,
) {
    let scratch = &mut Scratch::default();
    let dirty = &mut Scratch::default();
    let [mut fresh, mut again, mut other] = [(); 3].map(|()| vec![R::ZERO; x.len()]);
    let poisoned = poison(data, &[(0, f64::NAN)]);
    for record in 0..data.records().min(9) {
        let batch = Batch::of(data, std::slice::from_ref(&record));
        objective.clipped_sum(x, batch, clip, scratch, &mut fresh);
        objective.clipped_sum(x, Batch::all(&poisoned), clip, dirty, &mut other);
        objective.clipped_sum(x, batch, clip, dirty, &mut again);
        assert!(fresh == again, "record {record} with clip {clip}");
    }
}

fn an_exchange_telescopes<R: Real>(
    objective: &dyn Tabled<R>,
    data: &Dataset<R>,
    clip: f64,
    seed: u64,
) {
    let (n, d) = (data.records(), objective.dimension());
    let scratch = &mut Scratch::default();
    let [mut sum, mut out] = [(); 2].map(|()| vec![R::ZERO; d]);
    let mut table = Table::new(objective, n);
    let mut full = FullTable { rows: vec![0.0; n * d] };
    let mut size = 0.0;
    for step in 0..4 {
        let x = point(objective, seed + step);
        let records: Vec<usize> = (0..n).filter(|r| r % (1 + step as usize) == 0).collect();
        let batch = Batch::of(data, &records);
        let clipped = objective.exchange(&x, batch, clip, &mut table, scratch, &mut out);
        assert_eq!(clipped, objective.clipped_sum(&x, batch, clip, scratch, &mut sum));
        let expected = full.exchange(objective, &x, batch, clip, scratch, &mut size);
        close(&out, &expected, size);
        objective.exchange(&x, batch, clip, &mut table, scratch, &mut out);
        close(&out, &vec![0.0; d], size);
    }
    // A record that is not finite takes its gradient back, if it ever had one.
    let nowhere = vec![R::from_f64(f64::NAN); d];
    let clipped =
        objective.exchange(&nowhere, Batch::all(data), clip, &mut table, scratch, &mut out);
    assert_eq!(clipped, Clipped { shortened: 0, dropped: n as u64 });
    let mut expected = vec![0.0; d];
    for row in full.rows.chunks_exact(d) {
        expected.iter_mut().zip(row).for_each(|(sum, v)| *sum -= v);
    }
    close(&out, &expected, size);
}

/// The table of the papers: a whole gradient for every record.
struct FullTable {
    rows: Vec<f64>,
}

impl FullTable {
    fn exchange<R: Real>(
        &mut self,
        objective: &dyn Tabled<R>,
        x: &[R],
        batch: Batch<'_, R>,
        clip: f64,
        scratch: &mut Scratch<R>,
        size: &mut f64,
    ) -> Vec<f64> {
        let mut sum = vec![0.0; x.len()];
        let mut one = vec![R::ZERO; x.len()];
        for record in batch.iter() {
            objective.clipped_sum(x, Batch::of(batch.data(), &[record]), clip, scratch, &mut one);
            *size += norm(&one);
            let row = &mut self.rows[record * x.len()..][..x.len()];
            for ((sum, row), new) in sum.iter_mut().zip(row).zip(&one) {
                *sum += new.to_f64() - *row;
                *row = new.to_f64();
            }
        }
        sum
    }
}

/// With the first stored number of some records replaced.
fn poison<R: Real>(data: &Dataset<R>, bad: &[(usize, f64)]) -> Dataset<R> {
    let mut features = data.features().clone();
    for (record, value) in bad {
        match &mut features {
            Features::Dense { width, values } => values[record * *width] = R::from_f64(*value),
            Features::Sparse { starts, values, .. } => {
                values[starts[*record]] = R::from_f64(*value)
            }
        }
    }
    let poisoned = Dataset::new(features, data.targets().clone()).unwrap();
    data.image().map_or(poisoned.clone(), |image| poisoned.with_image(image).unwrap())
}

fn norm<R: Real>(v: &[R]) -> f64 {
    v.iter().map(|v| v.to_f64() * v.to_f64()).sum::<f64>().sqrt()
}

/// Equal to rounding, for sums of numbers that together are so large.
fn close<R: Real>(got: &[R], expected: &[f64], size: f64) {
    // The last number is what `factor` keeps for itself.
    let tolerance = (64.0 * R::EPSILON.to_f64() + 2e-12) * size;
    for (got, expected) in got.iter().zip(expected) {
        assert!((got.to_f64() - expected).abs() <= tolerance, "{got} {expected} of {size}");
    }
}
