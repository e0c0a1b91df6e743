//! Theory section 4.

use super::*;
use crate::claims::fair::*;
use crate::claims::gaussian::tail_sigma;

fn known(sensitivity: Sensitivity, adjacency: Adjacency) -> f64 {
    sensitivity.under(adjacency).expect("known")
}

#[test]
fn theory_4_1_sensitivities_of_the_functional_mechanism() {
    for (d, paper, replace, add_remove) in
        [(13, "55.25", "6.855551275", "3.427775638"), (40, "440.0", "16.324555", "8.162278")]
    {
        digits(lemma_21(d), paper);
        let tight = fm_sensitivity(d).expect("in range");
        digits(known(tight, Adjacency::Replace), replace);
        digits(known(tight, Adjacency::AddRemove), add_remove);
        let event = fm_event(d, scale(lemma_21(d))).expect("in range");
        let epsilon = price(Accountant::Best, &event, Adjacency::Replace, 0.0);
        near(epsilon, known(tight, Adjacency::Replace) / lemma_21(d), 1e-12);
        let half = fm_scale(super::epsilon(0.5), d, Adjacency::AddRemove).expect("in range");
        near(half.get(), 2.0 * known(tight, Adjacency::AddRemove), 1e-12);
    }
}

#[test]
fn theory_4_2_noise_of_the_relaxed_mechanism() {
    let (e, d) = (epsilon(1.0), delta(1e-5));
    digits(tail_sigma(e, d, lemma_23(13)).expect("in range").get(), "23.56307933");
    let tight = rfm_sensitivity().expect("in range");
    digits(known(tight, Adjacency::AddRemove), "0.515388203");
    digits(known(tight, Adjacency::Replace) / allowed(1.0, 1e-5), "3.730631635");
    digits(known(tight, Adjacency::AddRemove) / allowed(1.0, 1e-5), "1.922723535");
}

#[test]
fn theory_4_2_a_label_flip_is_the_worst_replacement() {
    let worst = |c: f64| ((1.0 + c) / 2.0 + (1.0 - c * c) / 32.0).sqrt();
    for k in -100..=100 {
        assert!(worst(f64::from(k) / 100.0) <= 1.0);
    }
    assert_eq!(worst(1.0), 1.0);
    // Presence: half of x and an eighth of its square.
    near(0.5f64.hypot(0.125), 17f64.sqrt() / 8.0, 1e-12);
}

#[test]
fn theory_4_2_the_tail_formula_and_its_true_delta() {
    for (e, sigma, true_delta) in [
        (1.0, "4.854241307", "3.908e-8"),
        (3.0, "1.682788176", "1.053e-7"),
        (10.0, "0.563806732", "2.614e-7"),
    ] {
        let formula = tail_sigma(epsilon(e), delta(1e-5), 1.0).expect("in range");
        digits(formula.get(), sigma);
        digits(gaussian_delta(e, 1.0 / formula.get()), true_delta);
    }
}

#[test]
fn theory_4_3_sensitivities_of_pdfc() {
    let (all, touching) = pdfc_sensitivities(13);
    digits(all, "11.9545708");
    digits(touching, "3.1160254");
    let event = pdfc_event(13, scale(10.0), scale(10.0)).expect("in range");
    near(price(Accountant::Best, &event, Adjacency::Replace, 0.0), all / 10.0, 1e-12);
    // Little noise on the special attribute only: the other bound is the lesser.
    let event = pdfc_event(13, scale(1.0), scale(100.0)).expect("in range");
    let split = touching + all / 100.0;
    near(price(Accountant::Best, &event, Adjacency::Replace, 0.0), split, 1e-12);
}

#[test]
fn theory_4_4_noise_of_adfc() {
    let (e, d) = (epsilon(1.0), delta(1e-5));
    digits(adfc_claimed_sigma(e, d, 13).expect("in range").get(), "54.82553428");
    let tight = scale(3f64.sqrt() / allowed(1.0, 1e-5));
    digits(tight.get(), "6.461643536");
    let event = adfc_event(Features::Nonnegative, tight, scale(100.0)).expect("in range");
    near(price(Accountant::Best, &event, Adjacency::Replace, 1e-5), 1.0, 1e-9);
    let signed = adfc_event(Features::Signed, tight, tight).expect("in range");
    near(size(&signed, Adjacency::Replace), (5.0 / 3.0f64).sqrt() * allowed(1.0, 1e-5), 1e-9);
    let printed = adfc_printed_event(scale(1.0), scale(2.0)).expect("in range");
    digits(size(&printed, Adjacency::Replace), "3.0052038");
}

#[test]
fn theory_4_4_printed_coefficients_stay_within_their_bound() {
    let shift = crate::claims::counterexample::single::one_attribute_shift;
    for n in [2, 10, 1000] {
        near(shift(n), 3.0 - 2.0 / f64::from(n), 1e-9);
        assert!(shift(n) < 3.0052038);
    }
}

#[test]
fn theory_4_5_the_shift_of_pflr_is_charged() {
    let d = 13f64;
    let nonnegative = d.sqrt() * (1.0 + 2f64.sqrt()) + d / 4.0;
    near(pflr_sensitivity(13, 1.0, Features::Nonnegative), nonnegative, 1e-12);
    for dimension in 1..200 {
        let charged = pflr_sensitivity(dimension, 1.0, Features::Signed);
        assert!(charged <= lemma_22(dimension), "{dimension}");
    }
    near(pflr_sensitivity(13, -1.0, Features::Nonnegative), nonnegative, 1e-12);
    let event = pflr_event(13, 1.0, Features::Nonnegative, scale(nonnegative)).expect("in range");
    near(price(Accountant::Best, &event, Adjacency::Replace, 0.0), 1.0, 1e-12);
}
