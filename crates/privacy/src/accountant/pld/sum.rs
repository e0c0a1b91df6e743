//! The law of a sum of independent privacy losses, by one tilted Fourier transform.
//!
//! Every mass is first multiplied by `exp(tilt * loss)`, which moves the bulk of the sum to the
//! loss that the question is about. The transform's absolute error then becomes a relative error
//! of the answer, so that a delta of 1e-18 is as accurate as one of 0.1, and the window needs to
//! cover only that bulk.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::ops::Range;

use realfft::RealFftPlanner;
use realfft::num_complex::Complex64;

use super::super::pair::Cell;
use super::pmf::Pmf;

/// A tilted law on the window `[first, first + masses.len())` of grid points.
pub(super) struct TiltedSum {
    step: f64,
    first: i64,
    tilt: f64,
    /// Log of the total that tilting was normalised by.
    ln_total: f64,
    masses: Vec<f64>,
    /// Bound on the error of each tilted mass.
    error: f64,
    /// Bound on the relative error of all masses that rounding makes before the transform.
    ln_slack: f64,
    /// Bound on the tilted mass outside the window, below and above.
    outside: (f64, f64),
    /// Mass at infinite loss, or to be taken off.
    doubt: f64,
    /// Tilted mass that an earlier stage may have put in wrong places.
    folded: f64,
}

/// Where to look: chosen by a sketch, certified here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub tilt: f64,
    /// Mean and standard deviation of the tilted sum.
    pub centre: f64,
    pub spread: f64,
    /// Least and greatest loss.
    pub first: f64,
    pub last: f64,
    /// Additional tilts that bound the mass below and above.
    pub shifts: (f64, f64),
}

thread_local! {
    /// Plans cost more to make than to use; searches ask for the same few lengths again and again.
    static PLANNER: RefCell<RealFftPlanner<f64>> = RefCell::new(RealFftPlanner::new());
}

/// Bound on the relative error that rounding makes in the masses of one round.
const ROUNDING: f64 = 4e-14;
/// Points added on either side of a window.
const PADDING: i64 = 32;
/// The longest transform.
pub(super) const LONGEST: f64 = 1_048_576.0;
/// The longest transform whose plan is kept.
const LONGEST_KEPT: usize = 1 << 18;

/// Frequencies whose amplitude is below `e^-60` cannot matter: they are set to zero and the bound
/// is added to the error.
const NEGLIGIBLE: f64 = -60.0;

impl TiltedSum {
    /// Composes the parts; all have the same step.
    pub fn new<P: Borrow<Pmf>>(parts: &[(P, u64)], window: &Window) -> Self {
        let step = parts[0].0.borrow().step;
        // A few points more on either side: a grid of its own moves the law by some steps.
        let first = (window.first / step).floor() as i64 - PADDING;
        // A window that does not fit is cut off: what lies outside is bounded below either way.
        let wanted = (window.last / step).ceil() - first as f64 + PADDING as f64;
        let n = fast_length(wanted.clamp(64.0, LONGEST) as usize);
        let forward = planned(n, RealFftPlanner::plan_fft_forward);
        let mut buffer = forward.make_input_vec();
        let mut spectrum = forward.make_output_vec();
        let mut scratch = forward.make_scratch_vec();
        let mut product = vec![Complex64::new(1.0, 0.0); spectrum.len()];
        // Log of a bound on the modulus of what exact arithmetic would have given.
        let mut ln_bound = vec![0.0_f64; spectrum.len()];
        let transform_error = 8.0 * f64::EPSILON * (n as f64).log2();
        let mut ln_total = 0.0;
        let (mut doubt, mut ln_slack, mut folded) = (0.0, 0.0, 0.0);
        for (pmf, times) in parts {
            let pmf = pmf.borrow();
            let ln_mgf = pmf.ln_mgf(window.tilt);
            let count = *times as f64;
            ln_total += count * ln_mgf;
            doubt += count * pmf.doubt;
            folded += count * pmf.folded;
            ln_slack += count * ROUNDING;
            buffer.fill(0.0);
            let mut energy = 0.0;
            let mut place = pmf.first.rem_euclid(n as i64) as usize;
            pmf.tilted(window.tilt, -ln_mgf, |tilted| {
                buffer[place] += tilted;
                energy += tilted * tilted;
                place = if place + 1 == n { 0 } else { place + 1 };
            });
            forward
                .process_with_scratch(&mut buffer, &mut spectrum, &mut scratch)
                .expect("buffers come from the plan");
            let slip = transform_error * energy.sqrt().max(1.0 / (n as f64).sqrt());
            // Below this modulus the power is negligible whatever the other parts do.
            let faint = ((NEGLIGIBLE - 1.0) / count).exp() - slip;
            let faint = if faint > 0.0 { faint * faint } else { 0.0 };
            for k in 0..spectrum.len() {
                if ln_bound[k] < NEGLIGIBLE {
                    continue;
                }
                if spectrum[k].norm_sqr() < faint {
                    ln_bound[k] = f64::NEG_INFINITY;
                    continue;
                }
                let modulus = spectrum[k].norm();
                ln_bound[k] += count * ((modulus + slip).ln() + 4.0 * f64::EPSILON);
                product[k] *= power(spectrum[k], modulus, count);
            }
        }
        // What exact arithmetic could differ by, averaged over frequencies, bounds every point.
        let mut gap = 0.0;
        let mut alive = 0.0;
        for (value, ln_bound) in product.iter_mut().zip(&ln_bound) {
            if *ln_bound < NEGLIGIBLE {
                *value = Complex64::new(0.0, 0.0);
                gap += NEGLIGIBLE.exp();
            } else {
                gap += 2.0 * (ln_bound.exp() - value.norm()).max(0.0);
                alive += 2.0 * value.norm();
            }
        }
        // The imaginary parts of the mean and of the middle frequency vanish in exact arithmetic.
        product[0].im = 0.0;
        if n.is_multiple_of(2) {
            product[n / 2].im = 0.0;
        }
        let inverse = planned(n, RealFftPlanner::plan_fft_inverse);
        let mut scratch = inverse.make_scratch_vec();
        inverse
            .process_with_scratch(&mut product, &mut buffer, &mut scratch)
            .expect("buffers come from the plan");
        let scale = 1.0 / n as f64;
        let start = first.rem_euclid(n as i64) as usize;
        let (ahead, behind) = buffer.split_at(start);
        let masses = behind.iter().chain(ahead).map(|value| value * scale).collect();
        let error = scale * (gap + transform_error * alive);
        let last = first + n as i64;
        let outside = (
            tail_bound(parts, window.tilt, window.shifts.0, ln_total, first as f64 * step),
            tail_bound(parts, window.tilt, window.shifts.1, ln_total, last as f64 * step),
        );
        let tilt = window.tilt;
        Self { step, first, tilt, ln_total, masses, error, ln_slack, outside, doubt, folded }
    }

