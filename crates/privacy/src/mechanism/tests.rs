mod pairs;
mod several;

use proptest::prelude::*;
use undertone_real::Real;

use super::*;
use crate::event::{DiscreteGaussian, Gaussian, KNorm, ObjectiveNoise, ObjectivePerturbation};
use crate::event::{Laplace, Rounding};
use crate::ledger::{Budget, Filter, Header, Ledger};
use crate::noise::Key;
use crate::release::{ClippedSum, LatticeSum, Released};
use crate::sampler::{DrawError, Drawn, FixedSizeSampler, PoissonSampler};
use crate::units::{
    Adjacency, ClipNorm, Delta, Epsilon, Order, Probability, Scale, Sensitivity, Unit,
};

/// Standard normal quantile for a two-sided alpha of 1e-6.
const Z: f64 = 4.892;
/// Chi-square quantile with 15 degrees of freedom for alpha = 1e-6, rounded up.
const CHI_SQUARE_15: f64 = 57.4;

fn unlimited(node: u32, adjacency: Adjacency) -> Ledger {
    let (order, zero) = (Order::new(2.0).unwrap(), Delta::new(0.0).unwrap());
    let budget = Budget { epsilon: Epsilon::INFINITE, delta: Delta::new(1e-5).unwrap() };
    let filter = Filter::Renyi { order, reserve: zero };
    Ledger::open(Header { node, budget, adjacency, unit: Unit::Record, filter }, vec![]).unwrap()
}

fn ledger() -> Ledger {
    unlimited(5, Adjacency::AddRemove)
}

fn scale(value: f64) -> Scale {
    Scale::new(value).unwrap()
}

fn one() -> Sensitivity {
    Sensitivity::contribution(ClipNorm::new(1.0).unwrap())
}

fn gaussian(sigma: f64) -> GaussianMechanism {
    GaussianMechanism { sensitivity: one(), sigma: scale(sigma) }
}

fn zeros<R: Real>(dimension: usize) -> Secret<Vec<R>> {
    Secret::declare(vec![R::ZERO; dimension], Norm::L1, one())
}

fn svt(threshold: f64, query: f64, cutoff: u64) -> AboveThresholdMechanism {
    let (threshold_scale, query_scale) = (scale(threshold), scale(query));
    AboveThresholdMechanism { sensitivity: one(), threshold_scale, query_scale, cutoff }
}

/// Mean, variance and shape: `cdf` maps the noise to a uniform number.
fn fits(noise: &[f64], variance: f64, kurtosis: f64, cdf: impl Fn(f64) -> f64) {
    let n = noise.len() as f64;
    let mean = noise.iter().sum::<f64>() / n;
    assert!(mean.abs() < Z * (variance / n).sqrt(), "mean {mean}");
    let found = noise.iter().map(|x| x * x).sum::<f64>() / n;
    let error = variance * ((kurtosis - 1.0) / n).sqrt();
    assert!((found - variance).abs() < Z * error, "variance {found} is not {variance}");
    let mut bins = [0.0; 16];
    for x in noise {
        bins[((16.0 * cdf(*x)) as usize).min(15)] += 1.0;
    }
    let chi: f64 = bins.iter().map(|count| (count - n / 16.0).powi(2) / (n / 16.0)).sum();
    assert!(chi < CHI_SQUARE_15, "chi-square {chi}: {bins:?}");
}

fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

fn laplace_cdf(x: f64) -> f64 {
    if x < 0.0 { 0.5 * x.exp() } else { 1.0 - 0.5 * (-x).exp() }
}

#[test]
fn gaussian_releases_have_the_promised_noise() {
    let (mut ledger, key) = (ledger(), Key::from_seed(11));
    let mechanism = gaussian(3.0);
    let wide = mechanism
        .release(zeros::<f64>(100_000), ledger.debit(mechanism.event()).unwrap(), &key)
        .unwrap();
    fits(wide.get(), 9.0, 3.0, |x| normal_cdf(x / 3.0));
    let narrow = mechanism
        .release(zeros::<f32>(100_000), ledger.debit(mechanism.event()).unwrap(), &key)
        .unwrap();
    let noise: Vec<f64> = narrow.get().iter().map(|x| x.to_f64()).collect();
    fits(&noise, 9.0, 3.0, |x| normal_cdf(x / 3.0));
}

