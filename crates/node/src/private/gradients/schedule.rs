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
    /// The same for the next debit, if it came back from the last one: to count who has it takes
    /// longer than a debit.
    pub(super) returned: Option<Arc<Event>>,
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
            Self::Rounds(rounds) => rounds.get(place(rounds, round))?.as_ref(),
        }
    }

    pub(super) fn in_round_mut(&mut self, round: u64) -> Option<&mut Drawing> {
        match self {
            Self::Always([one]) => one.as_mut(),
            Self::Rounds(rounds) => {
                let place = place(rounds, round);
                rounds.get_mut(place)?.as_mut()
            }
        }
    }
}

fn place(rounds: &[Option<Drawing>], round: u64) -> usize {
    (round % rounds.len().max(1) as u64) as usize
}
