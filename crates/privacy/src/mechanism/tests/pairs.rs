//! Releases of two secrets at once.

use super::*;
use crate::event::{SagaSampling, SagaTable};
use crate::sampler::TableSampler;
use crate::units::NoiseMultiplier;

fn clip(norm: f64) -> ClipNorm {
    ClipNorm::new(norm).unwrap()
}

fn table(sampling: SagaSampling) -> TableGaussian {
    let (clip, sigma) = (clip(1.0), scale(3.0));
    TableGaussian { table: SagaTable { clip, sigma, records: 20, sampling } }
}

fn sums(drawn: Drawn) -> ClippedSum<f64> {
    ClippedSum::drawn(2, clip(2.0), drawn)
}

fn mean(mechanism: &TableGaussian) -> Secret<Vec<f64>> {
    Secret::declare(vec![5.0, -5.0], Norm::L2, mechanism.of_mean().unwrap())
}

#[test]
fn saga_adds_noise_to_the_mean_of_its_table_and_the_differences_by_their_expected_number() {
    let mechanism = table(SagaSampling::Poisson { expected: scale(4.0) });
    let (mut ledger, key) = (ledger(), Key::from_seed(1));
    let mut noise = Vec::new();
    let mut drawn = 0;
    for _ in 0..2000 {
        let receipt = ledger.debit(mechanism.event()).unwrap();
        let sampler = TableSampler { table: mechanism.table };
        let batch = sampler.draw(20, &receipt, &key).unwrap();
        drawn += batch.indices().len();
        let mut sum = sums(batch.drawn());
        sum.add(&[2.0 / 3.0, 0.0]);
        let released = mechanism.release(sum, mean(&mechanism), receipt, &key).unwrap();
        noise.push(released.get()[0] - 5.0 - 2.0 / 3.0 / 4.0);
        noise.push(released.get()[1] + 5.0);
    }
    fits(&noise, 9.0, 3.0, |x| normal_cdf(x / 3.0));
    // Each of 20 records with a chance of 0.2, 2000 times.
    let error = (40_000.0_f64 * 0.2 * 0.8).sqrt();
    assert!((drawn as f64 - 8000.0).abs() < Z * error, "{drawn}");
}

#[test]
fn saga_takes_no_other_batch_no_other_event_and_no_longer_secret() {
    let mechanism = table(SagaSampling::SingleIndex);
    let sampler = TableSampler { table: mechanism.table };
    let (mut ledger, key) = (unlimited(5, Adjacency::Replace), Key::from_seed(1));
    let mut receipts = || ledger.debit(mechanism.event()).unwrap();
    let first = receipts();
    let old = sampler.draw(20, &first, &key).unwrap();
    assert_eq!(old.indices().len(), 1);
    assert_eq!(
        sampler.draw(21, &first, &key).err(),
        Some(DrawError::OtherSize { of: 20, records: 21 })
    );
    for wrong in [old.drawn(), Drawn::full()] {
        let refused = mechanism.release(sums(wrong), mean(&mechanism), receipts(), &key);
        assert!(matches!(refused, Err(ReleaseError::OtherBatch { .. })), "{refused:?}");
    }
    let receipt = receipts();
    let batch = sampler.draw(20, &receipt, &key).unwrap();
    let long = ClippedSum::<f64>::drawn(2, clip(2.1), batch.drawn());
    let refused = mechanism.release(long, mean(&mechanism), receipt, &key);
    assert!(matches!(refused, Err(ReleaseError::Sensitivity { .. })), "{refused:?}");
    let receipt = receipts();
    let batch = sampler.draw(20, &receipt, &key).unwrap();
    let moved = Sensitivity::contribution(clip(1.0));
    let whole = Secret::declare(vec![0.0; 2], Norm::L2, moved);
    let refused = mechanism.release(sums(batch.drawn()), whole, receipt, &key);
    assert!(matches!(refused, Err(ReleaseError::Sensitivity { .. })), "{refused:?}");
    // A batch of SAGA is worth nothing to another mechanism.
    let receipt = receipts();
    let batch = sampler.draw(20, &receipt, &key).unwrap();
    let plain = GaussianMechanism { sensitivity: moved, sigma: scale(3.0) };
    let sum = ClippedSum::<f64>::drawn(2, clip(1.0), batch.drawn());
    let refused = plain.release(sum, receipt, &key);
    assert!(matches!(refused, Err(ReleaseError::OtherEvent { .. })), "{refused:?}");
    let receipt = ledger.debit(plain.event()).unwrap();
    assert!(matches!(sampler.draw(20, &receipt, &key), Err(DrawError::OtherEvent { .. })));
}

fn quantile() -> QuantileGaussian {
    QuantileGaussian { sum: NoiseMultiplier::new(2.0).unwrap(), count: scale(3.0) }
}

#[test]
fn a_sum_and_its_count_have_noises_of_their_own() {
    let (mechanism, key) = (quantile(), Key::from_seed(2));
    let mut ledger = ledger();
    let (mut sums, mut counts) = (Vec::new(), Vec::new());
    for _ in 0..4000 {
        let receipt = ledger.debit(mechanism.event()).unwrap();
        let mut sum = ClippedSum::<f64>::new(1, clip(5.0));
        sum.add(&[7.0]);
        let count = QuantileGaussian::count_of(6, 10, Drawn::full());
        let released = mechanism.release(sum, count, receipt, &key).unwrap();
        let (values, count) = released.get();
        sums.push(values[0] - 5.0);
        counts.push(count - 1.0);
    }
    // Twice the clip norm of 5.
    fits(&sums, 100.0, 3.0, |x| normal_cdf(x / 10.0));
    fits(&counts, 9.0, 3.0, |x| normal_cdf(x / 3.0));
    let product: f64 = sums.iter().zip(&counts).map(|(a, b)| a * b / 30.0).sum::<f64>() / 4000.0;
    assert!(product.abs() < Z / 4000.0_f64.sqrt(), "{product}");
}

#[test]
fn a_count_is_of_the_same_batch_and_paid_for_with_the_sum() {
    let (mechanism, key) = (quantile(), Key::from_seed(3));
    let sampler = PoissonSampler { probability: Probability::new(0.5).unwrap() };
    let mut ledger = ledger();
    let receipt = ledger.debit(sampler.event(mechanism.event())).unwrap();
    let batch = sampler.draw(10, &receipt, &key).unwrap();
    let sum = ClippedSum::<f64>::drawn(1, clip(1.0), batch.drawn());
    let count = QuantileGaussian::count_of(1, 2, Drawn::full());
    let refused = mechanism.release(sum, count, receipt, &key);
    assert!(matches!(refused, Err(ReleaseError::OtherBatch { .. })), "{refused:?}");
    let receipt = ledger.debit(gaussian(2.0).event()).unwrap();
    let count = QuantileGaussian::count_of(1, 2, Drawn::full());
    let refused = mechanism.release(ClippedSum::<f64>::new(1, clip(1.0)), count, receipt, &key);
    assert!(matches!(refused, Err(ReleaseError::OtherEvent { .. })), "{refused:?}");
    // Andrew and others 2021, theorem 1.
    let effective = (1.0 / 4.0 + 1.0 / 36.0_f64).powf(-0.5);
    assert!((mechanism.effective().unwrap().get() - effective).abs() < 1e-12);
}
