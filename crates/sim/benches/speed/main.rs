//! Speed of whole rounds, one JSON line each. The number of threads is in the name: as many as the
//! process may use, so pin it to one core for figures of one thread. An argument selects the lines
//! whose name contains it.

mod admm;
mod consensus;
mod gradients;

use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

/// That of the command.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[global_allocator]
static MEMORY: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    consensus::all();
    gradients::all();
    admm::all();
}

/// The full name of a line, if it is asked for.
fn wanted(name: &str) -> Option<String> {
    let mut parts = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    let left_out = parts.next().is_some_and(|part| !name.contains(&part));
    (!left_out).then(|| format!("{name}_{}t", rayon::current_num_threads()))
}

fn report(name: &str, unit: &str, value: f64, note: &str) {
    println!(r#"{{"name":"{name}","unit":"{unit}","value":{value},"note":"{note}"}}"#);
}

/// The median of so many runs of `work`, each on what `prepare` makes.
fn median<T>(
    runs: usize,
    mut prepare: impl FnMut() -> T,
    mut work: impl FnMut(&mut T),
) -> Duration {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let mut prepared = prepare();
            let (wall, processor) = (Instant::now(), ProcessTime::now());
            work(&mut prepared);
            // On one core the processor's time is what counts: others may be using it too.
            let one = rayon::current_num_threads() == 1;
            if one { processor.elapsed() } else { wall.elapsed() }
        })
        .collect();
    times.sort_unstable();
    times[runs / 2]
}

/// The most memory that this process had at any time, in bytes; zero where that is not told.
fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) * 1024.0
}
