//! Wide discrete Gaussians from narrow ones: x1 + k x2.

/// How far one convolution is from the ideal, in total variation.
///
/// Let x1 and x2 be discrete Gaussians of parameter s, and t^2 = s^2 / (1 + k^2). Completing the
/// square, P(x1 + k x2 = z) is proportional to exp(-z^2 / (2 s^2 (1 + k^2))) times the sum of
/// exp(-(y - c)^2 / (2 t^2)) over the integers y, for a c that depends on z. By Poisson's
/// summation formula the sum is t sqrt(2 pi) (1 + e(z)) with
/// |e| <= E = 2 sum_m exp(-2 pi^2 t^2 m^2). So the distance from the discrete Gaussian of
/// parameter s sqrt(1 + k^2) is at most E / (1 - E); with t >= 2, as [`Plan`] chooses, this is
/// 2 exp(-8 pi^2) = 1.03e-34 (rounded up to cover the rounding of s in the choice of k).
///
/// It is the convolution theorem of Peikert 2010 and Micciancio-Walter 2017 in one dimension, with
/// its constant.
pub(super) const TOTAL_VARIATION: f64 = 1.1e-34;

/// Widest sigma that is read from a table directly; beyond, two scans of a narrower table are
/// cheaper than one of a wide one.
const WIDEST: f64 = 20.0;

/// Which narrow Gaussians add up to the wide one.
#[derive(Debug)]
pub(super) struct Plan {
    weights: Vec<i64>,
    variance_ratio: u128,
}

impl Plan {
    /// Splits until the table's sigma is at most [`WIDEST`], each time with the largest k that
    /// keeps t = sigma / (1 + k^2) at 2 or more.
    pub(super) fn new(sigma: f64) -> Self {
        let mut plan = Self { weights: vec![1], variance_ratio: 1 };
        let mut remaining = sigma;
        while remaining > WIDEST {
            let k = (remaining / 2.0 - 1.0).sqrt().floor();
            remaining /= (1.0 + k * k).sqrt();
            let scaled: Vec<i64> = plan.weights.iter().map(|w| w * k as i64).collect();
            plan.weights.extend(scaled);
            plan.variance_ratio *= 1 + (k as u128).pow(2);
        }
        plan
    }

    /// The sample is the sum of independent draws from the table with these weights.
    pub(super) fn weights(&self) -> &[i64] {
        &self.weights
    }

    /// The sample's sigma^2 over the table's, the sum of the squares of the weights.
    pub(super) fn variance_ratio(&self) -> u128 {
        self.variance_ratio
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_convolution_is_smooth_and_the_variances_add_up() {
        for i in -100..=400 {
            let sigma = libm::exp2(f64::from(i) / 10.0);
            let plan = Plan::new(sigma);
            let squares = plan.weights.iter().map(|w| (*w as u128).pow(2)).sum::<u128>();
            assert_eq!(squares, plan.variance_ratio());
            assert!(plan.weights.len() <= 32, "{} draws at sigma {sigma}", plan.weights.len());
            let mut width = sigma / (plan.variance_ratio() as f64).sqrt();
            assert!(width <= WIDEST);
            // The levels from the inside out: weight 2^i is the k of level levels - i.
            for level in (0..plan.weights.len().ilog2()).rev() {
                let k = plan.weights[1 << level] as f64;
                let t = width / (1.0 + k * k).sqrt();
                assert!(t >= 2.0 - 1e-12, "t = {t} at sigma {sigma}");
                width *= (1.0 + k * k).sqrt();
            }
            assert!((width / sigma - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn the_bound_covers_the_smoothing_error() {
        let e = |t: f64| 2.0 * libm::exp(-2.0 * (std::f64::consts::PI * t).powi(2));
        assert!(e(2.0 - 1e-12) * (1.0 + 1e-9) < TOTAL_VARIATION);
    }

    /// The formula, where the distance is large enough to be seen in double precision.
    #[test]
    fn the_distance_of_a_narrow_convolution_is_within_the_formula() {
        let gaussian = |s: f64| {
            let weights = (-60..=60).map(|x| libm::exp(-f64::from(x * x) / (2.0 * s * s)));
            let weights: Vec<f64> = weights.collect();
            let total: f64 = weights.iter().sum();
            weights.into_iter().map(|w| w / total).collect::<Vec<f64>>()
        };
        for (s, k) in [(1.5, 2_usize), (1.0, 1), (2.0, 3)] {
            let narrow = gaussian(s);
            let wide = gaussian(s * (1.0 + (k * k) as f64).sqrt());
            let mut sum = vec![0.0; 121];
            for (i, p) in narrow.iter().enumerate() {
                for (j, q) in narrow.iter().enumerate() {
                    if let Some(z) = (i + k * j).checked_sub(60 * k).filter(|&z| z < 121) {
                        sum[z] += p * q;
                    }
                }
            }
            let distance = 0.5 * sum.iter().zip(&wide).map(|(p, q)| (p - q).abs()).sum::<f64>();
            let t = s / (1.0 + (k * k) as f64).sqrt();
            let e = 2.0 * libm::exp(-2.0 * (std::f64::consts::PI * t).powi(2));
            assert!(distance <= e / (1.0 - e), "{distance:e} exceeds {e:e} at s = {s}, k = {k}");
            assert!(distance > e / 10.0, "{distance:e} says nothing about {e:e}");
        }
    }
}
