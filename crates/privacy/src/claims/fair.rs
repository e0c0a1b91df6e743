//! Paper 000, polynomial objectives: the functional mechanism and fair classification.
//!
//! Records have `||x|| <= 1`, labels and protected attributes in {0, 1}. Released are `a`, the sum
//! of `(1/2 - y) x`; `M`, an eighth of the sum of `x x'`; and, for fairness, `g`, the sum of
//! `(z - mean z) x`. Whatever is minimised afterwards is post-processing.

use super::gaussian::tail_sigma;
use super::{
    Claim, Comparison, Verdict, counterexample, delta, epsilon, guarantee, priced, scale,
    unprotected,
};
use crate::event::{Event, Laplace, Pure};
use crate::units::{Adjacency, Delta, Epsilon, OutOfRange, Scale, Sensitivity};

pub(super) const CLAIMS: [Claim; 6] = [
    Claim {
        algorithm: "fm",
        paper: "000 Lemma 21",
        verdict: Verdict::SoundAndLoose,
        reason: "d^2/4 + d bounds what sqrt(d) + d/4 bounds too",
        shipped: "Laplace noise with the tight L1 sensitivity (pure)",
        counterexample: None,
        example: fm_example,
    },
    Claim {
        algorithm: "rfm",
        paper: "000 Algorithm 7, Lemma 23",
        verdict: Verdict::SoundAndLoose,
        reason: "the tail bound and sqrt(d^2/16 + d) both waste; the joint sensitivity is 1",
        shipped: "Gaussian noise with joint sensitivity 1 (gdp)",
        counterexample: None,
        example: rfm_example,
    },
    Claim {
        algorithm: "pdfc",
        paper: "000 Theorem 18",
        verdict: Verdict::ProofBroken,
        reason: "the moving mean of z is left out and the own term counted too much: they cancel",
        shipped: "release of (a, M, g), the smallest scale charged for all of it (pure)",
        counterexample: None,
        example: pdfc_example,
    },
    Claim {
        algorithm: "adfc",
        paper: "000 Theorem 20",
        verdict: Verdict::Unsound,
        reason: "L2 sensitivity does not split 1 to d-1: one record can load a single group",
        shipped: "release of (a, M, g), mu = sqrt(3)/least sigma (gdp)",
        counterexample: Some("CE-8"),
        example: || counterexample::compare("CE-8", Adjacency::Replace),
    },
    Claim {
        algorithm: "pflr",
        paper: "baseline of 000 (reconstructed)",
        verdict: Verdict::ProofBroken,
        reason: "the shifted mean of the noise is data and must be charged",
        shipped: "Laplace noise charged for the shift too (pure)",
        counterexample: None,
        example: pflr_example,
    },
    Claim {
        algorithm: "lr",
        paper: "baseline of 000",
        verdict: Verdict::NoClaim,
        reason: "logistic regression without noise",
        shipped: "refused: no privacy",
        counterexample: None,
        example: unprotected,
    },
];

/// Whether features may be negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Features {
    /// All features are at least 0.
    Nonnegative,
    /// Any sign.
    Signed,
}

/// Lemma 21's L1 sensitivity: `d^2/4 + d`.
pub fn lemma_21(dimension: u64) -> f64 {
    let d = dimension as f64;
    d * d / 4.0 + d
}

/// Lemma 22's L1 sensitivity: `d^2/4 + 3d`.
pub fn lemma_22(dimension: u64) -> f64 {
    let d = dimension as f64;
    d * d / 4.0 + 3.0 * d
}

/// Lemma 23's L2 sensitivity: `sqrt(d^2/16 + d)`.
pub fn lemma_23(dimension: u64) -> f64 {
    let d = dimension as f64;
    (d * d / 16.0 + d).sqrt()
}

/// ADFC's L2 sensitivity: `sqrt(d^2/16 + 9d)`.
pub fn adfc_claimed_sensitivity(dimension: u64) -> f64 {
    let d = dimension as f64;
    (d * d / 16.0 + 9.0 * d).sqrt()
}

/// ADFC's noise for one group.
pub fn adfc_claimed_sigma(
    epsilon: Epsilon,
    delta: Delta,
    dimension: u64,
) -> Result<Scale, OutOfRange> {
    tail_sigma(epsilon, delta, adfc_claimed_sensitivity(dimension))
}

