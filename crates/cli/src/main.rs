//! The `undertone` command: private learning without a server.
//! It contains no logic: it reads flags and files, calls the libraries and prints what they answer.

mod account;
mod algorithms;
mod calibrate;
mod check;
mod claims;
mod compare;
mod data;
mod fresh;
mod manual;
mod model;
#[cfg(feature = "net")]
mod net;
mod output;
mod parse;
mod pictures;
mod plan;
mod quickstart;
mod report;
mod run;
mod schema;
#[cfg(feature = "net")]
mod simulated;
mod topology;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Memory in large pages, as the decision note 0023 tells.
#[cfg(all(feature = "large-pages", target_os = "linux", target_env = "gnu"))]
#[global_allocator]
static MEMORY: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Private learning without a server: what a release costs, proved, not claimed.
#[derive(Parser)]
#[command(
    name = "undertone",
    version,
    arg_required_else_help = true,
    help_template = "\
{about-with-newline}
{usage-heading} {usage}

Begin:
  quickstart   eight offices learn together, each record hidden: see what this is about
  new          write a plan with a comment on every line, for any algorithm
  check        say what a plan will do and what it costs, or everything that is wrong with it
  run          run a plan: results, the complete guarantee, a report

Choose:
  algorithms   what each needs, over which networks, and what is proved of it
  plan         noise and rounds for a plan's budgets
  topology     who hears whom, and how fast they agree
  data         shape, types, classes, norms, gaps of a file, and what every node gets

Use:
  predict      the records of a table, with a model that was learned
  export       a model as ONNX, JSON or safetensors
  compare      runs side by side
  report       the page and the charts of a run, again
  ledger       what a node was charged, and whether anybody changed it

Account:
  account      price events: an upper bound on epsilon
  calibrate    the noise, the rounds, the rate or the budget that the others leave open
  claims       what the papers claim, the verdict, and the true value

Run nodes:
  cluster      a plan with real node processes on this machine
  keygen, network, node
               keys, the file that all sign, and one node of a network

Set up:
  completions  for a shell
  man          the manual page, or one for every command
  schema       the JSON schema of plan files, for editors

Options:
{options}
{after-help}",
    after_help = "\
Examples:
  undertone quickstart
  undertone new priv-sgp --out plan.toml
  undertone check plan.toml
  undertone run plan.toml --set privacy.epsilon=0.5 --repeat 5
  undertone predict undertone-out/my-priv-sgp/models/my-priv-sgp.safetensors people.csv

Every command says more with --help, and most take --json. NO_COLOR is respected, and a node logs
what RUST_LOG (or --log) says.
Exit codes: 0 all is well; 1 what was expected does not hold, or a node did not come to the end;
2 a flag, file or plan does not do, and the message says where and what to do; 130 interrupted."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Price events: an upper bound on epsilon (and a certified lower one) at a given delta
    Account(account::Account),
    /// All algorithms: what each needs, over which networks, and what is proved of it
    Algorithms(algorithms::Algorithms),
    /// Find the noise, the rounds, the sampling rate or the budget that the others leave open
    Calibrate(calibrate::Calibrate),
    /// Say what a plan will do and what it costs, or everything that is wrong with it
    Check(check::Check),
    /// What the papers claim, the verdict, and the true value
    Claims(claims::Claims),
    /// Run a plan with real node processes on this machine, shown live
    #[cfg(feature = "net")]
    Cluster(net::cluster::Cluster),
    /// Print completions for a shell
    Completions(manual::Completions),
    /// Put runs side by side: results, epsilons, bytes, and the settings that differ
    Compare(compare::Compare),
    /// Look at data: shape, types, classes, norms, missing values, and what every node gets
    Data(data::Data),
    /// Write a model in another format: ONNX, JSON or safetensors
    Export(model::export::Export),
    /// Make a node's key
    #[cfg(feature = "net")]
    Keygen(net::keygen::Keygen),
    /// Look at a node's store, and check that nothing in it was changed
    #[cfg(feature = "net")]
    Ledger(net::ledger::Ledger),
    /// Print the manual page, or write one for every command
    Man(manual::Man),
    /// Make, extend and sign the file that all nodes of a network share
    #[cfg(feature = "net")]
    Network(net::network::Network),
    /// Write a plan with a comment on every line, to start from
    New(fresh::New),
    /// Run one node of a network, with its own key, data, budget and disk
    #[cfg(feature = "net")]
    Node(net::node::Node),
    /// Choose noise and rounds for a plan: what is needed in truth, and what error is predicted
    Plan(plan::Plan),
    /// Predict the records of a table with a model that was learned from one
    Predict(model::predict::Predict),
    /// See what this is about: eight offices learn together, each record hidden
    Quickstart(quickstart::Quickstart),
    /// Make the page and the charts of a run again
    Report(report::Report),
    /// Run a plan: results, the complete guarantee, and whether what was expected holds
    Run(run::Run),
    /// Print the JSON schema of plan files, for editors
    Schema(schema::Schema),
    /// Who hears whom, and how fast they agree: degrees, spectral gap, rounds, a picture
    Topology(Box<topology::Topology>),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Account(account) => account.run().map(|text| (text, true)),
        Command::Algorithms(algorithms) => algorithms.run().map(|text| (text, true)),
        Command::Completions(completions) => completions.run().map(|text| (text, true)),
        Command::Man(man) => man.run().map(|text| (text, true)),
        Command::New(new) => new.run().map(|text| (text, true)),
        Command::Calibrate(calibrate) => calibrate.run().map(|text| (text, true)),
        Command::Claims(claims) => claims.run().map(|text| (text, true)),
        #[cfg(feature = "net")]
        Command::Cluster(cluster) => cluster.run(),
        #[cfg(feature = "net")]
        Command::Keygen(keygen) => keygen.run().map(|text| (text, true)),
        #[cfg(feature = "net")]
        Command::Ledger(ledger) => ledger.run().map(|text| (text, true)),
        #[cfg(feature = "net")]
        Command::Network(network) => network.run().map(|text| (text, true)),
        #[cfg(feature = "net")]
        Command::Node(node) => node.run(),
        Command::Compare(compare) => compare.run().map(|text| (text, true)),
        Command::Data(data) => data.run().map(|text| (text, true)),
        Command::Export(export) => export.run().map(|text| (text, true)),
        Command::Predict(predict) => predict.run().map(|text| (text, true)),
        Command::Plan(plan) => plan.run().map(|text| (text, true)),
        Command::Quickstart(quickstart) => quickstart.run().map(|text| (text, true)),
        Command::Check(check) => check.run(),
        Command::Schema(schema) => schema.run().map(|text| (text, true)),
        Command::Report(report) => report.run().map(|text| (text, true)),
        Command::Run(run) => run.run(),
        Command::Topology(topology) => topology.run().map(|text| (text, true)),
    };
    match result {
        Ok((text, passed)) => {
            output::print(&text);
            if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// The page is written by hand, in groups; no command may be missing, and all have examples.
    #[test]
    fn every_command_is_on_the_first_page_and_has_examples() {
        let mut command = Cli::command();
        command.build();
        let page = command.render_help().to_string();
        for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
            let name = inner.get_name();
            let line = |line: &str| line.split([' ', ',']).any(|word| word == name);
            assert!(page.lines().any(line), "{name} is not on the first page");
            let after = inner.get_after_help().map(ToString::to_string).unwrap_or_default();
            let nested = inner.get_subcommands().any(|c| c.get_after_help().is_some());
            assert!(nested || after.contains("undertone ") || name == "node", "{name}");
        }
        command.debug_assert();
    }
}
