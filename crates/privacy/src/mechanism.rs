//! Mechanisms: `Secret + Receipt -> Released`, and nothing else makes a release.
//!
//! A mechanism knows the exact event that it is (`event`), to be debited before; `release` takes
//! the receipt away, checks that it is for that event on the records that the secret was computed
//! from, that the secret moves no more than the mechanism supposes, and adds the noise of the
//! stream with the receipt's number.
//!
//! ```
//! use undertone_privacy::ledger::{Budget, Filter, Header, Ledger};
//! use undertone_privacy::mechanism::GaussianMechanism;
//! use undertone_privacy::noise::Key;
//! use undertone_privacy::release::ClippedSum;
//! use undertone_privacy::sampler::PoissonSampler;
//! use undertone_privacy::units::*;
//!
//! let clip = ClipNorm::new(1.0)?;
//! let sampler = PoissonSampler { probability: Probability::new(0.1)? };
//! let mechanism =
//!     GaussianMechanism { sensitivity: Sensitivity::contribution(clip), sigma: Scale::new(4.0)? };
//! let round = sampler.event(mechanism.event());
//!
//! let mut ledger = Ledger::open(
//!     Header {
//!         node: 0,
//!         budget: Budget { epsilon: Epsilon::new(1.0)?, delta: Delta::new(1e-5)? },
//!         adjacency: Adjacency::AddRemove,
//!         unit: Unit::Record,
//!         filter: Filter::Planned { event: round.clone().repeated(50) },
//!     },
//!     Vec::new(),
//! )?;
//! let (data, key) = (vec![[1.0_f64, 2.0]; 100], Key::from_seed(1));
//!
//! let receipt = ledger.debit(round)?;
//! let batch = sampler.draw(data.len(), &receipt, &key)?;
//! let mut sum = ClippedSum::drawn(2, clip, batch.drawn());
//! batch.indices().iter().for_each(|i| sum.add(&data[*i]));
//! let released = mechanism.release(sum, receipt, &key)?;
//! assert_eq!(released.get().len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod above_threshold;
mod exposure;
mod gaussian;
mod grouped;
mod knorm;
mod laplace;
mod lattice;
mod masked;
mod objective;
mod quantile;
mod several;
mod table;

#[cfg(test)]
mod tests;

use crate::event::Event;
use crate::ledger::Receipt;
use crate::noise::{Purpose, SigmaOutOfRange, StreamId};
use crate::release::{Guarded, Norm, Secret};
use crate::units::{Scale, Sensitivity};

pub use self::above_threshold::{AboveThresholdMechanism, AboveThresholdRun};
pub use self::exposure::Exposure;
pub use self::gaussian::GaussianMechanism;
pub use self::grouped::GroupedGaussian;
pub use self::knorm::KNormMechanism;
pub use self::laplace::LaplaceMechanism;
pub use self::lattice::{LATTICE_BITS, LatticeGaussian};
pub use self::masked::{Masked, MaskedGaussian};
pub use self::objective::{ObjectivePerturbationMechanism, Perturbation};
pub use self::quantile::QuantileGaussian;
pub use self::several::Several;
pub use self::table::TableGaussian;

/// Why nothing was released. The receipt is gone: its budget is spent.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReleaseError {
    /// The run of comparisons is over.
    #[error("the comparison run of node {node} has answered \"above\" {cutoff} times and is over")]
    CutOff {
        /// The node.
        node: u32,
        /// How often it could.
        cutoff: u64,
    },
    /// The value has another number of coordinates than was paid for.
    #[error("the value has {found} coordinates, the mechanism was paid for {expected}")]
    Dimension {
        /// What the event says.
        expected: u64,
        /// What was given.
        found: u64,
    },
    /// Another number of groups than was paid for.
    #[error("there are {found} groups, the mechanism was paid for {expected}")]
    Groups {
        /// What the event says.
        expected: usize,
        /// What was given.
        found: usize,
    },
    /// The sensitivity is in a norm that does not bound the mechanism's.
    #[error("the secret's sensitivity is in the {found:?} norm, the mechanism needs {needed:?}")]
    Norm {
        /// What the mechanism needs.
        needed: Norm,
        /// What was declared.
        found: Norm,
    },
    /// The event says that the value is on the lattice, but nobody knows that it is.
    #[error("the value is not known to be on the lattice of step {step}; sum with a LatticeSum")]
    OffLattice {
        /// Distance of neighbouring lattice points.
        step: Scale,
    },
    /// The secret was computed from a batch drawn for another receipt.
    #[error(
        "the secret's batch was not drawn for receipt {serial} of node {node}; debit, draw, \
         compute and release in this order, each round anew"
    )]
    OtherBatch {
        /// The receipt's node.
        node: u32,
        /// Its number.
        serial: u64,
    },
    /// The receipt was issued for another event.
    #[error(
        "receipt {serial} of node {node} is for {paid}, but this release is {needed}; debit the \
         mechanism's event, inside the sampler's event if a sampler drew the batch"
    )]
    OtherEvent {
        /// The receipt's node.
        node: u32,
        /// Its number.
        serial: u64,
        /// What was paid for, in JSON.
        paid: String,
        /// What should have been, in JSON.
        needed: String,
    },
    /// The secret moves more than the mechanism supposes.
    #[error("the secret's sensitivity {found:?} is not within the mechanism's {supposed:?}")]
    Sensitivity {
        /// The mechanism's.
        supposed: Sensitivity,
        /// The secret's.
        found: Sensitivity,
    },
    /// The exact sampler does not reach this sigma.
    #[error(transparent)]
    Sigma(#[from] SigmaOutOfRange),
}

