//! How far algorithms step, round by round.

use serde::{Deserialize, Serialize};
use undertone_privacy::release::Released;
use undertone_real::Real;

/// The steps of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    /// In how many rounds a gradient is asked for.
    pub rounds: u64,
    /// How large they are.
    pub size: StepSize,
    /// What an answer is divided by: it is a sum over a batch, whose expected size is public.
    pub divisor: f64,
}

/// The size of the step of round `k`, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum StepSize {
    /// Always the same.
    Constant(f64),
    /// `first / (k + 1)^power`.
    Decaying {
        /// The size of the first.
        first: f64,
        /// One for strongly convex problems, one half for convex ones.
        power: f64,
    },
}

impl StepSize {
    /// That of one round.
    pub fn at(&self, round: u64) -> f64 {
        match *self {
            Self::Constant(size) => size,
            Self::Decaying { first, power } => first / (round as f64 + 1.0).powf(power),
        }
    }
}

impl Steps {
    /// Moves a point against a noisy sum of gradients.
    pub(crate) fn take<R: Real>(
        &self,
        round: u64,
        state: &mut Released<Vec<R>>,
        sum: &Released<Vec<R>>,
    ) {
        let size = R::from_f64(self.size.at(round) / self.divisor);
        state.update(|state| {
            state.iter_mut().zip(sum.get()).for_each(|(x, g)| *x -= size * *g);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_papers() {
        assert_eq!(StepSize::Constant(0.1).at(9), 0.1);
        let decaying = StepSize::Decaying { first: 0.5, power: 0.5 };
        assert_eq!((decaying.at(0), decaying.at(3)), (0.5, 0.25));
    }
}
