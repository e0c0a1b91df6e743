//! Losses: how bad scores are for what was to be predicted.

use serde::{Deserialize, Serialize};
use undertone_real::Real;

use crate::dataset::Target;
use crate::exponential::{decay, decays};

mod shares;

/// How bad scores are for a target.
///
/// Each is convex in the scores. No finite score, however large, gives NaN.
///
/// # References
///
/// The smoothed hinge is the Huber loss of Chaudhuri, Monteleoni and Sarwate 2011, section 4.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// `(s - y)^2 / 2` of a number.
    Squared,
    /// `ln(1 + exp(-y s))` of a sign.
    Logistic,
    /// `max(0, 1 - y s)` of a sign, rounded off by a parabola for `y s` within `width` of one.
    SmoothedHinge {
        /// Positive; zero is the hinge itself.
        width: f64,
    },
    /// `ln sum exp(s) - s_y` of a class.
    CrossEntropy,
    /// The logistic loss of every tag, which has the sign one if it is present.
    Tags,
}

impl Loss {
    /// The derivatives by every score of records with `width` scores each. Panics if a target is of
    /// another kind.
    pub fn derivatives<'a, R: Real>(
        &self,
        scores: &[R],
        width: usize,
        target: impl Fn(usize) -> Target<'a, R>,
        out: &mut [R],
    ) {
        if matches!(self, Self::CrossEntropy) {
            shares::shares(scores, width, out);
        }
        let rows = scores.chunks_exact(width).zip(out.chunks_exact_mut(width));
        for (k, (scores, derivative)) in rows.enumerate() {
            match (self, target(k)) {
                (Self::CrossEntropy, Target::Class(class)) => derivative[class as usize] -= R::ONE,
                (Self::Tags, Target::Tags(tags)) => each_tag(scores, tags, |k, margin, sign| {
                    derivative[k] = R::from_f64(sign * logistic_slope(margin));
                }),
                (_, target) => {
                    derivative[0] = R::from_f64(self.scalar(scores[0].to_f64(), target).1);
                }
            }
        }
    }

    /// The loss. Panics if the target is of another kind.
    pub fn value<R: Real>(&self, scores: &[R], target: Target<'_, R>) -> f64 {
        match (self, target) {
            (Self::CrossEntropy, Target::Class(class)) => {
                let top = greatest(scores);
                let sum = scores.iter().map(|s| decay(top - s.to_f64())).sum();
                libm::log(sum) + (top - scores[class as usize].to_f64())
            }
            (Self::Tags, Target::Tags(tags)) => {
                let mut sum = 0.0;
                each_tag(scores, tags, |_, margin, _| sum += logistic(margin).0);
                sum
            }
            _ => self.scalar(scores[0].to_f64(), target).0,
        }
    }

    /// Writes the second derivative by the scores times a direction. Panics if the target is of
    /// another kind.
    pub fn curvature<R: Real>(
        &self,
        scores: &[R],
        target: Target<'_, R>,
        direction: &[R],
        out: &mut [R],
    ) {
        match (self, target) {
            (Self::CrossEntropy, Target::Class(_)) => {
                let top = greatest(scores);
                let (mut sum, mut along) = (0.0, 0.0);
                for (s, v) in scores.iter().zip(direction) {
                    let e = decay(top - s.to_f64());
                    sum += e;
                    along += e * v.to_f64();
                }
                let mean = along / sum;
                for ((out, s), v) in out.iter_mut().zip(scores).zip(direction) {
                    let share = decay(top - s.to_f64()) / sum;
                    *out = R::from_f64(share * (v.to_f64() - mean));
                }
            }
            (Self::Tags, Target::Tags(tags)) => each_tag(scores, tags, |k, margin, _| {
                out[k] = R::from_f64(logistic_curvature(margin) * direction[k].to_f64());
            }),
            _ => {
                let (_, _, curvature) = self.scalar(scores[0].to_f64(), target);
                out[0] = R::from_f64(curvature * direction[0].to_f64());
            }
        }
    }

    /// An upper bound of the L2 norm of the derivative by so many scores, if there is one.
    pub fn lipschitz(&self, scores: usize) -> Option<f64> {
        match self {
            Self::Squared => None,
            Self::Logistic | Self::SmoothedHinge { .. } => Some(1.0),
            // Shares that sum to one, less one at one place.
            Self::CrossEntropy => Some(std::f64::consts::SQRT_2),
            Self::Tags => Some((scores as f64).sqrt()),
        }
    }

    /// An upper bound of the second derivative in any direction, if there is one.
    pub fn smoothness(&self) -> Option<f64> {
        match self {
            Self::Squared => Some(1.0),
            Self::Logistic | Self::Tags => Some(0.25),
            Self::SmoothedHinge { width } if *width > 0.0 => Some(0.5 / width),
            Self::SmoothedHinge { .. } => None,
            // A variance of numbers whose squares sum to one.
            Self::CrossEntropy => Some(0.5),
        }
    }

    /// Value and first two derivatives of a loss of one score.
    #[inline(always)]
    pub(crate) fn scalar<R: Real>(&self, score: f64, target: Target<'_, R>) -> (f64, f64, f64) {
        match (self, target) {
            (Self::Squared, Target::Real(y)) => {
                let error = score - y.to_f64();
                (error * error / 2.0, error, 1.0)
            }
            (Self::Logistic, Target::Sign(y)) => {
                let margin = y.to_f64() * score;
                let (value, slope) = logistic(margin);
                (value, y.to_f64() * slope, logistic_curvature(margin))
            }
            (Self::SmoothedHinge { width }, Target::Sign(y)) => {
                let (value, slope, curvature) = hinge(*width, y.to_f64() * score);
                (value, y.to_f64() * slope, curvature)
            }
            // The target itself is a secret.
            _ => panic!("a {self:?} loss is not for targets of this kind"),
        }
    }
}

