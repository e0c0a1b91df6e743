//! Constants of a problem: given, or estimated where all nodes start.

use serde::Serialize;
use undertone_model::partition::Partition;
use undertone_model::synthetic::Source;
use undertone_model::{Batch, Dataset, Scratch, Tabled};
use undertone_real::Real;

use crate::experiment::charge::Statement;
use crate::plan::{PlanError, PlanningPlan};

/// What the bounds need to know of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Constants {
    /// `L`.
    pub smoothness: Constant,
    /// `F = f(x0) - f*`; an estimate takes 0 for `f*`, which no loss of ours is below.
    pub gap: Constant,
    /// `b^2`.
    pub heterogeneity: Constant,
    /// The mean squared norm of one record's gradient, clipped.
    pub variance: Constant,
    /// `|x0|^2`, which is public.
    pub start: f64,
}

/// A number, and who says so.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Constant {
    /// The number.
    pub value: f64,
    /// Who says so.
    pub origin: Origin,
}

/// Where a constant comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The square of the clip norm, which nothing clipped exceeds.
    Clip,
    /// Estimated from other records of the same generator: costs nothing.
    Generator,
    /// The plan.
    Given,
    /// Estimated from the nodes' own records, and charged.
    Private,
    /// Estimated from records that are declared to be public: costs nothing.
    Public,
}

/// What an estimate found; what it cannot find is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Found {
    pub smoothness: Option<f64>,
    pub gap: Option<f64>,
    pub heterogeneity: Option<f64>,
    pub variance: Option<f64>,
}

impl Constants {
    /// What the plan says, and otherwise what was found.
    pub(super) fn new(
        written: &PlanningPlan,
        found: Option<(Found, Origin)>,
        start: f64,
        clip: f64,
    ) -> Result<Self, PlanError> {
        let estimated = |pick: fn(&Found) -> Option<f64>| {
            let (found, origin) = found.as_ref()?;
            Some(Constant { value: pick(found)?, origin: *origin })
        };
        let choose = |key: &str, given: Option<f64>, estimate: Option<Constant>, least: f64| {
            let key = format!("plan.{key}");
            let constant = match (given, estimate) {
                (Some(value), _) => Constant { value, origin: Origin::Given },
                (None, Some(estimate)) => estimate,
                (None, None) => {
                    // Nodes do not say how fast gradients change.
                    let by_nodes = match key.ends_with("smoothness") {
                        true => {
                            "; for logistic models and rows of norm at most 1 it is at most \
                                 0.25, and 0.5 with an intercept"
                        }
                        false => {
                            "; or, charged, from the nodes' own records: { private = \
                                  { noise = 20.0, loss = 4.0 } }"
                        }
                    };
                    let message = format!(
                        "is not known; give it, or let it be estimated: estimate = \"generator\", \
                         or {{ public = {{ recipe = \"...\" }} }}{by_nodes}"
                    );
                    return Err(PlanError::new(key, message));
                }
            };
            if constant.value.is_finite() && constant.value >= least {
                return Ok(constant);
            }
            let message = format!("must be finite and at least {least}, got {}", constant.value);
            Err(PlanError::new(key, message))
        };
        let by_clip = Some(Constant { value: clip * clip, origin: Origin::Clip });
        let tiny = f64::MIN_POSITIVE;
        Ok(Self {
            smoothness: choose(
                "smoothness",
                written.smoothness,
                estimated(|found| found.smoothness),
                tiny,
            )?,
            gap: choose("gap", written.gap, estimated(|found| found.gap), tiny)?,
            heterogeneity: choose(
                "heterogeneity",
                written.heterogeneity,
                estimated(|found| found.heterogeneity),
                0.0,
            )?,
            variance: choose(
                "variance",
                written.variance,
                estimated(|found| found.variance).or(by_clip),
                0.0,
            )?,
            start,
        })
    }
}

