//! A node's data, and the noise of what leaves it.

mod adaptive;
mod answers;
mod exposed;
mod gradients;
mod minimiser;
mod points;
pub(crate) mod printed;
mod statistics;
mod steps;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use undertone_model::{Dataset, Mean, Objective};
use undertone_privacy::accountant::gdp;
use undertone_privacy::event::Event;
use undertone_privacy::ledger::Receipt;
use undertone_privacy::mechanism::{Exposure, GaussianMechanism, ReleaseError};
use undertone_privacy::noise::Key;
use undertone_privacy::release::{Norm, Released, Secret};
use undertone_privacy::sampler::Sampler;
use undertone_privacy::units::{
    Adjacency, ClipNorm, Delta, Epsilon, OutOfRange, Scale, Sensitivity, Unit,
};
use undertone_protocol::Domain;
use undertone_real::Real;

pub use adaptive::AdaptiveClip;
pub(crate) use answers::{AnswerOf, Answers};
pub(crate) use gradients::{LONG, Workspace};
pub use gradients::{PrivateGradients, TableError};
pub(crate) use minimiser::Minimisation;
pub use minimiser::{MinimiserMechanism, MinimiserProtection, PrivateMinimiser, Sparing};
pub(crate) use points::Asked;
pub use points::PrivatePoints;
pub(crate) use statistics::sensitivity_of;
pub use statistics::{PrivateStatistics, SumNoise};
pub use steps::PrivateSteps;

/// What a vector is clipped to before anything is computed from it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "clip", deny_unknown_fields)]
pub enum Bound {
    /// Every coordinate within `[-radius, radius]`.
    Box {
        /// Half the side.
        radius: f64,
    },
    /// Euclidean norm at most `radius`.
    Ball {
        /// The radius.
        radius: f64,
    },
}

impl Bound {
    /// As a set that can be projected to.
    pub fn domain(self) -> Domain {
        match self {
            Self::Box { radius } => Domain::Box { radius },
            Self::Ball { radius } => Domain::Ball { radius },
        }
    }
}

/// A node's own vector, or the mean of its records. It cannot be read, only released.
pub struct PrivateVector {
    values: Vec<f64>,
    bound: Bound,
    records: u64,
}

impl PrivateVector {
    /// One vector, clipped. With `records` above one it is the mean of that many records, each of
    /// which the caller has clipped to the bound; their number is public.
    pub fn new(mut values: Vec<f64>, bound: Bound, records: u64) -> Self {
        clip(&mut values, bound.domain());
        Self { values, bound, records: records.max(1) }
    }

    /// The mean of `records`, given one after the other, each clipped to the bound.
    pub fn mean_of(dimension: usize, mut records: Vec<f64>, bound: Bound) -> Self {
        records.chunks_mut(dimension).for_each(|record| clip(record, bound.domain()));
        let mean = Mean::new(dimension, &records);
        let n = mean.records().max(1);
        Self { values: mean.sum().iter().map(|v| v / n as f64).collect(), bound, records: n }
    }

    /// How far replacing one unit (the whole vector, or one record of the mean) moves it: the
    /// diameter of the bound over the number of records.
    pub fn sensitivity(&self) -> Sensitivity {
        let moved = self.bound.domain().diameter(self.values.len()) / self.records as f64;
        Sensitivity::under_only(Adjacency::Replace, moved).expect("a bound is finite")
    }

    /// What is hidden.
    pub fn unit(&self) -> Unit {
        if self.records == 1 { Unit::Node } else { Unit::Record }
    }

    /// The number of coordinates.
    pub fn dimension(&self) -> usize {
        self.values.len()
    }

    /// In double precision, whatever the protocol's numbers are: narrowing first would round two
    /// neighbouring means apart, so it comes after the noise.
    pub(crate) fn secret(&self) -> Secret<Vec<f64>> {
        Secret::declare(self.values.clone(), Norm::L2, self.sensitivity())
    }
}

/// Brings a record into its bound. One that is not finite becomes zero: no projection bounds it.
fn clip(record: &mut [f64], domain: Domain) {
    if record.iter().any(|v| !v.is_finite()) {
        record.fill(0.0);
    }
    domain.project(record);
}

/// What is added to an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// Nothing: no guarantee.
    Exposed,
    /// Normal noise of this standard deviation.
    Gaussian(Scale),
}

