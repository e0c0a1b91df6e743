//! A model, with the sizes that follow from the records.

use std::any::Any;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use undertone_model::dataset::Targets;
use undertone_model::network::{Activation, Layer, Stem};
use undertone_model::{Dataset, Linear, Loss, Model, Network, Objective, PerRecord, Tabled};
use undertone_real::Real;

use crate::plan::{Plan, PlanError, Precision};

/// A model that fits its records.
pub(super) enum Described {
    /// One that a plan can name.
    Named(Model),
    /// One that was given in code.
    Own(OwnObjective),
}

/// An objective that no plan can name, in the numbers of the run. Its plan has
/// `model = { kind = "own" }`.
#[derive(Clone)]
pub enum OwnObjective {
    /// Single precision.
    F32(PerRecord<f32>),
    /// Double precision.
    F64(PerRecord<f64>),
}

impl From<PerRecord<f32>> for OwnObjective {
    fn from(objective: PerRecord<f32>) -> Self {
        Self::F32(objective)
    }
}

impl From<PerRecord<f64>> for OwnObjective {
    fn from(objective: PerRecord<f64>) -> Self {
        Self::F64(objective)
    }
}

impl OwnObjective {
    /// Panics if the numbers are others; a checked plan has the same everywhere.
    fn of<R: Real>(&self) -> &PerRecord<R> {
        let any: &dyn Any = match self {
            Self::F32(objective) => objective,
            Self::F64(objective) => objective,
        };
        any.downcast_ref().expect("the caller runs in the plan's precision, which is theirs")
    }

    /// Checks that it is in the numbers of the run, and that the plan has no model beside it.
    pub(super) fn check(&self, plan: &Plan) -> Result<(), PlanError> {
        let (precision, dimension) = match self {
            Self::F32(objective) => (Precision::F32, objective.dimension()),
            Self::F64(objective) => (Precision::F64, objective.dimension()),
        };
        if precision != plan.run.precision {
            let message = "is not that of the objective; write it for the same numbers";
            return Err(PlanError::new("run.precision", message));
        }
        if dimension == 0 {
            return Err(PlanError::new("model", "the objective has no parameters to learn"));
        }
        let model = plan.model.as_ref();
        let alone = model.is_some_and(|m| m.len() == 1 && m.get("kind") == Some(&OWN.into()));
        if !alone {
            let message = "an objective that is given in code needs [model] with kind = \"own\" \
                           and no other key";
            return Err(PlanError::new("model", message));
        }
        Ok(())
    }
}

/// The word for a model that no plan can name.
const OWN: &str = "own";

/// Networks as plans name them.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Net {
    /// Dense layers of these widths between those of the data.
    Mlp {
        hidden: Vec<usize>,
        #[serde(default = "sigmoid")]
        activation: Activation,
    },
    /// [`Network::mnist_cnn`].
    Cnn,
    /// Any layers; the last gives the scores.
    Network { layers: Vec<Layer> },
    /// [`Network::resnet18`].
    Resnet18 {
        #[serde(default = "cifar")]
        stem: Stem,
    },
}

/// The words for what is in `[model]`.
const KINDS: [&str; 10] = [
    "linear",
    "logistic",
    "parity-logistic",
    "smoothed-hinge",
    "softmax",
    "tags",
    "mlp",
    "cnn",
    "resnet18",
    "network",
];

impl Described {
    /// As written, filled in from the records.
    pub(super) fn new<R: Real>(
        written: &Map<String, Value>,
        data: &Dataset<R>,
    ) -> Result<Self, PlanError> {
        let kind = written.get("kind").and_then(Value::as_str).unwrap_or("");
        if kind == OWN {
            let message = "\"own\" is an objective that is given in code, with \
                           Experiment::with_objective; name a model, such as \"logistic\"";
            return Err(PlanError::new("model.kind", message));
        }
        if !KINDS.contains(&kind) {
            let message = format!("{kind:?} is no model; take one of {}", KINDS.join(", "));
            return Err(PlanError::new("model.kind", message));
        }
        let described = match kind {
            "mlp" | "cnn" | "resnet18" | "network" => Self::network(written, data)?,
            _ => Self::plain(written, data)?,
        };
        described.check_input(data)?;
        Ok(described)
    }

