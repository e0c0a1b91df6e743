//! The `undertone` command: private learning without a server.
//! It contains no logic: it reads flags and files, calls the libraries and prints what they answer.

mod account;
mod calibrate;
mod claims;
mod compare;
mod data;
#[cfg(feature = "net")]
mod net;
mod output;
mod parse;
mod pictures;
mod plan;
mod report;
mod run;
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
  undertone compare undertone-out/*                    runs side by side
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
    /// Find the noise, the rounds, the sampling rate or the budget that the others leave open
    Calibrate(calibrate::Calibrate),
    /// What the papers claim, the verdict, and the true value
    Claims(claims::Claims),
    /// Run a plan with real node processes on this machine, shown live
    #[cfg(feature = "net")]
    Cluster(net::cluster::Cluster),
    /// Put runs side by side: results, epsilons, bytes, and the settings that differ
    Compare(compare::Compare),
    /// Look at data: shape, types, classes, norms, missing values, and what every node gets
    Data(data::Data),
    /// Make a node's key
    #[cfg(feature = "net")]
    Keygen(net::keygen::Keygen),
    /// Look at a node's store, and check that nothing in it was changed
    #[cfg(feature = "net")]
    Ledger(net::ledger::Ledger),
    /// Make, extend and sign the file that all nodes of a network share
    #[cfg(feature = "net")]
    Network(net::network::Network),
    /// Run one node of a network, with its own key, data, budget and disk
    #[cfg(feature = "net")]
    Node(net::node::Node),
    /// Choose noise and rounds for a plan: what is needed in truth, and what error is predicted
    Plan(plan::Plan),
    /// Make the page and the charts of a run again
    Report(report::Report),
    /// Run a plan: results, the complete guarantee, and whether what was expected holds
    Run(run::Run),
    /// Who hears whom, and how fast they agree: degrees, spectral gap, rounds, a picture
    Topology(Box<topology::Topology>),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Account(account) => account.run().map(|text| (text, true)),
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
        Command::Plan(plan) => plan.run().map(|text| (text, true)),
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
