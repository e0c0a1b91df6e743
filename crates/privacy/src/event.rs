//! What happened to the data, as plain data: the closed list of events that a ledger may hold.
//!
//! An event states facts (a sensitivity, a noise, a sampling law); accountants give it a price.
//! The JSON form is stable: a new meaning is a new variant, never a changed one.
//!
//! ```
//! use undertone_privacy::event::Event;
//!
//! let json = r#"{"repeated":{"times":1000,"event":
//!     {"poisson_sampled":{"probability":0.02,"event":
//!         {"gaussian":{"sensitivity":{"add_remove":1.0},"sigma":12.4}}}}}}"#;
//! let event: Event = serde_json::from_str(json)?;
//! assert_eq!(event, serde_json::from_str(&serde_json::to_string(&event)?)?);
//! # Ok::<(), serde_json::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use crate::units::{Adjacency, ClipNorm, Delta, Epsilon, Probability, Scale, Sensitivity};

mod dp_event;
mod flat;

pub use dp_event::{DpEventError, from_dp_event, to_dp_event};
pub use flat::TooManyRounds;
pub(crate) use flat::{Flat, flatten};

/// One thing that was done with private data.
///
/// Sensitivities and noises are in the same unit, whatever it is; only their ratio matters.
/// Adaptive composition is understood everywhere: a later event may depend on earlier outputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The sparse vector technique: noisy comparisons with one noisy threshold until `cutoff` of
    /// them were above. Laplace scales; pure differential privacy.
    AboveThreshold(AboveThreshold),
    /// Several events on the same data.
    Composed(Vec<Event>),
    /// Discrete Gaussian noise on a lattice, added by integer arithmetic.
    DiscreteGaussian(DiscreteGaussian),
    /// A sample of fixed size without replacement, then the event on the sample. Replace-one only:
    /// the inner sensitivity is that of replacing one record of the sample.
    FixedSizeSampled(Sampled),
    /// Gaussian noise of standard deviation `sigma` on a query of L2 sensitivity `sensitivity`.
    Gaussian(Gaussian),
    /// Groups of coordinates with their own sensitivity and noise; one record may load all groups
    /// at once: mu squared is the sum of the groups' (sensitivity/sigma) squared.
    HeterogeneousGaussian(Vec<Gaussian>),
    /// An event carried out by a sampler at most `total_variation` away from the ideal one.
    Imprecise(Imprecise),
    /// Noise in R^d with density proportional to exp(-rate * norm).
    KNorm(KNorm),
    /// Laplace noise of the given scale on every coordinate of a query of L1 sensitivity
    /// `sensitivity`.
    Laplace(Laplace),
    /// Nothing was read.
    NoOp,
    /// Data left without protection.
    NonPrivate,
    /// A random linear term in a convex objective whose exact minimiser is released.
    ObjectivePerturbation(ObjectivePerturbation),
    /// Every record independently with the given probability, then the event on the sample.
    /// The inner sensitivity is that of one record's presence (add-remove).
    PoissonSampled(Sampled),
    /// A mechanism known by points of its privacy profile.
    Profile(Profile),
    /// A mechanism known to be pure epsilon-private under one adjacency.
    Pure(Pure),
    /// The same event many times.
    Repeated(Repeated),
    /// One round of SAGA with its private gradient table (paper 003, algorithm 1).
    SagaTable(SagaTable),
    /// One round of SDM: every coordinate is sent with the given probability, the mask is visible
    /// and unsent coordinates are forgotten. The inner event is a (sampled) Gaussian.
    SdmMask(SdmMask),
}

/// See [`Event::Gaussian`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gaussian {
    /// L2 sensitivity.
    pub sensitivity: Sensitivity,
    /// Standard deviation of each coordinate.
    pub sigma: Scale,
}

/// See [`Event::Laplace`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Laplace {
    /// L1 sensitivity.
    pub sensitivity: Sensitivity,
    /// Scale of each coordinate's noise.
    pub scale: Scale,
}

/// See [`Event::Pure`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pure {
    /// The guarantee.
    pub epsilon: Epsilon,
    /// The adjacency it was proved for.
    pub adjacency: Adjacency,
}

/// See [`Event::DiscreteGaussian`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiscreteGaussian {
    /// L2 sensitivity of the query before it is put on the lattice.
    pub sensitivity: Sensitivity,
    /// Standard-deviation parameter of the noise, in the unit of the query.
    pub sigma: Scale,
    /// Distance of neighbouring lattice points.
    pub step: Scale,
    /// Number of coordinates.
    pub dimension: u64,
    /// How the query got on the lattice.
    pub rounding: Rounding,
}

/// How a query gets on a lattice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rounding {
    /// To the nearest point: two queries move apart by at most one step a coordinate.
    Nearest,
    /// The query only takes lattice values.
    OnLattice,
    /// Unbiased, with uniforms that do not depend on data.
    Stochastic,
}

/// See [`Event::KNorm`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KNorm {
    /// L2 sensitivity.
    pub sensitivity: Sensitivity,
    /// Rate of the density's decay.
    pub rate: Scale,
    /// Number of coordinates.
    pub dimension: u64,
}

