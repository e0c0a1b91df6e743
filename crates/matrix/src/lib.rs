//! Matrix products and loops over vectors, vectorised, with the same bits on every machine.
//! It never starts a thread, does I/O or knows anything of ours but `real`.
//!
//! ```
//! use undertone_matrix::{Mat, Packing, multiply};
//!
//! let a = Mat::new(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2, 3);
//! let mut square = [0.0; 4];
//! multiply(a, a.t(), &mut square, &mut Packing::default());
//! assert_eq!(square, [14.0, 32.0, 32.0, 77.0]);
//! ```

#![deny(missing_docs)]

mod product;
pub mod rows;
pub mod vector;

pub use product::{Mat, Packing, multiply, multiply_add, multiply_from};
