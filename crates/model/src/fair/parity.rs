//! Logistic regression by gradients, with a price on the covariance of group and score.

use undertone_real::Real;

use crate::clip::{clip_factor, narrow};
use crate::dataset::Dataset;
use crate::loss::Loss;
use crate::objective::{Batch, Clipped, Objective, Scratch};
use crate::part::Part;
use crate::row::Row;
use crate::table::{Table, Tabled};

/// The mean logistic loss and `weight c^2`, where `c` is the mean of `(z - share) s` with the group
/// `z` in {0, 1} and the score `s`.
///
/// The square couples all records, so no record has a gradient of it. It is the greatest value of
/// `m c - m^2 / (4 weight)` over a multiplier `m`, which is a sum over records at any `m`: the
/// multiplier is one more parameter, the last one, and whoever steps against the gradient moves it
/// *up*. A record's gradient has its part in both, is clipped as a whole, and leaves a node with
/// the noise and at the price of any other.
///
/// The last parameter is the multiplier in units of a quarter, so that a record's part in it, which
/// grows with its score, is small beside a clip norm of one and seldom shortened: shortened parts
/// would make groups look closer than they are.
///
/// `share` is what part of all people is in group 1. It is public, as the plan says it: the mean of
/// the records would be one more thing to release.
///
/// # References
///
/// Zafar and others 2017 for the covariance. The saddle point is the conjugate of the square.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parity {
    width: usize,
    intercept: bool,
    weight: f64,
    share: f64,
}

/// Of the multiplier.
const UNIT: f64 = 0.25;

impl Parity {
    /// For so many features.
    pub fn new(width: usize, intercept: bool, weight: f64, share: f64) -> Self {
        Self { width, intercept, weight, share }
    }

    /// `weight`, `bias` if there is an intercept, and `multiplier`.
    pub fn parts(&self) -> Vec<Part> {
        let bias = self.intercept.then(|| Part::new("bias", &[1]));
        let ends = [Part::new("multiplier", &[1])];
        std::iter::once(Part::new("weight", &[self.width])).chain(bias).chain(ends).collect()
    }

    fn score<R: Real>(&self, x: &[R], data: &Dataset<R>, record: usize) -> f64 {
        let offset = if self.intercept { x[self.width].to_f64() } else { 0.0 };
        Row::of(data, record).dot(x) + offset
    }

    /// How far the group of a record is from the mean.
    fn apart<R: Real>(&self, data: &Dataset<R>, record: usize) -> f64 {
        let groups = data.groups().expect("the caller asks only where there are groups");
        f64::from(u8::from(groups[record] != 0)) - self.share
    }

    fn size(&self) -> usize {
        self.width + usize::from(self.intercept) + 1
    }

    /// The gradient is `first` times the features and one, and then `second`.
    fn sum<R: Real>(
        &self,
        x: &[R],
        batch: Batch<'_, R>,
        clip: f64,
        mut table: Option<&mut Table<R>>,
        out: &mut [R],
    ) -> Clipped {
        let last = self.size() - 1;
        let (data, multiplier) = (batch.data(), UNIT * x[last].to_f64());
        out.fill(R::ZERO);
        let mut clipped = Clipped::default();
        for record in batch.iter() {
            let (score, apart) = (self.score(x, data, record), self.apart(data, record));
            let slope = Loss::Logistic.scalar(score, data.target(record)).1;
            let first = R::from_f64(slope + multiplier * apart);
            let off = multiplier / (2.0 * self.weight) - apart * score;
            let second = R::from_f64(UNIT * off);
            let norm = data.squared_norms()[record] + f64::from(u8::from(self.intercept));
            let squared = first.to_f64().powi(2) * norm + second.to_f64().powi(2);
            // Against the rounding of the three products and the sum.
            let factor = clip_factor::<R>(squared * (1.0 + 4.0 * f64::EPSILON), clip, &mut clipped);
            let mut both = factor.map_or([R::ZERO; 2], |f| [narrow(f, first), narrow(f, second)]);
            if let Some(table) = table.as_deref_mut() {
                for (new, kept) in both.iter_mut().zip(table.entry_mut(record)) {
                    let old = std::mem::replace(kept, *new);
                    // Features that are not finite never made it into the table.
                    *new = if norm.is_finite() { *new - old } else { R::ZERO };
                }
            }
            let [first, second] = both;
            if first != R::ZERO {
                Row::of(data, record).add_scaled(first, out);
                if self.intercept {
                    out[self.width] += first;
                }
            }
            out[last] += second;
        }
        clipped
    }
}

impl<R: Real> Objective<R> for Parity {
    fn dimension(&self) -> usize {
        self.size()
    }

    /// The saddle function: at its saddle point, loss and penalty.
    fn loss(&self, x: &[R], batch: Batch<'_, R>, _: &mut Scratch<R>) -> f64 {
        let multiplier = UNIT * x[self.size() - 1].to_f64();
        let value = |record| {
            let (data, score) = (batch.data(), self.score(x, batch.data(), record));
            let loss = Loss::Logistic.scalar(score, data.target(record)).0;
            let price = multiplier * self.apart(data, record) * score;
            loss + price - multiplier * multiplier / (4.0 * self.weight)
        };
        batch.iter().map(value).sum()
    }