/// See [`Event::PoissonSampled`] and [`Event::FixedSizeSampled`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampled {
    /// Chance of a record to be in the sample.
    pub probability: Probability,
    /// What was done with the sample.
    pub event: Box<Event>,
}

/// See [`Event::ObjectivePerturbation`].
///
/// The objective is (1/n) times a sum of convex losses of generalised linear form plus public
/// terms; it is `m`-strongly convex, and the loss' second derivative is at most `c1`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectivePerturbation {
    /// The random linear term.
    pub noise: ObjectiveNoise,
    /// `c1 / (n m)`: the relative change of curvature by one record.
    pub curvature: Scale,
    /// Whether the derivative of the loss keeps its sign (logistic, hinge) or not (squares).
    pub sign_definite: bool,
}

/// The random linear term of an objective perturbation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectiveNoise {
    /// Gaussian; the sensitivity is that of one record's gradient, add-remove.
    Gaussian(Gaussian),
    /// K-norm; the sensitivity is that of one record's gradient, add-remove.
    KNorm(KNorm),
}

/// See [`Event::AboveThreshold`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AboveThreshold {
    /// Sensitivity of every query.
    pub sensitivity: Sensitivity,
    /// Scale of the one threshold noise.
    pub threshold_scale: Scale,
    /// Scale of every query's noise.
    pub query_scale: Scale,
    /// How many answers "above" end the run.
    pub cutoff: u64,
}

/// See [`Event::Profile`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawProfile")]
pub struct Profile {
    adjacency: Adjacency,
    points: Vec<(Epsilon, Delta)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProfile {
    adjacency: Adjacency,
    points: Vec<(Epsilon, Delta)>,
}

/// Points that are no privacy profile.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "profile points must be at least one, finite and strictly increasing in epsilon (point {0})"
)]
pub struct BadProfile(pub usize);

impl Profile {
    /// A profile known at some points, in both directions, under `adjacency`.
    pub fn new(adjacency: Adjacency, points: Vec<(Epsilon, Delta)>) -> Result<Self, BadProfile> {
        if points.is_empty() {
            return Err(BadProfile(0));
        }
        for (k, point) in points.iter().enumerate() {
            let after = k == 0 || points[k - 1].0.get() < point.0.get();
            if !after || !point.0.get().is_finite() {
                return Err(BadProfile(k));
            }
        }
        Ok(Self { adjacency, points })
    }

    /// The adjacency the points hold for.
    pub fn adjacency(&self) -> Adjacency {
        self.adjacency
    }

    /// The points, increasing in epsilon.
    pub fn points(&self) -> &[(Epsilon, Delta)] {
        &self.points
    }
}

impl TryFrom<RawProfile> for Profile {
    type Error = BadProfile;
    fn try_from(raw: RawProfile) -> Result<Self, BadProfile> {
        Self::new(raw.adjacency, raw.points)
    }
}

/// See [`Event::SagaTable`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SagaTable {
    /// Norm bound of one record's gradient, `G`.
    pub clip: ClipNorm,
    /// Standard deviation of the noise on the estimator.
    pub sigma: Scale,
    /// Number of records, `J`, public.
    pub records: u64,
    /// How the round's records are drawn.
    pub sampling: SagaSampling,
}

/// How SAGA draws a round's records.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SagaSampling {
    /// Every record independently; the sum is divided by the expected number.
    Poisson {
        /// Expected number of records.
        expected: Scale,
    },
    /// Exactly one uniform index, as printed.
    SingleIndex,
}

/// See [`Event::SdmMask`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SdmMask {
    /// Chance of a coordinate to be sent.
    pub transmit: Probability,
    /// What would be sent without a mask.
    pub event: Box<Event>,
}

/// See [`Event::Imprecise`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Imprecise {
    /// Total-variation distance between what ran and `event`.
    pub total_variation: Probability,
    /// The ideal event.
    pub event: Box<Event>,
}

/// See [`Event::Repeated`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeated {
    /// What.
    pub event: Box<Event>,
    /// How often.
    pub times: u64,
}

impl Event {
    /// Gaussian noise; see [`Event::Gaussian`].
    pub fn gaussian(sensitivity: Sensitivity, sigma: Scale) -> Event {
        Event::Gaussian(Gaussian { sensitivity, sigma })
    }

    /// This event on a Poisson sample; see [`Event::PoissonSampled`].
    pub fn poisson_sampled(self, probability: Probability) -> Event {
        Event::PoissonSampled(Sampled { probability, event: Box::new(self) })
    }

    /// This event on a sample of fixed size; see [`Event::FixedSizeSampled`].
    pub fn fixed_size_sampled(self, probability: Probability) -> Event {
        Event::FixedSizeSampled(Sampled { probability, event: Box::new(self) })
    }

    /// This event many times; see [`Event::Repeated`].
    pub fn repeated(self, times: u64) -> Event {
        Event::Repeated(Repeated { event: Box::new(self), times })
    }

    /// The name of the variant in JSON.
    pub fn name(&self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(name)) => name,
            Ok(serde_json::Value::Object(map)) => {
                map.keys().next().cloned().expect("a variant has one key")
            }
            _ => unreachable!("an event is a name or an object with one key"),
        }
    }
}
