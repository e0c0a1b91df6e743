//! The only door to a node's data.

use undertone_privacy::event::Event;
use undertone_privacy::ledger::{
    Budget, DebitError, Entry, Filter, Guarantee, Header, Ledger, OpenError, Store,
};
use undertone_privacy::mechanism::{Exposure, GaussianMechanism, ReleaseError};
use undertone_privacy::noise::Key;
use undertone_privacy::release::Secret;
use undertone_privacy::units::{Adjacency, Delta, OutOfRange};
use undertone_protocol::{Answer, Question};
use undertone_real::Real;

use crate::private::{Noise, Private};

/// Answers a protocol's questions from private data, each answer paid for by the ledger.
///
/// # Guarantee
///
/// That of its ledger: see [`Oracle::guarantee`]. A refusal depends on public values only.
pub struct Oracle<S = Vec<Entry>> {
    private: Private,
    ledger: Ledger<S>,
    key: Key,
}

/// Why a question has no answer, not even a refusal. The node must stop.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OracleError {
    /// The ledger failed.
    #[error(transparent)]
    Debit(#[from] DebitError),
    /// The mechanism failed.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// The question's numbers make no sense.
    #[error(transparent)]
    Range(#[from] OutOfRange),
    /// The node has no data of the kind that is asked for.
    #[error("the protocol asks for {asked}, but the node was set up for {kept}")]
    OtherData {
        /// What it asks for.
        asked: &'static str,
        /// What the node has.
        kept: &'static str,
    },
}

impl<S: Store> Oracle<S> {
    /// Opens a ledger for `plan`, the event of all that will be answered.
    pub fn open(
        node: u32,
        private: Private,
        plan: Event,
        budget: Budget,
        key: Key,
        store: S,
    ) -> Result<Self, OpenError> {
        let filter = match is_gaussian(&plan) {
            true => Filter::Gaussian { reserve: Delta::new(0.0).expect("zero is a delta") },
            false => Filter::Planned { event: plan },
        };
        let (adjacency, unit) = (Adjacency::Replace, private.unit());
        let ledger = Ledger::open(Header { node, budget, adjacency, unit, filter }, store)?;
        Ok(Self { private, ledger, key })
    }

    /// Debits, computes, adds noise, releases; this is where secrets meet the outside.
    pub fn answer<R: Real>(&mut self, question: &Question<R>) -> Result<Answer<R>, OracleError> {
        let (noise, sensitivity) = match (question, &self.private) {
            (Question::Vector, Private::Vector(vector, noise)) => (*noise, vector.sensitivity()),
            (Question::Step { t, step, .. }, Private::Steps(steps, noise)) => {
                let Some(noise) = noise.get(t.wrapping_sub(1) as usize) else {
                    return Ok(Answer::Refused);
                };
                (*noise, steps.sensitivity(*step)?)
            }
            (asked, kept) => return Err(other_data(asked, kept)),
        };
        let receipt = match self.ledger.debit(noise.event(sensitivity)) {
            Ok(receipt) => receipt,
            Err(DebitError::Exhausted { .. } | DebitError::NotPlanned { .. }) => {
                return Ok(Answer::Refused);
            }
            Err(error) => return Err(error.into()),
        };
        let secret: Secret<Vec<f64>> = match (question, &self.private) {
            (Question::Vector, Private::Vector(vector, _)) => vector.secret(),
            (Question::Step { at, step, .. }, Private::Steps(steps, _)) => {
                steps.secret(at.get(), *step)?
            }
            (asked, kept) => return Err(other_data(asked, kept)),
        };
        let released = match noise {
            Noise::Exposed => Exposure.release(secret, receipt)?,
            Noise::Gaussian(sigma) => {
                GaussianMechanism { sensitivity, sigma }.release(secret, receipt, &self.key)?
            }
        };
        // Post-processing: the protocol's numbers may be narrower.
        let narrow = |values: Vec<f64>| values.into_iter().map(R::from_f64).collect();
        Ok(Answer::Released(released.map(narrow)))
    }

    /// What the ledger promises about this node's data, for the whole run.
    pub fn guarantee(&self) -> Guarantee {
        self.ledger.guarantee()
    }

    /// The account.
    pub fn ledger(&self) -> &Ledger<S> {
        &self.ledger
    }
}

fn other_data<R>(asked: &Question<R>, kept: &Private) -> OracleError {
    let asked = match asked {
        Question::Vector => "a vector",
        Question::Step { .. } => "gradient steps",
    };
    let kept = match kept {
        Private::Vector(..) => "a vector",
        Private::Steps(..) => "gradient steps",
    };
    OracleError::OtherData { asked, kept }
}

/// Whether a Gaussian filter takes all of it.
fn is_gaussian(event: &Event) -> bool {
    match event {
        Event::Gaussian(_) => true,
        Event::Composed(parts) => parts.iter().all(is_gaussian),
        _ => false,
    }
}
