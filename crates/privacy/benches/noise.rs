//! Speed of the samplers, one JSON line each: median of several runs on one thread.
//! An argument selects the lines whose name contains it.

use std::hint::black_box;
use std::time::Instant;

use rand::Rng;
use undertone_privacy::noise::reference::{Ratio, discrete_gaussian};
use undertone_privacy::noise::{
    ExactGaussian, Key, Purpose, Stream, StreamId, add_gaussian, fill_gaussian, fill_laplace,
};

/// As many numbers as the peers' benchmarks draw at a time.
const BULK: usize = 4_000_000;
const EXACT: usize = 20_000;
const RUNS: usize = 9;

fn main() {
    let key = Key::from_seed(1);
    let id = StreamId::new(Purpose::Noise, 0, 0).expect("node 0 and index 0 are in range");
    let mut stream = Stream::new(&key, id);

    let mut single = vec![0.0_f32; BULK];
    report("gauss_fast_f32", "samples/s", BULK, || fill_gaussian(&key, id, 1.0, &mut single));
    report("gauss_add_f32", "samples/s", BULK, || add_gaussian(&key, id, 1.0, &mut single));
    report("laplace_fast_f32", "samples/s", BULK, || fill_laplace(&key, id, 1.0, &mut single));
    report("gauss_small_f32", "samples/s", 105 * 10_000, || {
        for model in single[..105 * 10_000].chunks_exact_mut(105) {
            fill_gaussian(&key, id, 1.0, model);
        }
    });
    let mut double = vec![0.0_f64; BULK];
    report("gauss_fast_f64", "samples/s", BULK, || fill_gaussian(&key, id, 1.0, &mut double));

    let mut integers = vec![0; EXACT];
    for sigma in [1, 10, 1000, 1_000_000] {
        let exact = ExactGaussian::new(f64::from(sigma)).expect("sigma is in range");
        let name = format!("exact_gauss_sigma{sigma}");
        report(&name, "samples/s", EXACT, || exact.fill(&mut stream, &mut integers));
    }
    report("exact_gauss_tables", "tables/s", 1, || {
        black_box(ExactGaussian::new(1000.0).expect("sigma is in range"));
    });
    let variance = Ratio::new(100, 1).expect("sigma 10");
    report("reference_cks", "samples/s", EXACT, || {
        integers.fill_with(|| discrete_gaussian(&mut stream, variance));
    });

    let mut bytes = vec![0; 1 << 20];
    let mut simulated = Stream::simulated(&key, id);
    report("chacha8", "bytes/s", bytes.len(), || simulated.fill_bytes(&mut bytes));
    report("chacha20", "bytes/s", bytes.len(), || stream.fill_bytes(&mut bytes));
}

fn report(name: &str, unit: &str, count: usize, mut work: impl FnMut()) {
    let mut wanted = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    if wanted.next().is_some_and(|part| !name.contains(&part)) {
        return;
    }
    work();
    let mut seconds: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    let value = count as f64 / seconds[RUNS / 2];
    println!(r#"{{"name":"{name}","unit":"{unit}","value":{value:.0}}}"#);
}
