//! Batches of runs without privacy.

use undertone_privacy::ledger::Receipt;
use undertone_privacy::noise::{Key, Purpose, StreamId, fill_gaussian};
use undertone_privacy::sampler::Sampler;
use undertone_protocol::scramble;

/// A batch by the law of a sampler, chosen by public randomness. Nothing is hidden when values
/// leave without noise, and the accountants have no price for a sample of what is exposed, so that
/// such a round is `Event::NonPrivate` as a whole.
pub(super) fn draw(sampler: &Sampler, records: usize, receipt: &Receipt, key: &Key) -> Vec<usize> {
    let mut bits = Bits::new(receipt, key);
    match sampler {
        Sampler::Full => (0..records).collect(),
        Sampler::Poisson(sampler) => {
            let q = sampler.probability.get();
            (0..records).filter(|_| bits.uniform() < q).collect()
        }
        Sampler::FixedSize(_) => {
            let size = sampler.expected_size(records) as usize;
            let mut chosen = Vec::with_capacity(size);
            // Selection sampling (Knuth, algorithm S): increasing, every subset equally likely.
            for record in 0..records {
                let wanted = (size - chosen.len()) as f64;
                if bits.uniform() * ((records - record) as f64) < wanted {
                    chosen.push(record);
                }
            }
            chosen
        }
    }
}

/// Randomness that may be known.
pub(super) struct Bits(u64);

impl Bits {
    /// By the key, so that runs differ.
    pub(super) fn new(receipt: &Receipt, key: &Key) -> Self {
        let id = StreamId::new(Purpose::Sampling, receipt.node(), receipt.serial())
            .expect("a ledger numbers nodes and debits within a stream's name");
        let mut drawn = [0.0_f64; 2];
        fill_gaussian(key, id, 1.0, &mut drawn);
        Self::from(&drawn.map(f64::to_bits))
    }

    /// From a hash of some words.
    pub(super) fn from(words: &[u64]) -> Self {
        Self(words.iter().fold(0, |seed, word| scramble(scramble(seed ^ *word).wrapping_add(1))))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        scramble(self.0)
    }

    /// In `[0, 1)`.
    pub(super) fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
