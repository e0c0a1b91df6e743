//! What a protocol may ask of its node's data, and what it gets.

use undertone_privacy::release::Released;
use undertone_real::Real;

/// A question to the oracle. Each kind has its own sensitivity and its own event; all that a
/// question holds is public or released, so that being refused tells nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Question<R> {
    /// The noisy sum, over a batch, of the clipped gradients at a released point less those that the
    /// oracle remembers; it remembers the new ones.
    Difference {
        /// Where, as for [`Gradient`](Self::Gradient).
        at: Released<Vec<R>>,
    },
    /// The noisy sum of the clipped gradients of a batch at a released point.
    Gradient {
        /// Where. Its memory is given away and comes back with the answer.
        at: Released<Vec<R>>,
    },
    /// The node's own vector.
    Vector,
    /// A projected gradient step from a released point, `Proj(at - step * gradient(at))`.
    Step {
        /// Which step, from 1: the noise depends on it.
        t: u64,
        /// Where.
        at: Released<Vec<R>>,
        /// How far.
        step: f64,
    },
}

/// The oracle's answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer<R> {
    /// A value that is paid for.
    Released(Released<Vec<R>>),
    /// The budget does not suffice. The protocol goes on mixing: its neighbours wait for it.
    Refused,
}

impl<R: Real> Answer<R> {
    /// The value, if there is one.
    pub fn released(self) -> Option<Released<Vec<R>>> {
        match self {
            Self::Released(value) => Some(value),
            Self::Refused => None,
        }
    }
}
