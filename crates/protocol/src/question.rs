//! What a protocol may ask of its node's data, and what it gets.

use undertone_privacy::mechanism::Masked;
use undertone_privacy::release::{Pending, Released};
use undertone_real::Real;

/// A question to the oracle. Each kind has its own sensitivity and its own event; all that a
/// question holds is public or released, so that being refused tells nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Question<R> {
    /// The noisy sum, over a batch, of the clipped gradients at a released point less those that
    /// the oracle remembers; it remembers the new ones.
    Difference {
        /// For which round, as for [`Gradient`](Self::Gradient).
        round: u64,
        /// Where, as for [`Gradient`](Self::Gradient).
        at: Released<Vec<R>>,
    },
    /// The noisy sum of the clipped gradients of a batch at a released point.
    Gradient {
        /// For which round: how large the batch is may depend on it.
        round: u64,
        /// Where. Its memory is given away and comes back with the answer.
        at: Released<Vec<R>>,
    },
    /// The noisy sum of the clipped gradients of a batch, of which only some coordinates are
    /// answered; the others are forgotten.
    Masked {
        /// For which round, as for [`Gradient`](Self::Gradient).
        round: u64,
        /// Where, as for [`Gradient`](Self::Gradient).
        at: Released<Vec<R>>,
    },
    /// A gradient step from one released point with the gradient at another, put on a lattice with
    /// noise: `Q(from - step * sum of clipped gradients(at)) + noise`.
    ///
    /// As paper 000 prints it, a node keeps a point `x` of its own without noise: the answer is
    /// then `Q(x) + noise` of the new `x <- from + keep (x - at) - step * sum of clipped
    /// gradients(x)`.
    Point {
        /// For which round, as for [`Gradient`](Self::Gradient).
        round: u64,
        /// Where the gradient is taken.
        at: Released<Vec<R>>,
        /// Where the step begins. Its memory is given away.
        from: Released<Vec<R>>,
        /// How far; what the sum is divided by is in it.
        step: f64,
        /// How much of its own point a node keeps; zero for one that has none.
        keep: f64,
    },
    /// The minimiser of the node's objective plus `quadratic/2 |x|^2 + <linear, x>`.
    Primal {
        /// For which round: noise may depend on it.
        round: u64,
        /// What was sent last: whether a new point is worth sending may depend on it.
        at: Released<Vec<R>>,
        /// Of the public terms.
        linear: Released<Vec<R>>,
        /// Of the public terms.
        quadratic: f64,
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
pub enum Answer<R: Real> {
    /// Not worth sending, by a test that is paid for.
    Below,
    /// Some coordinates, paid for.
    Masked(Released<Masked<R>>),
    /// A value that is paid for, whose noise is added when it is read: of long vectors, which are
    /// not near any more after all of them were written.
    Pending(Box<Pending<R>>),
    /// A value that is paid for.
    Released(Released<Vec<R>>),
    /// The budget does not suffice. The protocol goes on mixing: its neighbours wait for it.
    Refused,
}

impl<R: Real> Answer<R> {
    /// The whole value, if there is one.
    #[inline]
    pub fn released(self) -> Option<Released<Vec<R>>> {
        match self {
            Self::Released(value) => Some(value),
            Self::Pending(value) => Some(value.finish()),
            Self::Below | Self::Masked(_) | Self::Refused => None,
        }
    }
}

/// What goes between a node and its oracle in a round: a question, in whose place its answer comes.
/// Drivers of many nodes hand several of them over at a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Exchange<R: Real> {
    /// Nothing was asked.
    #[default]
    Nothing,
    /// Asked, and not answered yet.
    Asked(Question<R>),
    /// Answered.
    Answered(Answer<R>),
}

impl<R: Real> Exchange<R> {
    /// The question, if it is not answered yet.
    pub fn question(&self) -> Option<&Question<R>> {
        match self {
            Self::Asked(question) => Some(question),
            _ => None,
        }
    }

    /// The point of a question for a gradient; nothing is in its place then.
    #[inline(always)]
    pub fn take_point(&mut self) -> Option<Released<Vec<R>>> {
        match self {
            Self::Asked(
                Question::Difference { at, .. }
                | Question::Gradient { at, .. }
                | Question::Masked { at, .. },
            ) => {
                let point = at.take();
                // What is left has no memory of its own: there is nothing to free.
                std::mem::forget(std::mem::take(self));
                Some(point)
            }
            _ => None,
        }
    }

    /// Puts a question or an answer here, where mostly nothing is. It goes where it belongs at
    /// once: with something to be dropped between it would be put together elsewhere first, and a
    /// value that was written word by word has to reach the cache before it is moved in vectors.
    #[inline(always)]
    pub fn put(&mut self, other: Self) {
        match self {
            Self::Nothing => std::mem::forget(std::mem::replace(self, other)),
            _ => *self = other,
        }
    }

    /// The question, if it is not answered yet; nothing is in its place then.
    pub fn take_question(&mut self) -> Option<Question<R>> {
        match std::mem::take(self) {
            Self::Asked(question) => Some(question),
            other => {
                *self = other;
                None
            }
        }
    }

    /// The answer, if there is one; nothing is in its place then.
    pub fn take_answer(&mut self) -> Option<Answer<R>> {
        match std::mem::take(self) {
            Self::Answered(answer) => Some(answer),
            other => {
                *self = other;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_leaves_nothing_and_what_is_put_is_there() {
        let point = || Released::public(vec![1.0, 2.0]);
        let mut exchange = Exchange::Nothing;
        exchange.put(Exchange::Asked(Question::Gradient { round: 3, at: point() }));
        assert_eq!(exchange.question(), Some(&Question::Gradient { round: 3, at: point() }));
        assert_eq!(exchange.take_point(), Some(point()));
        assert_eq!(exchange, Exchange::Nothing);
        assert_eq!(exchange.take_point(), None);
        // Over something else, too.
        exchange.put(Exchange::Answered(Answer::Released(point())));
        exchange.put(Exchange::Answered(Answer::Refused));
        assert_eq!(exchange.take_answer(), Some(Answer::Refused));
        // A question of another kind has no such point, and stays.
        exchange.put(Exchange::Asked(Question::Vector));
        assert_eq!(exchange.take_point(), None);
        assert_eq!(exchange.take_question(), Some(Question::Vector));
    }
}
