//! A privacy loss on a grid: the pessimistic and the optimistic discretisation of a pair.
//!
//! Both keep every divergence on the right side by a convexity argument. Seen as a function of
//! `e^epsilon` the hockey-stick divergence H of a pair is convex, and a distribution on the grid
//! is the same thing as a convex function that is linear between grid points:
//!
//! - above H: join the values of H at the grid points ("connect the dots", Doroshenko et al. 2022);
//! - below H: take the tangents of H at the middle of every cell, join the lower of their crossings
//!   with the grid points, then the greatest convex function under that.
//!
//! Both errors are of second order in the step.

use super::super::pair::{Cell, Pair};

/// Masses of a privacy loss at the points `(first + k) * step`, as seen under P.
#[derive(Clone, Debug)]
pub(super) struct Pmf {
    pub step: f64,
    pub first: i64,
    pub masses: Vec<f64>,
    /// Mass at infinite loss (pessimistic), or that must be taken off delta (optimistic).
    pub doubt: f64,
    /// Optimistic only: tilted mass that may be in wrong places.
    pub folded: f64,
}

/// Losses beyond this are rounded to the grid instead of split: their exponentials overflow.
const LARGE: f64 = 600.0;
const LARGE_ODDS: f64 = 1e260;

impl Pmf {
    /// A distribution that dominates `pair`; about `cut` of the mass becomes infinite loss.
    pub fn above(pair: &Pair, step: f64, cut: f64) -> Pmf {
        let (first, last) = grid(pair, step, cut);
        let mut masses = vec![0.0; (last - first + 1) as usize];
        let spread = -(-step).exp_m1();
        let mut left = pair.cut(f64::NEG_INFINITY);
        for (k, point) in (first..=last).enumerate() {
            let right = pair.cut(point as f64 * step);
            let Cell { p, q, p_error, q_error } = pair.between(&left, &right);
            let start = (point - 1) as f64 * step;
            if k == 0 || start.abs() > LARGE {
                masses[k] += p;
            } else if p > 0.0 {
                // Split p over both ends of the cell so that the mass under Q is kept too.
                let odds = start.exp();
                let up = (p - odds * q + p_error + odds * q_error) / spread;
                let up = up.clamp(0.0, p);
                masses[k] += up;
                masses[k - 1] += p - up;
            }
            left = right;
        }
        let doubt = pair.between(&left, &pair.cut(f64::INFINITY)).p;
        Pmf { step, first, masses, doubt, folded: 0.0 }
    }

    /// A distribution that `pair` dominates.
    pub fn below(pair: &Pair, step: f64, cut: f64) -> Pmf {
        let (first, last) = grid(pair, step, cut);
        let mut left = pair.cut(f64::NEG_INFINITY);
        let cells = (first..=last)
            .map(|point| {
                let middle = (point as f64 + 0.5) * step;
                let right = pair.cut(if point == last { f64::INFINITY } else { middle });
                let cell = pair.between(&left, &right);
                left = right;
                cell
            })
            .collect();
        Pmf::below_cells(cells, first, step)
    }

    /// The optimistic distribution from the masses around every grid point: cell k reaches from
    /// the middle before point `first + k` to the middle after it, the outer cells to infinity.
    pub fn below_cells(mut cells: Vec<Cell>, first: i64, step: f64) -> Pmf {
        let odds = |k: usize| ((first + k as i64) as f64 * step).exp();
        // The last point must not lie above the mean loss of its cell, or mass would be invented.
        let too_far = |cells: &[Cell]| {
            let end = cells.len() - 1;
            end > 1 && cells[end].p <= odds(end) * cells[end].q
        };
        while too_far(&cells) {
            let last = cells.pop().expect("there are more than two");
            let end = cells.len() - 1;
            cells[end].absorb(&last);
        }
        let count = cells.len();
        let (grow, spread) = (step.exp_m1(), -(-step).exp_m1());
        let mut masses = vec![0.0; count];
        // Offsets of the joined points from the tangents on their left and on their right.
        let (mut before, mut after) = (vec![0.0; count], vec![0.0; count]);
        for (k, cell) in cells.iter().enumerate() {
            let odds = odds(k);
            if !(1.0 / LARGE_ODDS..LARGE_ODDS).contains(&odds) {
                // Drop what would have to be rounded down: less mass is less loss.
                continue;
            }
            let excess = cell.p - odds * cell.q;
            let slip = if k + 1 == count { 0.0 } else { cell.p_error + odds * cell.q_error };
            before[k] = f64::min(-excess, 0.0) - slip;
            after[k] = f64::min(excess, 0.0) - slip;
            masses[k] = cell.p - excess;
        }
        for k in 0..count {
            let toward = if k + 1 == count { 0.0 } else { (before[k + 1] - after[k]) / grow };
            let from = if k == 0 { before[0] } else { (before[k] - after[k - 1]) / spread };
            masses[k] += toward - from;
        }
        // Beyond the last point the joined function stays at its (possibly negative) last value.
        let doubt = convexify(&mut masses, step) - after[count - 1];
        Pmf { step, first, masses, doubt, folded: 0.0 }
    }