#[test]
fn lattice_releases_have_the_promised_noise_and_stay_on_the_lattice() {
    let (mut ledger, key) = (ledger(), Key::from_seed(12));
    let mechanism = LatticeGaussian::fine(one(), scale(3.0), 50_000, Rounding::Nearest).unwrap();
    assert_eq!(mechanism.step().get(), 2f64.powi(1 - LATTICE_BITS));
    let receipt = ledger.debit(mechanism.event()).unwrap();
    let secret = Secret::declare(vec![0.3_f64; 50_000], Norm::L2, one());
    let released = mechanism.release(secret, receipt, &key).unwrap();
    let step = mechanism.step().get();
    assert!(released.get().iter().all(|x| (x / step).fract() == 0.0));
    let noise: Vec<f64> = released.get().iter().map(|x| x - 0.3).collect();
    fits(&noise, 9.0, 3.0, |x| normal_cdf(x / 3.0));
}

#[test]
fn coarse_lattices_round_as_they_say() {
    let key = Key::from_seed(13);
    for (rounding, mean) in [(Rounding::Nearest, 1.0), (Rounding::Stochastic, 0.7)] {
        let noise = DiscreteGaussian {
            sensitivity: one(),
            sigma: scale(2.0),
            step: scale(1.0),
            dimension: 40_000,
            rounding,
        };
        let mechanism = LatticeGaussian::new(noise).unwrap();
        let receipt = ledger().debit(mechanism.event()).unwrap();
        let secret = Secret::declare(vec![0.7_f64; 40_000], Norm::L2, one());
        let released = mechanism.release(secret, receipt, &key).unwrap().into_inner();
        let found = released.iter().sum::<f64>() / 40_000.0;
        assert!((found - mean).abs() < Z * 2.06 / 200.0, "{rounding:?}: {found}");
        assert!(released.iter().all(|x| x.fract() == 0.0));
    }
}

#[test]
fn laplace_releases_have_the_promised_noise() {
    let mechanism = LaplaceMechanism { sensitivity: one(), scale: scale(2.0) };
    let receipt = ledger().debit(mechanism.event()).unwrap();
    let released = mechanism.release(zeros::<f64>(100_000), receipt, &Key::from_seed(14)).unwrap();
    fits(released.get(), 8.0, 6.0, |x| laplace_cdf(x / 2.0));
}

#[test]
fn knorm_releases_have_the_promised_noise() {
    let (mut ledger, key) = (ledger(), Key::from_seed(15));
    let mechanism = KNormMechanism { sensitivity: one(), rate: scale(0.5), dimension: 1 };
    let mut noise = Vec::new();
    for _ in 0..20_000 {
        let receipt = ledger.debit(mechanism.event()).unwrap();
        noise.extend(mechanism.release(zeros::<f64>(1), receipt, &key).unwrap().into_inner());
    }
    fits(&noise, 8.0, 6.0, |x| laplace_cdf(x / 2.0)); // in one dimension it is Laplace
    let receipt = ledger.debit(mechanism.event()).unwrap();
    let error = mechanism.release(zeros::<f64>(2), receipt, &key).unwrap_err();
    assert_eq!(error, ReleaseError::Dimension { expected: 1, found: 2 });
}

