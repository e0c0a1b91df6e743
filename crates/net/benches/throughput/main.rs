//! Messages of a megabyte and of a kilobyte between two nodes on this machine, one JSON line each:
//! libp2p alone, whole nodes whose stores are in memory, whole nodes on disk, and the disk alone.
//! All in one run, because only their ratios mean anything on a machine that others use. There the
//! time on the processor, of both nodes together, means more than the time that passed.
//!
//! Words after `--` choose the measurements whose names have one of them: for a profiler.

mod raw;
mod town;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use cpu_time::ProcessTime;
use raw::Pattern;

const MEGABYTE: usize = 1 << 20;
const KILOBYTE: usize = 1 << 10;

fn main() {
    let disk = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let memory = Some(PathBuf::from("/dev/shm")).filter(|folder| folder.is_dir());
    for (name, bytes, rounds) in [("1MB", MEGABYTE, 300), ("1kB", KILOBYTE, 3_000)] {
        let raw = |pattern| move || raw::measure(pattern, bytes, rounds);
        let node = |folder: &Path| town::measure(folder, bytes, rounds as u64);
        report(&format!("net_raw_stream_{name}"), bytes, raw(Pattern::Stream));
        let exchange = report(&format!("net_raw_exchange_{name}"), bytes, raw(Pattern::Exchange));
        if let Some(memory) = &memory {
            let found = report(&format!("net_node_memory_{name}"), bytes, || node(memory));
            if let (Some(found), Some(exchange)) = (found, exchange) {
                share(
                    &format!("net_node_memory_{name}_of_raw_by_clock"),
                    found.per_second / exchange.per_second,
                );
                share(&format!("net_node_memory_{name}_of_raw_by_cpu"), exchange.each / found.each);
            }
        }
        report(&format!("net_node_disk_{name}"), bytes, || node(&disk));
        let synced = || synced(&disk, bytes, rounds);
        report(&format!("net_disk_alone_{name}"), bytes, synced);
    }
}

/// What the disk takes if every message is appended to a file and made durable on its own.
fn synced(folder: &Path, bytes: usize, times: usize) -> Measured {
    let path = folder.join("undertone-bench-synced");
    let mut file = std::fs::File::create(&path).expect("there is room");
    let message = vec![7; bytes];
    let clock = Clock::start();
    for _ in 0..times {
        file.write_all(&message).and_then(|()| file.sync_data()).expect("there is room");
    }
    let measured = clock.stop(times as f64);
    let _ = std::fs::remove_file(path);
    measured
}

/// What came of messages one after the other.
#[derive(Clone, Copy)]
struct Measured {
    per_second: f64,
    /// Seconds of the processor for one: of a message each way, if there are two nodes.
    each: f64,
}

/// The time that passes, and that of the processor, of the whole process.
struct Clock(Instant, ProcessTime);

impl Clock {
    fn start() -> Self {
        Self(Instant::now(), ProcessTime::now())
    }

    fn stop(&self, times: f64) -> Measured {
        let each = self.1.elapsed().as_secs_f64() / times;
        Measured { per_second: times / self.0.elapsed().as_secs_f64(), each }
    }
}

/// Does it and says what came of it; nothing if it was not chosen.
fn report(name: &str, bytes: usize, work: impl FnOnce() -> Measured) -> Option<Measured> {
    let mut chosen = std::env::args().skip(1).filter(|word| !word.starts_with('-')).peekable();
    if chosen.peek().is_some() && !chosen.any(|word| name.contains(&word)) {
        return None;
    }
    let measured = work();
    let Measured { per_second, each } = measured;
    let megabytes = per_second * bytes as f64 / 1e6;
    println!("{{\"name\": \"{name}\", \"unit\": \"messages/s\", \"value\": {per_second:.1}}}");
    println!("{{\"name\": \"{name}_bytes\", \"unit\": \"MB/s\", \"value\": {megabytes:.1}}}");
    println!("{{\"name\": \"{name}_cpu\", \"unit\": \"s\", \"value\": {each:.6}}}");
    Some(measured)
}

fn share(name: &str, value: f64) {
    println!("{{\"name\": \"{name}\", \"unit\": \"share\", \"value\": {value:.3}}}");
}
