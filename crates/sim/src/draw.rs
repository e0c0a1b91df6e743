//! Random numbers by name: each is a hash of what it is for, so a new draw never shifts another.
//!
//! Nothing here hides anything, so a hash that passes statistical tests will do; noise has its own
//! streams.

use undertone_graph::scramble;

/// What a draw is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Use {
    Loss = 1,
    Latency = 2,
    Duplication = 3,
    CopyLatency = 4,
    Reordering = 5,
    ReorderingDelay = 6,
    Compute = 7,
    Straggler = 8,
    Churn = 9,
    Uptime = 10,
    Downtime = 11,
}

/// The draws of one thing that happens: a message's attempt on a link, a node's computation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw(u64);

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Draw {
    /// By the seed of the world and the numbers that name the thing.
    pub(crate) fn new(seed: u64, name: [u64; 4]) -> Self {
        let mut state = scramble(seed.wrapping_add(GOLDEN));
        for part in name {
            state = scramble(state.wrapping_add(GOLDEN) ^ scramble(part.wrapping_add(GOLDEN)));
        }
        Self(state)
    }

    /// Uniform in (0, 1), both ends excluded: an odd multiple of 2^-53.
    pub(crate) fn uniform(&self, purpose: Use) -> f64 {
        let bits = scramble(self.0.wrapping_add(GOLDEN.wrapping_mul(purpose as u64)));
        ((bits >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// True with this probability: never for zero, always for one.
    pub(crate) fn happens(&self, purpose: Use, probability: f64) -> bool {
        probability > 0.0 && self.uniform(purpose) < probability
    }

    /// Exponential with mean one. The logarithm is that of `libm`: the last bit of the system's
    /// depends on the machine.
    pub(crate) fn exponential(&self, purpose: Use) -> f64 {
        -libm::log(self.uniform(purpose))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: u64 = 40_000;

    /// Five standard deviations of a mean of `N` draws with this standard deviation: about 1e-6.
    fn bound(sd: f64) -> f64 {
        5.0 * sd / (N as f64).sqrt()
    }

    #[test]
    fn draws_have_the_moments_of_their_distributions() {
        let draw = |k| Draw::new(3, [k % 7, k / 7, 0, 1]);
        let mean = |f: &dyn Fn(u64) -> f64| (0..N).map(f).sum::<f64>() / N as f64;
        let uniform = mean(&|k| draw(k).uniform(Use::Loss));
        assert!((uniform - 0.5).abs() < bound((1.0_f64 / 12.0).sqrt()));
        let product = mean(&|k| draw(k).uniform(Use::Loss) * draw(k).uniform(Use::Latency));
        assert!((product - 0.25).abs() < bound((7.0_f64 / 144.0).sqrt()));
        let exponential = mean(&|k| draw(k).exponential(Use::Latency));
        assert!((exponential - 1.0).abs() < bound(1.0));
        let coin = mean(&|k| f64::from(u8::from(draw(k).happens(Use::Loss, 0.3))));
        assert!((coin - 0.3).abs() < bound(0.3_f64.sqrt()));
    }

    #[test]
    fn zero_never_happens_and_one_always_does() {
        for k in 0..1000 {
            let draw = Draw::new(k, [0; 4]);
            assert!(!draw.happens(Use::Loss, 0.0) && draw.happens(Use::Loss, 1.0));
        }
    }

    #[test]
    fn every_part_of_a_name_matters() {
        let names = [[1, 2, 3, 4], [2, 1, 3, 4], [1, 2, 4, 3], [1, 2, 3, 5], [0, 2, 3, 4]];
        let mut seen = Vec::new();
        for name in names {
            for seed in [0, 1] {
                for purpose in [Use::Loss, Use::Latency] {
                    let draw = Draw::new(seed, name).uniform(purpose);
                    assert!(!seen.contains(&draw));
                    seen.push(draw);
                }
            }
        }
    }
}
