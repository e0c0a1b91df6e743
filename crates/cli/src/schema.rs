//! `undertone schema`, and the description of plans that it prints.

pub mod keys;
mod print;
pub mod wrong;

use clap::Args;

use crate::output;

/// Print the JSON schema of plan files, for editors.
#[derive(Args)]
#[command(after_help = "\
Examples:
  undertone schema > plan.schema.json

With Taplo (Even Better TOML) a plan names it in its first line:
  #:schema ./plan.schema.json")]
pub struct Schema {}

impl Schema {
    /// The text to print.
    pub fn run(self) -> Result<String, String> {
        Ok(output::json(&print::schema()))
    }
}

/// What a key may hold.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Anything; whoever uses it looks at it.
    Any,
    Boolean,
    Integer,
    Number,
    Text,
    /// One of some words.
    Words(&'static [&'static str]),
    /// Some of the same.
    List(&'static Shape),
    /// A table of these keys and no others.
    Table(&'static [Key]),
    /// A table of other keys.
    Open,
    /// One of these.
    Either(&'static [Shape]),
}

/// A key of a table.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub name: &'static str,
    pub needed: bool,
    pub shape: Shape,
    /// What it means, in a line.
    pub what: &'static str,
}

/// A key that has to be there.
const fn needed(name: &'static str, shape: Shape, what: &'static str) -> Key {
    Key { name, needed: true, shape, what }
}

/// A key that may be there.
const fn key(name: &'static str, shape: Shape, what: &'static str) -> Key {
    Key { name, needed: false, shape, what }
}
