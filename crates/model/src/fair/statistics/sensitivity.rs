//! How far one record moves the sums.

mod extremes;

use extremes::Slopes;

use super::{Coefficients, FEATURES, GROUP, Norm, Statistics};

impl Statistics {
    /// How far replacing one record moves the sums at most, whatever the others are.
    ///
    /// # Guarantee
    ///
    /// Let `x` and `x'` be the record before and after, and `C = <x, x'>`. At fixed `C` everything
    /// below grows with `|x|` and `|x'|`, so both are one, and
    /// `|x + x'| = 2 cos t`, `|x - x'| = 2 sin t`, `|x x - x' x'|_F = sqrt(2) sin 2t` with
    /// `C = cos 2t`. Features that are not negative have `C >= 0`, so `t <= pi/4`.
    ///
    /// In the L2 norm all values are exact: attained, or approached where a mean of groups moves
    /// and there are many records. In the L1 norm search comes within half a percent of them up to
    /// 14 features; with more they are upper bounds, by Cauchy and Schwarz in each block, which is
    /// a few hundredths more.
    ///
    /// With the mean of groups inside (`n` records), a change of group takes a share `1/n` from all
    /// others: a vector `o` of length below one, and the shares of `x` and `x'` sum to `1 - 1/n`.
    /// Norms are convex in the shares, so one of them is all of it.
    /// [`Printed`](Coefficients::Printed): `x` and `x'` have coefficients of sizes `p + q <= 2` and
    /// `p q >= 3/4`, or squares of less than `5/2` in all, or one of `3/2` in `x - x'`. With `o`
    /// that is at most `1 + sqrt(4 - 3/2 (1 - |C|))`, which outweighs what the matrix adds. Where
    /// nothing is negative, `p x + q x'` is no less in the L1 norm than any of them, and its sizes
    /// are convex in `p`: at most those of `p = 3/2` and `q = 1/2`, or the other way round. With
    /// signs that is so, too: of `x'` it can be turned, and `3/2 (x + x')` is what `o = x'` gives.
    /// [`Shifted`](Coefficients::Shifted) by `w`: `(1 + w) x - w o` where label and group flip and
    /// `x` stays; `o` is at a right angle to `x` if nothing is negative, and `-x` otherwise. In the
    /// L1 norm `shifted_sum` has all cases.
    ///
    /// # References
    ///
    /// Theory section 4 and A11, whose L1 bounds are wider.
    pub fn sensitivity(&self) -> f64 {
        let d = self.features as f64;
        match (self.norm, self.coefficients) {
            (Norm::L2, Coefficients::Plain) => {
                let parts = [(0.5, 0.5), (0.5, -0.5)];
                self.greatest(&parts.map(|(constant, slope)| (constant, slope, 0.0)))
            }
            (Norm::L2, Coefficients::Covariance) => {
                let flip = GROUP * GROUP;
                let cases = [(1.0, 1.0), (1.0, 0.0), (1.0, -1.0)];
                let with = cases.map(|(constant, slope)| match slope {
                    s if s < 0.0 => (constant, slope, 0.0),
                    _ => (constant, slope, flip),
                });
                self.greatest(&with)
            }
            (Norm::L2, Coefficients::Printed) => 3.0,
            (Norm::L2, Coefficients::Shifted { weight }) => self.shifted(weight),
            (Norm::L1, Coefficients::Plain) => self.widest(&[(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)]),
            (Norm::L1, Coefficients::Covariance) => {
                // Label and group flip, one of them does, none does.
                let wide = 2.0 * FEATURES;
                self.widest(&[(2.0, wide, GROUP), (1.0, 1.0 + wide, GROUP), (0.0, 2.0 + wide, 0.0)])
            }
            (Norm::L1, Coefficients::Printed) => {
                let linear = |t: f64| 1.0 + (1.0 + 3.0 * libm::cos(t).powi(2)).sqrt();
                let value = |t: f64| d.sqrt() * linear(t) + d * turned(t);
                let wide = greatest_of(value, std::f64::consts::FRAC_PI_4);
                // Where nothing is negative, coefficients of the same sign move no less.
                let exact = match self.signed {
                    true => extremes::weighed(self.features, [1.5, 0.5]),
                    false => extremes::greatest(self.features, Slopes::even([1.5, 0.5])),
                };
                exact.map_or(wide, |exact| wide.min(d.sqrt() + exact))
            }
            (Norm::L1, Coefficients::Shifted { weight }) => {
                let wide =
                    d.sqrt() * self.shifted(weight) + d * turned(std::f64::consts::FRAC_PI_4);
                self.shifted_sum(weight.abs()).map_or(wide, |exact| exact.min(wide))
            }
        }
    }

