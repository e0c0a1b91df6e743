//! `undertone topology`.

mod choose;
mod degrees;
mod report;
mod svg;

use clap::Args;
use undertone_graph::Weights;

use crate::output;
use crate::parse;

pub use choose::places;

/// Who hears whom, and how fast they agree: degrees, diameter, weights, spectral gap, rounds.
///
/// A family is drawn with its own parameters; a missing or superfluous one is named. Without
/// --family, --edges reads a graph from a file, and the schedules matching, exponential and
/// alternating need --nodes only.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Families and what they need:
  complete, exponential, path, ring, star       --nodes
  two-cliques                                   --nodes (even, both together)
  grid, torus                                   --rows --columns
  hypercube                                     --dimension
  erdos-renyi, directed-erdos-renyi             --nodes --probability [--connected]
  erdos-renyi-minus-two                         --nodes --probability
  random-regular, in-regular, out-regular       --nodes --degree [--connected]
  small-world                                   --nodes --degree --rewiring [--connected]
  geometric                                     --nodes --radius [--connected]

Examples:
  undertone topology --family ring --nodes 16
  undertone topology --family torus --rows 8 --columns 8 --lazy 0.5 --svg torus.svg
  undertone topology --family out-regular --nodes 1000 --degree 5 --weights out --json
  undertone topology --family in-regular --nodes 50 --degree 2 --schedule window=4
  undertone topology --schedule exponential --nodes 64
  undertone topology --edges friends.txt --weights laplacian-max"
)]
pub struct Topology {
    /// A family of graphs, see below
    #[arg(long, value_name = "NAME", value_parser = choose::family_name, conflicts_with = "edges")]
    family: Option<&'static str>,
    /// A file with one edge a line: `sender receiver`, or `a - b` for both ways
    #[arg(long, value_name = "FILE")]
    edges: Option<String>,
    /// How many nodes
    #[arg(long, value_name = "N", value_parser = choose::size)]
    nodes: Option<u32>,
    /// How many neighbours every node has
    #[arg(long, value_name = "K", value_parser = choose::size)]
    degree: Option<u32>,
    /// Of each edge
    #[arg(long, value_name = "P")]
    probability: Option<f64>,
    /// How far a node is heard in the unit square
    #[arg(long, value_name = "R")]
    radius: Option<f64>,
    /// Probability that an edge of a small world is redirected
    #[arg(long, value_name = "P")]
    rewiring: Option<f64>,
    /// Nodes from top to bottom
    #[arg(long, value_name = "R", value_parser = choose::size)]
    rows: Option<u32>,
    /// Nodes from left to right
    #[arg(long, value_name = "C", value_parser = choose::size)]
    columns: Option<u32>,
    /// Binary digits of a hypercube's node numbers
    #[arg(long, value_name = "D")]
    dimension: Option<u32>,
    /// Insist that everybody reaches everybody [default: true]
    #[arg(long, value_name = "true|false")]
    connected: Option<bool>,
    /// Of random draws
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// metropolis, laplacian-max, laplacian=K, in or out [default: metropolis if symmetric, or out]
    #[arg(long, value_name = "RULE", value_parser = choose::weights)]
    weights: Option<Weights>,
    /// The share of its own value that everybody keeps before mixing
    #[arg(long, value_name = "SHARE")]
    lazy: Option<f64>,
    /// fixed, per-round, window=B, matching, exponential or alternating
    #[arg(long, value_name = "WHEN", value_parser = choose::timing, default_value = "fixed")]
    schedule: choose::Timing,
    /// How many rounds the contraction is over [default: the schedule's period, or enough]
    #[arg(long, value_name = "B", value_parser = parse::count)]
    window: Option<u64>,
    /// Draw the graph (or the union of the window) into a file
    #[arg(long, value_name = "FILE")]
    svg: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Topology {
    pub fn run(self) -> Result<String, String> {
        let chosen = choose::Chosen::new(&self)?;
        let report = report::Report::new(&chosen, &self)?;
        if let Some(file) = &self.svg {
            let picture = svg::draw(&report.union, &chosen.places(&report.union), &report.title())?;
            std::fs::write(file, picture).map_err(|error| {
                format!("--svg {file}: {error}; name a file in a folder that can be written to")
            })?;
        }
        Ok(if self.json { output::json(&report.as_json(&self)) } else { report.as_text(&self) })
    }
}
