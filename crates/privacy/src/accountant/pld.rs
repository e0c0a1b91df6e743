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
use self::sum::{LONGEST, TiltedSum, Window};
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
/// Relative allowance for the position of grid points.
const POSITION: f64 = 1e-9;

/// How often a gentler tilt is tried when the answer is not in view.
const ATTEMPTS: usize = 4;

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
        let rounds: f64 = direction.iter().map(|(_, times)| *times as f64).sum();
        let cut = (1e-6 * delta / rounds).max(1e-290);
        let Some(sketch) = Sketch::new(&direction, cut) else { continue };
        let mut tilt = sketch.tilt(delta);
        for attempt in 1.. {
            let window = sketch.window_at(tilt, 1.0);
            let step = grid_step(&direction, &window, cut);
            let stages = Stages::new(&direction, &sketch, &window, step);
            // The second stage adds a quarter of the error; a finer first stage takes it off again.
            let step = if stages.two.is_some() { 0.88 * step } else { step };
            let above = |part: &Term<'_>| part.above(step, cut);
            let sum = stages.compose(&direction, &window, above, TiltedSum::coarse_above);
            let upper = sum.epsilon_above(delta);
            // A law with atoms can be tilted so steeply that the answer falls out of view.
            let missed = upper.is_infinite() || (upper <= sum.bottom() && upper > 0.0);
            if missed && attempt < ATTEMPTS {
                tilt *= 0.25;
                continue;
            }
            interval.upper = interval.upper.max(upper + POSITION * upper.abs());
            if let Some(lower) = &mut interval.lower {
                let below = |part: &Term<'_>| part.below(step, cut);
                let sum = stages.compose(&direction, &window, below, TiltedSum::coarse_below);
                let mut found = sum.epsilon_below(delta);
                if found < 0.999 * upper && stages.two.is_some() {
                    // The coarse stage lost too much: do it all on the fine grid.
                    let one = Stages { two: None };
                    let sum = one.compose(&direction, &window, below, TiltedSum::coarse_below);
                    found = found.max(sum.epsilon_below(delta));
                }
                *lower = lower.max(found * (1.0 - POSITION));
            }
            break;
        }
    }
    interval
}

/// Long compositions are done in two stages: a share of the rounds on the fine grid, then that
/// many times itself on a coarser one. The coarse steps err little because they are few.
struct Stages {
    two: Option<Two>,
}

/// A plan for two stages.
struct Two {
    /// How often the first stage is repeated.
    outer: u64,
    /// How much coarser the second stage is.
    factor: u64,
    /// The windows of the first stage and of the rounds that are left over.
    first: Window,
    rest: Window,
}