impl Found {
    /// From records that everybody may see, dealt to nodes as those of the plan.
    pub(super) fn in_public<R: Real>(
        objective: &dyn Tabled<R>,
        data: &Dataset<R>,
        split: &Partition,
        nodes: u32,
        clip: f64,
        at: &[R],
    ) -> Result<Self, PlanError> {
        let some: Vec<usize> = (0..data.records().min(MOST)).collect();
        let data = &data.select(&some);
        let parts = split.split(data, nodes as usize, 0).map_err(|error| {
            let message = format!("public records cannot be dealt to the nodes: {error}");
            PlanError::new("plan.estimate", message)
        })?;
        let mut scratch = Scratch::default();
        let (mut means, mut errors, mut squares) = (Vec::new(), 0.0, 0.0);
        let mut gradient = vec![R::ZERO; objective.dimension()];
        for part in &parts {
            let mut sum = vec![0.0; gradient.len()];
            let mut square = 0.0;
            for record in part {
                let one = [*record];
                let batch = Batch::of(data, &one);
                objective.clipped_sum(at, batch, clip, &mut scratch, &mut gradient);
                sum.iter_mut().zip(&gradient).for_each(|(sum, g)| *sum += g.to_f64());
                square += gradient.iter().map(|g| g.to_f64().powi(2)).sum::<f64>();
            }
            let size = part.len().max(1) as f64;
            sum.iter_mut().for_each(|v| *v /= size);
            // The error of a mean of so many records, whose gradients vary.
            let varies = square / size - sum.iter().map(|v| v * v).sum::<f64>();
            errors += varies.max(0.0) / (size - 1.0).max(1.0);
            squares += square;
            means.push(sum);
        }
        let errors = errors / parts.len() as f64;
        let loss = objective.loss(at, Batch::all(data), &mut scratch);
        let records = data.records().max(1) as f64;
        Ok(Self {
            smoothness: Some(curvature(objective, data, at)),
            gap: Some(loss / records),
            heterogeneity: Some(apart(&means, errors)),
            variance: Some(squares / records),
        })
    }

    /// From what nodes said, whose noise is taken off where it adds up. How fast gradients change
    /// they do not say: it is the largest of many numbers, and no noise hides one record in that.
    pub(super) fn in_statements(said: &[Statement]) -> Self {
        let n = said.len().max(1) as f64;
        let mean = |pick: fn(&Statement) -> f64| said.iter().map(pick).sum::<f64>() / n;
        let gradients: Vec<_> = said.iter().map(|statement| statement.gradient.clone()).collect();
        Self {
            smoothness: None,
            gap: Some(mean(|statement| statement.loss).max(1e-6)),
            heterogeneity: Some(apart(&gradients, mean(|statement| statement.error))),
            variance: Some(mean(|statement| statement.square).max(0.0)),
        }
    }
}

/// More records than this say little more.
const MOST: usize = 4096;
/// Steps of the power method; it finds the largest curvature to a few percent.
const TURNS: u32 = 20;

/// The mean squared distance of nodes' gradients from their mean, less what is only error: `error`
/// is the mean squared error of one of them.
fn apart(means: &[Vec<f64>], error: f64) -> f64 {
    let n = means.len().max(1) as f64;
    let all: Vec<f64> = (0..means.first().map_or(0, Vec::len))
        .map(|k| means.iter().map(|mean| mean[k]).sum::<f64>() / n)
        .collect();
    let square = |mean: &Vec<f64>| mean.iter().zip(&all).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    (means.iter().map(square).sum::<f64>() / n - (1.0 - 1.0 / n) * error).max(0.0)
}