#[test]
fn comparisons_share_one_threshold_noise_and_end_at_the_cutoff() {
    let (mut ledger, key) = (ledger(), Key::from_seed(16));
    let zero = Released::public(0.0);
    let query = |value: f64| Secret::declare(value, Norm::L2, one());
    let mechanism = svt(100.0, 1e-9, 3);
    let mut ups = 0;
    for _ in 0..4000 {
        let mut run = mechanism.start(ledger.debit(mechanism.event()).unwrap(), &key).unwrap();
        let first = run.ask(query(0.0), &zero).unwrap().into_inner();
        assert_eq!(first, run.ask(query(0.0), &zero).unwrap().into_inner());
        ups += u32::from(first);
    }
    assert!((f64::from(ups) - 2000.0).abs() < Z * 1000f64.sqrt(), "{ups}");

    let mechanism = svt(1e-9, 1e-9, 2);
    let mut run = mechanism.start(ledger.debit(mechanism.event()).unwrap(), &key).unwrap();
    for (value, above) in [(-1.0, false), (1.0, true), (-1.0, false), (2.0, true)] {
        assert_eq!(*run.ask(query(value), &zero).unwrap().get(), above);
    }
    assert!(run.is_over());
    let error = run.ask(query(-1.0), &zero).unwrap_err();
    assert_eq!(error, ReleaseError::CutOff { node: 5, cutoff: 2 });
}

#[test]
fn objective_perturbation_draws_its_term_and_its_output_noise_apart() {
    let (mut ledger, key) = (ledger(), Key::from_seed(17));
    let term = Gaussian { sensitivity: one(), sigma: scale(2.0) };
    let noise = ObjectiveNoise::Gaussian(term);
    let objective = ObjectivePerturbation { noise, curvature: scale(1e-3), sign_definite: true };
    let output = Gaussian { sensitivity: one(), sigma: scale(3.0) };
    let output = Some(ObjectiveNoise::Gaussian(output));
    let mechanism = ObjectivePerturbationMechanism { objective, output, dimension: 50_000 };
    let draw = mechanism.perturb(ledger.debit(mechanism.event()).unwrap(), &key).unwrap();
    fits(draw.term(), 4.0, 3.0, |x| normal_cdf(x / 2.0));
    let b = draw.term().to_vec();
    let released = draw.release(vec![0.0; 50_000]).unwrap().into_inner();
    fits(&released, 9.0, 3.0, |x| normal_cdf(x / 3.0));
    let product: Vec<f64> = b.iter().zip(&released).map(|(x, y)| x * y / 6.0).collect();
    let correlation = product.iter().sum::<f64>() / 50_000f64.sqrt();
    assert!(correlation.abs() < Z, "{correlation}");

    let noise = KNorm { sensitivity: one(), rate: scale(1.0), dimension: 3 };
    let objective =
        ObjectivePerturbation { noise: ObjectiveNoise::KNorm(noise), ..mechanism.objective };
    let exact = ObjectivePerturbationMechanism { objective, output: None, dimension: 3 };
    let draw = exact.perturb(ledger.debit(exact.event()).unwrap(), &key).unwrap();
    assert_eq!(draw.release(vec![1.0, 2.0, 3.0]).unwrap().get(), &[1.0, 2.0, 3.0]);
}

/// A K-norm vector of rate a in d coordinates has squared norm d (d + 1)/a^2 on average.
#[test]
fn objective_perturbation_with_knorm_noise_in_both_places() {
    let (mut ledger, key) = (ledger(), Key::from_seed(19));
    let d = 20_000_u64;
    let noise =
        |rate| ObjectiveNoise::KNorm(KNorm { sensitivity: one(), rate: scale(rate), dimension: d });
    let objective =
        ObjectivePerturbation { noise: noise(2.0), curvature: scale(1e-3), sign_definite: true };
    let mechanism =
        ObjectivePerturbationMechanism { objective, output: Some(noise(5.0)), dimension: d };
    let draw = mechanism.perturb(ledger.debit(mechanism.event()).unwrap(), &key).unwrap();
    let b = draw.term().to_vec();
    let released = draw.release(vec![0.0; d as usize]).unwrap().into_inner();
    let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    // A radius is Gamma(d), so it is d to within a few roots of d.
    assert!((norm(&b) * 2.0 - d as f64).abs() < Z * (d as f64).sqrt());
    assert!((norm(&released) * 5.0 - d as f64).abs() < Z * (d as f64).sqrt());
    let product: f64 = b.iter().zip(&released).map(|(x, y)| x * y).sum();
    let correlation = product / (norm(&b) * norm(&released)) * (d as f64).sqrt();
    assert!(correlation.abs() < Z, "{correlation}");
}

