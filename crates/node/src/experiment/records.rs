//! Records to learn from: given by whoever reads files, or drawn from the seed.

use std::any::Any;
use std::sync::Arc;

use serde_json::Value;
use undertone_model::Dataset;
use undertone_model::partition::Partition;
use undertone_model::synthetic::{census, gaussian_mixture, images, linear_regression};
use undertone_real::Real;

use crate::plan::{DataPlan, DrawnPlan, DrawnWord, Plan, PlanError, Precision};

/// Records of all nodes, and some that nobody learns from.
#[derive(Clone)]
pub struct Examples<R> {
    /// To learn from.
    pub train: Dataset<R>,
    /// Held out.
    pub test: Option<Dataset<R>>,
    /// How they are dealt to nodes, if the plan does not say it; evenly if nobody does.
    pub split: Option<Partition>,
}

/// Records in the numbers of the run. Copies share them.
#[derive(Clone)]
pub enum Records {
    /// Single precision.
    F32(Arc<Examples<f32>>),
    /// Double precision.
    F64(Arc<Examples<f64>>),
}

impl From<Examples<f32>> for Records {
    fn from(examples: Examples<f32>) -> Self {
        Self::F32(Arc::new(examples))
    }
}

impl From<Examples<f64>> for Records {
    fn from(examples: Examples<f64>) -> Self {
        Self::F64(Arc::new(examples))
    }
}

impl Records {
    /// What the plan makes up from its seed; nothing if its records come from elsewhere. The same
    /// for all repetitions, as a file would be.
    pub fn drawn(plan: &Plan) -> Result<Option<Self>, PlanError> {
        let Some(drawn) = drawn_plan(plan)? else { return Ok(None) };
        check(&drawn)?;
        Ok(Some(match plan.run.precision {
            Precision::F32 => Self::F32(Arc::new(draw(&drawn, plan.seed))),
            Precision::F64 => Self::F64(Arc::new(draw(&drawn, plan.seed))),
        }))
    }

    pub(super) fn examples<R: Real>(&self) -> Option<&Examples<R>> {
        let any: &dyn Any = match self {
            Self::F32(examples) => &**examples,
            Self::F64(examples) => &**examples,
        };
        any.downcast_ref()
    }

    pub(super) fn precision(&self) -> Precision {
        match self {
            Self::F32(_) => Precision::F32,
            Self::F64(_) => Precision::F64,
        }
    }
}

/// The `[data]` table, if its records are made up.
fn drawn_plan(plan: &Plan) -> Result<Option<DrawnPlan>, PlanError> {
    let DataPlan::Records(table) = &plan.data else { return Ok(None) };
    if !table.contains_key("source") {
        return Ok(None);
    }
    let read = serde_json::from_value(Value::Object(table.clone()));
    read.map(Some).map_err(|error| PlanError::new("data", error.to_string()))
}

fn check(drawn: &DrawnPlan) -> Result<(), PlanError> {
    let error = |key: &str, message: String| Err(PlanError::new(format!("data.{key}"), message));
    let DrawnPlan { source, records, holdout, .. } = *drawn;
    let mixture = source == DrawnWord::GaussianMixture;
    for (key, given, taken, needed) in [
        ("bias", drawn.bias.is_some(), source == DrawnWord::Census, false),
        ("image", drawn.image.is_some(), source == DrawnWord::Images, false),
        (
            "features",
            drawn.features.is_some(),
            mixture || source == DrawnWord::LinearRegression,
            true,
        ),
        ("classes", drawn.classes.is_some(), mixture, true),
        ("separation", drawn.separation.is_some(), mixture, true),
    ] {
        if given && !taken {
            return error(key, "this source does not take it; leave it out".into());
        }
        if taken && needed && !given {
            return error(key, "this source needs it".into());
        }
    }
    if drawn.features == Some(0) || drawn.image.is_some_and(|image| image.contains(&0)) {
        let key = if mixture { "features" } else { "image" };
        return error(key, "must be at least 1".into());
    }
    if drawn.classes.is_some_and(|classes| classes < 2) {
        return error("classes", "must be at least 2".into());
    }
    if drawn.bias.is_some_and(|bias| !(0.0..=1.0).contains(&bias)) {
        return error("bias", "is between 0 and 1".into());
    }
    if drawn.separation.is_some_and(|far| !(far >= 0.0 && far.is_finite())) {
        return error("separation", "must be at least 0 and finite".into());
    }
    if holdout >= records {
        let message = format!("{holdout} of {records} records cannot be held out");
        return error("holdout", message);
    }
    let width = match source {
        DrawnWord::Census => 105,
        DrawnWord::Images => drawn.image.unwrap_or(IMAGE).iter().product(),
        _ => drawn.features.unwrap_or(1),
    };
    let numbers = records as f64 * width as f64;
    if numbers > super::data::MAX_NUMBERS {
        return error("records", format!("{numbers:e} numbers in all are too many; take fewer"));
    }
    Ok(())
}

/// As the digits of MNIST.
const IMAGE: [usize; 3] = [1, 28, 28];

fn draw<R: Real>(drawn: &DrawnPlan, seed: u64) -> Examples<R> {
    let needed = "checked with the source";
    let records = drawn.records;
    let all: Dataset<R> = match drawn.source {
        DrawnWord::Census => census(seed, records, drawn.bias.unwrap_or(0.0)),
        DrawnWord::Images => images(seed, records, drawn.image.unwrap_or(IMAGE)),
        DrawnWord::GaussianMixture => gaussian_mixture(
            seed,
            records,
            drawn.features.expect(needed),
            drawn.classes.expect(needed),
            drawn.separation.expect(needed),
        ),
        DrawnWord::LinearRegression => {
            linear_regression(seed, 1, records, drawn.features.expect(needed)).data
        }
    };
    let split = drawn.split.clone();
    if drawn.holdout == 0 {
        return Examples { train: all, test: None, split };
    }
    let kept = records - drawn.holdout;
    let (train, test): (Vec<usize>, Vec<usize>) = ((0..kept).collect(), (kept..records).collect());
    Examples { train: all.select(&train), test: Some(all.select(&test)), split }
}
