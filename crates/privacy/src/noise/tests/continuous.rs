use undertone_real::Real;

use super::*;
use crate::noise::{add_gaussian, add_laplace, fill_gaussian, fill_knorm, fill_laplace};

const COUNT: usize = 1_000_000;

/// Counts in 100 cells of equal probability, and in 50 cells for each tail below it.
fn assert_continuous(name: &str, samples: &[f64], cdf: impl Fn(f64) -> f64) {
    let mut middle = vec![0; 100];
    // Cell k of a tail: between 2^-(k+1) and 2^-k of the probability.
    let mut tails = [vec![0; 50], vec![0; 50]];
    for &x in samples {
        let (below, above) = (cdf(x), cdf(-x));
        middle[((below * 100.0) as usize).min(99)] += 1;
        let (tail, side) = if x < 0.0 { (below, 0) } else { (above, 1) };
        tails[side][((-tail.log2()) as usize - 1).min(49)] += 1;
    }
    assert_fits(name, &middle, &[0.01; 100]);
    let mut halves: Vec<f64> = (1..=50).map(|k| 0.5_f64.powi(k)).collect();
    halves[49] *= 2.0;
    for tail in tails {
        let side: u64 = tail.iter().sum();
        assert!(
            (side as f64 - samples.len() as f64 / 2.0).abs() < 2.5 * (samples.len() as f64).sqrt()
        );
        assert_fits(name, &tail, &halves);
    }
}

fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

fn laplace_cdf(x: f64) -> f64 {
    if x < 0.0 { 0.5 * libm::exp(x) } else { 1.0 - 0.5 * libm::exp(-x) }
}

fn singles(fill: impl Fn(&mut [f32])) -> Vec<f64> {
    let mut out = vec![0.0_f32; COUNT];
    fill(&mut out);
    out.into_iter().map(f64::from).collect()
}

fn doubles(fill: impl Fn(&mut [f64])) -> Vec<f64> {
    let mut out = vec![0.0; COUNT];
    fill(&mut out);
    out
}

#[test]
fn the_fast_gaussian_is_gaussian() {
    // With the number of cosines before as many sines: each must be Gaussian by itself, and the
    // two of a pair must not know each other, not even by their size.
    for (name, samples, half) in [
        ("f32", singles(|out| fill_gaussian(&key(), id(1), 1.0, out)), 64),
        ("f64", doubles(|out| fill_gaussian(&key(), id(2), 1.0, out)), 32),
    ] {
        let pairs = samples.chunks_exact(2 * half).map(|group| group.split_at(half));
        let (x, y): (Vec<f64>, Vec<f64>) =
            pairs.flat_map(|(x, y)| x.iter().copied().zip(y.iter().copied())).unzip();
        for part in [&samples, &x, &y] {
            assert_continuous(name, part, normal_cdf);
            assert_moments(name, part, [1.0, 3.0, 105.0]);
        }
        assert_uncorrelated(name, &x, &y);
        for lag in [1, 2, 7, 8, 16] {
            assert_uncorrelated(name, &samples, &samples[lag..]);
        }
    }
}

/// Neither the values nor their squares, for standard normals.
fn assert_uncorrelated(name: &str, x: &[f64], y: &[f64]) {
    let count = x.len().min(y.len()) as f64;
    let values: f64 = x.iter().zip(y).map(|(x, y)| x * y).sum();
    assert!((values / count.sqrt()).abs() < 4.9, "{name}: correlated values");
    let squares: f64 = x.iter().zip(y).map(|(x, y)| (x * x - 1.0) * (y * y - 1.0)).sum();
    assert!((squares / (2.0 * count.sqrt())).abs() < 4.9, "{name}: correlated squares");
}

#[test]
fn the_fast_laplace_is_laplace() {
    let moments = [2.0, 24.0, 40_320.0];
    for (name, samples) in [
        ("f32", singles(|out| fill_laplace(&key(), id(3), 1.0, out))),
        ("f64", doubles(|out| fill_laplace(&key(), id(4), 1.0, out))),
    ] {
        assert_continuous(name, &samples, laplace_cdf);
        assert_moments(name, &samples, moments);
    }
}

#[test]
fn an_element_depends_on_its_place_only() {
    let mut whole = [0.0_f32; 700];
    fill_gaussian(&key(), id(5), 3.0, &mut whole);
    let mut whole_double = [0.0_f64; 700];
    fill_gaussian(&key(), id(5), 3.0, &mut whole_double);
    for length in 0..700 {
        let mut part = vec![0.0_f32; length];
        fill_gaussian(&key(), id(5), 3.0, &mut part);
        assert_eq!(part, whole[..length]);
        let mut part = vec![0.0_f64; length];
        fill_gaussian(&key(), id(5), 3.0, &mut part);
        assert_eq!(part, whole_double[..length]);
    }
    let mut other = [0.0_f32; 700];
    fill_gaussian(&key(), id(6), 3.0, &mut other);
    assert!(whole.iter().zip(&other).all(|(a, b)| a != b));
}

