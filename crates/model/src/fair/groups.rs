//! How differently a classifier treats two groups.

use undertone_real::Real;

use crate::dataset::Target;
use crate::objective::Batch;

/// How many records of each group were, and were predicted to be, positive.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Groups {
    /// By group, by what is true, by what is predicted.
    counts: [[[f64; 2]; 2]; 2],
}

/// A value with a confidence interval; NaN where there is nothing to count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// What was counted.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Groups {
    /// Of records with signs and groups; a positive score predicts a positive sign, and every group
    /// but 0 is group 1. Panics if there are no groups or no signs.
    pub fn count<R: Real>(scores: &[R], batch: Batch<'_, R>) -> Self {
        let groups = batch.data().groups().expect("the caller asks only where there are groups");
        let mut counts = [[[0.0; 2]; 2]; 2];
        for (position, score) in (0..batch.len()).zip(scores) {
            let Target::Sign(sign) = batch.target(position) else {
                panic!("fairness is of signs");
            };
            let group = usize::from(groups[batch.record(position)] != 0);
            counts[group][usize::from(sign > R::ZERO)][usize::from(*score > R::ZERO)] += 1.0;
        }
        Self { counts }
    }

    /// The eight counts one after the other. Replacing one record moves two of them by one.
    pub fn to_vec(&self) -> Vec<f64> {
        self.counts.iter().flatten().flatten().copied().collect()
    }

    /// From eight counts, which may be noisy: below zero is zero. `None` if they are not eight.
    pub fn from_counts(counts: &[f64]) -> Option<Self> {
        let counts: &[f64; 8] = counts.try_into().ok()?;
        let at = |g: usize, y: usize, p: usize| counts[4 * g + 2 * y + p].max(0.0);
        let pair = |g, y| [at(g, y, 0), at(g, y, 1)];
        Some(Self { counts: [0, 1].map(|g| [pair(g, 0), pair(g, 1)]) })
    }

    /// By how much more often group 1 is predicted to be positive: demographic parity is zero.
    ///
    /// Intervals reach `quantile` standard deviations of the normal distribution, 1.96 for 95 %,
    /// and count what is random in the records, not what noise was added to counts.
    ///
    /// # References
    ///
    /// Calders and Verwer 2010; the interval is Newcombe 1998, method 10.
    pub fn risk_difference(&self, quantile: f64) -> Estimate {
        difference(self.positive(0), self.positive(1), quantile)
    }

    /// By how much more often group 1 is predicted to be positive among those who are.
    ///
    /// # References
    ///
    /// Hardt, Price, Srebro 2016.
    pub fn equal_opportunity(&self, quantile: f64) -> Estimate {
        difference(self.rate(0, 1), self.rate(1, 1), quantile)
    }

    /// The larger of the differences in true and in false positives, without a sign. The interval
    /// holds whenever those of both differences do.
    ///
    /// # References
    ///
    /// Hardt, Price, Srebro 2016.
    pub fn equalised_odds(&self, quantile: f64) -> Estimate {
        let both =
            [0, 1].map(|y| magnitude(difference(self.rate(0, y), self.rate(1, y), quantile)));
        let most = |of: fn(&Estimate) -> f64| match (of(&both[0]), of(&both[1])) {
            (a, b) if a.is_nan() || b.is_nan() => f64::NAN,
            (a, b) => a.max(b),
        };
        Estimate { value: most(|e| e.value), low: most(|e| e.low), high: most(|e| e.high) }
    }

    /// How often group 0 is predicted to be positive, over how often group 1 is.
    ///
    /// # References
    ///
    /// Feldman and others 2015; the interval of a ratio is Katz and others 1978.
    pub fn disparate_impact(&self, quantile: f64) -> Estimate {
        let ((a, n), (b, m)) = (self.positive(0), self.positive(1));
        let value = (a / n) / (b / m);
        let wide = libm::exp(quantile * (1.0 / a - 1.0 / n + 1.0 / b - 1.0 / m).max(0.0).sqrt());
        Estimate { value, low: value / wide, high: value * wide }
    }

    /// The share of a group that is predicted rightly.
    pub fn accuracy(&self, group: usize, quantile: f64) -> Estimate {
        let [[no, _], [_, yes]] = self.counts[group];
        let all: f64 = self.counts[group].iter().flatten().sum();
        wilson((no + yes, all), quantile)
    }

    /// Of those of a group whose sign is `y`: how many are predicted to be positive, of how many.
    fn rate(&self, group: usize, y: usize) -> (f64, f64) {
        let [no, yes] = self.counts[group][y];
        (yes, no + yes)
    }

    fn positive(&self, group: usize) -> (f64, f64) {
        let ((a, n), (b, m)) = (self.rate(group, 0), self.rate(group, 1));
        (a + b, n + m)
    }
}

