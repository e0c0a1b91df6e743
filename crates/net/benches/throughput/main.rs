//! Messages of a megabyte and of a kilobyte between two nodes on this machine, one JSON line each:
//! libp2p alone, whole nodes whose stores are in memory, whole nodes on disk, and the disk alone.
//! All in one run, because only their ratios mean anything on a machine that others use. There the
//! time on the processor, of both nodes together, means more than the time that passed.

mod raw;
mod town;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use raw::Pattern;

const MEGABYTE: usize = 1 << 20;
const KILOBYTE: usize = 1 << 10;

fn main() {
    let disk = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let memory = Some(PathBuf::from("/dev/shm")).filter(|folder| folder.is_dir());
    for (name, bytes, rounds) in [("1MB", MEGABYTE, 300), ("1kB", KILOBYTE, 3_000)] {
        let raw = |pattern| move || raw::messages_per_second(pattern, bytes, rounds);
        let node = |folder: &Path| town::messages_per_second(folder, bytes, rounds as u64);
        report(&format!("net_raw_stream_{name}"), bytes, rounds, raw(Pattern::Stream));
        let exchange =
            report(&format!("net_raw_exchange_{name}"), bytes, rounds, raw(Pattern::Exchange));
        if let Some(memory) = &memory {
            let found = report(&format!("net_node_memory_{name}"), bytes, rounds, || node(memory));
            share(&format!("net_node_memory_{name}_of_raw_by_clock"), found.0 / exchange.0);
            share(&format!("net_node_memory_{name}_of_raw_by_cpu"), exchange.1 / found.1);
        }
        report(&format!("net_node_disk_{name}"), bytes, rounds, || node(&disk));
        let synced = || synced_per_second(&disk, bytes, rounds);
        report(&format!("net_disk_alone_{name}"), bytes, rounds, synced);
    }
}

/// What the disk takes if every message is appended to a file and made durable on its own.
fn synced_per_second(folder: &Path, bytes: usize, times: usize) -> f64 {
    let path = folder.join("undertone-bench-synced");
    let mut file = std::fs::File::create(&path).expect("there is room");
    let message = vec![7; bytes];
    let start = Instant::now();
    for _ in 0..times {
        file.write_all(&message).and_then(|()| file.sync_data()).expect("there is room");
    }
    let seconds = start.elapsed().as_secs_f64();
    let _ = std::fs::remove_file(path);
    times as f64 / seconds
}

/// Messages in a second, and the processor's time for one.
fn report(name: &str, bytes: usize, times: usize, work: impl FnOnce() -> f64) -> (f64, f64) {
    let start = ProcessTime::now();
    let per_second = work();
    let each: Duration = start.elapsed() / times as u32;
    let (megabytes, each) = (per_second * bytes as f64 / 1e6, each.as_secs_f64());
    println!("{{\"name\": \"{name}\", \"unit\": \"messages/s\", \"value\": {per_second:.1}}}");
    println!("{{\"name\": \"{name}_bytes\", \"unit\": \"MB/s\", \"value\": {megabytes:.1}}}");
    println!("{{\"name\": \"{name}_cpu\", \"unit\": \"s\", \"value\": {each:.6}}}");
    (per_second, each)
}

fn share(name: &str, value: f64) {
    println!("{{\"name\": \"{name}\", \"unit\": \"share\", \"value\": {value:.3}}}");
}
