//! Dominating pairs: two distributions that are at least as easy to tell apart as any two
//! neighbouring data sets, with the exact law of their privacy loss.

use crate::special::{bisect_down, ln_normal_cdf, normal_cdf};

/// A pair (P, Q) with its privacy loss `L = ln dP/dQ`, seen under P.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pair {
    /// N(mu, 1) against N(0, 1).
    Gaussian { mu: f64 },
    /// Laplace noise of scale 1 shifted by `epsilon`. It dominates every split of an L1 shift over
    /// coordinates: testing along a chain of one-coordinate shifts is no harder than testing the
    /// one long shift, because threshold tests of one Laplace family are nested.
    Laplace { epsilon: f64 },
    /// Randomised response, which dominates every pure epsilon-private mechanism.
    Response { epsilon: f64 },
    /// N(0, 1) against (1-q) N(0, 1) + q N(mu, 1): a record was added.
    SampledAdd { q: f64, mu: f64 },
    /// (1-q) N(0, 1) + q N(mu, 1) against N(0, 1): a record was removed.
    SampledRemove { q: f64, mu: f64 },
    /// (1-q) N(0, 1) + q N(mu, 1) against (1-q) N(0, 1) + q N(-mu, 1): a record was replaced.
    ///
    /// That it dominates every replacement follows from theory E6: the path through the data set
    /// without the record, split where the likelihood ratios of both steps meet at one threshold,
    /// costs exactly the divergence of this pair.
    SampledReplace { q: f64, mu: f64 },
}

/// See [`Pair::cut`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    loss: f64,
    absent: Point,
    present: Point,
    opposite: Point,
}

/// Masses of a range of losses under P and Q, with bounds on their rounding errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub p: f64,
    pub q: f64,
    pub p_error: f64,
    pub q_error: f64,
}

impl Cell {
    /// No mass.
    pub const EMPTY: Cell = Cell { p: 0.0, q: 0.0, p_error: 0.0, q_error: 0.0 };

    fn rounded((p, q): (f64, f64)) -> Cell {
        Cell { p, q, p_error: 2e-15, q_error: 2e-15 }
    }

    /// Both ranges together.
    pub fn absorb(&mut self, other: &Cell) {
        self.p += other.p;
        self.q += other.q;
        self.p_error += other.p_error;
        self.q_error += other.q_error;
    }
}

/// A mass and a bound on its error.
#[derive(Clone, Copy)]
struct Mass {
    value: f64,
    error: f64,
}

impl Mass {
    /// The mass of the mixture that is `other` with probability q.
    fn mix(self, other: Mass, q: f64) -> Mass {
        Mass {
            value: (1.0 - q) * self.value + q * other.value,
            error: (1.0 - q) * self.error + q * other.error,
        }
    }
}

/// A point on the line that a standard normal is cut at.
#[derive(Clone, Copy, Debug)]
struct Point(f64);

impl Point {
    /// The smaller of the two tails.
    fn tail(self) -> f64 {
        normal_cdf(-self.0.abs())
    }

    /// Mass from here to `end`, never negative, without cancellation of large numbers.
    fn until(self, end: Point) -> Mass {
        let width = end.0 - self.0;
        let middle = self.0 + 0.5 * width;
        if is_narrow(width, middle) {
            // Density at the middle times the width, with two terms of its Taylor series.
            let (w, m) = (width * width, middle * middle);
            let series = 1.0 + w * (m - 1.0) / 24.0 + w * w * (m * (m - 6.0) + 3.0) / 1920.0;
            let value = ln_density(middle).exp() * width * series;
            return Mass { value, error: 1e-14 * (1.0 + m) * value };
        }
        let (near, far) = (self.tail(), end.tail());
        let value: f64 = match (self.0 > 0.0, end.0 > 0.0) {
            (true, true) => near - far,
            (false, false) => far - near,
            (false, true) => 1.0 - near - far,
            (true, false) => 0.0,
        };
        Mass { value: value.max(0.0), error: 2e-15 * near.max(far) }
    }
}

/// Cells so narrow that the third term of the series is below rounding.
fn is_narrow(width: f64, middle: f64) -> bool {
    width > 0.0 && width * (1.0 + middle.abs()) < 0.04
}

impl Pair {
    /// Both directions of the pair at hand; one where they have the same law.
    pub fn directions(self) -> (Pair, Option<Pair>) {
        match self {
            Pair::SampledRemove { q, mu } => (self, Some(Pair::SampledAdd { q, mu })),
            Pair::SampledAdd { q, mu } => (Pair::SampledRemove { q, mu }, Some(self)),
            symmetric => (symmetric, None),
        }
    }

