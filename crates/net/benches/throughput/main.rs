//! Messages of a megabyte and of a kilobyte between nodes on this machine, one JSON line each:
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
    let words: Vec<String> = std::env::args().collect();
    for (name, nodes, bytes, rounds) in
        [("1MB", 2, MEGABYTE, 200), ("1MB_three", 3, MEGABYTE, 100), ("1kB", 2, KILOBYTE, 2_000)]
    {
        let raw = |pattern| move || raw::measure(pattern, nodes, bytes, rounds);
        let node = |folder: &Path| town::measure(folder, nodes, bytes, rounds as u64);
        if let [_, alone, wanted] = &words[..]
            && alone == ALONE
        {
            // Otherwise the other threads would wait for the one that is gone.
            std::panic::set_hook(Box::new(|_| std::process::exit(1)));
            let measured = match &memory {
                _ if *wanted == format!("net_raw_exchange_{name}") => raw(Pattern::Exchange)(),
                Some(memory) if *wanted == format!("net_node_memory_{name}") => node(memory),
                _ => continue,
            };
            return println!("{} {}", measured.per_second, measured.each);
        }
        if memory.is_some() {
            compare(name, bytes);
        }
        if nodes == 2 {
            report(&format!("net_raw_stream_{name}"), bytes, raw(Pattern::Stream));
            report(&format!("net_node_disk_{name}"), bytes, || node(&disk));
            let synced = || synced(&disk, bytes, rounds);
            report(&format!("net_disk_alone_{name}"), bytes, synced);
        }
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
/// while two of them wait for the other. More nodes share all there are. Without `taskset` it
/// remains as it was.
fn place(node: usize, nodes: usize) {
    let Ok(thread) = std::fs::read_link("/proc/thread-self") else { return };
    let Ok(all) = std::fs::read_to_string("/sys/devices/system/cpu/online") else { return };
    let processors = if nodes == 2 { node.to_string() } else { all.trim().to_string() };
    let thread = thread.file_name().unwrap_or_default();
    let mut place = std::process::Command::new("taskset");
    let _ = place.args(["-cp", &processors]).arg(thread).output();
}

/// This program again, for one measurement. Among three, Yamux now and then closes a connection on
/// a busy machine; nodes dial again then, but libp2p alone does not, so that is measured again.
fn alone(name: &str) -> Measured {
    const ATTEMPTS: usize = 10;
    let program = std::env::current_exe().expect("it runs");
    for _ in 0..ATTEMPTS {
        let run = std::process::Command::new(&program).args([ALONE, name]).output();
        let said = String::from_utf8(run.expect("it starts").stdout).expect("it speaks");
        let numbers: Vec<f64> = said.split_whitespace().filter_map(|w| w.parse().ok()).collect();
        if let [per_second, each] = numbers[..] {
            return Measured { per_second, each };
        }
    }
    panic!("{name} failed {ATTEMPTS} times");
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
    let Elapsed { clock, processor } = clock.stop();
    let _ = std::fs::remove_file(path);
    Measured { per_second: times as f64 / clock, each: processor / times as f64 }
}

/// What came of messages one after the other.
#[derive(Clone, Copy)]
struct Measured {
    /// Out of one node.
    per_second: f64,
    /// Seconds of the processor for one: of a message each way, where there are nodes.
    each: f64,
}

/// The time that passes, and that of the processor, of the whole process.
struct Clock(Instant, ProcessTime);

/// Seconds.
struct Elapsed {
    clock: f64,
    processor: f64,
}

impl Clock {
    fn start() -> Self {
        Self(Instant::now(), ProcessTime::now())
    }

    fn stop(&self) -> Elapsed {
        let Self(clock, processor) = self;
        let clock = clock.elapsed().as_secs_f64();
        Elapsed { clock, processor: processor.elapsed().as_secs_f64() }
    }
}

impl Elapsed {
    /// In which all of some nodes sent a message to all others, so many times.
    fn of(&self, nodes: usize, times: usize) -> Measured {
        let (times, others) = (times as f64, (nodes - 1) as f64);
        let ways = nodes as f64 * others / 2.0;
        Measured { per_second: times * others / self.clock, each: self.processor / (times * ways) }
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
