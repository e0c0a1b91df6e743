//! Randomness: named streams and the samplers that read them.
//!
//! Every draw comes from a stream named by a [`Purpose`], a node and an index, under a secret
//! [`Key`]; a new draw never shifts another stream.
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
mod gaussian;
mod stream;

pub use gaussian::{add_gaussian, fill_gaussian};
pub use stream::{Key, Purpose, Stream, StreamId, StreamIdError};
