//! Objectives that are written record by record: what a loss of one's own needs.

use std::sync::Arc;

use undertone_real::Real;

use crate::clip::{clip_factor, narrow};
use crate::dataset::Target;
use crate::objective::{Batch, Clipped, Objective, Scratch};
use crate::row::Row;
use crate::table::{Table, Tabled};

/// The loss of one record: its features, its target and the parameters `x`.
///
/// Whoever writes one says what a record costs and how that changes with `x`. [`PerRecord`] does
/// the rest, clipping included, so that a slip in here costs accuracy and never privacy. For that
/// all methods have to depend on nothing but their arguments and what `self` held when training
/// began.
pub trait RecordLoss<R: Real>: Send + Sync {
    /// How many parameters there are.
    fn dimension(&self) -> usize;

    /// What the record costs.
    fn loss(&self, x: &[R], features: &[R], target: Target<'_, R>) -> f64;

    /// Writes the slope of that in every parameter.
    fn gradient(&self, x: &[R], features: &[R], target: Target<'_, R>, out: &mut [R]);

    /// What the model says of a record: a value, or a margin whose sign is the prediction.
    fn score(&self, x: &[R], features: &[R]) -> R;

    /// Where training starts: at zero, or at another point that is public.
    fn initial(&self) -> Vec<R> {
        vec![R::ZERO; self.dimension()]
    }
}

/// An [`Objective`] made of a [`RecordLoss`].
///
/// It is for losses that we do not have: the gradient of every record is computed by itself, so
/// that it is slower than our own objectives.
///
/// # Guarantee
///
/// That of [`Objective::clipped_sum`], whatever the loss says: a gradient is shortened after it was
/// computed, and one that is not finite counts as zero.
///
/// ```
/// use undertone_model::dataset::{Features, Target, Targets};
/// use undertone_model::{Batch, Dataset, Objective, PerRecord, RecordLoss, Scratch};
///
/// struct Cubed;
/// impl RecordLoss<f64> for Cubed {
///     fn dimension(&self) -> usize {
///         1
///     }
///     fn loss(&self, x: &[f64], _: &[f64], _: Target<'_, f64>) -> f64 {
///         x[0].powi(3)
///     }
///     fn gradient(&self, x: &[f64], _: &[f64], _: Target<'_, f64>, out: &mut [f64]) {
///         out[0] = 3.0 * x[0] * x[0];
///     }
///     fn score(&self, x: &[f64], _: &[f64]) -> f64 {
///         x[0]
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let objective = PerRecord::new(Cubed);
/// let data = Dataset::new(Features::Dense { width: 1, values: vec![1.0, 2.0] }, Targets::None)?;
/// let mut sum = [0.0];
/// let batch = Batch::all(&data);
/// objective.clipped_sum(&[2.0], batch, 1.0, &mut Scratch::default(), &mut sum);
/// assert!((sum[0] - 2.0).abs() < 1e-9 && sum[0] <= 2.0); // 12 and 12, each shortened to 1
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PerRecord<R: Real>(Arc<dyn RecordLoss<R>>);

impl<R: Real> PerRecord<R> {
    /// Of this loss.
    pub fn new(loss: impl RecordLoss<R> + 'static) -> Self {
        Self(Arc::new(loss))
    }

    /// Where training starts.
    pub fn initial(&self) -> Vec<R> {
        self.0.initial()
    }

    fn sum(
        &self,
        x: &[R],
        batch: Batch<'_, R>,
        clip: f64,
        table: Option<&mut Table<R>>,
        scratch: &mut Scratch<R>,
        out: &mut [R],
    ) -> Clipped {
        let width = batch.data().width();
        let (memory, _) = scratch.take(width + self.0.dimension());
        let (features, row) = memory.split_at_mut(width);
        sum_of_clipped(batch, clip, table, row, out, |record, row| {
            batch.data().write_row(record, features);
            row.fill(R::ZERO);
            self.0.gradient(x, features, batch.data().target(record), row);
        })
    }
}

impl<R: Real> Objective<R> for PerRecord<R> {
    fn dimension(&self) -> usize {
        self.0.dimension()
    }

    fn loss(&self, x: &[R], batch: Batch<'_, R>, scratch: &mut Scratch<R>) -> f64 {
        let (features, _) = scratch.take(batch.data().width());
        let one = |record| {
            batch.data().write_row(record, features);
            self.0.loss(x, features, batch.data().target(record))
        };
        batch.iter().map(one).sum()
    }

    fn clipped_sum(
        &self,
        x: &[R],
        batch: Batch<'_, R>,
        clip: f64,
        scratch: &mut Scratch<R>,
        out: &mut [R],
    ) -> Clipped {
        self.sum(x, batch, clip, None, scratch, out)
    }

    fn outputs(&self) -> usize {
        1
    }

    fn scores(&self, x: &[R], batch: Batch<'_, R>, scratch: &mut Scratch<R>, out: &mut [R]) {
        let (features, _) = scratch.take(batch.data().width());
        for (record, out) in batch.iter().zip(out) {
            batch.data().write_row(record, features);
            *out = self.0.score(x, features);
        }
    }
}

impl<R: Real> Tabled<R> for PerRecord<R> {
    /// Nothing is known of a gradient that would make it smaller.
    fn entry(&self) -> usize {
        self.0.dimension()
    }

    fn exchange(
        &self,
        x: &[R],
        batch: Batch<'_, R>,
        clip: f64,
        table: &mut Table<R>,
        scratch: &mut Scratch<R>,
        out: &mut [R],
    ) -> Clipped {
        self.sum(x, batch, clip, Some(table), scratch, out)
    }
}

/// Writes the sum of the gradients that `gradient` writes for every record, each shortened; less
/// those of the table, if there is one, which takes the new ones.
pub(crate) fn sum_of_clipped<R: Real>(
    batch: Batch<'_, R>,
    clip: f64,
    mut table: Option<&mut Table<R>>,
    row: &mut [R],
    out: &mut [R],
    mut gradient: impl FnMut(usize, &mut [R]),
) -> Clipped {
    let mut clipped = Clipped::default();
    out.fill(R::ZERO);
    for record in batch.iter() {
        gradient(record, row);
        let squared = Row::Dense(row).squared_norm();
        match clip_factor::<R>(squared, clip, &mut clipped) {
            None => row.fill(R::ZERO),
            Some(factor) if factor < 1.0 => {
                row.iter_mut().for_each(|d| *d = narrow(factor, *d));
            }
            Some(_) => {}
        }
        out.iter_mut().zip(&*row).for_each(|(out, d)| *out += *d);
        if let Some(table) = &mut table {
            let entry = table.entry_mut(record);
            out.iter_mut().zip(&*entry).for_each(|(out, old)| *out -= *old);
            entry.copy_from_slice(row);
        }
    }
    clipped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Dataset;
    use crate::laws;
    use crate::{Linear, Loss};

    /// Logistic regression, which we have, too.
    struct Own(usize);

    impl<R: Real> RecordLoss<R> for Own {
        fn dimension(&self) -> usize {
            self.0
        }

        fn loss(&self, x: &[R], features: &[R], target: Target<'_, R>) -> f64 {
            (-margin(x, features, target)).exp().ln_1p()
        }

        fn gradient(&self, x: &[R], features: &[R], target: Target<'_, R>, out: &mut [R]) {
            let Target::Sign(y) = target else { panic!("signs") };
            let slope = -y.to_f64() / (1.0 + margin(x, features, target).exp());
            out.iter_mut()
                .zip(features)
                .for_each(|(out, v)| *out = R::from_f64(slope * v.to_f64()));
        }

        fn score(&self, x: &[R], features: &[R]) -> R {
            R::from_f64(margin(x, features, Target::Sign(R::ONE)))
        }
    }

    fn margin<R: Real>(x: &[R], features: &[R], target: Target<'_, R>) -> f64 {
        let Target::Sign(y) = target else { panic!("signs") };
        y.to_f64() * x.iter().zip(features).map(|(x, v)| x.to_f64() * v.to_f64()).sum::<f64>()
    }

    /// Invariant I8 and the other laws.
    #[test]
    fn the_laws_hold_for_a_loss_of_ones_own() {
        fn check<R: Real>() {
            for features in [laws::features(20, 5, 1), laws::sparse_features(20, 5, 1)] {
                let data = Dataset::<R>::new(features, laws::signs(20, 2)).unwrap();
                let objective = PerRecord::new(Own(5));
                laws::check(&objective, &data, 3);
                laws::check_table(&objective, &data, 3);
            }
        }
        check::<f32>();
        check::<f64>();
    }

    #[test]
    fn it_says_what_our_own_logistic_regression_says() {
        let data = Dataset::<f64>::new(laws::features(20, 5, 1), laws::signs(20, 2)).unwrap();
        let (own, ours) = (PerRecord::new(Own(5)), Linear::new(5, false, Loss::Logistic));
        let (x, scratch) = (laws::point(&own, 1), &mut Scratch::default());
        let batch = Batch::all(&data);
        let (mut a, mut b) = ([0.0; 5], [0.0; 5]);
        own.clipped_sum(&x, batch, 0.3, scratch, &mut a);
        ours.clipped_sum(&x, batch, 0.3, scratch, &mut b);
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12), "{a:?} {b:?}");
        assert!((own.loss(&x, batch, scratch) - ours.loss(&x, batch, scratch)).abs() < 1e-12);
    }
}