impl Estimate {
    /// Whether the interval holds a value.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// A share with the interval of Wilson 1927.
fn wilson((hits, all): (f64, f64), quantile: f64) -> Estimate {
    let (share, square) = (hits / all, quantile * quantile);
    let middle = (hits + square / 2.0) / (all + square);
    let wide =
        quantile / (all + square) * (hits * (all - hits) / all + square / 4.0).max(0.0).sqrt();
    Estimate { value: share, low: middle - wide, high: middle + wide }
}

fn difference(first: (f64, f64), second: (f64, f64), quantile: f64) -> Estimate {
    let (a, b) = (wilson(first, quantile), wilson(second, quantile));
    let value = b.value - a.value;
    Estimate {
        value,
        low: value - (b.value - b.low).hypot(a.high - a.value),
        high: value + (b.high - b.value).hypot(a.value - a.low),
    }
}

/// Of the absolute value.
fn magnitude(signed: Estimate) -> Estimate {
    let (low, high) = (signed.low.abs(), signed.high.abs());
    let nearest = if signed.contains(0.0) { 0.0 } else { low.min(high) };
    Estimate { value: signed.value.abs(), low: nearest, high: low.max(high) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Dataset, Features, Targets};

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 5e-5, "{found} {expected}");
    }

    #[test]
    fn measures_count_what_they_say() {
        let signs = Targets::Sign(vec![1.0, 1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0]);
        let data = Dataset::new(Features::Dense { width: 1, values: vec![0.0; 8] }, signs)
            .and_then(|data| data.with_groups(vec![0, 0, 0, 0, 1, 1, 1, 2]))
            .unwrap();
        let scores = [1.0, -1.0, -1.0, 0.0, 1.0, 2.0, 1.0, -1.0];
        let found = Groups::count(&scores, Batch::all(&data));
        assert_eq!(found.risk_difference(1.96).value, 0.5);
        assert_eq!(found.equal_opportunity(1.96).value, 0.5);
        assert_eq!(found.equalised_odds(1.96).value, 0.5);
        near(found.disparate_impact(1.96).value, 1.0 / 3.0);
        assert_eq!((found.accuracy(0, 1.96).value, found.accuracy(1, 1.96).value), (0.75, 0.75));
        assert_eq!(Groups::from_counts(&found.to_vec()), Some(found));
        let noisy = Groups::from_counts(&[-3.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0]).unwrap();
        assert_eq!(noisy.to_vec()[0], 0.0);
        assert_eq!(Groups::from_counts(&[1.0]), None);
        assert!(Groups::default().risk_difference(1.96).value.is_nan());
        assert!(Groups::default().equalised_odds(1.96).value.is_nan());
    }

    #[test]
    fn intervals_are_those_of_newcombe_and_wilson() {
        // Newcombe 1998, table II, method 10: 56/70 - 48/80 is 0.2 (0.0524, 0.3339).
        let found = difference((48.0, 80.0), (56.0, 70.0), 1.959964);
        near(found.value, 0.2);
        near(found.low, 0.0524);
        near(found.high, 0.3339);
        // And 9/10 - 3/10: (0.1705, 0.8090).
        let found = difference((3.0, 10.0), (9.0, 10.0), 1.959964);
        near(found.low, 0.1705);
        near(found.high, 0.8090);
        // Newcombe 1998 on single proportions, method 3: 81/263 is (0.2553, 0.3662).
        let found = wilson((81.0, 263.0), 1.959964);
        near(found.low, 0.2553);
        near(found.high, 0.3662);
        let straddling = magnitude(Estimate { value: -0.1, low: -0.3, high: 0.1 });
        assert_eq!(straddling, Estimate { value: 0.1, low: 0.0, high: 0.3 });
    }
}