#[test]
fn adding_is_filling_and_then_adding() {
    let start: Vec<f32> = (0..333).map(|i| i as f32 * 0.1).collect();
    let (mut noise, mut sum) = (vec![0.0; 333], start.clone());
    fill_gaussian(&key(), id(7), 0.5, &mut noise);
    add_gaussian(&key(), id(7), 0.5, &mut sum);
    let expected: Vec<f32> = start.iter().zip(&noise).map(|(x, n)| x + n).collect();
    assert_eq!(sum, expected);
    let mut sum = start.clone();
    fill_laplace(&key(), id(7), 0.5, &mut noise);
    add_laplace(&key(), id(7), 0.5, &mut sum);
    let expected: Vec<f32> = start.iter().zip(&noise).map(|(x, n)| x + n).collect();
    assert_eq!(sum, expected);
}

/// Golden: made on a machine with AVX2; every other must agree in every bit.
#[test]
fn the_bits_are_the_same_on_every_machine() {
    fn hash<R: Real>(bytes: impl Fn(R) -> Vec<u8>) -> String {
        let mut hasher = blake3::Hasher::new();
        for fill in [fill_gaussian::<R>, fill_laplace] {
            let mut out = [R::ZERO; 1000];
            fill(&key(), id(8), 1.5, &mut out);
            out.into_iter().for_each(|x| {
                hasher.update(&bytes(x));
            });
        }
        hasher.finalize().to_hex()[..32].to_owned()
    }
    assert_eq!(hash::<f32>(|x| x.to_le_bytes().to_vec()), "8ed44530e0c3b4aaeb682a1c3fbd25b2");
    assert_eq!(hash::<f64>(|x| x.to_le_bytes().to_vec()), "aedf56b01cbf35e344f46bd78a52c535");
}

#[test]
fn knorm_noise_in_one_dimension_is_laplace() {
    let samples: Vec<f64> = (0..100_000)
        .map(|i| {
            let mut out = [0.0];
            fill_knorm(&key(), id(1000 + i), 2.0, &mut out);
            2.0 * out[0]
        })
        .collect();
    assert_continuous("d=1", &samples, laplace_cdf);
}

#[test]
fn knorm_noise_has_a_gamma_radius_and_a_uniform_direction() {
    let rate = 0.7;
    let (mut radii, mut angles) = (vec![0; 50], vec![0; 60]);
    for i in 0..100_000 {
        let mut out = [0.0; 2];
        fill_knorm(&key(), id(i), rate, &mut out);
        let r = rate * libm::hypot(out[0], out[1]);
        // Gamma(2): P(R <= r) = 1 - exp(-r) (1 + r).
        let below = 1.0 - libm::exp(-r) * (1.0 + r);
        radii[((below * 50.0) as usize).min(49)] += 1;
        let turn = libm::atan2(out[1], out[0]) / (2.0 * std::f64::consts::PI) + 0.5;
        angles[((turn * 60.0) as usize).min(59)] += 1;
    }
    assert_fits("radius", &radii, &[0.02; 50]);
    assert_fits("angle", &angles, &[1.0 / 60.0; 60]);
}

#[test]
fn knorm_noise_in_high_dimension_has_the_right_moments() {
    let (d, rate, count) = (105, 0.4375, 20_000);
    let (mut radii, mut first) = (Vec::new(), Vec::new());
    for i in 0..count {
        let mut out = vec![0.0; d];
        fill_knorm(&key(), id(i), rate, &mut out);
        let norm = out.iter().map(|x| x * x).sum::<f64>().sqrt();
        radii.push(rate * norm);
        first.push(out[0] / norm * (d as f64).sqrt());
    }
    let d = d as f64;
    let mean = radii.iter().sum::<f64>() / count as f64;
    assert!((mean - d).abs() < 4.9 * (d / count as f64).sqrt(), "mean radius {mean}");
    let centred: Vec<f64> = radii.iter().map(|r| (r - d).powi(2)).collect();
    let variance = centred.iter().sum::<f64>() / count as f64;
    // The fourth central moment of Gamma(d) is 3 d^2 + 6 d.
    let error = 4.9 * ((2.0 * d * d + 6.0 * d) / count as f64).sqrt();
    assert!((variance - d).abs() < error, "variance of the radius {variance}");
    // E t^(2k) = 1 3 ... (2k - 1) / (d (d + 2) ... (d + 2k - 2)) for a coordinate t.
    let fourth = 3.0 * d / (d + 2.0);
    let eighth = fourth * 35.0 * d * d / ((d + 4.0) * (d + 6.0));
    assert_moments("direction", &first, [1.0, fourth, eighth]);
}

#[test]
fn uniforms_and_coins_have_their_probabilities() {
    let mut stream = stream(9);
    let (mut cells, mut heads) = (vec![0; 100], 0);
    for _ in 0..200_000 {
        let u = stream.uniform();
        assert!(u > 0.0 && u < 1.0);
        cells[(u * 100.0) as usize] += 1;
        heads += u64::from(stream.bernoulli(0.3));
        assert!(!stream.bernoulli(0.0) && stream.bernoulli(1.0));
    }
    assert_fits("uniform", &cells, &[0.01; 100]);
    let error = 4.9 * (200_000.0 * 0.3 * 0.7_f64).sqrt();
    assert!((heads as f64 - 60_000.0).abs() < error, "{heads} heads");
}
