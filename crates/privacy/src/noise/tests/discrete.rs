use super::*;
use crate::noise::reference::{Ratio, discrete_gaussian, discrete_laplace};
use crate::noise::{ExactGaussian, SigmaOutOfRange};

const COUNT: usize = 400_000;

/// Cells of equal width over the middle of the distribution; the outer two hold the rest.
struct Cells {
    width: i64,
    reach: i64,
}

impl Cells {
    fn for_sigma(sigma: f64) -> Self {
        Self { width: (sigma / 8.0).ceil() as i64, reach: (6.0 * sigma) as i64 + 2 }
    }

    fn index(&self, x: i64) -> usize {
        let x = x.clamp(-self.reach, self.reach);
        ((x + self.reach) / self.width) as usize
    }

    fn count(&self, samples: &[i64]) -> Vec<u64> {
        let mut cells = vec![0; self.index(self.reach) + 1];
        samples.iter().for_each(|&x| cells[self.index(x)] += 1);
        cells
    }

    /// From the definition, in double precision.
    fn probabilities(&self, weight: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut cells = vec![0.0; self.index(self.reach) + 1];
        for x in -2 * self.reach..=2 * self.reach {
            cells[self.index(x)] += weight(x as f64);
        }
        let total: f64 = cells.iter().sum();
        cells.iter().map(|p| p / total).collect()
    }
}

fn exact(sigma: f64, index: u64) -> Vec<i64> {
    let mut out = vec![0; COUNT];
    ExactGaussian::new(sigma).unwrap().fill(&mut stream(index), &mut out);
    out
}

fn gaussian_weight(sigma: f64) -> impl Fn(f64) -> f64 {
    move |x| libm::exp(-x * x / (2.0 * sigma * sigma))
}

#[test]
fn the_exact_gaussian_is_a_discrete_gaussian() {
    for (i, sigma) in [0.3, 0.5, 1.0, 3.7, 10.0, 20.5, 1000.0, 1e6].into_iter().enumerate() {
        let samples = exact(sigma, i as u64);
        let cells = Cells::for_sigma(sigma);
        let probabilities = cells.probabilities(gaussian_weight(sigma));
        assert_fits(&format!("sigma {sigma}"), &cells.count(&samples), &probabilities);
        if sigma >= 3.0 {
            let scaled: Vec<f64> = samples.iter().map(|&x| x as f64 / sigma).collect();
            assert_moments(&format!("sigma {sigma}"), &scaled, [1.0, 3.0, 105.0]);
        }
    }
}

/// A convolution with too narrow a base would leave a comb: some residues more likely than others.
#[test]
fn a_wide_gaussian_has_no_comb() {
    for (sigma, index) in [(30.0, 20), (1000.0, 21), (1e6, 22), (libm::exp2(40.0), 23)] {
        let samples = exact(sigma, index);
        // Residues are uniform up to exp(-2 pi^2 (sigma / modulus)^2).
        for modulus in (3..=64).filter(|&m| m as f64 <= sigma) {
            let mut residues = vec![0; modulus];
            samples.iter().for_each(|x| residues[x.rem_euclid(modulus as i64) as usize] += 1);
            let uniform = vec![1.0 / modulus as f64; modulus];
            assert_fits(&format!("sigma {sigma} mod {modulus}"), &residues, &uniform);
        }
    }
}

#[test]
fn the_reference_is_a_discrete_gaussian() {
    for (i, (n, d)) in [(9, 100), (1, 1), (1369, 100), (100, 1), (1_000_000, 1)].iter().enumerate()
    {
        let sigma = (f64::from(*n) / f64::from(*d)).sqrt();
        let variance = Ratio::new(*n as u64, *d as u64).unwrap();
        let mut stream = stream(30 + i as u64);
        let samples: Vec<i64> =
            (0..COUNT / 4).map(|_| discrete_gaussian(&mut stream, variance)).collect();
        let cells = Cells::for_sigma(sigma);
        let probabilities = cells.probabilities(gaussian_weight(sigma));
        assert_fits(&format!("sigma {sigma}"), &cells.count(&samples), &probabilities);
    }
}