/// The largest curvature of the mean loss at a point, by the power method on differences of
/// gradients.
fn curvature<R: Real>(objective: &dyn Tabled<R>, data: &Dataset<R>, at: &[R]) -> f64 {
    let d = at.len();
    let mut scratch = Scratch::default();
    let mut direction = Source::new(0, 0).uniform(-1.0, 1.0, d);
    let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let reach = norm(&at.iter().map(|v| v.to_f64()).collect::<Vec<_>>()).max(1.0);
    let h = R::EPSILON.to_f64().cbrt() * reach;
    let records = data.records().max(1) as f64;
    let mut gradient = |sign: f64, direction: &[f64]| -> Vec<f64> {
        let moved = at.iter().zip(direction).map(|(x, v)| R::from_f64(x.to_f64() + sign * h * v));
        let mut out = vec![R::ZERO; d];
        let moved: Vec<R> = moved.collect();
        objective.gradient(&moved, Batch::all(data), &mut scratch, &mut out);
        out.iter().map(|g| g.to_f64() / records).collect()
    };
    let mut largest = 0.0;
    for _ in 0..TURNS {
        let size = norm(&direction);
        if size == 0.0 {
            break;
        }
        direction.iter_mut().for_each(|v| *v /= size);
        let (ahead, behind) = (gradient(1.0, &direction), gradient(-1.0, &direction));
        let change = ahead.iter().zip(&behind).map(|(a, b)| (a - b) / (2.0 * h));
        direction = change.collect();
        largest = norm(&direction);
    }
    largest
}

#[cfg(test)]
mod tests {
    use undertone_model::synthetic::{census, gaussian_mixture};
    use undertone_model::{Loss, Network, Objective};

    use super::*;

    fn logistic(features: usize) -> impl Tabled<f64> {
        undertone_model::Linear::new(features, false, Loss::Logistic)
    }

    /// At zero the Hessian of logistic regression is a quarter of the mean of x x^T.
    #[test]
    fn curvature_is_the_largest_eigenvalue_of_the_hessian() {
        let data = census::<f64>(1, 500, 0.0);
        let objective = logistic(data.width());
        let found = curvature(&objective, &data, &vec![0.0; data.width()]);
        let mut row = vec![0.0; data.width()];
        let mut direction = vec![1.0; data.width()];
        let mut largest = 0.0;
        for _ in 0..200 {
            let mut next = vec![0.0; data.width()];
            for record in 0..data.records() {
                data.write_row(record, &mut row);
                let along: f64 = row.iter().zip(&direction).map(|(a, b)| a * b).sum();
                next.iter_mut().zip(&row).for_each(|(n, x)| *n += 0.25 * along * x / 500.0);
            }
            largest = next.iter().map(|v| v * v).sum::<f64>().sqrt();
            direction = next.iter().map(|v| v / largest).collect();
        }
        assert!((found / largest - 1.0).abs() < 0.02, "{found} {largest}");
    }

    #[test]
    fn nodes_with_the_same_law_are_hardly_apart_and_gaps_are_losses() {
        let data = census::<f64>(2, 2000, 0.0);
        let objective = logistic(data.width());
        let at = vec![0.0; data.width()];
        let found = Found::in_public(&objective, &data, &Partition::Even, 10, 1.0, &at).unwrap();
        assert!((found.gap.unwrap() - std::f64::consts::LN_2).abs() < 1e-12);
        let (apart, variance) = (found.heterogeneity.unwrap(), found.variance.unwrap());
        assert!(apart < 0.01 * variance, "{apart} {variance}");
        assert!(variance <= 1.0 && variance > 0.0);
    }

    #[test]
    fn networks_and_single_precision_do_as_well() {
        let data = gaussian_mixture::<f32>(3, 400, 4, 3, 2.0);
        let network = Network::mlp(
            &[4, 5, 3],
            undertone_model::network::Activation::Tanh,
            Loss::CrossEntropy,
        )
        .unwrap();
        let at = vec![0.1_f32; Objective::<f32>::dimension(&network)];
        let found = Found::in_public(&network, &data, &Partition::Even, 4, 1.0, &at).unwrap();
        assert!(found.smoothness.is_some_and(|l| l.is_finite() && l > 0.0), "{found:?}");
    }
}
