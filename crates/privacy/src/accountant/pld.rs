//! Privacy loss distributions: the tightest accountant, with a certified interval.
//!
//! # Guarantee
//!
//! For every event that has a dominating pair or profile, under either adjacency, `epsilon` is an
//! upper bound and `epsilon_lower` (where the pair is attained by real neighbours) a lower bound
//! on the exact value of the composition. Discretisation, truncation, the Fourier transform's
//! rounding and the mass outside its window are all bounded and charged against us.
//!
//! # References
//!
//! Koskela, Jaelkoe, Honkela 2020 (FFT accountant); Doroshenko, Ghazi, Kamath, Kumar, Manurangsi
//! 2022 (connect the dots); Zhu, Dong, Wang 2022 (dominating pairs compose adaptively).

mod pmf;
mod sketch;
mod sum;

use self::pmf::Pmf;
use self::sketch::Sketch;
use self::sum::{TiltedSum, Window};
use super::elementary::Dominating;
use super::pair::Pair;

/// Certified bounds on epsilon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    pub upper: f64,
    pub lower: Option<f64>,
}

/// The step that is taken unless it is finer or coarser than needed.
const STEP: f64 = 1e-4;
/// Relative errors of epsilon by discretisation: below the first a coarser step is taken, above
/// the second a finer one.
const ENOUGH: f64 = 3e-6;
const TOO_MUCH: f64 = 1e-3;
/// Longest transform; coarser grids are taken rather than more memory.
const LONGEST: f64 = 4_194_304.0;
/// Relative allowance for the position of grid points.
const POSITION: f64 = 1e-9;

/// Whether the lower bound is wanted too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sides {
    Both,
    Upper,
}

/// Epsilon at `delta` of all parts composed; `times` of each.
pub(super) fn epsilon(parts: &[(Dominating, u64)], delta: f64, sides: Sides) -> Interval {
    let exact = parts.iter().all(|(part, _)| matches!(part, Dominating::Pair { exact: true, .. }));
    let two_sided = exact && sides == Sides::Both;
    let mut interval = Interval { upper: 0.0, lower: two_sided.then_some(0.0) };
    for direction in directions(parts) {
        let Some(sketch) = Sketch::new(&direction) else { continue };
        let window = sketch.window(delta);
        let step = grid_step(&direction, &window);
        let rounds: f64 = direction.iter().map(|(_, times)| *times as f64).sum();
        let cut = (1e-7 * delta / rounds).max(1e-290);
        let above: Vec<(Pmf, u64)> =
            direction.iter().map(|(part, times)| (part.above(step, cut), *times)).collect();
        let sum = TiltedSum::new(&above, &window);
        let upper = sum.epsilon_above(delta);
        interval.upper = interval.upper.max(upper + POSITION * upper.abs());
        if let Some(lower) = &mut interval.lower {
            let below: Vec<(Pmf, u64)> =
                direction.iter().map(|(part, times)| (part.below(step, cut), *times)).collect();
            let sum = TiltedSum::new(&below, &window);
            *lower = lower.max(sum.epsilon_below(delta) * (1.0 - POSITION));
        }
    }
    interval
}

/// One direction of one part.
#[derive(Clone, Debug)]
enum Term<'a> {
    Pair(Pair),
    Profile(&'a super::profile::Profile),
    Visible(&'a [(f64, Pair)]),
}

impl Term<'_> {
    fn above(&self, step: f64, cut: f64) -> Pmf {
        match self {
            Term::Pair(pair) => Pmf::above(pair, step, cut),
            Term::Profile(profile) => {
                let reach = profile.reach(cut.max(1e-15).ln());
                Pmf::above_profile(|epsilon| profile.ln_delta(epsilon), step, reach)
            }
            Term::Visible(branches) => Pmf::mixture(
                branches.iter().map(|(w, pair)| (*w, Pmf::above(pair, step, cut))).collect(),
            ),
        }
    }

    fn below(&self, step: f64, cut: f64) -> Pmf {
        match self {
            Term::Pair(pair) => Pmf::below(pair, step, cut),
            Term::Profile(_) | Term::Visible(_) => {
                unreachable!("a lower bound is only asked of exact pairs")
            }
        }
    }
}

/// The composition seen from both sides; once if every part looks the same from both.
fn directions(parts: &[(Dominating, u64)]) -> Vec<Vec<(Term<'_>, u64)>> {
    let mut remove = Vec::with_capacity(parts.len());
    let mut add = Vec::with_capacity(parts.len());
    let mut differ = false;
    for (part, times) in parts {
        let (one, other) = match part {
            Dominating::Pair { pair, .. } => {
                let (one, other) = pair.directions();
                (Term::Pair(one), other.map(Term::Pair))
            }
            Dominating::Profile(profile) => (Term::Profile(profile), None),
            Dominating::Visible(branches) => (Term::Visible(branches), None),
        };
        differ |= other.is_some();
        add.push((other.unwrap_or_else(|| one.clone()), *times));
        remove.push((one, *times));
    }
    if differ { vec![remove, add] } else { vec![remove] }
}

/// A step so fine that all rounds together err by about the relative width.
fn grid_step(terms: &[(Term<'_>, u64)], window: &Window) -> f64 {
    let rounds: f64 = terms.iter().map(|(_, times)| *times as f64).sum();
    // Spreading a mass over its cell adds step^2/6 to a round's variance, which the tilt turns
    // into (1 + tilt) step^2/12 of epsilon.
    let erring = |error: f64| {
        (12.0 * error * window.centre.abs().max(1e-6) / (rounds * (1.0 + window.tilt))).sqrt()
    };
    let finest = (window.last - window.first) / LONGEST;
    let step = STEP.max(erring(ENOUGH)).min(erring(TOO_MUCH)).min(window.spread / 16.0).max(finest);
    // Losses of bounded mechanisms have atoms at their ends: put them on the grid.
    let atom = terms.iter().find_map(|(term, _)| match term {
        Term::Pair(Pair::Laplace { epsilon } | Pair::Response { epsilon }) => Some(*epsilon),
        _ => None,
    });
    match atom {
        Some(atom) if atom > 0.0 => atom / (atom / step).ceil(),
        _ => step,
    }
}
