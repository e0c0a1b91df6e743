//! Files of records, read into data sets by recipes.
//! It never decides what is released, never writes, and never believes a length it has not checked.
//!
//! ```
//! use undertone_data::{Recipe, Sources, load};
//!
//! let folder = std::env::temp_dir().join("undertone-data-example");
//! std::fs::create_dir_all(&folder)?;
//! std::fs::write(folder.join("people.csv"), "age,city,happy\n30,Kobe,yes\n60,Oslo,no\n")?;
//! let recipe: Recipe = toml::from_str(
//!     r#"
//!     file = "people.csv"
//!     clip-rows = 1.0
//!     target = { positive = "yes" }
//!     columns = [
//!         { name = "age", kind = "number", max = 100.0 },
//!         { name = "city", kind = "category", values = ["Kobe", "Oslo"] },
//!         { name = "happy", kind = "target" },
//!     ]
//!     "#,
//! )?;
//! let loaded = load::<f32>(&recipe, &Sources::new([folder]))?;
//! assert_eq!((loaded.train.records(), loaded.train.width()), (2, 3));
//! // Rows (0.3, 1, 0) and (0.6, 0, 1) were longer than 1; nothing was taken from the data.
//! assert_eq!(loaded.summary.train.shortened, 2);
//! assert!(loaded.summary.public_assumptions.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(missing_docs)]

mod array;
pub mod cifar;
mod encode;
mod encoding;
mod error;
mod guess;
pub mod idx;
mod inspect;
pub mod libsvm;
mod load;
pub mod npy;
pub mod recipe;
mod rows;
mod sniff;
mod sources;
mod summary;
mod table;
pub mod tar;
mod target;
mod unpack;
pub mod words;
pub mod zip;

pub use array::{Array, Element};
pub use encoding::{Encoded, Encoding};
pub use error::{DataError, Fault};
pub use guess::{Guess, guess};
pub use inspect::{Balance, Looks, sorted_norms};
pub use load::{Loaded, load};
pub use recipe::{Format, Recipe};
pub use sniff::format_of;
pub use sources::{ColumnReader, Sources, VARIABLE};
pub use summary::{ColumnSummary, Counts, Summary};
pub use table::{Cells, Column, Dialect};
pub use unpack::unpack;