    /// Whether both distributions are the same.
    pub fn is_free(self) -> bool {
        match self {
            Pair::Gaussian { mu } => mu == 0.0,
            Pair::Laplace { epsilon } | Pair::Response { epsilon } => epsilon == 0.0,
            Pair::SampledAdd { q, mu }
            | Pair::SampledRemove { q, mu }
            | Pair::SampledReplace { q, mu } => q == 0.0 || mu == 0.0,
        }
    }

    /// The place in the outcome space where the loss crosses `loss`.
    pub fn cut(&self, loss: f64) -> Cut {
        let (absent, present) = match *self {
            Pair::Gaussian { mu } => (loss / mu + 0.5 * mu, loss / mu - 0.5 * mu),
            Pair::SampledRemove { q, mu } => {
                let x = sampled_point(loss, q, mu);
                (x, x - mu)
            }
            Pair::SampledAdd { q, mu } => {
                // The loss is minus that of the removal: it falls where the other rises.
                let x = sampled_point(-loss, q, mu);
                (x, x - mu)
            }
            Pair::SampledReplace { q, mu } => {
                let x = replaced_point(loss, q, mu);
                let opposite = Point(x + mu);
                return Cut { loss, absent: Point(x), present: Point(x - mu), opposite };
            }
            Pair::Laplace { .. } | Pair::Response { .. } => (0.0, 0.0),
        };
        let (absent, present) = (Point(absent), Point(present));
        Cut { loss, absent, present, opposite: present }
    }

    /// Masses under P and under Q of the losses above the cut `low` and not above the cut `high`.
    pub fn between(&self, low: &Cut, high: &Cut) -> Cell {
        match *self {
            Pair::Gaussian { .. } => {
                let (p, q) = (low.present.until(high.present), low.absent.until(high.absent));
                Cell { p: p.value, q: q.value, p_error: p.error, q_error: q.error }
            }
            Pair::SampledRemove { q, .. } => {
                let absent = low.absent.until(high.absent);
                let mixed = absent.mix(low.present.until(high.present), q);
                Cell {
                    p: mixed.value,
                    q: absent.value,
                    p_error: mixed.error,
                    q_error: absent.error,
                }
            }
            Pair::SampledAdd { q, .. } => {
                let absent = high.absent.until(low.absent);
                let mixed = absent.mix(high.present.until(low.present), q);
                Cell {
                    p: absent.value,
                    q: mixed.value,
                    p_error: absent.error,
                    q_error: mixed.error,
                }
            }
            Pair::SampledReplace { q, .. } => {
                let absent = low.absent.until(high.absent);
                let present = absent.mix(low.present.until(high.present), q);
                let other = absent.mix(low.opposite.until(high.opposite), q);
                Cell {
                    p: present.value,
                    q: other.value,
                    p_error: present.error,
                    q_error: other.error,
                }
            }
            Pair::Laplace { epsilon } => {
                Cell::rounded(laplace_masses(low.loss, high.loss, epsilon))
            }
            Pair::Response { epsilon } => {
                Cell::rounded(response_masses(low.loss, high.loss, epsilon))
            }
        }
    }

    /// Losses that matter: about `mass` of P lies above the second and below the first.
    pub fn support(&self, mass: f64) -> (f64, f64) {
        let z = || normal_quantile_above(mass);
        match *self {
            Pair::Laplace { epsilon } | Pair::Response { epsilon } => (-epsilon, epsilon),
            Pair::Gaussian { mu } => {
                let (half, far) = (0.5 * mu * mu, z() * mu);
                (half - far, half + far)
            }
            Pair::SampledRemove { q, mu } => ((-q).ln_1p(), sampled_loss(z() + mu, q, mu)),
            Pair::SampledAdd { q, mu } => (-sampled_loss(z(), q, mu), -(-q).ln_1p()),
            Pair::SampledReplace { q, mu } => {
                let far = z();
                (-replaced_loss(far, q, mu), replaced_loss(far + mu, q, mu))
            }
        }
    }

    /// Losses and log masses of a fine quadrature of P without its top `cut`, for choosing a tilt
    /// and a grid. Nothing that is certified depends on it.
    pub fn sketch(&self, cut: f64) -> Vec<(f64, f64)> {
        let (_, high) = self.support(cut);
        let mut points = self.nodes();
        points.retain(|(loss, ln_mass)| *loss <= high && ln_mass.is_finite());
        points
    }

