//! Batches of runs without privacy.

use undertone_graph::NodeId;
use undertone_privacy::ledger::Receipt;
use undertone_privacy::noise::{Key, Purpose, StreamId, fill_gaussian};
use undertone_privacy::sampler::Sampler;
use undertone_protocol::PublicBits;

/// A batch by the law of a sampler, chosen by public randomness. Nothing is hidden when values
/// leave without noise, and the accountants have no price for a sample of what is exposed, so that
/// such a round is `Event::NonPrivate` as a whole.
pub(super) fn draw(sampler: &Sampler, records: usize, receipt: &Receipt, key: &Key) -> Vec<usize> {
    let mut bits = bits(receipt, key);
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

/// By the key, so that runs differ.
pub(super) fn bits(receipt: &Receipt, key: &Key) -> PublicBits {
    let id = StreamId::new(Purpose::Sampling, receipt.node(), receipt.serial())
        .expect("a ledger numbers nodes and debits within a stream's name");
    let mut drawn = [0.0_f64; 1];
    fill_gaussian(key, id, 1.0, &mut drawn);
    PublicBits::new(drawn[0].to_bits(), NodeId(receipt.node()), receipt.serial(), 0)
}
