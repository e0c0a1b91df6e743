//! Messages of a megabyte and of a kilobyte between two nodes on this machine, one JSON line each:
//! libp2p alone, whole nodes whose stores are in memory, whole nodes on disk, and the disk alone.
//! All in one run, because only their ratios mean anything on a machine that others use.

mod raw;
mod town;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use raw::Pattern;

const MEGABYTE: usize = 1 << 20;
const KILOBYTE: usize = 1 << 10;

fn main() {
    let disk = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let memory = Some(PathBuf::from("/dev/shm")).filter(|folder| folder.is_dir());
    for (name, bytes, rounds) in [("1MB", MEGABYTE, 300), ("1kB", KILOBYTE, 3_000)] {
        let stream = raw::messages_per_second(Pattern::Stream, bytes, rounds);
        report(&format!("net_raw_stream_{name}"), bytes, stream);
        let exchange = raw::messages_per_second(Pattern::Exchange, bytes, rounds);
        report(&format!("net_raw_exchange_{name}"), bytes, exchange);
        if let Some(memory) = &memory {
            let found = town::messages_per_second(memory, bytes, rounds as u64);
            report(&format!("net_node_memory_{name}"), bytes, found);
            share(&format!("net_node_memory_{name}_of_raw_exchange"), found / exchange);
            share(&format!("net_node_memory_{name}_of_raw_stream"), found / stream);
        }
        let durable = town::messages_per_second(&disk, bytes, rounds as u64);
        report(&format!("net_node_disk_{name}"), bytes, durable);
        let synced = synced_per_second(&disk, bytes, rounds);
        report(&format!("net_disk_alone_{name}"), bytes, synced);
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

fn report(name: &str, bytes: usize, per_second: f64) {
    let megabytes = per_second * bytes as f64 / 1e6;
    println!("{{\"name\": \"{name}\", \"unit\": \"messages/s\", \"value\": {per_second:.1}}}");
    println!("{{\"name\": \"{name}_bytes\", \"unit\": \"MB/s\", \"value\": {megabytes:.1}}}");
}

fn share(name: &str, value: f64) {
    println!("{{\"name\": \"{name}\", \"unit\": \"share\", \"value\": {value:.3}}}");
}
