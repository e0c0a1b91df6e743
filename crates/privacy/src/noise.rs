//! Randomness: named streams and the samplers that read them.
//!
//! Every draw comes from a stream named by a [`Purpose`], a node and an index, under a secret
//! [`Key`]; a new draw never shifts another stream. There are two families of samplers:
//!
//! - **exact**: [`ExactGaussian`] and [`discrete_laplace`] use integer arithmetic only, with a
//!   proven distance from the ideal distribution. They are for releases.
//! - **floating point**: [`fill_gaussian`], [`fill_laplace`], [`fill_knorm`] and their kin are
//!   faster. They are for the simulator, where the low bits of a number give nobody away.
//!
//! ```
//! use undertone_privacy::noise::{Key, Purpose, StreamId, add_gaussian};
//!
//! let key = Key::from_seed(1);
//! let id = StreamId::new(Purpose::Noise, 3, 0)?;
//! let mut gradient = [0.5_f32; 10];
//! add_gaussian(&key, id, 2.0, &mut gradient);
//! # Ok::<(), undertone_privacy::noise::StreamIdError>(())
//! ```

mod chacha;
mod exact;
mod fill;
mod gaussian;
mod knorm;
mod laplace;
mod stream;
mod transform;
mod uniform;

#[cfg(test)]
mod tests;

pub use exact::reference::{self, discrete_laplace};
pub use exact::{ExactGaussian, SigmaOutOfRange};
pub use gaussian::{add_gaussian, add_gaussian_on, fill_gaussian};
pub(crate) use gaussian::{add_gaussian_from, add_gaussian_to_all, piece};
pub use knorm::{fill_knorm, fill_knorm_pair};
pub use laplace::{add_laplace, fill_laplace};
pub use stream::{Key, Purpose, Stream, StreamId, StreamIdError};
