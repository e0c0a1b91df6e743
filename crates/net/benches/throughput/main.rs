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
    let sizes = [("1MB", MEGABYTE, 200), ("1kB", KILOBYTE, 2_000)];
    let words: Vec<String> = std::env::args().collect();
    for (name, bytes, rounds) in sizes {
        let raw = |pattern| move || raw::measure(pattern, bytes, rounds);
        let node = |folder: &Path| town::measure(folder, bytes, rounds as u64);
        if let [_, alone, wanted] = &words[..]
            && alone == ALONE
        {
            let measured = match &memory {
                _ if *wanted == format!("net_raw_exchange_{name}") => raw(Pattern::Exchange)(),
                Some(memory) if *wanted == format!("net_node_memory_{name}") => node(memory),
                _ => continue,
            };
            return println!("{} {}", measured.per_second, measured.each);
        }
        report(&format!("net_raw_stream_{name}"), bytes, raw(Pattern::Stream));
        if memory.is_some() {
            compare(name, bytes);
        }
        report(&format!("net_node_disk_{name}"), bytes, || node(&disk));
        let synced = || synced(&disk, bytes, rounds);
        report(&format!("net_disk_alone_{name}"), bytes, synced);
    }
}

/// Both in turn, so that what else the machine does falls on both, and each time in a process of
/// its own, so that neither finds memory that the other has made ready. The middle one of each, and
/// the middle one of the shares, each of two that were next to each other.
fn compare(name: &str, bytes: usize) {
    const PAIRS: usize = 7;
    let names = [format!("net_raw_exchange_{name}"), format!("net_node_memory_{name}")];
    let chosen = names.each_ref().map(|name| is_chosen(name));
    let mut found = [Vec::new(), Vec::new()];
    for _ in 0..PAIRS {
        for ((name, found), chosen) in names.iter().zip(&mut found).zip(chosen) {
            found.extend(chosen.then(|| alone(name)));
        }
    }
    for (name, found) in names.iter().zip(&found).filter(|(_, found)| !found.is_empty()) {
        let per_second = median(found.iter().map(|one| one.per_second));
        say(name, bytes, Measured { per_second, each: median(found.iter().map(|one| one.each)) });
    }
    if chosen == [true, true] {
        let pairs = || found[0].iter().zip(&found[1]);
        let clock = median(pairs().map(|(raw, node)| node.per_second / raw.per_second));
        let cpu = median(pairs().map(|(raw, node)| raw.each / node.each));
        for (how, value) in [("clock", clock), ("cpu", cpu)] {
            let name = format!("{}_of_raw_by_{how}", names[1]);
            println!("{{\"name\": \"{name}\", \"unit\": \"share\", \"value\": {value:.3}}}");
        }
    }
}

/// Gives this thread, and those that it will start, a processor of its own, as if its node were on
/// a machine of its own. Two nodes have four threads, and the system may leave a processor idle
/// while two of them wait for the other. Without `taskset` it remains so.
fn place(node: u32) {
    let Ok(thread) = std::fs::read_link("/proc/thread-self") else { return };
    let thread = thread.file_name().unwrap_or_default();
    let mut place = std::process::Command::new("taskset");
    let _ = place.args(["-cp", &node.to_string()]).arg(thread).output();
}

/// This program again, for one measurement.
fn alone(name: &str) -> Measured {
    let program = std::env::current_exe().expect("it runs");
    let run = std::process::Command::new(program).args([ALONE, name]).output().expect("it starts");
    let said = String::from_utf8(run.stdout).expect("it speaks");
    let numbers: Vec<f64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [per_second, each] = numbers[..] else { panic!("{name}: {said}") };
    Measured { per_second, each }
}

const ALONE: &str = "--alone";

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
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

/// Does it and says what came of it, if it was chosen.
fn report(name: &str, bytes: usize, work: impl FnOnce() -> Measured) {
    if is_chosen(name) {
        say(name, bytes, work());
    }
}

fn is_chosen(name: &str) -> bool {
    let mut chosen = std::env::args().skip(1).filter(|word| !word.starts_with('-')).peekable();
    chosen.peek().is_none() || chosen.any(|word| name.contains(&word))
}

fn say(name: &str, bytes: usize, Measured { per_second, each }: Measured) {
    let megabytes = per_second * bytes as f64 / 1e6;
    println!("{{\"name\": \"{name}\", \"unit\": \"messages/s\", \"value\": {per_second:.1}}}");
    println!("{{\"name\": \"{name}_bytes\", \"unit\": \"MB/s\", \"value\": {megabytes:.1}}}");
    println!("{{\"name\": \"{name}_cpu\", \"unit\": \"s\", \"value\": {each:.6}}}");
}