#[test]
fn the_discrete_laplace_is_one() {
    for (i, (n, d)) in [(1, 2), (7, 3), (50, 1)].into_iter().enumerate() {
        let mut stream = stream(40 + i as u64);
        let ratio = Ratio::new(n, d).unwrap();
        let samples: Vec<i64> =
            (0..COUNT / 4).map(|_| discrete_laplace(&mut stream, ratio)).collect();
        let scale = n as f64 / d as f64;
        let cells = Cells { width: (scale / 4.0).ceil() as i64, reach: (20.0 * scale) as i64 };
        let probabilities = cells.probabilities(|x| libm::exp(-x.abs() / scale));
        assert_fits(&format!("scale {scale}"), &cells.count(&samples), &probabilities);
    }
}

#[test]
fn the_exact_gaussian_and_the_reference_agree() {
    for (index, variance) in [(50, 1), (51, 100), (52, 1_000_000)] {
        let sigma = f64::from(variance).sqrt();
        let ratio = Ratio::new(variance as u64, 1).unwrap();
        let mut stream = stream(index);
        let ours = exact(sigma, index + 10);
        let theirs: Vec<i64> = (0..COUNT).map(|_| discrete_gaussian(&mut stream, ratio)).collect();
        let cells = Cells::for_sigma(sigma);
        let pairs = cells.count(&ours).into_iter().zip(cells.count(&theirs));
        let pairs: Vec<(f64, f64)> =
            pairs.map(|(a, b)| (a as f64, b as f64)).filter(|(a, b)| a + b >= 20.0).collect();
        let statistic: f64 = pairs.iter().map(|(a, b)| (a - b).powi(2) / (a + b)).sum();
        assert!(pairs.len() > 5);
        assert!(statistic < critical(pairs.len() - 1), "sigma {sigma}: {statistic}");
    }
}

#[test]
fn samples_do_not_depend_on_how_a_fill_is_cut() {
    for sigma in [0.5, 10.0, 1000.0, 1e9] {
        let sampler = ExactGaussian::new(sigma).unwrap();
        let mut whole = [0; 600];
        sampler.fill(&mut stream(70), &mut whole);
        for cut in [0, 1, 15, 16, 17, 64, 255, 256, 257, 599] {
            let mut pieces = [0; 600];
            let mut stream = stream(70);
            sampler.fill(&mut stream, &mut pieces[..cut]);
            sampler.fill(&mut stream, &mut pieces[cut..]);
            assert_eq!(pieces, whole, "sigma {sigma} cut at {cut}");
        }
    }
}

#[test]
fn the_distance_is_tiny_over_the_whole_range() {
    for i in -100..=400 {
        let sampler = ExactGaussian::new(libm::exp2(f64::from(i) / 10.0)).unwrap();
        let distance = sampler.total_variation();
        assert!(distance > 0.0 && distance < 2e-33, "{distance:e} at {}", sampler.sigma());
    }
    for sigma in [0.0, -1.0, 1e-4, 2e12, f64::INFINITY, f64::NAN] {
        assert!(matches!(ExactGaussian::new(sigma), Err(SigmaOutOfRange(_))));
    }
}

#[test]
fn a_very_narrow_gaussian_is_zero() {
    let mut out = [7; 100];
    ExactGaussian::new(1.0 / 1024.0).unwrap().fill(&mut stream(71), &mut out);
    assert_eq!(out, [0; 100]);
}

#[test]
fn ratios_are_checked() {
    assert!(Ratio::new(0, 1).is_err() && Ratio::new(1, 0).is_err());
    assert!(Ratio::new(1 << 40, 1 << 40).is_ok() && Ratio::new((1 << 40) + 1, 1).is_err());
}
