//! A rough picture of a composition, from which the tilt and the window are chosen. Nothing that
//! is certified depends on it: a poor choice costs tightness or time, never truth.

use super::sum::Window;
use super::{Pmf, Term};
use crate::special::bisect_down;

/// Weighted points of each part's loss.
pub(super) struct Sketch {
    parts: Vec<(Vec<(f64, f64)>, f64)>,
    /// Largest loss of a single round.
    widest: f64,
}

/// Log of the tilted mass that may stay outside a window.
const LN_OUTSIDE: f64 = -25.0;
/// Parts beyond this number are represented by others.
const MOST_PARTS: usize = 48;

impl Sketch {
    /// What is left when `cut` of the mass is taken off the top; none if nothing happens.
    pub fn new(terms: &[(Term<'_>, u64)], cut: f64) -> Option<Sketch> {
        let rounds: f64 = terms.iter().map(|(_, times)| *times as f64).sum();
        let stride = terms.len().div_ceil(MOST_PARTS).max(1);
        let chosen: Vec<_> = terms.iter().step_by(stride).collect();
        let shown: f64 = chosen.iter().map(|(_, times)| *times as f64).sum();
        let parts: Vec<_> = chosen
            .into_iter()
            .map(|(term, times)| (points(term, cut), *times as f64 * rounds / shown))
            .filter(|(points, _)| !points.is_empty())
            .collect();
        let widest = parts
            .iter()
            .flat_map(|(points, _)| points.iter().map(|(loss, _): &(f64, f64)| loss.abs()))
            .fold(0.0, f64::max);
        (!parts.is_empty()).then_some(Sketch { parts, widest })
    }

    /// The tilt that moves the bulk of the sum near the answer for `delta`: the saddle point for a
    /// delta somewhat larger, because a tail bound overestimates.
    pub fn tilt(&self, delta: f64) -> f64 {
        // lambda K' - K grows with lambda; at the saddle point it equals ln(1/delta).
        let height = |ln_tilt: f64| {
            let (k, k1, _) = self.cumulants(ln_tilt.exp());
            ln_tilt.exp() * k1 - k
        };
        // Largest tilt at which the exponentials of single losses stay finite.
        let high = (600.0 / self.widest.max(1e-12)).ln();
        let low = f64::min(-14.0, high - 1.0);
        // Bounded losses have atoms at their end, which no tilt can make rarer than they are.
        let ln = -delta.max(1e-300).ln();
        let goal = (ln - 3.0).max(0.3 * ln).min(0.7 * height(high));
        bisect_down(low, high, 30, |ln_tilt| goal - height(ln_tilt)).exp()
    }

    /// The window of a share of all rounds at a tilt: it holds all but about e^-25 of the tilted
    /// law on either side.
    pub fn window_at(&self, tilt: f64, share: f64) -> Window {
        let cumulants = |tilt: f64| {
            let (k, k1, k2) = self.cumulants(tilt);
            (share * k, share * k1, share * k2)
        };
        let (k, centre, variance) = cumulants(tilt);
        let spread = variance.sqrt().max(1e-12 * self.widest).max(1e-300);
        // Chernoff: the mass beyond a distance d on a side is at most
        // exp(K(tilt + shift) - K(tilt) - shift (centre + d)); the best shift gives the least d.
        let edge = |side: f64| {
            let mut best = (f64::INFINITY, 0.0);
            for step in -4..=8 {
                let shift = side * 2f64.powi(step) / spread;
                let (moved, _, _) = cumulants(tilt + shift);
                let distance = (moved - k - shift * centre - LN_OUTSIDE) / shift.abs();
                if distance < best.0 {
                    best = (distance, shift);
                }
            }
            best
        };
        let (below, above) = (edge(-1.0), edge(1.0));
        Window {
            tilt,
            centre,
            spread,
            first: centre - below.0.max(spread),
            last: centre + above.0.max(spread),
            shifts: (below.1, above.1),
        }
    }

    /// Log moment generating function of the sum and its first two derivatives.
    fn cumulants(&self, tilt: f64) -> (f64, f64, f64) {
        let mut total = (0.0, 0.0, 0.0);
        for (points, times) in &self.parts {
            let top = points.iter().map(|(l, m)| m + tilt * l).fold(f64::NEG_INFINITY, f64::max);
            let (mut s0, mut s1, mut s2) = (0.0, 0.0, 0.0);
            for (loss, ln_mass) in points {
                let weight = (ln_mass + tilt * loss - top).exp();
                s0 += weight;
                s1 += weight * loss;
                s2 += weight * loss * loss;
            }
            let mean = s1 / s0;
            total.0 += times * (top + s0.ln());
            total.1 += times * mean;
            total.2 += times * (s2 / s0 - mean * mean).max(0.0);
        }
        total
    }
}

fn points(term: &Term<'_>, cut: f64) -> Vec<(f64, f64)> {
    match term {
        Term::Pair(pair) => pair.sketch(cut),
        Term::Visible(branches) => branches
            .iter()
            .flat_map(|(w, pair)| pair.sketch(cut).into_iter().map(|(l, m)| (l, m + w.ln())))
            .collect(),
        Term::Profile(profile) => {
            let reach = profile.reach(-34.0).max(1e-12);
            let pmf = Pmf::above_profile(|e| profile.ln_delta(e), reach / 1000.0, reach);
            pmf.masses
                .iter()
                .enumerate()
                .filter(|(_, mass)| **mass > 0.0)
                .map(|(k, mass)| ((pmf.first + k as i64) as f64 * pmf.step, mass.ln()))
                .collect()
        }
    }
}
