//! `undertone keygen`.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use undertone_net::Identity;

use crate::output;

/// Make a node's key: a new Ed25519 key from the randomness of the operating system.
#[derive(Args)]
#[command(after_help = "\
Examples:
  undertone keygen
  undertone keygen clinic.key --json

The file is for this node only: whoever has it can speak in its name. The public half is printed,
for `undertone network add`. An old file is never written over.")]
pub struct Keygen {
    /// Where the key goes
    #[arg(default_value = "node.key")]
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Keygen {
    /// The text to print.
    pub fn run(self) -> Result<String, String> {
        let identity = Identity::generate();
        identity.write(&self.file).map_err(|error| error.to_string())?;
        let (key, file) = (identity.public(), self.file.display().to_string());
        Ok(match self.json {
            true => output::json(&json!({ "key": key, "file": file })),
            false => output::facts(&[("public key", key.to_string()), ("secret in", file)]),
        })
    }
}