    /// A distribution on a `factor` times coarser grid that dominates the sum.
    pub fn coarse_above(&self, factor: u64) -> Pmf {
        let factor = factor as i64;
        let step = self.step * factor as f64;
        let first = self.first.div_euclid(factor);
        let last = (self.first + self.masses.len() as i64).div_euclid(factor) + 1;
        let mut masses = vec![0.0; (last - first + 1) as usize];
        // Share of a mass that goes to the coarse point above it, so that P and Q are kept.
        let ups: Vec<f64> = (0..factor)
            .map(|part| (-(part as f64) * self.step).exp_m1() / (-step).exp_m1())
            .collect();
        for (k, mass) in self.masses.iter().enumerate() {
            let point = self.first + k as i64;
            let ln_weight = self.ln_total - self.tilt * point as f64 * self.step + self.ln_slack;
            // No mass exceeds one, whatever the error's bound becomes far below the tilted bulk.
            let mass = ((mass.max(0.0) + self.error) * ln_weight.exp()).min(1.0);
            let (place, part) = (point.div_euclid(factor) - first, point.rem_euclid(factor));
            let up = ups[part as usize] * mass;
            masses[place as usize] += mass - up;
            masses[place as usize + 1] += up;
        }
        Pmf { step, first, masses, doubt: self.doubt + self.beyond(), folded: 0.0 }
    }

    /// A distribution on a `factor` times coarser grid that the sum dominates.
    pub fn coarse_below(&self, factor: u64) -> Pmf {
        let factor = factor as i64;
        let step = self.step * factor as f64;
        let half = factor / 2;
        // Single masses amid noise would pull their neighbours down: keep one solid stretch.
        let solid = self.solid();
        let first = (self.first + solid.start as i64 + half).div_euclid(factor);
        let last = (self.first + solid.end as i64 + half).div_euclid(factor);
        let mut cells = vec![Cell::EMPTY; (last - first + 1) as usize];
        for (k, mass) in self.masses.iter().enumerate().take(solid.end).skip(solid.start) {
            let point = self.first + k as i64;
            let loss = point as f64 * self.step;
            let ln_weight = self.ln_total - self.tilt * loss - self.ln_slack;
            let p = (mass - self.error).max(0.0) * ln_weight.exp();
            let q = p * (-loss).exp();
            let place = ((point + half).div_euclid(factor) - first) as usize;
            cells[place].absorb(&Cell { p, q, p_error: 1e-14 * p, q_error: 1e-14 * q });
        }
        let mut pmf = Pmf::below_cells(cells, first, step);
        pmf.doubt += self.doubt;
        pmf.folded = self.folded + self.outside.0 + self.outside.1;
        pmf
    }

    /// The stretch around the largest mass where masses stand clear of their error.
    fn solid(&self) -> Range<usize> {
        let clear = |mass: &f64| *mass > 100.0 * self.error;
        let masses = &self.masses;
        let peak = (0..masses.len()).max_by(|a, b| masses[*a].total_cmp(&masses[*b])).unwrap_or(0);
        let below = masses[..peak].iter().rev().take_while(|mass| clear(mass)).count();
        let above = masses[peak..].iter().take_while(|mass| clear(mass)).count();
        peak - below..peak + above
    }