    /// The length of the linear part of [`Coefficients::Shifted`], which is that of all.
    fn shifted(&self, weight: f64) -> f64 {
        let weight = weight.abs();
        if self.signed { 1.0 + 2.0 * weight } else { (1.0 + weight).hypot(weight) }
    }

    /// [`Coefficients::Shifted`] by `w` in the L1 norm. Nothing if there are too many features.
    ///
    /// # Guarantee
    ///
    /// The group of `x` goes and all of the share is in `x`: `w o - (w +- 1/2) x +- 1/2 x'`. If the
    /// group stays, that is no more than what `o = x'` gives. With signs, `o` is along the rest,
    /// and signs of `x` and `x'` can be turned. Without, `w - 1/2` is left. If that is positive, it
    /// is against `w o + 1/2 x'`, or `(w - 1/2) x + 1/2 x'` against `w o`: by Cauchy-Schwarz at
    /// a right angle. If not, nothing is against anything, or `1/2 x'` is against all the rest.
    fn shifted_sum(&self, weight: f64) -> Option<f64> {
        let d = self.features as f64;
        if self.signed {
            let own = extremes::weighed(self.features, [0.5 + weight, 0.5])?;
            return Some(weight * d.sqrt() + own);
        }
        let flipped = extremes::opposed(self.features, weight, [0.5 + weight, 0.5])?;
        let even = d * turned(std::f64::consts::FRAC_PI_4);
        let kept = if weight < 0.5 {
            let own = Slopes::even([0.5 - weight, 0.5]);
            let along = weight * d.sqrt() + extremes::greatest(self.features, own)?;
            along.max((d / 2.0).sqrt() + even)
        } else {
            d.sqrt() * (weight + 0.5).hypot(weight - 0.5) + even
        };
        Some(flipped.max(kept))
    }

    /// The root of the greatest value of `constant + slope C + more` and what `M` and `sum x` add:
    /// `q (1 - C^2) + t (1 - C)`.
    fn greatest(&self, cases: &[(f64, f64, f64)]) -> f64 {
        let q = self.quadratic().powi(2) / 32.0;
        let t = match self.coefficients {
            Coefficients::Covariance => 2.0 * FEATURES * FEATURES,
            _ => 0.0,
        };
        let least = if self.signed { -1.0 } else { 0.0 };
        let value = |(constant, slope, more): &(f64, f64, f64)| {
            let c = ((slope - t) / (2.0 * q)).clamp(least, 1.0);
            constant + slope * c + more + q * (1.0 - c * c) + t * (1.0 - c)
        };
        cases.iter().map(value).fold(0.0, f64::max).sqrt()
    }

    /// In the L1 norm: the greatest value of `(sum |x + x'| + difference |x - x'|)/2 + more` and
    /// what `M` adds.
    fn widest(&self, cases: &[(f64, f64, f64)]) -> f64 {
        use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};
        let d = self.features as f64;
        let most = if self.signed { FRAC_PI_2 } else { FRAC_PI_4 };
        let value = |(sum, difference, more): &(f64, f64, f64)| {
            let linear = |t: f64| d.sqrt() * (sum * libm::cos(t) + difference * libm::sin(t));
            let wide = greatest_of(|t| linear(t) + d * turned(t), most);
            let (up, down) = ((sum + difference) / 2.0, (sum - difference) / 2.0);
            let slopes = Slopes { before: [up, down], after: [down, up] };
            more + extremes::greatest(self.features, slopes).map_or(wide, |exact| exact.min(wide))
        };
        cases.iter().map(value).fold(0.0, f64::max)
    }
}

/// The length of `(x x - x' x')/8`; of `d` times `d` entries, its sum is at most `d` times that.
fn turned(t: f64) -> f64 {
    std::f64::consts::SQRT_2 * libm::sin(2.0 * t) / 8.0
}

/// Of a concave function between 0 and `most`, by thirds; a little more, against rounding.
fn greatest_of(value: impl Fn(f64) -> f64, most: f64) -> f64 {
    let (mut low, mut high) = (0.0, most);
    for _ in 0..100 {
        let third = (high - low) / 3.0;
        if value(low + third) < value(high - third) {
            low += third;
        } else {
            high -= third;
        }
    }
    value((low + high) / 2.0) * (1.0 + 1e-12)
}