/// Theorem 18: `eps_s/d + eps_n (d-1)/d`.
pub fn theorem_18_epsilon(
    special: Epsilon,
    others: Epsilon,
    dimension: u64,
) -> Result<Epsilon, OutOfRange> {
    let d = dimension as f64;
    Epsilon::new(special.get() / d + others.get() * (d - 1.0) / d)
}

/// Theorem 20: Theorem 18's epsilon, and `1 - (1 - delta_s)(1 - delta_n)`.
pub fn theorem_20(
    special: (Epsilon, Delta),
    others: (Epsilon, Delta),
    dimension: u64,
) -> Result<(Epsilon, Delta), OutOfRange> {
    let epsilon = theorem_18_epsilon(special.0, others.0, dimension)?;
    let (s, n) = (special.1.get(), others.1.get());
    Ok((epsilon, Delta::new(s + n - s * n)?))
}

/// L1 sensitivity of the monomial coefficients: `sqrt(d)/2 + d/8` for a record's presence, twice
/// that for its replacement. Sums that are released use a smaller one for replacement, which looks
/// at both records together.
pub fn fm_sensitivity(dimension: u64) -> Result<Sensitivity, OutOfRange> {
    let d = dimension as f64;
    let one = d.sqrt() / 2.0 + d / 8.0;
    Sensitivity::both(one, 2.0 * one)
}

/// The scale that gives pure `epsilon` under `adjacency`.
pub fn fm_scale(
    epsilon: Epsilon,
    dimension: u64,
    adjacency: Adjacency,
) -> Result<Scale, OutOfRange> {
    let moved = fm_sensitivity(dimension)?.under(adjacency);
    Scale::new(moved.expect("known under both adjacencies") / epsilon.get())
}

/// The functional mechanism: Laplace noise on every coefficient of degree 1 and 2.
///
/// # Guarantee
///
/// Pure, both adjacencies, for `||x|| <= 1`; noise on monomial coefficients.
///
/// # References
///
/// Theory 4.1; Zhang, Zhang, Xiao, Yang, Winslett 2012; 000 Lemma 21.
pub fn fm_event(dimension: u64, scale: Scale) -> Result<Event, OutOfRange> {
    Ok(Event::Laplace(Laplace { sensitivity: fm_sensitivity(dimension)?, scale }))
}

/// Tight joint L2 sensitivity of (a, M): `sqrt(17)/8`, and 1 for a replacement (a label flip).
pub fn rfm_sensitivity() -> Result<Sensitivity, OutOfRange> {
    Sensitivity::both(17f64.sqrt() / 8.0, 1.0)
}

/// The relaxed functional mechanism: Gaussian noise on `a` and the upper triangle of `M`.
///
/// # Guarantee
///
/// Exactly `1/sigma`-GDP under replace-one and `sqrt(17)/(8 sigma)` under add-remove, `||x|| <= 1`.
///
/// # References
///
/// Theory 4.2, in place of 000 Lemma 23.
pub fn rfm_event(sigma: Scale) -> Result<Event, OutOfRange> {
    Ok(Event::gaussian(rfm_sensitivity()?, sigma))
}

/// L1 sensitivities of (a, g, M) under replace-one with nonnegative features: of everything,
/// `sqrt(d) + sqrt(2d) + d/4`, and of what touches one attribute, `2 + (1 + sqrt(d-1))/4`.
pub fn pdfc_sensitivities(dimension: u64) -> (f64, f64) {
    let d = dimension as f64;
    let all = d.sqrt() + (2.0 * d).sqrt() + d / 4.0;
    (all, 2.0 + (1.0 + (d - 1.0).sqrt()) / 4.0)
}

/// PDFC redesigned: (a, M, g) with one Laplace scale where the special attribute is touched and
/// another elsewhere.
///
/// # Guarantee
///
/// Pure under replace-one, nonnegative features: the lesser of `S/min(b_s, b_n)` and
/// `S_s/b_s + S/b_n`. Laplace noise of a larger scale is Laplace noise of a smaller one plus
/// independent noise, so the first is a Laplace event.
///
/// # References
///
/// Theory 4.3, in place of 000 Theorem 18.
pub fn pdfc_event(dimension: u64, special: Scale, others: Scale) -> Result<Event, OutOfRange> {
    let (all, touching) = pdfc_sensitivities(dimension);
    let least = Scale::new(special.get().min(others.get()))?;
    let split = touching / special.get() + all / others.get();
    if split < all / least.get() {
        let epsilon = Epsilon::new(split)?;
        return Ok(Event::Pure(Pure { epsilon, adjacency: Adjacency::Replace }));
    }
    let sensitivity = Sensitivity::under_only(Adjacency::Replace, all)?;
    Ok(Event::Laplace(Laplace { sensitivity, scale: least }))
}