    fn nodes(&self) -> Vec<(f64, f64)> {
        match *self {
            Pair::Laplace { epsilon } | Pair::Response { epsilon } => {
                let n = 400;
                let h = 2.0 * epsilon / f64::from(n);
                (0..=n)
                    .map(|k| {
                        let at = if k == n { epsilon } else { -epsilon + h * f64::from(k) };
                        let low = if k == 0 { f64::NEG_INFINITY } else { at - h };
                        (at, self.between(&self.cut(low), &self.cut(at)).p.ln())
                    })
                    .collect()
            }
            Pair::Gaussian { mu } => quadrature(mu)
                .map(|(x, w)| (mu * x - 0.5 * mu * mu, w + ln_density(x - mu)))
                .collect(),
            Pair::SampledRemove { q, mu } => quadrature(mu)
                .map(|(x, w)| {
                    let loss = sampled_loss(x, q, mu);
                    (loss, w + ln_density(x) + loss)
                })
                .collect(),
            Pair::SampledAdd { q, mu } => {
                quadrature(mu).map(|(x, w)| (-sampled_loss(x, q, mu), w + ln_density(x))).collect()
            }
            Pair::SampledReplace { q, mu } => quadrature(mu)
                .map(|(x, w)| (replaced_loss(x, q, mu), w + ln_density(x) + sampled_loss(x, q, mu)))
                .collect(),
        }
    }
}

/// Loss of the removal pair at the point `x`.
pub(super) fn sampled_loss(x: f64, q: f64, mu: f64) -> f64 {
    let ratio = mu * x - 0.5 * mu * mu;
    if ratio > 30.0 {
        ratio + q.ln() + ((1.0 - q) / q * (-ratio).exp()).ln_1p()
    } else {
        (q * ratio.exp_m1()).ln_1p()
    }
}

/// The point at which the removal pair has the given loss.
fn sampled_point(loss: f64, q: f64, mu: f64) -> f64 {
    let ratio = if loss > 30.0 {
        loss - q.ln() + (-(1.0 - q) * (-loss).exp()).ln_1p()
    } else {
        let excess = loss.exp_m1() / q;
        if excess <= -1.0 {
            return f64::NEG_INFINITY;
        }
        excess.ln_1p()
    };
    ratio / mu + 0.5 * mu
}

/// Loss of the replacement pair at the point `x`.
fn replaced_loss(x: f64, q: f64, mu: f64) -> f64 {
    sampled_loss(x, q, mu) - sampled_loss(-x, q, mu)
}

/// The point at which the replacement pair has the given loss: the positive root of
/// `c y^2 - (1-q)(e^loss - 1) y - c e^loss` with `y = e^(mu x)` and `c = q e^(-mu^2/2)`.
pub(super) fn replaced_point(loss: f64, q: f64, mu: f64) -> f64 {
    if loss < 0.0 {
        return -replaced_point(-loss, q, mu);
    }
    if loss.is_infinite() {
        return loss;
    }
    // Divided by e^loss, so that nothing overflows: y = e^(loss) u.
    let ln_c = q.ln() - 0.5 * mu * mu;
    let b = (1.0 - q) * -(-loss).exp_m1();
    let c = ln_c.exp();
    let root = b + (b * b + 4.0 * c * c * (-loss).exp()).sqrt();
    (loss + (0.5 * root).ln() - ln_c) / mu
}

fn laplace_masses(low: f64, high: f64, epsilon: f64) -> (f64, f64) {
    let above_p = |loss: f64| match loss {
        l if l < -epsilon => 1.0,
        l if l < epsilon => 1.0 - 0.5 * (-0.5 * (epsilon - l)).exp(),
        _ => 0.0,
    };
    let above_q = |loss: f64| match loss {
        l if l < -epsilon => 1.0,
        l if l < epsilon => 0.5 * (-0.5 * (epsilon + l)).exp(),
        _ => 0.0,
    };
    (above_p(low) - above_p(high), above_q(low) - above_q(high))
}

fn response_masses(low: f64, high: f64, epsilon: f64) -> (f64, f64) {
    let truth = 1.0 / (1.0 + (-epsilon).exp());
    let mut masses = (0.0, 0.0);
    for (loss, p, q) in [(epsilon, truth, 1.0 - truth), (-epsilon, 1.0 - truth, truth)] {
        if low < loss && loss <= high {
            masses = (masses.0 + p, masses.1 + q);
        }
    }
    masses
}

/// A point with at most `mass` of a standard normal above it.
fn normal_quantile_above(mass: f64) -> f64 {
    let target = mass.max(1e-300).ln();
    bisect_down(0.0, 40.0, 40, |x| ln_normal_cdf(-x) - target)
}

