//! Private steps, one JSON line each: the gradients of a batch, each clipped to a norm of 1, their
//! sum, Gaussian noise of deviation 1, and a step of 0.001 over the batch size. Records a second,
//! the median of several runs, beside what the machine could do at best. The number of threads is
//! in the name: as many as the process may use, so pin it to one core for figures of one thread,
//! which are of processor time. An argument selects the lines whose name contains it.

use std::hint::black_box;
use std::time::Instant;

use cpu_time::ProcessTime;
use undertone_model::dataset::{Features, Targets};
use undertone_model::network::{Activation, Stem};
use undertone_model::synthetic::Source;
use undertone_model::{Batch, Dataset, Linear, Loss, Network, Objective, Scratch};
use undertone_privacy::noise::{Key, Purpose, StreamId, add_gaussian, add_gaussian_on};

/// Batches of random records that take turns.
const BATCHES: usize = 16;
const RUNS: usize = 9;
/// Numbers for which a step is made on several threads.
const WORTH_A_THREAD: usize = 1 << 15;

fn main() {
    // Steps are asked for on a thread of the pool: it need not be woken up for its part.
    rayon::scope(|_| steps(&Machine::measure()));
}

fn steps(machine: &Machine) {
    let logistic = Linear::new(105, false, Loss::Logistic);
    // Two passes over 105 numbers, a multiplication and an addition each.
    let work = Work { batch: 256, steps: 4000, flops: 4.0 * 105.0, bytes: 4.0 * 105.0 };
    report("logistic_105_b256", &logistic, signs(256, 105), &work, machine);
    for (name, inputs, hidden, batch, steps) in [
        ("mlp_784_50_10_b20", 784, 50, 20, 1000),
        ("mlp_784_50_10_b256", 784, 50, 256, 150),
        ("mlp_3072_40_10_b20", 3072, 40, 20, 400),
    ] {
        let net = Network::mlp(&[inputs, hidden, 10], Activation::Sigmoid, Loss::CrossEntropy)
            .expect("three widths");
        // Forward and gradient; the second layer also sends its error back.
        let flops = 4.0 * (inputs * hidden) as f64 + 6.0 * (hidden * 10) as f64;
        let work = Work { batch, steps, flops, bytes: 4.0 * inputs as f64 };
        report(name, &net, classes(batch, [inputs, 1, 1]), &work, machine);
    }
    // Forward, gradient, and the error of all layers but the first.
    let flops = 4.0 * (196 * 64 * 16) as f64 + 6.0 * (25 * 256 * 32 + 512 * 32 + 320) as f64;
    let work = Work { batch: 64, steps: 16, flops, bytes: 4.0 * 784.0 };
    report("mnist_cnn_b64", &Network::mnist_cnn(), classes(64, [1, 28, 28]), &work, machine);
    let work = Work { batch: 8, steps: 1, flops: 6.0 * 555.4e6, bytes: 4.0 * 3072.0 };
    let resnet = Network::resnet18(Stem::Cifar);
    resnet_memory(&resnet);
    report("resnet18_b8", &resnet, classes(8, [3, 32, 32]), &work, machine);
}

/// What is counted.
struct Work {
    batch: usize,
    /// Steps of one run.
    steps: usize,
    /// Multiplications and additions for a record.
    flops: f64,
    /// Bytes of a record.
    bytes: f64,
}