/// Invariant I4: the receipt's number names the noise stream.
#[test]
fn noise_streams_are_numbered_by_receipt() {
    let key = Key::from_seed(18);
    let mechanism = gaussian(1.0);
    let release = |ledger: &mut Ledger| {
        let receipt = ledger.debit(mechanism.event()).unwrap();
        mechanism.release(zeros::<f64>(4), receipt, &key).unwrap()
    };
    let mut a = ledger();
    let (first, second) = (release(&mut a), release(&mut a));
    assert_ne!(first, second);
    let mut again = ledger();
    assert_eq!(first, release(&mut again));
    let mut resumed = Ledger::replay(again.header().clone(), again.entries().to_vec()).unwrap();
    assert_eq!(second, release(&mut resumed));
    assert_ne!(first, release(&mut unlimited(6, Adjacency::AddRemove)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Invariant I2: one receipt a release.
    #[test]
    fn the_ledger_is_as_long_as_there_are_releases(rounds in 0_u64..20) {
        let (mut ledger, key) = (ledger(), Key::from_seed(19));
        let mut releases = 0;
        for _ in 0..rounds {
            let receipt = ledger.debit(gaussian(1.0).event()).unwrap();
            releases += u64::from(gaussian(1.0).release(zeros::<f32>(3), receipt, &key).is_ok());
        }
        prop_assert_eq!(ledger.len(), releases);
    }
}

#[test]
fn a_receipt_for_something_else_is_refused() {
    let (mut ledger, key) = (ledger(), Key::from_seed(20));
    let receipt = ledger.debit(gaussian(2.0).event()).unwrap();
    let error = gaussian(1.0).release(zeros::<f64>(1), receipt, &key).unwrap_err();
    assert!(error.to_string().starts_with("receipt 0 of node 5 is for {\"gaussian\""), "{error}");
    let cheap = Event::Laplace(Laplace { sensitivity: one(), scale: scale(1.0) });
    let receipt = ledger.debit(cheap).unwrap();
    assert!(gaussian(1.0).release(zeros::<f64>(1), receipt, &key).is_err());
    let receipt = ledger.debit(gaussian(1.0).event()).unwrap();
    assert!(svt(1.0, 1.0, 1).start(receipt, &key).is_err());
}

#[test]
fn a_secret_that_moves_too_much_is_refused() {
    let (mut ledger, key) = (ledger(), Key::from_seed(21));
    let receipt = ledger.debit(gaussian(1.0).event()).unwrap();
    let sum = ClippedSum::<f64>::new(2, ClipNorm::new(1.5).unwrap());
    let error = gaussian(1.0).release(sum, receipt, &key).unwrap_err();
    assert!(matches!(error, ReleaseError::Sensitivity { .. }), "{error}");
    let laplace = LaplaceMechanism { sensitivity: one(), scale: scale(2.0) };
    let receipt = ledger.debit(laplace.event()).unwrap();
    let sum = ClippedSum::<f64>::new(2, ClipNorm::new(1.0).unwrap());
    let error = laplace.release(sum, receipt, &key).unwrap_err();
    assert_eq!(error, ReleaseError::Norm { needed: Norm::L1, found: Norm::L2 });
}

#[test]
fn a_sampled_event_releases_only_what_its_sampler_drew() {
    let (mut ledger, key) = (ledger(), Key::from_seed(22));
    let (mechanism, clip) = (gaussian(1.0), ClipNorm::new(1.0).unwrap());
    let sampler = PoissonSampler { probability: Probability::new(0.25).unwrap() };
    let sampled = sampler.event(mechanism.event());

    let receipt = ledger.debit(sampled.clone()).unwrap();
    let batch = sampler.draw(100, &receipt, &key).unwrap();
    let sum = ClippedSum::<f64>::drawn(2, clip, batch.drawn());
    assert!(mechanism.release(sum, receipt, &key).is_ok());

    // All the records, on a receipt that was cheap because of sampling.
    let receipt = ledger.debit(sampled.clone()).unwrap();
    let sum = ClippedSum::<f64>::new(2, clip);
    let error = mechanism.release(sum, receipt, &key).unwrap_err();
    assert!(matches!(error, ReleaseError::OtherEvent { .. }), "{error}");

    // The batch of an earlier receipt.
    let receipt = ledger.debit(sampled.clone()).unwrap();
    let sum = ClippedSum::<f64>::drawn(2, clip, batch.drawn());
    let error = mechanism.release(sum, receipt, &key).unwrap_err();
    assert_eq!(error, ReleaseError::OtherBatch { node: 5, serial: 2 });

    // A sampler of another rate.
    let receipt = ledger.debit(sampled).unwrap();
    let other = PoissonSampler { probability: Probability::new(0.5).unwrap() };
    let error = other.draw(100, &receipt, &key).err().unwrap();
    assert!(matches!(error, DrawError::OtherEvent { .. }), "{error}");
}

#[test]
fn fixed_size_batches_go_through_the_same_door() {
    let (mut ledger, key) = (unlimited(5, Adjacency::Replace), Key::from_seed(23));
    let sampler = FixedSizeSampler::new(10, 100).unwrap();
    let event = sampler.event(gaussian(4.0).event());
    let receipt = ledger.debit(event).unwrap();
    assert!(sampler.draw(99, &receipt, &key).is_err());
    let batch = sampler.draw(100, &receipt, &key).unwrap();
    assert_eq!(batch.indices().len(), 10);
    let sum = ClippedSum::<f64>::drawn(2, ClipNorm::new(1.0).unwrap(), batch.drawn());
    assert!(gaussian(4.0).release(sum, receipt, &key).is_ok());
}

#[test]
fn groups_have_their_own_noise() {
    let (mut ledger, key) = (ledger(), Key::from_seed(24));
    let group = |sigma| Gaussian { sensitivity: one(), sigma: scale(sigma) };
    let mechanism = GroupedGaussian { groups: vec![group(1.0), group(5.0)] };
    let receipt = ledger.debit(mechanism.event()).unwrap();
    let secrets = vec![zeros::<f64>(30_000), zeros::<f64>(50_000)];
    let released = mechanism.release(secrets, receipt, &key).unwrap().into_inner();
    fits(&released[0], 1.0, 3.0, normal_cdf);
    fits(&released[1], 25.0, 3.0, |x| normal_cdf(x / 5.0));
    let receipt = ledger.debit(mechanism.event()).unwrap();
    let error = mechanism.release(vec![zeros::<f64>(2)], receipt, &key).unwrap_err();
    assert_eq!(error, ReleaseError::Groups { expected: 2, found: 1 });
}

#[test]
fn masks_send_their_share_with_the_promised_noise() {
    let (mut ledger, key) = (ledger(), Key::from_seed(25));
    let (q, transmit) = (Probability::new(0.5).unwrap(), Probability::new(0.25).unwrap());
    let mechanism = MaskedGaussian { gaussian: gaussian(2.0), transmit };
    let sampler = PoissonSampler { probability: q };
    let event = mechanism.event_of(sampler.event(gaussian(2.0).event()));
    let receipt = ledger.debit(event).unwrap();
    let batch = sampler.draw(10, &receipt, &key).unwrap();
    let sum = ClippedSum::<f64>::drawn(200_000, ClipNorm::new(1.0).unwrap(), batch.drawn());
    let sent = mechanism.release(sum, receipt, &key).unwrap().into_inner();
    let error = Z * (200_000.0_f64 * 0.25 * 0.75).sqrt();
    assert!((sent.values.len() as f64 - 50_000.0).abs() < error);
    fits(&sent.values, 4.0, 3.0, |x| normal_cdf(x / 2.0));
    let receipt = ledger.debit(mechanism.event()).unwrap();
    assert!(mechanism.release(zeros::<f64>(3), receipt, &key).is_ok());
}

#[test]
fn exact_sampled_releases_fit_a_finite_budget() {
    let key = Key::from_seed(26);
    let clip = ClipNorm::new(1.0).unwrap();
    let sampler = PoissonSampler { probability: Probability::new(0.1).unwrap() };
    let mechanism = LatticeGaussian::fine(one(), scale(4.0), 1000, Rounding::Nearest).unwrap();
    let round = sampler.event(mechanism.event());
    let budget = Budget { epsilon: Epsilon::new(2.0).unwrap(), delta: Delta::new(1e-5).unwrap() };
    let (order, reserve) = (Order::new(12.0).unwrap(), Delta::new(1e-11).unwrap());
    for filter in
        [Filter::Renyi { order, reserve }, Filter::Planned { event: round.clone().repeated(20) }]
    {
        let (adjacency, unit) = (Adjacency::AddRemove, Unit::Record);
        let header = Header { node: 0, budget, adjacency, unit, filter };
        let mut ledger = Ledger::open(header, vec![]).unwrap();
        for _ in 0..20 {
            let receipt = ledger.debit(round.clone()).unwrap();
            let batch = sampler.draw(50, &receipt, &key).unwrap();
            let mut sum = ClippedSum::<f32>::drawn(1000, clip, batch.drawn());
            batch.indices().iter().for_each(|_| sum.add(&[1.0; 1000]));
            assert_eq!(mechanism.release(sum, receipt, &key).unwrap().get().len(), 1000);
        }
        assert!(ledger.guarantee().epsilon.get() <= 2.0);
    }
}

#[test]
fn sums_on_the_lattice_are_released_without_any_rounding() {
    let (mut ledger, key) = (ledger(), Key::from_seed(27));
    let clip = ClipNorm::new(1.0).unwrap();
    let mechanism = LatticeGaussian::fine(one(), scale(1e-3), 20_000, Rounding::OnLattice).unwrap();
    let receipt = ledger.debit(mechanism.event()).unwrap();
    let mut sum = LatticeSum::new(20_000, clip, mechanism.step(), Drawn::full());
    let mut contribution = vec![0.0_f32; 20_000];
    contribution[0] = 0.5;
    (0..3).for_each(|_| sum.add(&contribution));
    let mut noise = mechanism.release(sum, receipt, &key).unwrap().into_inner();
    noise[0] -= 1.5;
    fits(&noise, 1e-6, 3.0, |x| normal_cdf(x / 1e-3));

    let receipt = ledger.debit(mechanism.event()).unwrap();
    let error = mechanism.release(zeros::<f64>(20_000), receipt, &key).unwrap_err();
    assert_eq!(error, ReleaseError::OffLattice { step: mechanism.step() });
}

#[test]
fn an_exposure_is_paid_for_by_infinite_budgets_only() {
    let mut ledger = ledger();
    let receipt = ledger.debit(Exposure.event()).unwrap();
    let secret = Secret::declare(vec![1.5_f64, -2.0], Norm::L2, one());
    assert_eq!(Exposure.release(secret, receipt).unwrap().get(), &[1.5, -2.0]);
    assert_eq!(ledger.guarantee().epsilon, Epsilon::INFINITE);
    let zero = Delta::new(0.0).unwrap();
    let budget = Budget { epsilon: Epsilon::new(1e9).unwrap(), delta: Delta::new(0.5).unwrap() };
    let filter = Filter::Renyi { order: Order::new(2.0).unwrap(), reserve: zero };
    let (adjacency, unit) = (Adjacency::Replace, Unit::Record);
    let header = Header { node: 1, budget, adjacency, unit, filter };
    let mut finite = Ledger::open(header, vec![]).unwrap();
    assert!(finite.debit(Exposure.event()).is_err());
    // Nor does another receipt pay for it.
    let receipt = ledger.debit(gaussian(1.0).event()).unwrap();
    let secret = Secret::declare(vec![1.0_f64], Norm::L2, one());
    assert!(matches!(Exposure.release(secret, receipt), Err(ReleaseError::OtherEvent { .. })));
}