impl Noise {
    /// The least noise that keeps the budget when a query of this sensitivity is released once.
    ///
    /// # Guarantee
    ///
    /// Replace-one, exactly `(epsilon, delta)` or better (Balle and Wang 2018; theory E1).
    pub fn calibrated(
        sensitivity: &Sensitivity,
        epsilon: Epsilon,
        delta: Delta,
    ) -> Result<Self, OutOfRange> {
        let moved = sensitivity.under(Adjacency::Replace).expect("vectors are bounded");
        let mu = gdp::mu(epsilon, delta).get();
        // Against rounding in the ledger's sum of squares.
        Ok(Self::Gaussian(Scale::new(moved / mu * (1.0 + 1e-12))?))
    }

    /// The event of releasing a query of this sensitivity once.
    pub fn event(&self, sensitivity: Sensitivity) -> Event {
        match *self {
            Self::Exposed => Exposure.event(),
            Self::Gaussian(sigma) => GaussianMechanism { sensitivity, sigma }.event(),
        }
    }

    /// Lets a secret of this sensitivity out.
    pub(crate) fn release<R: Real>(
        &self,
        secret: impl Into<Secret<Vec<R>>>,
        sensitivity: Sensitivity,
        receipt: Receipt,
        key: &Key,
    ) -> Result<Released<Vec<R>>, ReleaseError> {
        match *self {
            Self::Exposed => Exposure.release(secret, receipt),
            Self::Gaussian(sigma) => {
                GaussianMechanism { sensitivity, sigma }.release(secret, receipt, key)
            }
        }
    }
}

/// What an oracle answers from: data and noise.
pub enum Private<R: Real> {
    /// [`Question::Gradient`](undertone_protocol::Question::Gradient), or differences of gradients
    /// or masked ones, as often as there is budget.
    Gradients(PrivateGradients<R>),
    /// [`Question::Primal`](undertone_protocol::Question::Primal), as often as there is budget.
    Minimiser(Box<PrivateMinimiser>),
    /// [`Question::Point`](undertone_protocol::Question::Point), as often as there is budget.
    Points(Box<PrivatePoints<R>>),
    /// [`Question::Vector`](undertone_protocol::Question::Vector) with sums over records, once.
    Statistics(PrivateStatistics),
    /// [`Question::Vector`](undertone_protocol::Question::Vector), once.
    Vector(PrivateVector, Noise),
    /// [`Question::Step`](undertone_protocol::Question::Step) `t` with the noise number `t - 1`.
    Steps(PrivateSteps, Arc<[Noise]>),
}

impl<R: Real> Private<R> {
    /// Gradient steps that end on a lattice; see [`PrivatePoints`].
    pub fn points(
        objective: Arc<dyn Objective<R>>,
        data: Dataset<R>,
        samplers: Vec<Option<Sampler>>,
        clip: ClipNorm,
        noise: Noise,
        lattice: Scale,
    ) -> Self {
        let points = PrivatePoints::new(objective, data, samplers, clip, noise, lattice);
        Self::Points(Box::new(points))
    }

    /// The same with a point of its own without noise, as paper 000 prints it: no guarantee.
    pub fn printed_points(
        objective: Arc<dyn Objective<R>>,
        data: Dataset<R>,
        samplers: Vec<Option<Sampler>>,
        clip: ClipNorm,
        noise: Noise,
        lattice: Scale,
    ) -> Self {
        let points = PrivatePoints::new(objective, data, samplers, clip, noise, lattice);
        Self::Points(Box::new(points.printed()))
    }

    /// Whether answers depend on earlier questions.
    pub(crate) fn remembers(&self) -> bool {
        match self {
            Self::Gradients(gradients) => gradients.remembers(),
            // The solver starts from the curvature that it knows.
            Self::Minimiser(_) => true,
            Self::Points(points) => points.remembers(),
            Self::Statistics(_) | Self::Vector(..) | Self::Steps(..) => false,
        }
    }

    /// What is hidden.
    pub fn unit(&self) -> Unit {
        match self {
            Self::Vector(vector, _) => vector.unit(),
            Self::Gradients(_)
            | Self::Minimiser(_)
            | Self::Points(_)
            | Self::Statistics(_)
            | Self::Steps(..) => Unit::Record,
        }
    }
}