fn report(
    name: &str,
    objective: &dyn Objective<f32>,
    data: Dataset<f32>,
    work: &Work,
    machine: &Machine,
) {
    let threads = rayon::current_num_threads();
    let name = format!("{name}_{threads}t");
    if !wanted(&name) {
        return;
    }
    let mut stepper = Stepper::new(objective, &data, work.batch, start(objective));
    for i in 0..work.steps.min(BATCHES) {
        stepper.step(i);
    }
    let mut seconds: Vec<f64> = (0..RUNS)
        .map(|_| {
            let (wall, processor) = (Instant::now(), ProcessTime::now());
            (0..work.steps).for_each(|i| stepper.step(i));
            // What waits for another thread is slow, too.
            if threads > 1 { wall.elapsed() } else { processor.elapsed() }.as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    let records = (work.batch * work.steps) as f64;
    let rate = records / seconds[RUNS / 2];
    let noise = objective.dimension() as f64 / machine.noise * rate / work.batch as f64;
    let note = format!(
        "{:.1} GFLOP/s, {:.0}% of one thread's {:.0}; records {:.1} GB/s, {:.0}% of {:.0}; \
         noise {:.0}% of it; best run {:.4e}",
        rate * work.flops / 1e9,
        100.0 * rate * work.flops / machine.flops,
        machine.flops / 1e9,
        rate * work.bytes / 1e9,
        100.0 * rate * work.bytes / machine.bandwidth,
        machine.bandwidth / 1e9,
        100.0 * noise,
        records / seconds[0],
    );
    println!(r#"{{"name":"{name}","unit":"samples/s","value":{rate:.1},"note":"{note}"}}"#);
}

/// How much memory a step of the largest model takes beyond its parameters and its records.
fn resnet_memory(resnet: &dyn Objective<f32>) {
    const NAME: &str = "resnet18_b8_memory";
    if rayon::current_num_threads() > 1 || !wanted(NAME) {
        return;
    }
    let data = classes(8, [3, 32, 32]);
    let start = start(resnet);
    // The highest mark so far is that of other work.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let before = resident("VmRSS:");
    let mut stepper = Stepper::new(resnet, &data, 8, start);
    (0..3).for_each(|i| stepper.step(i));
    let bytes = resident("VmHWM:") - before;
    let note = format!("of it {:.1} MB is the sum", 4.0 * resnet.dimension() as f64 / 1e6);
    println!(r#"{{"name":"{NAME}","unit":"bytes","value":{bytes},"note":"{note}"}}"#);
}

/// A line of the process's own status, in bytes.
fn resident(line: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = status.lines().find_map(|l| l.strip_prefix(line)).unwrap_or("0 kB");
    value.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(0.0) * 1024.0
}

struct Stepper<'a> {
    objective: &'a dyn Objective<f32>,
    data: &'a Dataset<f32>,
    batches: Vec<Vec<usize>>,
    x: Vec<f32>,
    sum: Vec<f32>,
    scratch: Scratch<f32>,
    key: Key,
    step: f32,
    taken: u64,
}

impl<'a> Stepper<'a> {
    fn new(
        objective: &'a dyn Objective<f32>,
        data: &'a Dataset<f32>,
        batch: usize,
        start: Vec<f32>,
    ) -> Self {
        Self {
            objective,
            data,
            batches: (0..BATCHES).map(|b| (b * batch..(b + 1) * batch).collect()).collect(),
            sum: vec![0.0; start.len()],
            x: start,
            scratch: Scratch::on(rayon::current_num_threads()),
            key: Key::from_seed(3),
            step: 1e-3 / batch as f32,
            taken: 0,
        }
    }

    fn step(&mut self, i: usize) {
        let batch = Batch::of(self.data, &self.batches[i % BATCHES]);
        self.objective.clipped_sum(&self.x, batch, 1.0, &mut self.scratch, &mut self.sum);
        let id = StreamId::new(Purpose::Noise, 0, self.taken).expect("few steps");
        let threads = self.scratch.threads();
        add_gaussian_on(threads, &self.key, id, 1.0, &mut self.sum);
        self.taken += 1;
        let (step, each) = (self.step, self.x.len().div_ceil(threads).next_multiple_of(64));
        let each = if self.x.len() < WORTH_A_THREAD { self.x.len() } else { each };
        undertone_threads::each(self.x.chunks_mut(each).zip(self.sum.chunks(each)), |(x, g)| {
            x.iter_mut().zip(g).for_each(|(x, g)| *x -= step * g);
        });
        black_box(&self.x);
    }
}

/// Any start will do but zero, at which nets stand still.
fn start(objective: &dyn Objective<f32>) -> Vec<f32> {
    let numbers = Source::new(2, 0).uniform(-0.05, 0.05, objective.dimension());
    numbers.into_iter().map(|v| v as f32).collect()
}

fn features(batch: usize, width: usize) -> Features<f32> {
    let values = Source::new(1, 0).uniform(-1.7, 1.7, BATCHES * batch * width);
    Features::Dense { width, values: values.into_iter().map(|v| v as f32).collect() }
}

fn signs(batch: usize, width: usize) -> Dataset<f32> {
    let signs = (0..BATCHES * batch).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
    Dataset::new(features(batch, width), Targets::Sign(signs)).expect("one sign a record")
}

fn classes(batch: usize, image: [usize; 3]) -> Dataset<f32> {
    let of = (0..BATCHES * batch).map(|i| (i * 7 % 10) as u32).collect();
    let features = features(batch, image.iter().product());
    Dataset::new(features, Targets::Class { classes: 10, of })
        .and_then(|data| data.with_image(image))
        .expect("one class a record")
}

fn wanted(name: &str) -> bool {
    let mut parts = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    parts.next().is_none_or(|part| name.contains(&part))
}

/// What the machine can do on one thread.
struct Machine {
    /// Multiplications and additions a second, in single precision.
    flops: f64,
    /// Bytes a second that are read from the second cache.
    bandwidth: f64,
    /// Normal numbers a second.
    noise: f64,
}

impl Machine {
    fn measure() -> Self {
        let arch = pulp::Arch::new();
        let (mut flops, mut bandwidth, mut noise) = (0.0_f64, 0.0_f64, 0.0_f64);
        let cached = vec![1.0_f32; 80_000];
        let mut numbers = vec![0.0_f32; 400_000];
        let (key, id) = (Key::from_seed(1), StreamId::new(Purpose::Noise, 0, 0).expect("first"));
        // The best of many short looks: others may be using the machine.
        for _ in 0..60 {
            let start = Instant::now();
            let count = arch.dispatch(Multiplications(20_000));
            flops = flops.max(count / start.elapsed().as_secs_f64());
            let start = Instant::now();
            for _ in 0..4 {
                black_box(arch.dispatch(Sum(black_box(&cached))));
            }
            let bytes = 4.0 * size_of_val(&cached[..]) as f64;
            bandwidth = bandwidth.max(bytes / start.elapsed().as_secs_f64());
            let start = Instant::now();
            add_gaussian(&key, id, 1.0, &mut numbers);
            noise = noise.max(numbers.len() as f64 / start.elapsed().as_secs_f64());
        }
        Self { flops, bandwidth, noise }
    }
}

/// Multiplications with additions, and nothing else, in as many registers as it takes.
struct Multiplications(usize);

impl pulp::WithSimd for Multiplications {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) -> f64 {
        let mut sums = black_box([simd.splat_f32s(1.0); 12]);
        let (a, b) = black_box((simd.splat_f32s(0.999), simd.splat_f32s(0.001)));
        for _ in 0..self.0 {
            for sum in &mut sums {
                *sum = simd.mul_add_f32s(*sum, a, b);
            }
        }
        black_box(sums);
        (2 * sums.len() * S::F32_LANES * self.0) as f64
    }
}

struct Sum<'a>(&'a [f32]);

impl pulp::NullaryFnOnce for Sum<'_> {
    type Output = [f32; 64];

    #[inline(always)]
    fn call(self) -> [f32; 64] {
        let mut sums = [0.0; 64];
        for chunk in self.0.as_chunks::<64>().0 {
            for i in 0..64 {
                sums[i] += chunk[i];
            }
        }
        sums
    }
}
