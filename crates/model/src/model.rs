//! Models by name, as plans and saved files call them.

use serde::{Deserialize, Serialize};
use undertone_real::Real;

use crate::convex::Convex;
use crate::fair::Parity;
use crate::linear::Linear;
use crate::loss::Loss;
use crate::mean::MeanEstimation;
use crate::network::Network;
use crate::objective::Objective;
use crate::part::Part;
use crate::softmax::Softmax;
use crate::table::Tabled;

/// A model of some shape. What a description may be is told by [`check`](Self::check), which comes
/// before everything else if the description came from outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Model {
    /// The mean of the records: [`MeanEstimation`].
    Mean {
        /// Numbers of a record.
        features: usize,
    },
    /// Linear regression: [`Linear`] with [`Loss::Squared`].
    Linear {
        /// Numbers of a record.
        features: usize,
        /// Whether a constant is learned as well.
        #[serde(default)]
        intercept: bool,
    },
    /// Logistic regression: [`Linear`] with [`Loss::Logistic`].
    Logistic {
        /// Numbers of a record.
        features: usize,
        /// Whether a constant is learned as well.
        #[serde(default)]
        intercept: bool,
    },
    /// Logistic regression with a price on the covariance of group and score: [`Parity`].
    ParityLogistic {
        /// Numbers of a record.
        features: usize,
        /// Whether a constant is learned as well.
        #[serde(default)]
        intercept: bool,
        /// Of the square of the covariance.
        weight: f64,
        /// What part of all people is in group 1; public.
        share: f64,
    },
    /// A support vector machine: [`Linear`] with [`Loss::SmoothedHinge`].
    SmoothedHinge {
        /// Numbers of a record.
        features: usize,
        /// Whether a constant is learned as well.
        #[serde(default)]
        intercept: bool,
        /// How far from a margin of one the hinge is rounded off.
        width: f64,
    },
    /// Softmax regression: [`Softmax`] with [`Loss::CrossEntropy`].
    Softmax {
        /// Numbers of a record.
        features: usize,
        /// What is told apart.
        classes: usize,
        /// Whether constants are learned as well.
        #[serde(default)]
        intercept: bool,
    },
    /// A logistic regression for every tag: [`Softmax`] with [`Loss::Tags`].
    Tags {
        /// Numbers of a record.
        features: usize,
        /// How many there are.
        tags: usize,
        /// Whether constants are learned as well.
        #[serde(default)]
        intercept: bool,
    },
    /// Layers: a [`Network`].
    Network(Box<Network>),
}

/// Why a description is not that of a model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// A size of zero.
    #[error("a model needs at least one feature and one class or tag")]
    Empty,
    /// More parameters than could be held.
    #[error("a model has at most {} parameters", Model::LARGEST)]
    TooLarge,
    /// A part of all people that is none.
    #[error("the share of group 1 is above 0 and below 1, not {0}")]
    Share(f64),
    /// No price.
    #[error("the weight of unfairness is positive and finite, not {0}")]
    Weight(f64),
    /// The hinge is not smooth.
    #[error("the width of a smoothed hinge is positive and finite, not {0}")]
    Width(f64),
}

/// What a description means.
enum Shape<'a> {
    Mean(MeanEstimation),
    Linear(Linear),
    Parity(Parity),
    Softmax(Softmax),
    Network(&'a Network),
}

impl Model {
    /// The most parameters that a model may have.
    pub const LARGEST: usize = 1 << 31;

    /// Whether it is a model at all.
    pub fn check(&self) -> Result<(), ModelError> {
        let (features, scores) = match *self {
            // Shapes of networks are checked when they are made.
            Self::Network(_) => return Ok(()),
            Self::Mean { features } => (features, 1),
            Self::Linear { features, .. } | Self::Logistic { features, .. } => (features, 1),
            Self::SmoothedHinge { features, width, .. } => {
                if !(width > 0.0 && width.is_finite()) {
                    return Err(ModelError::Width(width));
                }
                (features, 1)
            }
            Self::ParityLogistic { features, weight, share, .. } => {
                if !(weight > 0.0 && weight.is_finite()) {
                    return Err(ModelError::Weight(weight));
                }
                if !(share > 0.0 && share < 1.0) {
                    return Err(ModelError::Share(share));
                }
                (features, 1)
            }
            Self::Softmax { features, classes, .. } => (features, classes),
            Self::Tags { features, tags, .. } => (features, tags),
        };
        if features == 0 || scores == 0 {
            return Err(ModelError::Empty);
        }
        match features.checked_add(1).and_then(|rows| rows.checked_mul(scores)) {
            Some(parameters) if parameters <= Self::LARGEST => Ok(()),
            _ => Err(ModelError::TooLarge),
        }
    }

    /// What it minimises.
    pub fn objective<R: Real>(&self) -> Box<dyn Objective<R>> {
        match self.shape() {
            Shape::Mean(mean) => Box::new(mean),
            Shape::Linear(linear) => Box::new(linear),
            Shape::Parity(parity) => Box::new(parity),
            Shape::Softmax(softmax) => Box::new(softmax),
            Shape::Network(network) => Box::new(network.clone()),
        }
    }

    /// The same with what is known of convex objectives, if it is one.
    pub fn convex<R: Real>(&self) -> Option<Box<dyn Convex<R>>> {
        Some(match self.shape() {
            Shape::Mean(mean) => Box::new(mean),
            Shape::Linear(linear) => Box::new(linear),
            Shape::Softmax(softmax) => Box::new(softmax),
            Shape::Parity(_) | Shape::Network(_) => return None,
        })
    }