    /// A loss of zero: dominated by everything.
    pub fn nothing(step: f64) -> Pmf {
        Pmf { step, first: 0, masses: vec![1.0], doubt: 0.0, folded: 0.0 }
    }

    /// A distribution that dominates every mechanism whose profile, in both directions, is at
    /// most `exp(ln_delta(epsilon))`.
    pub fn above_profile(ln_delta: impl Fn(f64) -> f64, step: f64, reach: f64) -> Pmf {
        let last = ((reach / step).ceil() as i64).max(1);
        let inflated = |epsilon: f64| ((ln_delta(epsilon) + 1e-11).exp()).min(1.0);
        let right: Vec<f64> = (0..=last).map(|k| inflated(k as f64 * step)).collect();
        // Left of zero by symmetry: H(P, Q) at 1/t is 1 - 1/t + H(Q, P)/t at t.
        let value = |k: i64| match k {
            k if k >= 0 => right[k as usize],
            k => {
                let shrink = (k as f64 * step).exp();
                1.0 - shrink + shrink * right[k.unsigned_abs() as usize]
            }
        };
        let (grow, spread) = (step.exp_m1(), -(-step).exp_m1());
        let mut masses: Vec<f64> = (-last..=last)
            .map(|k| {
                let rise = if k == last { 0.0 } else { (value(k + 1) - value(k)) / grow };
                let fall =
                    if k == -last { value(k) - 1.0 } else { (value(k) - value(k - 1)) / spread };
                rise - fall
            })
            .collect();
        let lost = convexify(&mut masses, step);
        Pmf { step, first: -last, masses, doubt: right[last as usize] + lost, folded: 0.0 }
    }

    /// The same loss seen through several visible branches with the given weights.
    pub fn mixture(branches: Vec<(f64, Pmf)>) -> Pmf {
        let step = branches[0].1.step;
        let first = branches.iter().map(|(_, pmf)| pmf.first).min().expect("a branch");
        let end = |pmf: &Pmf| pmf.first + pmf.masses.len() as i64;
        let last = branches.iter().map(|(_, pmf)| end(pmf)).max().expect("a branch");
        let mut masses = vec![0.0; (last - first) as usize];
        let mut doubt = 0.0;
        for (weight, pmf) in &branches {
            doubt += weight * pmf.doubt;
            let shift = (pmf.first - first) as usize;
            for (k, mass) in pmf.masses.iter().enumerate() {
                masses[shift + k] += weight * mass;
            }
        }
        Pmf { step, first, masses, doubt, folded: 0.0 }
    }

    /// Log of the moment generating function of the finite part.
    pub fn ln_mgf(&self, tilt: f64) -> f64 {
        // Every block by itself, so that neither end of a long grid makes the other underflow.
        let (mut top, mut sum) = (f64::NEG_INFINITY, 0.0);
        self.blocks(tilt, |ln_weight, growth, masses| {
            let mut weight = 1.0;
            let mut block = 0.0;
            for mass in masses {
                block += mass * weight;
                weight *= growth;
            }
            if block > 0.0 {
                let ln = ln_weight + block.ln();
                if ln > top {
                    sum = sum * (top - ln).exp() + 1.0;
                    top = ln;
                } else {
                    sum += (ln - top).exp();
                }
            }
        });
        top + sum.ln()
    }

    /// Calls back with every mass times `exp(tilt * loss + ln_scale)`, in order.
    pub fn tilted(&self, tilt: f64, ln_scale: f64, mut each: impl FnMut(f64)) {
        self.blocks(tilt, |ln_weight, growth, masses| {
            let mut weight = (ln_weight + ln_scale).exp();
            for mass in masses {
                each(mass * weight);
                weight *= growth;
            }
        });
    }

    /// Calls back with stretches of masses, the log weight of their first and the growth to the
    /// next: one exponential a stretch, products inside. They lose less than is allowed for.
    fn blocks(&self, tilt: f64, mut each: impl FnMut(f64, f64, &[f64])) {
        let rate = tilt * self.step;
        let length = (20.0 / rate.abs()).clamp(1.0, 64.0) as usize;
        for (block, masses) in self.masses.chunks(length).enumerate() {
            let loss = (self.first + (block * length) as i64) as f64 * self.step;
            each(tilt * loss, rate.exp(), masses);
        }
    }
}

fn grid(pair: &Pair, step: f64, cut: f64) -> (i64, i64) {
    let (low, high) = pair.support(cut);
    let first = (low / step).floor() as i64;
    let last = (high / step).ceil() as i64;
    // Rounding must not leave an atom at the very end beyond the last point.
    let last = if last as f64 * step < high { last + 1 } else { last };
    (first, last.max(first + 1))
}