    /// Bound on the mass above the window, all of which may sit just there, where it weighs most.
    fn beyond(&self) -> f64 {
        let top = (self.first + self.masses.len() as i64) as f64 * self.step;
        self.outside.1 * (self.ln_total - self.tilt * top + self.ln_slack).exp()
    }

    /// The least loss in view.
    pub fn bottom(&self) -> f64 {
        self.first as f64 * self.step
    }

    /// The least epsilon whose delta is certainly at most `delta`; infinite if there is none, the
    /// bottom of the window if it lies below that.
    pub fn epsilon_above(&self, delta: f64) -> f64 {
        if !self.is_sane() {
            return f64::INFINITY;
        }
        let rest = delta - self.beyond() - self.doubt;
        self.crossing(rest, self.ln_slack, |mass| mass.max(0.0) + self.error).max(self.bottom())
    }

    /// An epsilon whose delta is certainly at least `delta`; zero if the window shows none.
    pub fn epsilon_below(&self, delta: f64) -> f64 {
        if !self.is_sane() {
            return 0.0;
        }
        let crossing =
            |delta| self.crossing(delta, -self.ln_slack, |mass| (mass - self.error).max(0.0));
        // Mass from outside was folded onto unknown points of the window. It is taken off as if it
        // all sat where it weighs most: at the answer, which must not lie below `floor`.
        let folded = self.folded + self.outside.0 + self.outside.1;
        let guess = crossing(delta);
        for margin in [1.0, 64.0, 4096.0] {
            let floor = guess - margin * self.step;
            let most = (self.ln_total - self.tilt * floor).exp();
            let epsilon = crossing(delta + folded * most + self.doubt);
            if epsilon.is_finite() && epsilon >= floor {
                return epsilon.max(0.0);
            }
        }
        0.0
    }

    /// Whether nothing overflowed; if so, nothing is claimed.
    fn is_sane(&self) -> bool {
        self.ln_total.is_finite()
            && self.error.is_finite()
            && self.masses.iter().all(|mass| mass.is_finite())
    }

    /// Where `sum of (1 - e^(epsilon - loss))` over losses above epsilon crosses `delta`.
    /// Infinite if it is nowhere below; minus infinity if it is below on the whole window.
    fn crossing(&self, delta: f64, ln_slack: f64, adjust: impl Fn(f64) -> f64) -> f64 {
        if delta <= 0.0 {
            return f64::INFINITY;
        }
        let (shrink, grow) = ((-self.step).exp(), -(-self.step).exp_m1());
        // At grid point k: `curve` is delta there, `above` the mass strictly above it.
        let (mut above, mut curve) = (0.0, 0.0);
        let growth = (self.tilt * self.step).exp();
        let mut weight = 0.0;
        for k in (0..self.masses.len()).rev() {
            let loss = (self.first + k as i64) as f64 * self.step;
            // One exponential in 64 points, products between.
            weight = if k % 64 == 63 || k + 1 == self.masses.len() {
                (self.ln_total - self.tilt * loss + ln_slack).exp()
            } else {
                weight * growth
            };
            let mass = adjust(self.masses[k]) * weight;
            let lower = shrink * curve + grow * (above + mass);
            if lower > delta {
                // Between the points below and at `loss`, delta is linear in e^epsilon.
                let share = (lower - delta) / (lower - curve);
                return loss - self.step + (share * self.step.exp_m1()).ln_1p();
            }
            above += mass;
            curve = lower;
        }
        f64::NEG_INFINITY
    }
}

/// Chernoff bound on the tilted mass beyond `edge`, on the side of the shift's sign.
fn tail_bound<P: Borrow<Pmf>>(
    parts: &[(P, u64)],
    tilt: f64,
    shift: f64,
    ln_total: f64,
    edge: f64,
) -> f64 {
    let step = parts[0].0.borrow().step;
    // A steeper shift would see single grid points instead of the law.
    let shift = shift.clamp(-1.0 / step, 1.0 / step);
    let ln_mgf: f64 =
        parts.iter().map(|(pmf, times)| *times as f64 * pmf.borrow().ln_mgf(tilt + shift)).sum();
    (ln_mgf - ln_total - shift * edge).exp().min(1.0)
}

fn planned<T>(n: usize, plan: impl Fn(&mut RealFftPlanner<f64>, usize) -> T) -> T {
    if n > LONGEST_KEPT {
        return plan(&mut RealFftPlanner::new(), n);
    }
    PLANNER.with_borrow_mut(|planner| plan(planner, n))
}

fn power(base: Complex64, modulus: f64, exponent: f64) -> Complex64 {
    if exponent == 1.0 {
        return base;
    }
    let ln = exponent * modulus.ln();
    if ln < NEGLIGIBLE {
        return Complex64::new(0.0, 0.0);
    }
    Complex64::from_polar(ln.exp(), exponent * base.arg())
}

/// The least length of the form 2^a or 3 * 2^a that is at least `n`.
fn fast_length(n: usize) -> usize {
    let power = n.next_power_of_two();
    if power / 4 * 3 >= n { power / 4 * 3 } else { power }
}
