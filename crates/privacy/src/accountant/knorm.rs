//! The privacy loss of K-norm noise (density proportional to `exp(-rate * norm)` in R^d), by
//! quadrature over the radius and the angle to the shift (theory E10, B4).

use libm::lgamma;

/// The law of the loss, as sorted points with suffix sums.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KNormLoss {
    /// Rate times sensitivity: the pure epsilon.
    w: f64,
    /// Losses in increasing order.
    losses: Vec<f64>,
    masses: Vec<f64>,
    /// Mass at and above each point, under P and under Q.
    above: Vec<(f64, f64)>,
}

/// Relative allowance for quadrature and rounding.
const ALLOWANCE: f64 = 1e-9;
const RADII: usize = 240;
const ANGLES: usize = 480;

impl KNormLoss {
    /// Noise in `dimension >= 2` coordinates with rate times sensitivity `w`. (In one dimension it
    /// is Laplace noise, which has a closed form.)
    pub fn new(w: f64, dimension: u64) -> Self {
        let mut points = ball(w, dimension as f64);
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let total: f64 = points.iter().map(|p| p.1).sum();
        let losses: Vec<f64> = points.iter().map(|p| p.0).collect();
        let masses: Vec<f64> = points.iter().map(|p| p.1 / total).collect();
        let mut above = vec![(0.0, 0.0); points.len()];
        let mut sum = (0.0, 0.0);
        for k in (0..points.len()).rev() {
            sum = (sum.0 + masses[k], sum.1 + masses[k] * (-losses[k]).exp());
            above[k] = sum;
        }
        Self { w, losses, masses, above }
    }

    /// Log of an upper bound on the profile at `epsilon >= 0`.
    pub fn ln_delta(&self, epsilon: f64) -> f64 {
        if epsilon >= self.w {
            return f64::NEG_INFINITY;
        }
        let at = self.losses.partition_point(|loss| *loss <= epsilon);
        let Some((p, q)) = self.above.get(at) else {
            return f64::NEG_INFINITY;
        };
        let delta = p - epsilon.exp() * q;
        if delta > 0.0 { delta.ln() + ALLOWANCE } else { f64::NEG_INFINITY }
    }

    /// Renyi divergence of the given order.
    pub fn renyi(&self, order: f64) -> f64 {
        let tilt = order - 1.0;
        let top = tilt * self.w;
        let sum: f64 = self
            .losses
            .iter()
            .zip(&self.masses)
            .map(|(loss, mass)| mass * (tilt * loss - top).exp())
            .sum();
        ((top + sum.ln()) / tilt * (1.0 + ALLOWANCE)).min(self.w)
    }
}

fn ball(w: f64, d: f64) -> Vec<(f64, f64)> {
    let reach = (12.0 / (d - 1.0).sqrt()).min(std::f64::consts::FRAC_PI_2);
    let step = 2.0 * reach / ANGLES as f64;
    let angles: Vec<(f64, f64)> = (0..ANGLES)
        .map(|k| -reach + (k as f64 + 0.5) * step)
        .map(|phi| (phi.sin(), (d - 2.0) * phi.cos().ln()))
        .collect();
    let mut points = Vec::with_capacity(RADII * ANGLES);
    for (radius, ln_weight) in radii(d) {
        for (cosine, ln_angle) in &angles {
            let root = (radius * radius + 2.0 * radius * w * cosine + w * w).max(0.0).sqrt();
            let loss = (2.0 * radius * w * cosine + w * w) / (root + radius);
            points.push((loss, (ln_weight + ln_angle).exp()));
        }
    }
    points
}

/// Nodes and log weights for Gamma(d, 1), by the trapezoid rule in the log of the radius, which
/// converges geometrically there.
fn radii(d: f64) -> impl Iterator<Item = (f64, f64)> {
    let spread = 12.0 / d.sqrt();
    let (low, high) = (d.ln() - spread.max(0.2) * (1.0 + 2.0 / d), d.ln() + spread.min(4.2));
    let step = (high - low) / RADII as f64;
    (0..=RADII).map(move |k| {
        let ln_r = low + k as f64 * step;
        (ln_r.exp(), d * ln_r - ln_r.exp() - lgamma(d))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renyi_matches_theory_e10() {
        for (w, order, expected) in [
            (0.4375, 2.0, 1.822877698e-3),
            (0.4375, 8.0, 7.288161096e-3),
            (0.4375, 32.0, 2.892537168e-2),
            (0.21875, 8.0, 1.822697363e-3),
        ] {
            let r = KNormLoss::new(w, 105).renyi(order);
            assert!((r / expected - 1.0).abs() < 2e-8, "{r} is not {expected}");
        }
    }

    #[test]
    fn few_and_many_dimensions_keep_the_pure_bound() {
        for d in [2, 3, 10, 1_000_000] {
            let loss = KNormLoss::new(1.5, d);
            assert!(loss.losses.iter().all(|l| l.abs() <= 1.5 + 1e-12));
            assert!(loss.renyi(200.0) <= 1.5);
            let gaussian = 1.5_f64.powi(2) / (d as f64 + 1.0);
            assert!(loss.renyi(2.0) < 1.5 * gaussian + 0.1, "{d}: {}", loss.renyi(2.0));
        }
        let at_zero = KNormLoss::new(0.21875, 105).ln_delta(0.0).exp();
        assert!((at_zero - 0.00853644).abs() < 1e-6, "{at_zero}");
    }
}