/// Removes negative masses by taking the convex hull: the mass of a removed point is split over
/// its neighbours so that both P and Q keep their totals. Returns the mass that could not be moved.
fn convexify(masses: &mut [f64], step: f64) -> f64 {
    let n = masses.len();
    let mut previous: Vec<usize> = (0..n).map(|k| k.wrapping_sub(1)).collect();
    let mut next: Vec<usize> = (1..=n).collect();
    let mut lost = 0.0;
    let mut k = 0;
    while k < n {
        if masses[k] >= 0.0 {
            k = next[k];
            continue;
        }
        let (low, high) = (previous[k], next[k]);
        if high >= n {
            lost -= masses[k];
        } else if low >= n {
            masses[high] += masses[k];
        } else {
            let up =
                -(-((k - low) as f64) * step).exp_m1() / -(-((high - low) as f64) * step).exp_m1();
            masses[high] += up * masses[k];
            masses[low] += (1.0 - up) * masses[k];
        }
        masses[k] = 0.0;
        if low < n {
            next[low] = high;
        }
        if high < n {
            previous[high] = low;
        }
        // The lower neighbour may have become negative: look at it again.
        k = if low < n { low } else { high };
    }
    lost
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::ln_gaussian_delta;

    fn delta(pmf: &Pmf, epsilon: f64) -> f64 {
        finite(pmf, epsilon) + pmf.doubt
    }

    fn delta_below(pair: &Pair, step: f64, epsilon: f64) -> f64 {
        let pmf = Pmf::below(pair, step, 1e-14);
        finite(&pmf, epsilon) - pmf.doubt
    }

    fn finite(pmf: &Pmf, epsilon: f64) -> f64 {
        pmf.masses
            .iter()
            .enumerate()
            .map(|(k, mass)| {
                let loss = (pmf.first + k as i64) as f64 * pmf.step;
                mass * (1.0 - (epsilon - loss).exp()).max(0.0)
            })
            .sum()
    }

    const PAIRS: [Pair; 7] = [
        Pair::SampledReplace { q: 0.1, mu: 2.0 },
        Pair::Gaussian { mu: 0.4 },
        Pair::Gaussian { mu: 3.0 },
        Pair::Laplace { epsilon: 0.7 },
        Pair::Response { epsilon: 0.7 },
        Pair::SampledAdd { q: 0.1, mu: 2.0 },
        Pair::SampledRemove { q: 0.1, mu: 2.0 },
    ];

    #[test]
    fn discretisations_bracket_the_pair_and_close_in_quadratically() {
        for pair in PAIRS {
            for epsilon in [-0.3, 0.0, 0.013, 0.4, 1.0] {
                let truth = (
                    delta_below(&pair, 1e-3, epsilon),
                    delta(&Pmf::above(&pair, 1e-3, 1e-14), epsilon),
                );
                assert!(truth.0 <= truth.1, "{pair:?} {epsilon}: {truth:?}");
                let (low, high) = (
                    delta_below(&pair, 0.05, epsilon),
                    delta(&Pmf::above(&pair, 0.05, 1e-14), epsilon),
                );
                assert!(low <= truth.1 && high >= truth.0, "{pair:?} {epsilon}");
                let atoms = matches!(pair, Pair::Laplace { .. } | Pair::Response { .. });
                if epsilon >= 0.0 && !atoms {
                    // Fifty times finer must be much more than fifty times closer.
                    let (coarse, fine) = (high - low, truth.1 - truth.0);
                    assert!(
                        fine < 4e-5 && fine < coarse / 300.0 + 1e-12,
                        "{pair:?} {epsilon}: {coarse} {fine}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_profile_gives_the_same_as_its_pair() {
        let pmf = Pmf::above_profile(|e| ln_gaussian_delta(e, 1.0), 1e-2, 8.0);
        let pair = Pmf::above(&Pair::Gaussian { mu: 1.0 }, 1e-2, 1e-14);
        for epsilon in [0.0, 0.5, 2.0, 4.0] {
            let (a, b) = (delta(&pmf, epsilon), delta(&pair, epsilon));
            assert!((a - b).abs() < 1e-9, "{epsilon}: {a} {b}");
        }
    }

    #[test]
    fn negative_masses_are_hulled_away() {
        let mut masses = vec![0.2, -0.1, 0.5, 0.4];
        let (total, step) = (masses.iter().sum::<f64>(), 0.1);
        let under_q = |m: &[f64]| -> f64 {
            m.iter().enumerate().map(|(k, m)| m * (-0.1 * k as f64).exp()).sum()
        };
        let q = under_q(&masses);
        assert_eq!(convexify(&mut masses, step), 0.0);
        assert!(masses.iter().all(|m| *m >= 0.0));
        assert!((masses.iter().sum::<f64>() - total).abs() < 1e-15);
        assert!((under_q(&masses) - q).abs() < 1e-15);
    }
}