    /// The same with tables of gradients.
    pub fn tabled<R: Real>(&self) -> Box<dyn Tabled<R>> {
        match self.shape() {
            Shape::Mean(mean) => Box::new(mean),
            Shape::Linear(linear) => Box::new(linear),
            Shape::Parity(parity) => Box::new(parity),
            Shape::Softmax(softmax) => Box::new(softmax),
            Shape::Network(network) => Box::new(network.clone()),
        }
    }

    /// How many parameters there are.
    pub fn dimension(&self) -> usize {
        self.parts().iter().map(Part::count).sum()
    }

    /// What the parameters are called.
    pub fn parts(&self) -> Vec<Part> {
        match self.shape() {
            Shape::Mean(mean) => mean.parts(),
            Shape::Linear(linear) => linear.parts(),
            Shape::Parity(parity) => parity.parts(),
            Shape::Softmax(softmax) => softmax.parts(),
            Shape::Network(network) => network.parts().to_vec(),
        }
    }

    /// Where training starts: at zero for all but networks, whatever the seed.
    pub fn initial<R: Real>(&self, seed: u64) -> Vec<R> {
        match self {
            Self::Network(network) => network.initial(seed),
            _ => vec![R::ZERO; self.dimension()],
        }
    }

    fn shape(&self) -> Shape<'_> {
        let linear =
            |features, intercept, loss| Shape::Linear(Linear::new(features, intercept, loss));
        match *self {
            Self::Mean { features } => Shape::Mean(MeanEstimation::new(features)),
            Self::Linear { features, intercept } => linear(features, intercept, Loss::Squared),
            Self::Logistic { features, intercept } => linear(features, intercept, Loss::Logistic),
            Self::ParityLogistic { features, intercept, weight, share } => {
                Shape::Parity(Parity::new(features, intercept, weight, share))
            }
            Self::SmoothedHinge { features, intercept, width } => {
                linear(features, intercept, Loss::SmoothedHinge { width })
            }
            Self::Softmax { features, classes, intercept } => {
                Shape::Softmax(Softmax::new(features, classes, intercept, Loss::CrossEntropy))
            }
            Self::Tags { features, tags, intercept } => {
                Shape::Softmax(Softmax::new(features, tags, intercept, Loss::Tags))
            }
            Self::Network(ref network) => Shape::Network(network),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::network::{Activation, Layer};

    /// One of every kind.
    pub(crate) fn all() -> Vec<Model> {
        let layers = vec![
            Layer::Conv { channels: 2, kernel: 2, stride: 1, padding: 0, bias: true },
            Layer::GroupNorm { groups: 1 },
            Layer::Activation(Activation::Relu),
            Layer::Flatten,
            Layer::Dense { outputs: 3, bias: true },
        ];
        let network = Network::new([1, 3, 3], layers, Loss::CrossEntropy).unwrap();
        let parity =
            Model::ParityLogistic { features: 4, intercept: true, weight: 2.0, share: 0.25 };
        CONVEX.into_iter().chain([parity, Model::Network(Box::new(network))]).collect()
    }

    const CONVEX: [Model; 7] = [
        Model::Mean { features: 3 },
        Model::Linear { features: 3, intercept: false },
        Model::Logistic { features: 5, intercept: true },
        Model::SmoothedHinge { features: 2, intercept: true, width: 0.5 },
        Model::Softmax { features: 4, classes: 3, intercept: true },
        Model::Softmax { features: 4, classes: 3, intercept: false },
        Model::Tags { features: 3, tags: 2, intercept: true },
    ];

    #[test]
    fn parts_cover_the_parameters() {
        for model in all() {
            model.check().unwrap();
            assert_eq!(model.objective::<f32>().dimension(), model.dimension());
            assert_eq!(model.tabled::<f32>().dimension(), model.dimension());
            assert_eq!(model.initial::<f64>(1).len(), model.dimension());
        }
        for model in CONVEX {
            assert_eq!(model.convex::<f64>().unwrap().dimension(), model.dimension());
            assert_eq!(model.initial::<f64>(1), vec![0.0; model.dimension()]);
        }
    }

    #[test]
    fn it_is_written_as_a_table() {
        let text = r#"{"kind": "smoothed-hinge", "features": 2, "intercept": true, "width": 0.5}"#;
        assert_eq!(serde_json::from_str::<Model>(text).unwrap(), CONVEX[3]);
        let text = r#"{"kind": "logistic", "features": 5}"#;
        let model = Model::Logistic { features: 5, intercept: false };
        assert_eq!(serde_json::from_str::<Model>(text).unwrap(), model);
        for model in all() {
            let text = serde_json::to_string(&model).unwrap();
            assert_eq!(serde_json::from_str::<Model>(&text).unwrap(), model);
        }
        let unknown = r#"{"kind": "logistic", "features": 5, "colour": 1}"#;
        assert!(serde_json::from_str::<Model>(unknown).is_err());
    }

    #[test]
    fn what_is_not_a_model_is_said() {
        let softmax = |features, classes| Model::Softmax { features, classes, intercept: false };
        assert_eq!(softmax(0, 1).check(), Err(ModelError::Empty));
        assert_eq!(softmax(usize::MAX, 1).check(), Err(ModelError::TooLarge));
        assert_eq!(softmax(1 << 40, 1 << 40).check(), Err(ModelError::TooLarge));
        let hinge = Model::SmoothedHinge { features: 1, intercept: false, width: 0.0 };
        assert_eq!(hinge.check(), Err(ModelError::Width(0.0)));
        let parity = |weight, share| {
            Model::ParityLogistic { features: 1, intercept: false, weight, share }.check()
        };
        assert_eq!(parity(0.0, 0.5), Err(ModelError::Weight(0.0)));
        assert_eq!(parity(1.0, 1.0), Err(ModelError::Share(1.0)));
    }
}