/// The logistic loss of a margin, and its derivative.
#[inline(always)]
fn logistic(margin: f64) -> (f64, f64) {
    let e = decay(margin.abs());
    (libm::log1p(e) + if margin < 0.0 { -margin } else { 0.0 }, logistic_slope(margin))
}

#[inline(always)]
pub(crate) fn logistic_slope(margin: f64) -> f64 {
    logistic_slopes([margin])[0]
}

/// Written so that small probabilities keep their digits.
#[inline(always)]
pub(crate) fn logistic_slopes<const N: usize>(margins: [f64; N]) -> [f64; N] {
    let mut slopes = decays(margins.map(f64::abs));
    for (slope, margin) in slopes.iter_mut().zip(margins) {
        let e = *slope;
        let numerator = if margin < 0.0 { 1.0 } else { e };
        *slope = -numerator / (1.0 + e);
    }
    slopes
}

fn logistic_curvature(margin: f64) -> f64 {
    let e = decay(margin.abs());
    e / ((1.0 + e) * (1.0 + e))
}

/// The smoothed hinge of a margin, and its first two derivatives.
#[inline(always)]
pub(crate) fn hinge(width: f64, margin: f64) -> (f64, f64, f64) {
    let short = 1.0 + width - margin;
    if short <= 0.0 {
        (0.0, 0.0, 0.0)
    } else if short >= 2.0 * width {
        (1.0 - margin, -1.0, 0.0)
    } else {
        (short * short / (4.0 * width), -short / (2.0 * width), 0.5 / width)
    }
}

fn greatest<R: Real>(scores: &[R]) -> f64 {
    scores.iter().fold(f64::NEG_INFINITY, |top, s| if s.to_f64() > top { s.to_f64() } else { top })
}

