//! Which coordinates a message carries: public randomness, the same for everybody who asks.
//!
//! The choice never looks at data and hides nothing (theory 5.1: over many rounds every coordinate
//! is sent), so it needs no secret stream: it is a hash of seed, node and round.

use undertone_graph::{NodeId, scramble};

/// How many coordinates are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sparsity {
    /// All.
    Full,
    /// Exactly so many, drawn without replacement.
    Exactly(usize),
    /// Each with probability one half, independently.
    Half,
}

impl Sparsity {
    /// The coordinates of `dimension` that `node` sends in `round`; `lane` tells apart several
    /// masks of the same message.
    pub fn mask(&self, dimension: usize, seed: u64, node: NodeId, round: u64, lane: u64) -> Mask {
        let mut mask = Mask::default();
        self.mask_into(dimension, seed, node, round, lane, &mut mask);
        mask
    }

    /// The same into memory that is there already.
    #[inline(always)]
    pub fn mask_into(
        &self,
        dimension: usize,
        seed: u64,
        node: NodeId,
        round: u64,
        lane: u64,
        mask: &mut Mask,
    ) {
        mask.0.resize(dimension.div_ceil(64), 0);
        self.mask_over(dimension, PublicBits::new(seed, node, round, lane), &mut mask.0);
    }

    /// The same by some bits, over words that are there already, as many as the mask has.
    #[inline(always)]
    pub(crate) fn mask_over(&self, dimension: usize, mut bits: PublicBits, mask: &mut [u64]) {
        match *self {
            Self::Exactly(k) if k < dimension => {
                mask.fill(0);
                // Floyd: a uniform subset of size k with k draws.
                for last in dimension - k..dimension {
                    let drawn = bits.below(last as u64 + 1) as usize;
                    let taken = mask[drawn / 64] >> (drawn % 64) & 1 == 1;
                    let take = if taken { last } else { drawn };
                    mask[take / 64] |= 1 << (take % 64);
                }
            }
            Self::Full | Self::Exactly(_) => mask.fill(u64::MAX),
            Self::Half => mask.iter_mut().for_each(|word| *word = bits.next()),
        }
        let used = dimension % 64;
        if let (Some(last), true) = (mask.last_mut(), used > 0) {
            *last &= (1 << used) - 1;
        }
    }
}

/// A set of coordinates, as the bits of words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mask(Vec<u64>);

impl Mask {
    /// The words.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.0
    }

    /// How many coordinates.
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }
}

/// Randomness that hides nothing: SplitMix64 (Steele, Lea, Flood 2014) from a hash of what it is
/// for.
#[derive(Clone, Debug, PartialEq)]
pub struct PublicBits(u64);

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl PublicBits {
    /// For one of the uses (below 256) of a node in a round.
    #[inline(always)]
    pub fn new(seed: u64, node: NodeId, round: u64, lane: u64) -> Self {
        // Node and lane share a word; the round comes after it has been scrambled.
        let who = u64::from(node.0) << 8 ^ lane;
        Self(scramble(scramble(seed ^ who.wrapping_mul(GOLDEN)) ^ round.wrapping_mul(GOLDEN)))
    }

    #[inline(always)]
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        scramble(self.0)
    }

    /// Uniform in `[0, 1)`.
    #[inline(always)]
    pub fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform below `bound`, without bias (Lemire 2019).
    /// Panics if that is zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        let surplus = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.next()) * u128::from(bound);
            if product as u64 >= surplus {
                return (product >> 64) as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Standard normal quantile for a two-sided alpha of 1e-6.
    const Z: f64 = 4.892;

    #[test]
    fn masks_have_the_promised_size_and_stay_inside() {
        for dimension in [1, 5, 63, 64, 65, 130] {
            for k in 0..=dimension + 1 {
                let mask = Sparsity::Exactly(k).mask(dimension, 1, NodeId(3), 9, 0);
                assert_eq!(mask.count(), k.min(dimension));
                let outside = mask.words().last().unwrap() >> ((dimension - 1) % 64) >> 1;
                assert_eq!(outside, 0);
            }
            assert_eq!(Sparsity::Full.mask(dimension, 1, NodeId(3), 9, 0).count(), dimension);
        }
    }

    #[test]
    fn every_coordinate_is_sent_as_often_as_any_other() {
        let n_rounds = 40_000;
        for (sparsity, p) in [(Sparsity::Exactly(3), 0.3), (Sparsity::Half, 0.5)] {
            let mut counts = [0.0; 10];
            for round in 0..n_rounds {
                let mask = sparsity.mask(10, 7, NodeId(round as u32 % 4), round, 1);
                for (k, count) in counts.iter_mut().enumerate() {
                    *count += (mask.words()[0] >> k & 1) as f64;
                }
            }
            let n = n_rounds as f64;
            let error = Z * (n * p * (1.0 - p)).sqrt();
            assert!(counts.iter().all(|count| (count - n * p).abs() < error), "{counts:?}");
        }
    }

    #[test]
    fn node_round_lane_and_seed_all_matter() {
        let mask = |seed, node, round, lane| {
            Sparsity::Half.mask(64, seed, NodeId(node), round, lane).words()[0]
        };
        let masks = [mask(1, 2, 3, 4), mask(2, 2, 3, 4), mask(1, 3, 3, 4), mask(1, 2, 4, 4)];
        for (i, mask_i) in masks.iter().enumerate() {
            assert!(masks[..i].iter().all(|mask_j| (mask_i ^ mask_j).count_ones() > 8));
        }
        assert_ne!(mask(1, 2, 3, 4), mask(1, 2, 3, 5));
        assert_ne!(mask(1, 2, 3, 4), mask(1, 3, 2, 4));
    }
}
