//! What clipped sums of linear models cost, as JSON lines: records a second of processor time, the
//! median of several runs. An argument selects the lines whose name contains it.

use cpu_time::ProcessTime;
use undertone_model::dataset::{Features, Targets};
use undertone_model::synthetic::Source;
use undertone_model::{Batch, Dataset, Linear, Loss, Objective, Scratch};
use undertone_real::Real;

fn main() {
    for (name, loss) in [
        ("logistic", Loss::Logistic),
        ("hinge", Loss::SmoothedHinge { width: 0.5 }),
        ("squared", Loss::Squared),
    ] {
        for clip in [0.5, 100.0] {
            report::<f32>(&format!("linear_{name}_f32_d105_clip{clip}"), loss, 105, clip);
        }
    }
    report::<f64>("linear_logistic_f64_d105_clip0.5", Loss::Logistic, 105, 0.5);
    report::<f32>("linear_logistic_f32_d784_clip0.5", Loss::Logistic, 784, 0.5);
}

/// Batches of 256 out of 1024 records.
fn report<R: Real>(name: &str, loss: Loss, width: usize, clip: f64) {
    let mut wanted = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    if wanted.next().is_some_and(|part| !name.contains(&part)) {
        return;
    }
    let (records, batch, repeats) = (1024, 256, 2000);
    let values = Source::new(1, 0).uniform(-0.2, 0.2, records * width);
    let values = values.into_iter().map(R::from_f64).collect();
    let signs = (0..records).map(|i| if i % 3 == 0 { R::ONE } else { -R::ONE }).collect();
    let targets = if loss == Loss::Squared { Targets::Real(signs) } else { Targets::Sign(signs) };
    let data =
        Dataset::new(Features::Dense { width, values }, targets).expect("one target a record");
    let model = Linear::new(width, true, loss);
    let x = vec![R::from_f64(0.1); width + 1];
    let mut out = vec![R::ZERO; width + 1];
    let scratch = &mut Scratch::default();
    // A stride that is prime to the number of records visits them out of order.
    let order: Vec<usize> = (0..records).map(|i| i * 389 % records).collect();
    let mut rates = Vec::new();
    for _ in 0..9 {
        let start = ProcessTime::now();
        for k in 0..repeats {
            let from = k * batch % records;
            let batch = Batch::of(&data, &order[from..from + batch]);
            std::hint::black_box(model.clipped_sum(&x, batch, clip, scratch, &mut out));
        }
        rates.push((batch * repeats) as f64 / start.elapsed().as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    let (rate, result) = (rates[rates.len() / 2], out[0]);
    println!(
        "{{\"name\":\"{name}\",\"unit\":\"records/s\",\"value\":{rate:.0},\"result\":{result}}}"
    );
}
