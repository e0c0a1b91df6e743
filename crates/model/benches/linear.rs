//! What clipped sums of linear models cost, as JSON lines: records a second of processor time, the
//! median of several runs. An argument selects the lines whose name contains it.

use cpu_time::ProcessTime;
use undertone_model::dataset::{Features, Targets};
use undertone_model::synthetic::Source;
use undertone_model::{Batch, Dataset, Linear, Loss, Objective, Scratch, Softmax};
use undertone_real::Real;

const RECORDS: usize = 1024;
const BATCH: usize = 256;

fn main() {
    for (name, loss) in [
        ("logistic", Loss::Logistic),
        ("hinge", Loss::SmoothedHinge { width: 0.5 }),
        ("squared", Loss::Squared),
    ] {
        for clip in [0.5, 100.0] {
            linear(&format!("linear_{name}_f32_d105_clip{clip}"), dense::<f32>(105), loss, clip);
        }
    }
    linear("linear_logistic_f64_d105_clip0.5", dense::<f64>(105), Loss::Logistic, 0.5);
    linear("linear_logistic_f32_d784_clip0.5", dense::<f32>(784), Loss::Logistic, 0.5);
    linear("linear_logistic_f32_sparse50_of_10000", sparse(50, 10_000), Loss::Logistic, 0.5);
    softmax("softmax_f32_784x10", dense(784));
    softmax("softmax_f32_sparse50_of_10000x10", sparse(50, 10_000));
}

fn dense<R: Real>(width: usize) -> Features<R> {
    let values = Source::new(1, 0).uniform(-0.2, 0.2, RECORDS * width);
    Features::Dense { width, values: values.into_iter().map(R::from_f64).collect() }
}

/// So many numbers in a row of this width, at places that differ by record.
fn sparse(count: usize, width: usize) -> Features<f32> {
    let step = width / count;
    let column = |k: usize| (k % count * step + k / count % step) as u32;
    let values = Source::new(1, 0).uniform(-0.2, 0.2, RECORDS * count);
    Features::Sparse {
        width,
        starts: (0..=RECORDS).map(|record| record * count).collect(),
        columns: (0..RECORDS * count).map(column).collect(),
        values: values.into_iter().map(|v| v as f32).collect(),
    }
}

fn linear<R: Real>(name: &str, features: Features<R>, loss: Loss, clip: f64) {
    let signs = (0..RECORDS).map(|i| if i % 3 == 0 { R::ONE } else { -R::ONE }).collect();
    let targets = if loss == Loss::Squared { Targets::Real(signs) } else { Targets::Sign(signs) };
    let data = Dataset::new(features, targets).expect("one target a record");
    report(name, &Linear::new(data.width(), true, loss), &data, clip, 2000);
}

fn softmax(name: &str, features: Features<f32>) {
    let of = (0..RECORDS).map(|i| i as u32 % 10).collect();
    let targets = Targets::Class { classes: 10, of };
    let data = Dataset::new(features, targets).expect("one target a record");
    report(name, &Softmax::new(data.width(), 10, true, Loss::CrossEntropy), &data, 0.5, 100);
}

fn report<R: Real>(
    name: &str,
    model: &dyn Objective<R>,
    data: &Dataset<R>,
    clip: f64,
    repeats: usize,
) {
    let mut wanted = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    if wanted.next().is_some_and(|part| !name.contains(&part)) {
        return;
    }
    let x = vec![R::from_f64(0.1); model.dimension()];
    let mut out = vec![R::ZERO; model.dimension()];
    let scratch = &mut Scratch::default();
    // A stride that is prime to the number of records visits them out of order.
    let order: Vec<usize> = (0..RECORDS).map(|i| i * 389 % RECORDS).collect();
    let mut rates = Vec::new();
    for _ in 0..9 {
        let start = ProcessTime::now();
        for k in 0..repeats {
            let from = k * BATCH % RECORDS;
            let batch = Batch::of(data, &order[from..from + BATCH]);
            std::hint::black_box(model.clipped_sum(&x, batch, clip, scratch, &mut out));
        }
        rates.push((BATCH * repeats) as f64 / start.elapsed().as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    let (rate, result) = (rates[rates.len() / 2], out[0]);
    println!(
        "{{\"name\":\"{name}\",\"unit\":\"samples/s\",\"value\":{rate:.0},\"result\":{result}}}"
    );
}