/// Calls with the number of each tag, its score times its sign, and its sign.
fn each_tag<R: Real>(scores: &[R], tags: &[u32], mut visit: impl FnMut(usize, f64, f64)) {
    let mut present = tags.iter().peekable();
    for (k, score) in scores.iter().enumerate() {
        let sign = if present.next_if(|tag| **tag as usize == k).is_some() { 1.0 } else { -1.0 };
        visit(k, sign * score.to_f64(), sign);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCORES: &[f64] = &[0.3, -1.2, 2.0, 0.9];

    fn cases() -> Vec<(Loss, usize, Target<'static, f64>)> {
        let mut cases = vec![
            (Loss::CrossEntropy, 4, Target::Class(2)),
            (Loss::Tags, 4, Target::Tags(&[0, 3])),
            (Loss::Tags, 4, Target::Tags(&[])),
            (Loss::Squared, 1, Target::Real(-0.7)),
        ];
        for y in [-1.0, 1.0] {
            cases.push((Loss::Logistic, 1, Target::Sign(y)));
            cases.push((Loss::SmoothedHinge { width: 0.5 }, 1, Target::Sign(y)));
            cases.push((Loss::SmoothedHinge { width: 2.0 }, 1, Target::Sign(y)));
        }
        cases
    }

    #[test]
    fn derivatives_are_those_of_the_values() {
        let h = 1e-5;
        for (loss, n, target) in cases() {
            let scores = &SCORES[..n];
            let mut derivative = vec![0.0; n];
            loss.derivatives(scores, n, |_| target, &mut derivative);
            for k in 0..n {
                let (mut more, mut less) = (scores.to_vec(), scores.to_vec());
                more[k] += h;
                less[k] -= h;
                let slope = (loss.value(&more, target) - loss.value(&less, target)) / (2.0 * h);
                assert!((slope - derivative[k]).abs() < 1e-9, "{loss:?} {target:?}");

                let (mut up, mut down, mut row) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
                loss.derivatives(&more, n, |_| target, &mut up);
                loss.derivatives(&less, n, |_| target, &mut down);
                let mut unit = vec![0.0; n];
                unit[k] = 1.0;
                loss.curvature(scores, target, &unit, &mut row);
                for j in 0..n {
                    let bend = (up[j] - down[j]) / (2.0 * h);
                    assert!((bend - row[j]).abs() < 1e-9, "{loss:?} {target:?}");
                }
            }
        }
    }

    #[test]
    fn records_do_not_know_each_other() {
        for (loss, n, _) in cases() {
            let target = |k: usize| match loss {
                Loss::CrossEntropy => Target::Class(k as u32 % n as u32),
                Loss::Tags => Target::Tags(if k.is_multiple_of(3) { &[1, 2] } else { &[0] }),
                Loss::Squared => Target::Real(k as f64 * 0.1),
                _ => Target::Sign(if k.is_multiple_of(2) { 1.0 } else { -1.0 }),
            };
            for width in [n, if n > 1 { 700 } else { 1 }] {
                let scores: Vec<f64> =
                    (0..300 * width).map(|i| (i % 37) as f64 * 0.2 - 3.0).collect();
                let mut all = vec![0.0; scores.len()];
                loss.derivatives(&scores, width, target, &mut all);
                for k in 0..300 {
                    let (range, mut alone) = (k * width..(k + 1) * width, vec![0.0; width]);
                    loss.derivatives(&scores[range.clone()], width, |_| target(k), &mut alone);
                    assert_eq!(all[range], alone, "{loss:?}");
                }
            }
        }
    }

    #[test]
    fn values_are_known() {
        let one = |loss: Loss, s: f64, y: f64| loss.value(&[s], Target::Sign(y));
        assert_eq!(one(Loss::Logistic, 0.0, 1.0), std::f64::consts::LN_2);
        let hinge = Loss::SmoothedHinge { width: 0.5 };
        assert_eq!(
            [-1.0, 0.5, 1.0, 1.5, 9.0].map(|s| one(hinge, s, 1.0)),
            [2., 0.5, 0.125, 0., 0.]
        );
        assert_eq!(Loss::Squared.value(&[3.0], Target::Real(1.0)), 2.0);
        let even = Loss::CrossEntropy.value(&[1.0_f32; 8], Target::Class(5));
        assert!((even - 8_f64.ln()).abs() < 1e-15);
    }

    #[test]
    fn large_scores_do_not_break_it() {
        for size in [1e3, 1e10, 1e30_f32] {
            for (loss, n, target) in cases() {
                let target = match target {
                    Target::Sign(y) => Target::Sign(y as f32),
                    Target::Real(y) => Target::Real(y as f32),
                    Target::Class(y) => Target::Class(y),
                    Target::Tags(y) => Target::Tags(y),
                    Target::None => Target::None,
                };
                for signs in 0..16_u32 {
                    let sign = |k: u32| if signs >> k & 1 == 0 { size } else { -size };
                    let scores: Vec<f32> = (0..n as u32).map(sign).collect();
                    let mut derivative = vec![0.0; n];
                    loss.derivatives(&scores, n, |_| target, &mut derivative);
                    let value = loss.value(&scores, target);
                    assert!(value.is_finite() && value >= 0.0, "{loss:?} {value}");
                    assert!(derivative.iter().all(|d| d.is_finite()));
                }
            }
        }
    }

    #[test]
    fn it_is_written_in_kebab_case() {
        let loss: Loss = serde_json::from_str(r#"{"smoothed-hinge": {"width": 0.5}}"#).unwrap();
        assert_eq!(loss, Loss::SmoothedHinge { width: 0.5 });
        assert_eq!(serde_json::to_string(&Loss::CrossEntropy).unwrap(), "\"cross-entropy\"");
    }

    #[test]
    #[should_panic(expected = "not for targets of this kind")]
    fn another_kind_of_target_panics() {
        Loss::Logistic.value(&[1.0], Target::Real(1.0));
    }
}
