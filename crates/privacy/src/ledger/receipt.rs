//! The proof that a release was paid for.

use std::sync::Arc;

use crate::event::Event;

/// The right to make one release: a debit that went through. Only a ledger makes one, it cannot be
/// copied, and the release takes it away.
///
/// Nobody forges a receipt:
///
/// ```compile_fail,E0451
/// use undertone_privacy::event::Event;
/// use undertone_privacy::ledger::Receipt;
/// let forged = Receipt { node: 0, serial: 0, event: Event::NoOp.into() };
/// ```
///
/// ```compile_fail,E0624
/// use undertone_privacy::event::Event;
/// use undertone_privacy::ledger::Receipt;
/// let forged = Receipt::issue(0, 0, Event::NoOp.into());
/// ```
///
/// ```
/// # use undertone_privacy::ledger::{Budget, Filter, Header, Ledger};
/// # use undertone_privacy::units::{Adjacency, Delta, Epsilon, Unit};
/// # let budget = Budget { epsilon: Epsilon::new(1.0)?, delta: Delta::new(1e-5)? };
/// # let filter = Filter::Gaussian { reserve: Delta::new(0.0)? };
/// # let (adjacency, unit) = (Adjacency::AddRemove, Unit::Record);
/// # let mut ledger = Ledger::open(Header { node: 7, budget, adjacency, unit, filter }, vec![])?;
/// use undertone_privacy::event::Event;
/// let receipt = ledger.debit(Event::NoOp)?;
/// assert_eq!((receipt.node(), receipt.serial()), (7, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Nobody copies one:
///
/// ```compile_fail,E0599
/// # use undertone_privacy::ledger::{Budget, Filter, Header, Ledger};
/// # use undertone_privacy::units::{Adjacency, Delta, Epsilon, Unit};
/// # let budget = Budget { epsilon: Epsilon::new(1.0)?, delta: Delta::new(1e-5)? };
/// # let filter = Filter::Gaussian { reserve: Delta::new(0.0)? };
/// # let (adjacency, unit) = (Adjacency::AddRemove, Unit::Record);
/// # let mut ledger = Ledger::open(Header { node: 7, budget, adjacency, unit, filter }, vec![])?;
/// use undertone_privacy::event::Event;
/// let receipt = ledger.debit(Event::NoOp)?;
/// let second = receipt.clone();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Nobody uses one twice:
///
/// ```compile_fail,E0382
/// # use undertone_privacy::ledger::{Budget, Filter, Header, Ledger};
/// # use undertone_privacy::units::{Adjacency, Delta, Epsilon, Unit};
/// # let budget = Budget { epsilon: Epsilon::new(1.0)?, delta: Delta::new(1e-5)? };
/// # let filter = Filter::Gaussian { reserve: Delta::new(0.0)? };
/// # let (adjacency, unit) = (Adjacency::AddRemove, Unit::Record);
/// # let mut ledger = Ledger::open(Header { node: 7, budget, adjacency, unit, filter }, vec![])?;
/// # use undertone_privacy::mechanism::GaussianMechanism;
/// # use undertone_privacy::noise::Key;
/// # use undertone_privacy::release::ClippedSum;
/// # use undertone_privacy::units::{ClipNorm, Scale, Sensitivity};
/// # let clip = ClipNorm::new(1.0)?;
/// # let sensitivity = Sensitivity::contribution(clip);
/// # let mechanism = GaussianMechanism { sensitivity, sigma: Scale::new(10.0)? };
/// # let key = Key::from_seed(1);
/// # let [one, two] = [(); 2].map(|()| ClippedSum::<f64>::new(3, clip));
/// let receipt = ledger.debit(mechanism.event())?;
/// let first = mechanism.release(one, receipt, &key)?;
/// let second = mechanism.release(two, receipt, &key)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// ```
/// # use undertone_privacy::ledger::{Budget, Filter, Header, Ledger};
/// # use undertone_privacy::units::{Adjacency, Delta, Epsilon, Unit};
/// # let budget = Budget { epsilon: Epsilon::new(1.0)?, delta: Delta::new(1e-5)? };
/// # let filter = Filter::Gaussian { reserve: Delta::new(0.0)? };
/// # let (adjacency, unit) = (Adjacency::AddRemove, Unit::Record);
/// # let mut ledger = Ledger::open(Header { node: 7, budget, adjacency, unit, filter }, vec![])?;
/// # use undertone_privacy::mechanism::GaussianMechanism;
/// # use undertone_privacy::noise::Key;
/// # use undertone_privacy::release::ClippedSum;
/// # use undertone_privacy::units::{ClipNorm, Scale, Sensitivity};
/// # let clip = ClipNorm::new(1.0)?;
/// # let sensitivity = Sensitivity::contribution(clip);
/// # let mechanism = GaussianMechanism { sensitivity, sigma: Scale::new(10.0)? };
/// # let key = Key::from_seed(1);
/// # let [one, two] = [(); 2].map(|()| ClippedSum::<f64>::new(3, clip));
/// let receipt = ledger.debit(mechanism.event())?;
/// let first = mechanism.release(one, receipt, &key)?;
/// let receipt = ledger.debit(mechanism.event())?;
/// let second = mechanism.release(two, receipt, &key)?;
/// # assert_ne!(first, second);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "the debit is made; a receipt that is dropped is budget thrown away"]
pub struct Receipt {
    node: u32,
    serial: u64,
    event: Arc<Event>,
}

impl Receipt {
    pub(super) fn issue(node: u32, serial: u64, event: Arc<Event>) -> Self {
        Self { node, serial, event }
    }

    /// The node whose budget paid.
    pub fn node(&self) -> u32 {
        self.node
    }

    /// The number of the debit, which is the number of the noise stream.
    pub fn serial(&self) -> u64 {
        self.serial
    }

    /// What was paid for.
    pub fn event(&self) -> &Event {
        &self.event
    }

    /// The same, after the release.
    pub(crate) fn into_event(self) -> Arc<Event> {
        self.event
    }
}
