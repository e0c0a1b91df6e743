//! `undertone network`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;
use undertone_net::{Identity, NetworkFile, PublicKey};

use super::{hash, plan, read, write};
use crate::output;

/// Make, extend and sign the file that all nodes of a network share.
#[derive(Args)]
#[command(after_help = "\
Somebody makes the file, adds everybody's public key and address, and passes it round; everybody
signs it, and a node runs only what all have signed:
  undertone network init plan.toml
  undertone network add 0 7f3c... /ip4/192.0.2.1/tcp/7000
  undertone network sign --key node.key
  undertone network check plan.toml")]
pub struct Network {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Begin a network for a plan
    Init(Init),
    /// Add a node, or move it; all have to sign again
    Add(Add),
    /// Sign as the node that has a key
    Sign(Sign),
    /// Whether everybody of a plan is there and has signed
    Check(Check),
}

#[derive(Args)]
struct Init {
    /// The plan that the nodes will run
    plan: PathBuf,
    #[command(flatten)]
    place: Place,
}

#[derive(Args)]
struct Add {
    /// The node's number in the plan
    node: u32,
    /// Its public key, as `undertone keygen` printed it
    key: String,
    /// Where it is reached, such as /ip4/192.0.2.1/tcp/7000
    address: String,
    #[command(flatten)]
    place: Place,
}

#[derive(Args)]
struct Sign {
    /// The key of the node that signs
    #[arg(long, value_name = "FILE", default_value = "node.key")]
    key: PathBuf,
    #[command(flatten)]
    place: Place,
}

#[derive(Args)]
struct Check {
    /// The plan that the nodes will run
    plan: PathBuf,
    #[command(flatten)]
    place: Place,
}

#[derive(Args)]
struct Place {
    /// The network file
    #[arg(long, value_name = "FILE", default_value = "network.toml")]
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Network {
    /// The text to print.
    pub fn run(self) -> Result<String, String> {
        let (place, facts) = match self.command {
            Command::Init(Init { plan: path, place }) => {
                if place.file.exists() {
                    let name = place.file.display();
                    return Err(format!("{name}: is there already; remove it, or give --file"));
                }
                let plan = plan(&path, &[])?.1.plan;
                let file = NetworkFile::new(plan.name.clone(), hash(&plan));
                write(&place.file, &file.text())?;
                (place, json!({ "nodes": plan.network.nodes, "plan-hash": file.plan_hash }))
            }
            Command::Add(Add { node, key, address, place }) => {
                let mut file = open(&place.file)?;
                let key = PublicKey::try_from(key).map_err(|error| format!("KEY: {error}"))?;
                let at = |error| format!("{}: {error}", place.file.display());
                file.add(node, key, address).map_err(at)?;
                write(&place.file, &file.text())?;
                (place, json!({ "node": node, "peers": file.peers.len() }))
            }
            Command::Sign(Sign { key, place }) => {
                let mut file = open(&place.file)?;
                let identity = Identity::read(&key).map_err(|error| error.to_string())?;
                let at = |error| format!("{}: {error}", place.file.display());
                let node = file.sign(&identity).map_err(at)?;
                write(&place.file, &file.text())?;
                let missing = file.peers.iter().filter(|peer| peer.signature.is_none()).count();
                (place, json!({ "node": node, "signatures-missing": missing }))
            }
            Command::Check(Check { plan: path, place }) => {
                let plan = plan(&path, &[])?.1.plan;
                let at = |error| format!("{}: {error}", place.file.display());
                let file = open(&place.file)?;
                let network = file.check(plan.network.nodes, &hash(&plan)).map_err(at)?;
                let hash = undertone_net::hex(network.hash());
                (place, json!({ "nodes": network.members().len(), "network-hash": hash }))
            }
        };
        if place.json {
            return Ok(output::json(&facts));
        }
        let facts = facts.as_object().into_iter().flatten();
        let facts: Vec<(&str, String)> =
            facts.map(|(key, value)| (key.as_str(), value.to_string().replace('"', ""))).collect();
        Ok(output::facts(&facts))
    }
}

/// Reads a network file.
pub fn open(path: &Path) -> Result<NetworkFile, String> {
    NetworkFile::parse(&read(path)?).map_err(|error| format!("{}: {error}", path.display()))
}
