//! How far algorithms step, round by round.

use serde::{Deserialize, Serialize};
use undertone_privacy::release::Released;
use undertone_real::Real;

use crate::carried::Carried;
use crate::initial::nothing;

/// The steps of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    /// In how many rounds a gradient is asked for.
    pub rounds: u64,
    /// How large they are.
    pub size: StepSize,
    /// What an answer is divided by: it is a sum over a batch, whose expected size is public.
    pub divisor: f64,
    /// How much of the last step is taken again: the heavy ball of Polyak 1964. It is computed from
    /// released gradients, so it costs nothing. Zero for none.
    pub momentum: f64,
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
    /// Always `first / rounds^power`: small enough for so many rounds.
    pub fn for_horizon(first: f64, power: f64, rounds: u64) -> Self {
        Self::Constant(first / (rounds.max(1) as f64).powf(power))
    }

    /// That of one round.
    pub fn at(&self, round: u64) -> f64 {
        match *self {
            Self::Constant(size) => size,
            Self::Decaying { first, power } => first / (round as f64 + 1.0).powf(power),
        }
    }
}

impl Steps {
    /// Without momentum.
    pub fn new(rounds: u64, size: StepSize, divisor: f64) -> Self {
        Self { rounds, size, divisor, momentum: 0.0 }
    }

    /// With momentum.
    pub fn with_momentum(self, momentum: f64) -> Self {
        Self { momentum, ..self }
    }
}

/// Steps on their way.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Descent<R> {
    pub(crate) steps: Steps,
    /// `v <- momentum v + gradient`, if there is momentum.
    velocity: Option<Released<Vec<R>>>,
}

impl<R: Real> Descent<R> {
    pub(crate) fn new(steps: Steps) -> Self {
        Self { steps, velocity: None }
    }

    pub(crate) fn carry(&mut self, carried: &mut Carried<'_>) {
        carried.maybe(&mut self.velocity);
    }

    /// Moves a point against the sum of `terms`, each times its factor. Without a term (a gradient
    /// was refused) only momentum moves it. A term is as long as the part of the state that moves.
    pub(crate) fn take(
        &mut self,
        round: u64,
        state: &mut Released<Vec<R>>,
        terms: &[(f64, &Released<Vec<R>>)],
    ) {
        let size = self.steps.size.at(round);
        if self.steps.momentum == 0.0 {
            terms.iter().for_each(|(factor, term)| subtract(state, size * factor, term.get()));
            return;
        }
        if self.velocity.is_none() {
            self.velocity = terms.first().map(|(_, term)| nothing(term.get().len()));
        }
        let Some(velocity) = &mut self.velocity else { return };
        let momentum = R::from_f64(self.steps.momentum);
        velocity.update(|v| v.iter_mut().for_each(|v| *v *= momentum));
        terms.iter().for_each(|(factor, term)| subtract(velocity, -factor, term.get()));
        subtract(state, size, velocity.get());
    }
}

fn subtract<R: Real>(from: &mut Released<Vec<R>>, factor: f64, what: &[R]) {
    let factor = R::from_f64(factor);
    from.update(|from| from.iter_mut().zip(what).for_each(|(x, g)| *x -= factor * *g));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::initial::start;

    #[test]
    fn sizes_are_those_of_the_papers() {
        assert_eq!(StepSize::Constant(0.1).at(9), 0.1);
        let decaying = StepSize::Decaying { first: 0.5, power: 0.5 };
        assert_eq!((decaying.at(0), decaying.at(3)), (0.5, 0.25));
        assert_eq!(StepSize::for_horizon(0.3, 0.5, 9).at(7), 0.3 / 3.0);
    }

    /// x = 1, f = x^2 / 2, step .1, momentum .5: v = 1, 1.4, 1.46, then a refusal halves it.
    #[test]
    fn momentum_is_a_heavy_ball() {
        let steps = Steps::new(9, StepSize::Constant(0.1), 1.0).with_momentum(0.5);
        let (mut descent, mut x) = (Descent::<f64>::new(steps), start(&[1.0]));
        descent.take(0, &mut x, &[]);
        assert_eq!(x.get(), &[1.0]);
        for expected in [0.9, 0.76, 0.614] {
            let gradient = x.clone();
            descent.take(0, &mut x, &[(1.0, &gradient)]);
            assert!((x.get()[0] - expected).abs() < 1e-15, "{x:?}");
        }
        descent.take(0, &mut x, &[]);
        assert!((x.get()[0] - 0.541).abs() < 1e-15, "{x:?}");
    }
}
