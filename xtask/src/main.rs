//! The gate: one read-only check that is the same on a laptop and in continuous integration.
//! It never changes a tracked file, but for `book`, and never knows the libraries it judges.

use std::process::ExitCode;

mod bench;
mod book;
mod reproduce;
mod step;
mod test;
mod tidy;
mod verify;
mod workspace;

use workspace::Workspace;

const HELP: &str = "\
Usage: cargo xtask <COMMAND>

Commands:
  verify     Formatting, clippy, documentation, tidy, dependencies; runs no test, writes no file
  tidy       Only our own rules: crate edges, file sizes, purity, invariants, doors, licences
  test       verify, then every test and doc-test (this is what .ci/run calls);
             test --net: only the long suite of the network: kills, full disks, partitions, load
  bench      The benchmarks in release mode on one thread, as a table
  reproduce  Every plan of experiments/, or those with a word in their path (001, fig1a), held
             to its bands; fails if one does not hold
  book       Writes the book's reference from the code, and builds the book if mdbook is there

Options of bench:
  --peers        Also run the peers (dp_accounting, opendp, torch, numpy, scipy, jax,
                 mkl_random, prv_accountant) in the same run and print ratios. Makes a Python
                 virtual environment in target/peers-venv; torch alone takes about 5 GB.
  --quick        Run 200 of the peer's 10,000 heterogeneous rounds and scale linearly
  --only B       Run only the benchmark B of ours (may be given several times)
  --without P    Leave out the peer P (may be given several times)
  --times N      Run all of it N times in turn; the best of each figure counts, ours and theirs

  -h, --help     This text";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), String> {
    let Some((command, options)) = arguments.split_first() else {
        println!("{HELP}");
        return Err("no command given".into());
    };
    if arguments.iter().any(|a| a == "-h" || a == "--help" || a == "help") {
        println!("{HELP}");
        return Ok(());
    }
    if !["bench", "reproduce", "test"].contains(&command.as_str()) && !options.is_empty() {
        return Err(format!("`{command}` takes no options, found `{}`", options.join(" ")));
    }
    match command.as_str() {
        "verify" => verify::run(&Workspace::load()?),
        "tidy" => tidy::run(&Workspace::load()?),
        "book" => book::run(&Workspace::load()?),
        "test" => match options {
            [] => test::run(&Workspace::load()?),
            [option] if option == "--net" => test::run_net(),
            _ => Err(format!("`test` takes --net or nothing, found `{}`", options.join(" "))),
        },
        "bench" => bench::run(&Workspace::load()?, &bench::Options::parse(options)?),
        "reproduce" => match options {
            [] => reproduce::run(&Workspace::load()?, None),
            [wanted] if !wanted.starts_with('-') => {
                reproduce::run(&Workspace::load()?, Some(wanted))
            }
            _ => Err("`reproduce` takes one word, such as 001 or fig1a".into()),
        },
        other => Err(format!("unknown command `{other}`; see `cargo xtask --help`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_words(words: &[&str]) -> Result<(), String> {
        run(&words.iter().map(|w| w.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn unknown_commands_and_options_are_refused() {
        assert!(run_words(&[]).is_err());
        assert!(run_words(&["tydy"]).is_err_and(|e| e.contains("unknown command `tydy`")));
        assert!(run_words(&["tidy", "--fast"]).is_err_and(|e| e.contains("takes no options")));
        assert!(run_words(&["test", "--fast"]).is_err_and(|e| e.contains("--net or nothing")));
        assert!(run_words(&["bench", "--fast"]).is_err_and(|e| e.contains("--fast")));
        assert!(run_words(&["reproduce", "--all"]).is_err_and(|e| e.contains("one word")));
        assert!(run_words(&["verify", "--help"]).is_ok());
    }
}
