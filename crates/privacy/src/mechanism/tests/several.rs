//! Releases at once, beside those that each mechanism makes alone.

use super::*;

const LENGTHS: [usize; 5] = [105, 3, 300, 128, 1];

/// Five sums of batches of one record, each with its receipt, from ledgers that are all alike.
fn paid(sampler: &FixedSizeSampler, key: &Key) -> Vec<(Vec<f32>, crate::sampler::Batch, Receipt)> {
    let mut ledger = unlimited(5, Adjacency::Replace);
    let one = |length: usize| {
        let receipt = ledger.debit(sampler.event(gaussian(4.0).event())).unwrap();
        let batch = sampler.draw(100, &receipt, key).unwrap();
        (vec![0.5; length], batch, receipt)
    };
    LENGTHS.into_iter().map(one).collect()
}

#[test]
fn several_are_released_as_each_is_alone() {
    let (key, clip) = (Key::from_seed(31), ClipNorm::new(1.0).unwrap());
    let sampler = FixedSizeSampler::new(1, 100).unwrap();
    let alone: Vec<_> = paid(&sampler, &key)
        .into_iter()
        .map(|(values, batch, receipt)| {
            let sum = ClippedSum::trust_clipped(values, clip, batch.drawn());
            gaussian(4.0).release(sum, receipt, &key).unwrap()
        })
        .collect();
    let batches = paid(&sampler, &key);
    let mut several = gaussian(4.0).several(clip, 5).unwrap();
    let mut events = Vec::new();
    for (values, batch, receipt) in batches {
        events.push(receipt.event().clone());
        several.trust_each_clipped(values, &batch, receipt, &key).unwrap();
    }
    let (mut together, mut returned) = (Vec::new(), Vec::new());
    several.release(|released, event| {
        together.push(released);
        returned.push((*event).clone());
    });
    assert_eq!(together, alone);
    assert_eq!(returned, events);
}

#[test]
fn what_is_not_paid_for_is_not_among_them() {
    let (key, clip) = (Key::from_seed(32), ClipNorm::new(1.0).unwrap());
    let sampler = FixedSizeSampler::new(1, 100).unwrap();
    let mut sums = paid(&sampler, &key);
    let (second, first) = (sums.remove(1), sums.remove(0));
    let mut several = gaussian(4.0).several(clip, 2).unwrap();
    // The batch of another receipt.
    let error = several.trust_each_clipped(first.0, &second.1, first.2, &key).unwrap_err();
    assert_eq!(error, ReleaseError::OtherBatch { node: 5, serial: 0 });
    several.trust_each_clipped(second.0, &second.1, second.2, &key).unwrap();
    // A receipt for more noise than there will be.
    let (values, batch, receipt) = sums.remove(0);
    let mut less = gaussian(3.0).several::<f32>(clip, 1).unwrap();
    let error = less.trust_each_clipped(values, &batch, receipt, &key).unwrap_err();
    assert!(matches!(error, ReleaseError::OtherEvent { .. }), "{error}");
    let mut count = 0;
    less.release(|_, _| count += 1);
    several.release(|_, _| count += 1);
    assert_eq!(count, 1);
    // Longer contributions than the mechanism supposes.
    let longer = gaussian(4.0).several::<f32>(ClipNorm::new(1.5).unwrap(), 1).err().unwrap();
    assert!(matches!(longer, ReleaseError::Sensitivity { .. }), "{longer}");
}
