//! Our benchmarks, and on request their peers, side by side: on one thread, and on all.

use std::process::Command;

use crate::step::{cargo, exists};
use crate::workspace::Workspace;

mod compare;
mod peers;
mod record;

use record::Record;

/// What the command line asks for.
#[derive(Debug, PartialEq)]
pub struct Options {
    /// Also run the peers.
    peers: bool,
    /// Run a part of the slowest peer work and scale it.
    quick: bool,
    /// The only benchmarks of ours to run, if any are named.
    only: Vec<String>,
    /// Peers to leave out.
    without: Vec<String>,
    /// How often all of it is run.
    times: usize,
}

impl Options {
    /// Refuses what it does not know.
    pub fn parse(words: &[String]) -> Result<Self, String> {
        let (only, without) = (Vec::new(), Vec::new());
        let mut options = Self { peers: false, quick: false, only, without, times: 1 };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--peers" => options.peers = true,
                "--quick" => options.quick = true,
                "--only" => {
                    let name = words.next().ok_or("--only needs the name of a benchmark")?;
                    options.only.push(name.clone());
                }
                "--without" => {
                    let name = words.next().ok_or("--without needs the name of a peer")?;
                    peers::named(name)?;
                    options.without.push(name.clone());
                }
                "--times" => {
                    let times = words.next().and_then(|word| word.parse().ok());
                    let some = times.filter(|times| *times > 0);
                    options.times = some.ok_or("--times needs a number of at least one")?;
                }
                other => return Err(format!("bench does not know `{other}`; see --help")),
            }
        }
        Ok(options)
    }
}

/// Runs the benchmarks and prints the table. Of several runs the best of each figure counts, ours
/// and theirs: whatever else a machine does makes both slower, each at its time.
pub fn run(workspace: &Workspace, options: &Options) -> Result<(), String> {
    let known: Vec<&String> = workspace.ours().flat_map(|package| &package.benches).collect();
    if let Some(other) = options.only.iter().find(|name| !known.contains(name)) {
        let known: Vec<&str> = known.iter().map(|name| name.as_str()).collect();
        return Err(format!("there is no benchmark `{other}`; there are {}", known.join(", ")));
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..options.times {
        record::keep_best(&mut ours, our_records(workspace, options)?);
        if options.peers {
            record::keep_best(&mut theirs, peers::run(workspace, options)?);
        }
    }
    println!("{}", record::table("ours", &ours));
    if options.peers {
        println!("{}", record::table("peers", &theirs));
        println!("{}", compare::table(&ours, &theirs));
    }
    Ok(())
}

/// Benchmarks that also run on all cores; they put the number of threads into their names.
const PARALLEL: &[&str] = &["speed", "models"];

fn our_records(workspace: &Workspace, options: &Options) -> Result<Vec<Record>, String> {
    let mut records = Vec::new();
    let mut any = false;
    for package in workspace.ours() {
        let wanted = |bench: &&String| options.only.is_empty() || options.only.contains(bench);
        for bench in package.benches.iter().filter(wanted) {
            any = true;
            let target = ["bench", "--locked", "--package", &package.name, "--bench", bench];
            let built = cargo().args(target).arg("--no-run").status();
            if !built.is_ok_and(|status| status.success()) {
                return Err(format!("bench `{bench}` of {} does not build", package.name));
            }
            eprintln!("==> {} {bench}", package.name);
            records.extend(record::from_command(pinned(&mut cargo()).args(target))?);
            if PARALLEL.contains(&bench.as_str()) {
                eprintln!("==> {} {bench} on all cores", package.name);
                records.extend(record::from_command(cargo().args(target))?);
            }
        }
    }
    if !any {
        eprintln!("no package has a benchmark target");
    }
    Ok(records)
}

/// The command on one core and one thread, where the machine can do that.
fn pinned(command: &mut Command) -> Command {
    let mut pinned = if exists("taskset", "--version") {
        let mut taskset = Command::new("taskset");
        taskset.args(["-c", "0"]).arg(command.get_program());
        taskset
    } else {
        eprintln!("taskset is missing: not pinned to one core");
        Command::new(command.get_program())
    };
    pinned.args(command.get_args());
    for variable in ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"] {
        pinned.env(variable, "1");
    }
    pinned
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Options, String> {
        Options::parse(&words.iter().map(|w| w.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read_or_refused() {
        let words = ["--peers", "--quick", "--only", "speed", "--without", "torch", "--times", "3"];
        let (only, without) = (vec!["speed".into()], vec!["torch".into()]);
        let expected = Options { peers: true, quick: true, only, without, times: 3 };
        assert_eq!(parse(&words), Ok(expected));
        assert!(parse(&["--only"]).is_err());
        assert!(parse(&["--without"]).is_err());
        assert!(parse(&["--without", "pytorch"]).is_err_and(|e| e.contains("torch")));
        assert!(parse(&["--slow"]).is_err());
        assert!(parse(&["--times", "0"]).is_err() && parse(&["--times"]).is_err());
    }
}
