//! What is summed over records.

mod sensitivity;

use undertone_real::Real;

use super::polynomial::Polynomial;
use crate::dataset::{Dataset, Target};
use crate::row::Row;

/// Sums over records `(x, y, z)` with `|x| <= 1`, label and group in {0, 1}, of which a quadratic
/// objective is made: `a = sum (1/2 - y) x`, `M = 1/8 sum x x'` and what [`Coefficients`] add.
///
/// Records are brought into bounds before anything is summed: negative features become zero unless
/// they are declared, long ones are shortened, and a record that is not finite is all zeros.
///
/// Blocks have public weights, chosen so that what the worst replacement does not move is counted
/// for more: it then gets less noise at the same sensitivity.
///
/// # References
///
/// Theory section 4, A11; paper 000 chapter 5; Zhang and others 2012.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    features: usize,
    coefficients: Coefficients,
    norm: Norm,
    signed: bool,
    /// Whether blocks have weights.
    weighted: bool,
    /// Columns with more noise than others, and how many times more.
    special: Option<(Vec<usize>, f64)>,
}

/// Which sums there are beside `M`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Coefficients {
    /// `a`: no fairness.
    Plain,
    /// `a` and, apart, `sum (z - 1/2) x`, `sum x` and `sum (z - 1/2)`, of which the covariance
    /// `g = sum (z - mean z) x` is made afterwards. No mean of all records has to be known while
    /// summing, so nodes add theirs up.
    Covariance,
    /// `sum (1/2 - y + |z - mean z|) x`, as paper 000 prints it, with the mean of the records that
    /// are summed.
    Printed,
    /// `a + weight g`, with the mean of the records that are summed.
    Shifted {
        /// The weight.
        weight: f64,
    },
}

/// In which norm sums are close when one record is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// Sum of absolute values: for Laplace noise.
    L1,
    /// Euclidean: for Gaussian noise.
    L2,
}

/// Of `sum x`, beside [`Coefficients::Covariance`]: the square is 1/8.
const FEATURES: f64 = std::f64::consts::FRAC_1_SQRT_2 / 2.0;
/// Of `sum (z - 1/2)`: it needs little precision.
const GROUP: f64 = 0.25;

impl Statistics {
    /// Of records with so many features, none of them negative.
    pub fn new(features: usize, coefficients: Coefficients, norm: Norm) -> Self {
        let weighted = coefficients != Coefficients::Printed;
        Self { features, coefficients, norm, signed: false, weighted, special: None }
    }

    /// With features of any sign.
    pub fn signed(mut self) -> Self {
        self.signed = true;
        self
    }

    /// With the entries of `M` as they are, each of two mirrored ones once: for noise as printed.
    pub fn unweighted(mut self) -> Self {
        self.weighted = false;
        self
    }

    /// With `times` the noise in all sums that some columns touch. They are divided by it before
    /// noise and multiplied after, so that the sensitivity stays; that is the tight one, because a
    /// record may avoid those columns. Panics if `times` is below one or a column does not exist.
    pub fn with_special(mut self, columns: Vec<usize>, times: f64) -> Self {
        assert!(times >= 1.0 && columns.iter().all(|column| *column < self.features));
        self.special = Some((columns, times));
        self
    }

    /// How many numbers the sums are.
    pub fn dimension(&self) -> usize {
        let d = self.features;
        let own = d + d * (d + 1) / 2;
        if self.coefficients == Coefficients::Covariance { own + 2 * d + 1 } else { own }
    }

    /// How many features a record has.
    pub fn features(&self) -> usize {
        self.features
    }

    /// The norm of its sensitivity.
    pub fn norm(&self) -> Norm {
        self.norm
    }

    /// The sums, weighted. Panics if records have no signs, or no groups where they are needed.
    pub fn sum<R: Real>(&self, data: &Dataset<R>) -> Vec<f64> {
        let d = self.features;
        let groups = data.groups().unwrap_or_default();
        let is_in = |record: usize| f64::from(u8::from(groups[record] != 0));
        let fair = self.coefficients != Coefficients::Plain;
        let mean = match fair {
            true => (0..data.records()).map(is_in).sum::<f64>() / data.records().max(1) as f64,
            false => 0.0,
        };
        let mut sums = vec![0.0; self.dimension()];
        let (linear, rest) = sums.split_at_mut(d);
        let (quadratic, apart) = rest.split_at_mut(d * (d + 1) / 2);
        let mut row = Vec::new();
        for record in 0..data.records() {
            self.bring(Row::of(data, record), &mut row);
            let Target::Sign(sign) = data.target(record) else { panic!("labels are signs") };
            let y = if sign > R::ZERO { 1.0 } else { 0.0 };
            let z = if fair { is_in(record) } else { 0.0 };
            let coefficient = match self.coefficients {
                Coefficients::Plain | Coefficients::Covariance => 0.5 - y,
                Coefficients::Printed => 0.5 - y + (z - mean).abs(),
                Coefficients::Shifted { weight } => 0.5 - y + weight * (z - mean),
            };
            for (k, (column, x)) in row.iter().enumerate() {
                linear[*column] += coefficient * x;
                let first = column * (2 * d + 1 - column) / 2;
                for (other, v) in &row[k..] {
                    quadratic[first + other - column] += x * v / 8.0;
                }
                if let [covariance @ .., last] = &mut *apart {
                    covariance[*column] += (z - 0.5) * x;
                    covariance[d + column] += x;
                    *last += if k == 0 { z - 0.5 } else { 0.0 };
                }
            }
            if let (true, [.., last]) = (row.is_empty(), &mut *apart) {
                *last += z - 0.5;
            }
        }
        self.each_weight(|at, weight| sums[at] *= weight);
        sums
    }