/// ADFC redesigned: (a, M, g) with Gaussian noise of two sizes.
///
/// # Guarantee
///
/// Replace-one: `sqrt(3)/min(sigma)`-GDP for nonnegative features, `sqrt(5)/min(sigma)` for signed
/// ones. No averaging over groups: a record can put all of itself in either.
///
/// # References
///
/// Theory 4.4 and A11, in place of 000 Theorem 20.
pub fn adfc_event(features: Features, special: Scale, others: Scale) -> Result<Event, OutOfRange> {
    let square: f64 = match features {
        Features::Nonnegative => 3.0,
        Features::Signed => 5.0,
    };
    largest(square.sqrt(), special, others)
}

/// ADFC with the coefficients as printed, `1/2 - y + |z - mean z|`.
///
/// # Guarantee
///
/// Replace-one: `sqrt(9 + 1/32)/min(sigma)`-GDP.
///
/// # References
///
/// Theory 4.4; 000 Algorithm 8.
pub fn adfc_printed_event(special: Scale, others: Scale) -> Result<Event, OutOfRange> {
    largest((9.0f64 + 1.0 / 32.0).sqrt(), special, others)
}

/// L1 sensitivity of `(a + weight g, M)` under replace-one: `sqrt(d)(1 + sqrt(2) |weight|) + d/4`
/// for nonnegative features, `sqrt(d)(1 + 2 |weight|) + d/4` for signed ones.
pub fn pflr_sensitivity(dimension: u64, weight: f64, features: Features) -> f64 {
    let d = dimension as f64;
    let shift = match features {
        Features::Nonnegative => std::f64::consts::SQRT_2,
        Features::Signed => 2.0,
    };
    d.sqrt() * (1.0 + shift * weight.abs()) + d / 4.0
}

/// PFLR: Laplace noise on a fair objective whose shift is charged.
///
/// # Guarantee
///
/// Pure under replace-one; `weight` is a public constant.
///
/// # References
///
/// Theory 4.5; Xu, Yuan, Wu 2019 (reconstructed).
pub fn pflr_event(
    dimension: u64,
    weight: f64,
    features: Features,
    scale: Scale,
) -> Result<Event, OutOfRange> {
    let value = pflr_sensitivity(dimension, weight, features);
    let sensitivity = Sensitivity::under_only(Adjacency::Replace, value)?;
    Ok(Event::Laplace(Laplace { sensitivity, scale }))
}

fn largest(sensitivity: f64, special: Scale, others: Scale) -> Result<Event, OutOfRange> {
    let least = Scale::new(special.get().min(others.get()))?;
    let sensitivity = Sensitivity::under_only(Adjacency::Replace, sensitivity)?;
    Ok(Event::gaussian(sensitivity, least))
}

fn fm_example() -> Comparison {
    let event = fm_event(13, scale(lemma_21(13))).expect("literals in range");
    let instance = "13 features, epsilon 1";
    priced(instance, Some(guarantee(1.0, 0.0)), &event, Adjacency::Replace)
}

fn rfm_example() -> Comparison {
    let event = tail_sigma(epsilon(1.0), delta(1e-5), lemma_23(13)).and_then(rfm_event);
    let instance = "13 features, epsilon 1, delta 1e-5";
    let claimed = Some(guarantee(1.0, 1e-5));
    priced(instance, claimed, &event.expect("literals in range"), Adjacency::Replace)
}

fn pdfc_example() -> Comparison {
    let noise = scale(lemma_22(13));
    let claimed = theorem_18_epsilon(epsilon(1.0), epsilon(1.0), 13).expect("literals in range");
    let event = pdfc_event(13, noise, noise).expect("literals in range");
    let instance = "13 features, epsilon 1 for both groups";
    priced(instance, Some(guarantee(claimed.get(), 0.0)), &event, Adjacency::Replace)
}

fn pflr_example() -> Comparison {
    let event = pflr_event(13, 1.0, Features::Nonnegative, scale(lemma_22(13)));
    let instance = "13 features, epsilon 1, weight 1, scale d^2/4 + 3d";
    let claimed = Some(guarantee(1.0, 0.0));
    priced(instance, claimed, &event.expect("literals in range"), Adjacency::Replace)
}