    /// Down in the weights, up in the multiplier.
    fn clipped_sum(
        &self,
        x: &[R],
        batch: Batch<'_, R>,
        clip: f64,
        _: &mut Scratch<R>,
        out: &mut [R],
    ) -> Clipped {
        self.sum(x, batch, clip, None, out)
    }

    fn outputs(&self) -> usize {
        1
    }

    fn scores(&self, x: &[R], batch: Batch<'_, R>, _: &mut Scratch<R>, out: &mut [R]) {
        for (record, out) in batch.iter().zip(out) {
            *out = R::from_f64(self.score(x, batch.data(), record));
        }
    }
}

impl<R: Real> Tabled<R> for Parity {
    fn entry(&self) -> usize {
        2
    }

    fn exchange(
        &self,
        x: &[R],
        batch: Batch<'_, R>,
        clip: f64,
        table: &mut Table<R>,
        _: &mut Scratch<R>,
        out: &mut [R],
    ) -> Clipped {
        self.sum(x, batch, clip, Some(table), out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Features, Targets};
    use crate::fair::Groups;
    use crate::laws;
    use crate::synthetic::census;

    fn data<R: Real>(records: usize, width: usize) -> Dataset<R> {
        let features: Features<R> = laws::features(records, width, 3);
        let groups = (0..records).map(|record| u32::from(record % 3 == 0)).collect();
        let targets: Targets<R> = laws::signs(records, 5);
        Dataset::new(features, targets).and_then(|data| data.with_groups(groups)).unwrap()
    }

    #[test]
    fn gradients_are_those_of_the_saddle_function() {
        let (model, data, h) = (Parity::new(4, true, 3.0, 0.4), data::<f64>(30, 4), 1e-6);
        let x = [0.3, -0.2, 0.5, 0.1, -0.4, 0.7];
        let scratch = &mut Scratch::default();
        let mut gradient = [0.0; 6];
        model.gradient(&x, Batch::all(&data), scratch, &mut gradient);
        for k in 0..6 {
            let at = |step: f64| {
                let mut moved = x;
                moved[k] += step;
                model.loss(&moved, Batch::all(&data), &mut Scratch::default())
            };
            let slope = (at(h) - at(-h)) / (2.0 * h);
            let expected = if k == 5 { -slope } else { slope };
            assert!((gradient[k] - expected).abs() < 1e-6, "{k}: {} {expected}", gradient[k]);
        }
    }

    /// Invariant I8: whatever a record is, its contribution is at most the clip norm.
    fn contributions_are_clipped<R: Real>() {
        let (model, data) = (Parity::new(5, true, 0.5, 0.5), data::<R>(40, 5));
        let scratch = &mut Scratch::default();
        let (mut one, mut sum) = (vec![R::ZERO; 7], [0.0; 7]);
        let x: Vec<R> = [3.0, -2.0, 5.0, 1.0, -4.0, 0.5, 2.0].map(R::from_f64).to_vec();
        let mut shortened = 0;
        let mut table = Table::new(&model, 40);
        for record in 0..40 {
            let one_record = [record];
            let batch = Batch::of(&data, &one_record);
            shortened += model.clipped_sum(&x, batch, 0.5, scratch, &mut one).shortened;
            let norm = one.iter().map(|v| v.to_f64().powi(2)).sum::<f64>().sqrt();
            assert!(norm <= 0.5, "{norm}");
            sum.iter_mut().zip(&one).for_each(|(sum, v)| *sum += v.to_f64());
            let fresh = one.clone();
            model.exchange(&x, batch, 0.5, &mut table, scratch, &mut one);
            assert!(one == fresh, "an empty table stands for zeros");
            model.exchange(&x, batch, 0.5, &mut table, scratch, &mut one);
            assert!(one.iter().all(|v| *v == R::ZERO), "nothing is new");
        }
        assert!(shortened > 0);
        model.clipped_sum(&x, Batch::all(&data), 0.5, scratch, &mut one);
        assert!(one.iter().zip(sum).all(|(a, b)| (a.to_f64() - b).abs() < 1e-4));
    }

    #[test]
    fn contributions_are_clipped_in_both_precisions() {
        contributions_are_clipped::<f32>();
        contributions_are_clipped::<f64>();
    }

    #[test]
    fn a_heavier_weight_brings_groups_together() {
        let data = census::<f64>(3, 4000, 1.0);
        let share = data.groups().unwrap().iter().filter(|g| **g != 0).count() as f64 / 4000.0;
        let batch = Batch::all(&data);
        let difference = |weight: f64| {
            let model = Parity::new(data.width(), false, weight, share);
            let scratch = &mut Scratch::default();
            let mut x = vec![0.0; model.size()];
            let mut gradient = x.clone();
            for _ in 0..400 {
                model.gradient(&x, batch, scratch, &mut gradient);
                x.iter_mut().zip(&gradient).for_each(|(x, g)| *x -= 2.0 * g / 4000.0);
            }
            let mut scores = vec![0.0; 4000];
            model.scores(&x, batch, scratch, &mut scores);
            Groups::count(&scores, batch).risk_difference(1.96).value.abs()
        };
        let (light, heavy) = (difference(1e-3), difference(30.0));
        assert!(light > 0.05 && heavy < 0.5 * light, "{light} {heavy}");
    }
}