    /// The mean objective of so many records, from sums that may be noisy. Panics if they have
    /// another dimension.
    pub fn polynomial(&self, sums: &[f64], records: f64) -> Polynomial {
        assert_eq!(sums.len(), self.dimension(), "sums of these statistics");
        let d = self.features;
        let mut means = sums.to_vec();
        self.each_weight(|at, weight| means[at] /= weight * records);
        let (linear, rest) = means.split_at(d);
        let (upper, apart) = rest.split_at(d * (d + 1) / 2);
        let at = |i: usize, j: usize| upper[i * (2 * d + 1 - i) / 2 + j - i];
        let full = (0..d * d).map(|k| at((k / d).min(k % d), (k / d).max(k % d)));
        let covariance = match apart {
            [both @ .., off] => {
                // A mean of z between 0 and 1, whatever the noise.
                let off = off.clamp(-0.5, 0.5);
                let (own, features) = both.split_at(d);
                Some(own.iter().zip(features).map(|(own, x)| own - off * x).collect())
            }
            [] => None,
        };
        Polynomial { linear: linear.to_vec(), quadratic: full.collect(), covariance }
    }

    /// The standard deviation of an entry of `M` off its diagonal, given that of the sums.
    pub fn quadratic_noise(&self, deviation: f64) -> f64 {
        deviation / (self.quadratic() * self.off_diagonal())
    }

    /// Of `M`. As large as it can be for free: the derivative of [`sensitivity`](Self::sensitivity)
    /// at `C = 1` is still not negative.
    fn quadratic(&self) -> f64 {
        match (self.norm, self.coefficients) {
            (Norm::L2, Coefficients::Plain) if self.weighted => 8.0_f64.sqrt(),
            (Norm::L2, Coefficients::Covariance) if self.weighted => {
                (16.0 * (1.0 - 2.0 * FEATURES * FEATURES)).sqrt()
            }
            _ => 1.0,
        }
    }

    /// So that the norm of the sums is that of the whole matrix; as printed only one half counts.
    fn off_diagonal(&self) -> f64 {
        match (self.norm, self.weighted) {
            (Norm::L2, true) => std::f64::consts::SQRT_2,
            (Norm::L2, false) => 1.0,
            (Norm::L1, _) => 2.0,
        }
    }

    fn each_weight(&self, mut visit: impl FnMut(usize, f64)) {
        let d = self.features;
        let quieter = |columns: &[usize]| match &self.special {
            Some((special, times)) if columns.iter().any(|c| special.contains(c)) => 1.0 / times,
            _ => 1.0,
        };
        (0..d).for_each(|k| visit(k, quieter(&[k])));
        let mut at = d;
        for i in 0..d {
            for j in i..d {
                let both = if i == j { 1.0 } else { self.off_diagonal() };
                visit(at, self.quadratic() * both * quieter(&[i, j]));
                at += 1;
            }
        }
        if self.coefficients == Coefficients::Covariance {
            (0..d).for_each(|k| visit(at + k, quieter(&[k])));
            (0..d).for_each(|k| visit(at + d + k, FEATURES * quieter(&[k])));
            visit(at + 2 * d, GROUP);
        }
    }

    /// What is not zero in a record, in bounds.
    fn bring<R: Real>(&self, record: Row<'_, R>, out: &mut Vec<(usize, f64)>) {
        out.clear();
        let kept = |v: f64| v != 0.0 && (self.signed || v > 0.0 || v.is_nan());
        out.extend(record.stored().map(|(k, v)| (k, v.to_f64())).filter(|(_, v)| kept(*v)));
        let squares: f64 = out.iter().map(|(_, v)| v * v).sum();
        if !squares.is_finite() {
            out.clear();
        }
        if squares > 1.0 {
            // Against rounding in the sum, the root and the products.
            let factor = (1.0 - 1e-12) / squares.sqrt();
            out.iter_mut().for_each(|(_, v)| *v *= factor);
        }
    }
}

#[cfg(test)]
mod tests;