    fn plain<R: Real>(written: &Map<String, Value>, data: &Dataset<R>) -> Result<Self, PlanError> {
        let mut filled = written.clone();
        filled.entry("features").or_insert_with(|| data.width().into());
        match (data.targets(), written["kind"].as_str()) {
            (Targets::Class { classes, .. }, Some("softmax")) => {
                filled.entry("classes").or_insert_with(|| (*classes).into());
            }
            (Targets::Tags { tags, .. }, Some("tags")) => {
                filled.entry("tags").or_insert_with(|| (*tags).into());
            }
            (Targets::Sign(_), Some("logistic" | "smoothed-hinge")) => {}
            (Targets::Sign(_), Some("parity-logistic")) => check_groups(data)?,
            (Targets::Real(_), Some("linear")) => {}
            (targets, _) => return Err(other_targets(targets)),
        }
        let model: Model = serde_json::from_value(Value::Object(filled))
            .map_err(|error| PlanError::new("model", error.to_string()))?;
        model.check().map_err(|error| PlanError::new("model", error.to_string()))?;
        let (features, scores) = match model {
            Model::Network(_) => return Ok(Self::Named(model)),
            Model::Softmax { features, classes, .. } => (features, Some(("classes", classes))),
            Model::Tags { features, tags, .. } => (features, Some(("tags", tags))),
            Model::Linear { features, .. }
            | Model::Logistic { features, .. }
            | Model::Mean { features }
            | Model::ParityLogistic { features, .. }
            | Model::SmoothedHinge { features, .. } => (features, None),
        };
        let differs = |key: &str, given: usize, found: usize| {
            let message = format!("is {given}, but the records have {found}; leave it out");
            Err(PlanError::new(format!("model.{key}"), message))
        };
        if features != data.width() {
            return differs("features", features, data.width());
        }
        let found = outputs(data.targets());
        match scores {
            Some((key, given)) if given < found => differs(key, given, found),
            _ => Ok(Self::Named(model)),
        }
    }

    fn network<R: Real>(
        written: &Map<String, Value>,
        data: &Dataset<R>,
    ) -> Result<Self, PlanError> {
        let error = |message: String| PlanError::new("model", message);
        let net: Net = serde_json::from_value(Value::Object(written.clone()))
            .map_err(|e| error(e.to_string()))?;
        let loss = match data.targets() {
            Targets::Class { .. } => Loss::CrossEntropy,
            Targets::Sign(_) => Loss::Logistic,
            Targets::Real(_) => Loss::Squared,
            Targets::Tags { .. } => Loss::Tags,
            Targets::None => return Err(other_targets(data.targets())),
        };
        let scores = outputs(data.targets());
        let network = match net {
            Net::Mlp { hidden, activation } => {
                let widths = std::iter::once(data.width()).chain(hidden).chain([scores]);
                Network::mlp(&widths.collect::<Vec<_>>(), activation, loss)
                    .map_err(|e| error(e.to_string()))?
            }
            Net::Cnn => Network::mnist_cnn(),
            Net::Resnet18 { stem } => Network::resnet18(stem),
            Net::Network { layers } => {
                if layers.is_empty() {
                    return Err(PlanError::new("model.layers", "needs at least one layer"));
                }
                let input = data.image().unwrap_or([data.width(), 1, 1]);
                Network::new(input, layers, loss).map_err(|e| error(e.to_string()))?
            }
        };
        let given = Objective::<R>::outputs(&network);
        if network.loss_function() != loss || given < scores {
            let message = format!(
                "gives {given} scores with the loss {:?}, but the records need {scores} with \
                 {loss:?}",
                network.loss_function()
            );
            return Err(error(message));
        }
        Ok(Self::Named(Model::Network(Box::new(network))))
    }