/// Lets a secret out of its box if its receipt pays for exactly this.
#[inline]
fn admit<T: Guarded>(
    secret: Secret<T>,
    receipt: &Receipt,
    event: Event,
    norm: Norm,
    sensitivity: &Sensitivity,
) -> Result<(T, StreamId), ReleaseError> {
    if !secret.drawn().stands_for(receipt.event(), &event) {
        return Err(other_event(receipt, &secret.drawn().event(event)));
    }
    admit_paid(secret, receipt, norm, sensitivity)
}

/// The same for a mechanism that has put the sampling into the event itself.
fn admit_as<T: Guarded>(
    secret: Secret<T>,
    receipt: &Receipt,
    needed: Event,
    norm: Norm,
    sensitivity: &Sensitivity,
) -> Result<(T, StreamId), ReleaseError> {
    check_event(receipt, needed)?;
    admit_paid(secret, receipt, norm, sensitivity)
}

/// The same where the event is known to be the right one.
#[inline]
fn admit_paid<T: Guarded>(
    secret: Secret<T>,
    receipt: &Receipt,
    norm: Norm,
    sensitivity: &Sensitivity,
) -> Result<(T, StreamId), ReleaseError> {
    if !secret.drawn().is_for(receipt) {
        let (node, serial) = (receipt.node(), receipt.serial());
        return Err(ReleaseError::OtherBatch { node, serial });
    }
    check_sensitivity(&secret, norm, sensitivity)?;
    let id = noise_stream(receipt);
    Ok((secret.take(), id))
}

fn check_event(receipt: &Receipt, needed: Event) -> Result<(), ReleaseError> {
    if *receipt.event() == needed { Ok(()) } else { Err(other_event(receipt, &needed)) }
}

#[cold]
fn other_event(receipt: &Receipt, needed: &Event) -> ReleaseError {
    let json = |event: &Event| serde_json::to_string(event).expect("plain data has a JSON form");
    ReleaseError::OtherEvent {
        node: receipt.node(),
        serial: receipt.serial(),
        paid: json(receipt.event()),
        needed: json(needed),
    }
}

#[inline]
fn check_sensitivity<T: Guarded>(
    secret: &Secret<T>,
    needed: Norm,
    supposed: &Sensitivity,
) -> Result<(), ReleaseError> {
    // The L1 norm bounds the L2 norm; in one dimension they are the same.
    let bounds = needed == Norm::L2 || secret.norm() == Norm::L1 || secret.dimension() == 1;
    if !bounds {
        return Err(ReleaseError::Norm { needed, found: secret.norm() });
    }
    if !secret.sensitivity().within(supposed) {
        let (supposed, found) = (*supposed, *secret.sensitivity());
        return Err(ReleaseError::Sensitivity { supposed, found });
    }
    Ok(())
}

/// The noise stream of a receipt: numbered by it, so that no two releases share noise.
#[inline]
fn noise_stream(receipt: &Receipt) -> StreamId {
    StreamId::new(Purpose::Noise, receipt.node(), receipt.serial())
        .expect("a ledger numbers nodes and debits within a stream's name")
}

fn check_dimension(expected: u64, found: usize) -> Result<(), ReleaseError> {
    let found = found as u64;
    if expected == found { Ok(()) } else { Err(ReleaseError::Dimension { expected, found }) }
}

/// Overwrites noise after use: whoever knows it can subtract it.
fn erase<T: Copy + Default>(noise: &mut [T]) {
    noise.fill(T::default());
    // Otherwise the compiler may drop a write that nobody reads.
    std::hint::black_box(noise);
}