impl Stages {
    /// The plan with the shortest transforms, if two stages save a third of one.
    fn new(terms: &[(Term<'_>, u64)], sketch: &Sketch, window: &Window, step: f64) -> Self {
        let rounds: f64 = terms.iter().map(|(_, times)| *times as f64).sum();
        let length = |window: &Window| (window.last - window.first) / step;
        let mut best = 0.67 * length(window);
        let mut two = None;
        for factor in factors(terms) {
            let outer = even_share(terms, fewest(terms) / (4 * factor * factor));
            let inner: f64 = terms.iter().map(|(_, times)| (*times / outer) as f64).sum();
            let share = inner / rounds;
            let left = (1.0 - share * outer as f64).max(0.0);
            let first = sketch.window_at(window.tilt, share);
            let rest = sketch.window_at(window.tilt, left);
            let spent = if left > 0.5 / rounds { length(&rest) } else { 0.0 };
            let cost = length(&first) + spent + length(window) / factor as f64;
            if cost < best {
                best = cost;
                two = Some(Two { outer, factor, first, rest });
            }
        }
        Self { two }
    }

    fn compose(
        &self,
        terms: &[(Term<'_>, u64)],
        window: &Window,
        discretise: impl Fn(&Term<'_>) -> Pmf,
        coarse: fn(&TiltedSum, u64) -> Pmf,
    ) -> TiltedSum {
        let pmfs: Vec<(Pmf, u64)> =
            terms.iter().map(|(term, times)| (discretise(term), *times)).collect();
        let Some(Two { outer, factor, first, rest }) = &self.two else {
            return TiltedSum::new(&pmfs, window);
        };
        let share = |count: fn(u64, u64) -> u64| -> Vec<(&Pmf, u64)> {
            let counted = pmfs.iter().map(|(pmf, times)| (pmf, count(*times, *outer)));
            counted.filter(|(_, times)| *times > 0).collect()
        };
        let inner = TiltedSum::new(&share(|times, outer| times / outer), first);
        let mut parts = vec![(coarse(&inner, *factor), *outer)];
        let remainder = share(|times, outer| times % outer);
        if !remainder.is_empty() {
            parts.push((coarse(&TiltedSum::new(&remainder, rest), *factor), 1));
        }
        TiltedSum::new(&parts, window)
    }
}

/// How much coarser a second stage may be, coarsest first. Errors grow with rounds times step
/// squared: at factor f, a 4 f^2-th of the rounds may be done coarsely for a quarter of the error.
fn factors(terms: &[(Term<'_>, u64)]) -> impl Iterator<Item = u64> {
    let fewest = fewest(terms);
    [64, 32, 16, 8].into_iter().filter(move |factor| fewest >= 8 * factor * factor)
}

/// The largest number near `outer`, and not above it, into which all rounds divide evenly; `outer`
/// itself if there is none.
fn even_share(terms: &[(Term<'_>, u64)], outer: u64) -> u64 {
    let even = |n: &u64| terms.iter().all(|(_, times)| times % n == 0);
    (outer / 2 + 1..=outer).rev().take(1000).find(even).unwrap_or(outer)
}

fn fewest(terms: &[(Term<'_>, u64)]) -> u64 {
    terms.iter().map(|(_, times)| *times).min().unwrap_or(0)
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

    /// Length of the range of losses.
    fn width(&self, cut: f64) -> f64 {
        let width = |pair: &Pair| {
            let (low, high) = pair.support(cut);
            high - low
        };
        match self {
            Term::Pair(pair) => width(pair),
            Term::Profile(profile) => 2.0 * profile.reach(cut.max(1e-15).ln()),
            Term::Visible(branches) => branches.iter().map(|b| width(&b.1)).fold(0.0, f64::max),
        }
    }

    fn below(&self, step: f64, cut: f64) -> Pmf {
        match self {
            Term::Pair(pair) => {
                let pmf = Pmf::below(pair, step, cut);
                // A law narrower than the grid loses more than it has: better to leave it out.
                if pmf.doubt > 100.0 * cut { Pmf::nothing(step) } else { pmf }
            }
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
fn grid_step(terms: &[(Term<'_>, u64)], window: &Window, cut: f64) -> f64 {
    let rounds: f64 = terms.iter().map(|(_, times)| *times as f64).sum();
    // Spreading a mass over its cell adds step^2/6 to a round's variance, which the tilt turns
    // into (1 + tilt) step^2/12 of epsilon.
    let erring = |error: f64| {
        (12.0 * error * window.centre.abs().max(1e-6) / (rounds * (1.0 + window.tilt))).sqrt()
    };
    let widest = terms.iter().map(|(term, _)| term.width(cut)).fold(0.0, f64::max);
    // A long window is only seen on the coarse grid of the second stage, if there is one.
    let coarser = factors(terms).next().unwrap_or(1) as f64;
    let finest = ((window.last - window.first) / coarser).max(widest) / LONGEST;
    // Many different parts take as many discretisations: be content with less.
    let enough = (ENOUGH * terms.len() as f64).min(2e-4);
    let coarsest = STEP * window.centre.abs().max(1.0);
    let step = STEP
        .max(erring(enough).min(coarsest))
        .min(erring(TOO_MUCH))
        .min(window.spread / 16.0)
        .max(finest);
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