    fn check_input<R: Real>(&self, data: &Dataset<R>) -> Result<(), PlanError> {
        let Self::Named(Model::Network(network)) = self else { return Ok(()) };
        let (input, width) = (network.input(), data.width());
        let fits = match data.image() {
            Some(image) => input == image || input == [width, 1, 1],
            None => input == [width, 1, 1],
        };
        if fits {
            return Ok(());
        }
        let message = format!(
            "takes images of {input:?} (channels, rows, columns), but the records are {}; take \
             kind = \"mlp\", or other records",
            data.image().map_or(format!("{width} numbers"), |image| format!("{image:?}"))
        );
        Err(PlanError::new("model.kind", message))
    }

    /// The model, if a plan can name it.
    pub(super) fn model(&self) -> Option<&Model> {
        match self {
            Self::Named(model) => Some(model),
            Self::Own(_) => None,
        }
    }

    pub(super) fn dimension(&self) -> usize {
        match self {
            Self::Named(model) => model.dimension(),
            Self::Own(OwnObjective::F32(objective)) => objective.dimension(),
            Self::Own(OwnObjective::F64(objective)) => objective.dimension(),
        }
    }

    /// The model of one score that it is, which local minima need.
    pub(super) fn linear(&self) -> Result<Linear, PlanError> {
        let (features, intercept, loss) = match *self {
            Self::Named(Model::Linear { features, intercept }) => {
                (features, intercept, Loss::Squared)
            }
            Self::Named(Model::Logistic { features, intercept }) => {
                (features, intercept, Loss::Logistic)
            }
            Self::Named(Model::SmoothedHinge { features, intercept, width }) => {
                (features, intercept, Loss::SmoothedHinge { width })
            }
            _ => {
                let message = "ADMM needs a convex loss of one score; take logistic, \
                               smoothed-hinge or linear";
                return Err(PlanError::new("model.kind", message));
            }
        };
        Ok(Linear::new(features, intercept, loss))
    }

    pub(super) fn objective<R: Real>(&self) -> Arc<dyn Tabled<R>> {
        match self {
            Self::Named(model) => model.tabled().into(),
            Self::Own(own) => Arc::new(own.of::<R>().clone()),
        }
    }

    /// Where training starts.
    pub(super) fn initial<R: Real>(&self, seed: u64) -> Vec<R> {
        match self {
            Self::Named(model) => model.initial(seed),
            Self::Own(own) => own.of().initial(),
        }
    }
}

fn check_groups<R: Real>(data: &Dataset<R>) -> Result<(), PlanError> {
    let most = data.groups().and_then(|groups| groups.iter().max());
    match most {
        Some(0 | 1) => Ok(()),
        _ => {
            let message = "parity is between two groups; give a protected attribute, as data.\
                           protected = { column = \"...\", against = \"...\" }";
            Err(PlanError::new("model.kind", message))
        }
    }
}

/// How many scores a record needs.
fn outputs<R>(targets: &Targets<R>) -> usize {
    match targets {
        Targets::Class { classes, .. } => *classes as usize,
        Targets::Tags { tags, .. } => *tags as usize,
        _ => 1,
    }
}

fn other_targets<R>(targets: &Targets<R>) -> PlanError {
    let message = match targets {
        Targets::None => "the records have nothing to predict; name a target column".into(),
        Targets::Real(_) => wanted("numbers", "linear or mlp"),
        Targets::Sign(_) => wanted("signs", "logistic, parity-logistic, smoothed-hinge or mlp"),
        Targets::Class { .. } => wanted("classes", "softmax or mlp"),
        Targets::Tags { .. } => wanted("tags", "tags or mlp"),
    };
    PlanError::new("model.kind", message)
}

fn wanted(targets: &str, kinds: &str) -> String {
    format!("is not for these records, whose targets are {targets}; take {kinds}")
}

fn sigmoid() -> Activation {
    Activation::Sigmoid
}

fn cifar() -> Stem {
    Stem::Cifar
}
