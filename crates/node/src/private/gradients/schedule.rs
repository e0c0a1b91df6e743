//! Which batch a round has.

use std::sync::Arc;

use undertone_privacy::event::Event;
use undertone_privacy::sampler::Sampler;

use crate::private::Noise;

/// How the batch of a round is drawn, the noise that is meant for its sum, and what that costs.
pub(super) struct Drawing {
    pub(super) sampler: Sampler,
    pub(super) noise: Noise,
    pub(super) event: Arc<Event>,
}

/// How batches are drawn round by round, over and over; rounds without a batch have none.
pub(super) enum Schedule {
    /// Always in the same way: it is at hand, where others would have to be looked up.
    Always([Option<Drawing>; 1]),
    Rounds(Vec<Option<Drawing>>),
}

impl Schedule {
    pub(super) fn rounds(&self) -> &[Option<Drawing>] {
        match self {
            Self::Always(one) => one,
            Self::Rounds(rounds) => rounds,
        }
    }

    pub(super) fn rounds_mut(&mut self) -> &mut [Option<Drawing>] {
        match self {
            Self::Always(one) => one,
            Self::Rounds(rounds) => rounds,
        }
    }

    pub(super) fn in_round(&self, round: u64) -> Option<&Drawing> {
        match self {
            Self::Always([one]) => one.as_ref(),
            Self::Rounds(rounds) => {
                rounds.get((round % rounds.len().max(1) as u64) as usize)?.as_ref()
            }
        }
    }
}
