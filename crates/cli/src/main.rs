//! The `undertone` command: private learning without a server.
//! It contains no logic: it reads flags and files, calls the libraries and prints what they answer.

mod account;
mod algorithms;
mod calibrate;
mod check;
mod claims;
mod data;
mod fresh;
mod manual;
mod model;
#[cfg(feature = "net")]
mod net;
mod output;
mod parse;
mod plan;
mod quickstart;
mod run;
mod schema;
mod topology;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Private learning without a server: what a release costs, proved, not claimed.
#[derive(Parser)]
#[command(
    name = "undertone",
    version,
    about,
    arg_required_else_help = true,
    after_help = "\
Start here:
  undertone claims                                     what five papers promise, and what is true
  undertone account --poisson-gaussian 0.02,12.4 --times 1000 --delta 1e-5
  undertone calibrate --epsilon 1 --delta 1e-5 --rate 0.01 --rounds 10000
  undertone topology --family ring --nodes 16          how fast neighbours agree
  undertone data inspect people.csv                    shape, types, classes, norms, gaps
  undertone run experiments/001/fig1a.toml             a plan: results beside their guarantee
  undertone plan experiments/003/dp2.toml              which noise, and how many rounds
  undertone cluster plan.toml --nodes 8                the same with processes that talk

Every command takes --json. A wrong flag or file ends with exit code 2 and says what to do."
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
        Command::Data(data) => data.run().map(|text| (text, true)),
        Command::Export(export) => export.run().map(|text| (text, true)),
        Command::Predict(predict) => predict.run().map(|text| (text, true)),
        Command::Plan(plan) => plan.run().map(|text| (text, true)),
        Command::Quickstart(quickstart) => quickstart.run().map(|text| (text, true)),
        Command::Check(check) => check.run(),
        Command::Schema(schema) => schema.run().map(|text| (text, true)),
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
