use super::*;
use crate::event::KNorm;
use crate::special::ln_binomial;
use crate::units::{ClipNorm, Probability, Scale, Sensitivity};

fn scale(value: f64) -> Scale {
    Scale::new(value).unwrap()
}

fn sensitivity(value: f64) -> Sensitivity {
    Sensitivity::under_only(Adjacency::AddRemove, value).unwrap()
}

fn near(r: f64, expected: f64, tolerance: f64) {
    assert!((r / expected - 1.0).abs() < tolerance, "{r} is not {expected}");
}

fn at(event: &Event, adjacency: Adjacency, order: f64) -> f64 {
    divergences(event, adjacency, &[order]).unwrap()[0]
}

/// The generic replace-one bound for fixed-size samples of Wang, Balle and Kasiviswanathan 2019,
/// much looser than E7: a cross-check.
fn wang_fixed_size(q: f64, mu: f64, order: usize) -> f64 {
    let a = order as f64;
    let curve = |l: f64| 0.5 * l * mu * mu;
    let mut sum = 1.0;
    for l in 2..=order {
        let l = l as f64;
        let bound = if l == 2.0 {
            (4.0 * curve(2.0).exp_m1()).min(2.0 * curve(2.0).exp())
        } else {
            2.0 * ((l - 1.0) * curve(l)).exp()
        };
        sum += (l * q.ln() + ln_binomial(a, l)).exp() * bound;
    }
    sum.ln() / (a - 1.0)
}

#[test]
fn pure_matches_theory_e9() {
    near(pure(0.4375, 2.0), 0.177709960596, 1e-11);
    near(pure(0.4754, 5.0), 0.357982780619, 1e-11);
    near(pure(1.0, 3.0), 0.846726830485, 1e-11);
    assert!(laplace(1.0, 3.0) < pure(1.0, 3.0));
    near(laplace(1.0, 1e7), 1.0, 1e-5);
}

#[test]
fn generic_fixed_size_bound_is_looser_than_e7() {
    near(wang_fixed_size(0.01, 0.5, 2), 1.13604e-4, 1e-5);
    near(wang_fixed_size(0.01, 0.5, 8), 4.88393e-4, 1e-5);
    let swap = Sensitivity::under_only(Adjacency::Replace, 1.0).unwrap();
    let event =
        Event::gaussian(swap, scale(2.0)).fixed_size_sampled(Probability::new(0.01).unwrap());
    assert!(at(&event, Adjacency::Replace, 8.0) < 2e-4);
    assert_eq!(divergences(&event, Adjacency::AddRemove, &[2.0]), None);
}

#[test]
fn masked_rounds_match_theory_3_3() {
    for (c, q, z, a, expected) in [
        (0.3, 0.02, 12.4, 8.0, 3.134408287e-6),
        (0.3, 1.0, 5.0, 4.0, 0.0260777146),
        (0.1, 1.0, 1.0, 10.0, 4.744157212),
    ] {
        let noise = Event::gaussian(sensitivity(1.0), scale(z));
        let event = Event::SdmMask(SdmMask {
            transmit: Probability::new(c).unwrap(),
            event: Box::new(noise.poisson_sampled(Probability::new(q).unwrap())),
        });
        near(at(&event, Adjacency::AddRemove, a), expected, 1e-8);
    }
}

#[test]
fn coupled_rounding_matches_theory_3_2() {
    let noise = |rounding| {
        Event::DiscreteGaussian(DiscreteGaussian {
            sensitivity: sensitivity(0.01),
            sigma: scale(0.5),
            step: scale(0.05),
            dimension: 1000,
            rounding,
        })
    };
    let stochastic = noise(Rounding::Stochastic);
    for (a, expected) in [(2.0, 0.06356081767), (4.0, 0.1303374014), (8.0, 0.2916524224)] {
        near(at(&stochastic, Adjacency::AddRemove, a), expected, 1e-9);
    }
    near(at(&noise(Rounding::Nearest), Adjacency::AddRemove, 8.0), 40.50756, 1e-5);
}

#[test]
fn discrete_gaussian_bound_covers_the_exact_divergence() {
    // Exact Renyi divergence of a shift k on Z, by summation.
    let exact = |k: i64, variance: f64, a: f64| {
        let weight = |x: i64| -((x * x) as f64) / (2.0 * variance);
        let total: f64 = (-200..=200).map(|x| weight(x).exp()).sum();
        let sum: f64 =
            (-200..=200).map(|x| (a * weight(x - k) + (1.0 - a) * weight(x)).exp()).sum();
        (sum / total).ln() / (a - 1.0)
    };
    for (k, variance, a, expected) in [
        (1, 1.0, 2.0, 1.0),
        (1, 1.0, 2.5, 1.2499999929),
        (1, 0.25, 1.5, 2.9424609651),
        (3, 4.0, 3.0, 3.375),
    ] {
        near(exact(k, variance, a), expected, 1e-9);
        let event = Event::DiscreteGaussian(DiscreteGaussian {
            sensitivity: sensitivity(k as f64),
            sigma: scale(f64::sqrt(variance)),
            step: scale(1.0),
            dimension: 1,
            rounding: Rounding::OnLattice,
        });
        assert!(at(&event, Adjacency::AddRemove, a) >= expected - 1e-9);
    }
}

#[test]
fn knorm_objective_matches_theory_6_2() {
    use crate::event::{ObjectiveNoise, ObjectivePerturbation};
    let event = Event::ObjectivePerturbation(ObjectivePerturbation {
        noise: ObjectiveNoise::KNorm(KNorm {
            sensitivity: sensitivity(1750.0 / 8000.0),
            rate: scale(1.0),
            dimension: 105,
        }),
        curvature: scale(0.0135231207),
        sign_definite: true,
    });
    for (a, expected) in [(2.0, 5.05456e-3), (8.0, 0.0195078), (32.0, 0.0558120)] {
        near(at(&event, Adjacency::Replace, a), expected, 2e-3);
    }
}

#[test]
fn saga_split_needs_more_noise_than_its_sampled_part() {
    let saga = |sampling| {
        Event::SagaTable(SagaTable {
            clip: ClipNorm::new(10.0).unwrap(),
            sigma: scale(15.0),
            records: 3125,
            sampling,
        })
    };
    let poisson = saga(SagaSampling::Poisson { expected: scale(1.0) });
    let plain = Event::gaussian(sensitivity(20.0), scale(15.0))
        .poisson_sampled(Probability::new(1.0 / 3125.0).unwrap());
    let (split, part) =
        (at(&poisson, Adjacency::AddRemove, 4.0), at(&plain, Adjacency::AddRemove, 4.0));
    assert!(split > part && split < 3.0 * part, "{split} {part}");
    assert_eq!(divergences(&poisson, Adjacency::Replace, &[2.0]), None);
    assert!(divergences(&saga(SagaSampling::SingleIndex), Adjacency::Replace, &[2.0]).is_some());
}