fn ln_density(x: f64) -> f64 {
    -0.5 * x * x - 0.918_938_533_204_672_8
}

/// Trapezoid nodes that cover N(0, 1), N(mu, 1) and moderately tilted versions of them.
fn quadrature(mu: f64) -> impl Iterator<Item = (f64, f64)> {
    const STEP: f64 = 0.05;
    let near = (-280..=560).map(|k| STEP * f64::from(k));
    let far_start = if mu < 42.0 { 28.0 } else { mu - 14.0 };
    let far_count = ((mu + 28.0 - far_start) / STEP) as i32;
    let far = (1..=far_count).map(move |k| far_start + STEP * f64::from(k));
    near.chain(far).map(|x| (x, STEP.ln()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::ln_gaussian_delta;

    fn masses(pair: Pair, low: f64, high: f64) -> (f64, f64) {
        let cell = pair.between(&pair.cut(low), &pair.cut(high));
        (cell.p, cell.q)
    }

    /// Hockey stick by brute force over fine cells.
    fn delta(pair: Pair, epsilon: f64) -> f64 {
        let h = 1e-4;
        let (_, top) = pair.support(1e-18);
        let n = ((top - epsilon) / h).ceil() as i64;
        (0..n.max(0))
            .map(|k| {
                let (p, q) = masses(pair, epsilon + h * k as f64, epsilon + h * (k + 1) as f64);
                p - epsilon.exp() * q
            })
            .sum()
    }

    #[test]
    fn masses_give_the_closed_profiles_of_theory_e4() {
        let (q, mu) = (0.02, 0.5);
        let remove = delta(Pair::SampledRemove { q, mu }, 0.01);
        let add = delta(Pair::SampledAdd { q, mu }, 0.01);
        assert!((remove - 1.41040373252e-3).abs() < 1e-12, "{remove}");
        assert!((add - 2.70505192283e-4).abs() < 1e-12, "{add}");
        assert!(
            (delta(Pair::SampledRemove { q: 0.01, mu: 1.0 }, 0.1) - 7.29003769576e-5).abs() < 1e-13
        );
        assert_eq!(delta(Pair::SampledAdd { q: 0.01, mu: 1.0 }, 0.1), 0.0);
    }

    #[test]
    fn gaussian_and_laplace_masses_match_their_profiles() {
        let d = delta(Pair::Gaussian { mu: 1.0 }, 1.0);
        assert!((d - ln_gaussian_delta(1.0, 1.0).exp()).abs() < 1e-12);
        let d = delta(Pair::Laplace { epsilon: 1.0 }, 0.4);
        assert!((d - (1.0 - (-0.3_f64).exp())).abs() < 1e-12, "{d}");
        let d = delta(Pair::Response { epsilon: 1.0 }, 0.4);
        let e = std::f64::consts::E;
        assert!((d - (e - 0.4_f64.exp()) / (1.0 + e)).abs() < 1e-12, "{d}");
    }

    #[test]
    fn replacement_pair_is_the_exact_one_of_theory_e6() {
        let d = delta(Pair::SampledReplace { q: 0.02, mu: 0.5 }, 0.01);
        assert!((d - 3.76706379e-3).abs() < 1e-11, "{d}");
        for loss in [-0.3, 0.0, 0.004, 2.0, 50.0] {
            let x = replaced_point(loss, 0.02, 0.5);
            assert!((replaced_loss(x, 0.02, 0.5) - loss).abs() < 1e-9, "{loss}");
        }
    }

    #[test]
    fn all_mass_is_found_once() {
        for pair in [
            Pair::Gaussian { mu: 0.3 },
            Pair::Laplace { epsilon: 0.7 },
            Pair::Response { epsilon: 0.7 },
            Pair::SampledAdd { q: 0.1, mu: 2.0 },
            Pair::SampledRemove { q: 0.1, mu: 2.0 },
            Pair::SampledReplace { q: 0.1, mu: 2.0 },
        ] {
            let (p, q) = masses(pair, f64::NEG_INFINITY, f64::INFINITY);
            assert!((p - 1.0).abs() < 1e-12 && (q - 1.0).abs() < 1e-12, "{pair:?}: {p} {q}");
            let above = masses(pair, 0.05, f64::INFINITY).0;
            let split = masses(pair, f64::NEG_INFINITY, 0.05).0 + above;
            assert!((split - 1.0).abs() < 1e-12, "{pair:?}: {split}");
        }
    }
}
