//! A model, with the sizes that follow from the records.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use undertone_model::dataset::Targets;
use undertone_model::network::{Activation, Layer, Stem};
use undertone_model::{Dataset, Linear, Loss, Model, Network, Tabled};
use undertone_real::Real;

use crate::plan::PlanError;

/// A model that fits its records.
pub(super) struct Described(Model);

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
            Model::Network(_) => return Ok(Self(model)),
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
            _ => Ok(Self(model)),
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
        let given = undertone_model::Objective::<R>::outputs(&network);
        if network.loss_function() != loss || given < scores {
            let message = format!(
                "gives {given} scores with the loss {:?}, but the records need {scores} with \
                 {loss:?}",
                network.loss_function()
            );
            return Err(error(message));
        }
        Ok(Self(Model::Network(Box::new(network))))
    }

    fn check_input<R: Real>(&self, data: &Dataset<R>) -> Result<(), PlanError> {
        let Model::Network(network) = &self.0 else { return Ok(()) };
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

    pub(super) fn dimension(&self) -> usize {
        self.0.dimension()
    }

    /// The model of one score that it is, which local minima need.
    pub(super) fn linear(&self) -> Result<Linear, PlanError> {
        let (features, intercept, loss) = match self.0 {
            Model::Linear { features, intercept } => (features, intercept, Loss::Squared),
            Model::Logistic { features, intercept } => (features, intercept, Loss::Logistic),
            Model::SmoothedHinge { features, intercept, width } => {
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
        self.0.tabled().into()
    }

    /// Where training starts.
    pub(super) fn initial<R: Real>(&self, seed: u64) -> Vec<R> {
        self.0.initial(seed)
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
