//! Names for pieces of the flat vector of parameters.

use serde::{Deserialize, Serialize};

/// A named piece of the flat vector of parameters, row by row. The parts of a model are in the
/// order of the vector and cover it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Such as `weight`.
    pub name: String,
    /// The sizes of its dimensions.
    pub shape: Vec<usize>,
}

impl Part {
    /// With a name and a shape.
    pub fn new(name: &str, shape: &[usize]) -> Self {
        Self { name: name.to_owned(), shape: shape.to_vec() }
    }

    /// How many numbers it has.
    pub fn count(&self) -> usize {
        self.shape.iter().product()
    }
}
