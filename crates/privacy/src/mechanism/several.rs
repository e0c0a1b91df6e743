//! Several releases at once.

use std::sync::Arc;

use undertone_real::Real;

use super::{ReleaseError, erase, noise_stream, other_event};
use crate::event::Event;
use crate::ledger::Receipt;
use crate::noise::{Key, StreamId, add_gaussian_to_all};
use crate::release::Released;
use crate::sampler::Batch;

/// Sums of batches that a [`GaussianMechanism`](super::GaussianMechanism) releases at once, each
/// paid for by a receipt of its own: many small releases take longer to hand over than to make.
///
/// # Guarantee
///
/// Every sum is released as the mechanism alone would release it, in bits, and only if its receipt
/// pays for exactly that: the batch was drawn for this receipt, and the receipt's event is the
/// mechanism's inside that of the batch. What is not released is overwritten.
///
/// Nobody reads what has no noise:
///
/// ```compile_fail,E0616
/// # fn f(several: undertone_privacy::mechanism::Several<'_, f32>) {
/// let read = several.promised;
/// # }
/// ```
///
/// whoever ends it has releases:
///
/// ```
/// # fn f(several: undertone_privacy::mechanism::Several<'_, f32>) {
/// several.release(|released, _event| println!("{:?}", released.get()));
/// # }
/// ```
///
/// # References
///
/// As for the mechanism.
pub struct Several<'a, R: Real> {
    /// That of the mechanism.
    event: Event,
    sigma: f64,
    promised: Vec<Promised<'a, R>>,
}

struct Promised<'a, R> {
    values: Vec<R>,
    key: &'a Key,
    id: StreamId,
    paid: Arc<Event>,
}

impl<'a, R: Real> Several<'a, R> {
    pub(super) fn new(event: Event, sigma: f64, count: usize) -> Self {
        Self { event, sigma, promised: Vec::with_capacity(count) }
    }

    /// Adds a sum over a batch. The trusted door of fast paths: the caller vouches that `values` is
    /// a sum of contributions, one a record, each of L2 norm at most what the mechanism was asked
    /// for with. `xtask tidy` lists who may call.
    #[inline]
    pub fn trust_each_clipped(
        &mut self,
        mut values: Vec<R>,
        batch: &Batch,
        receipt: Receipt,
        key: &'a Key,
    ) -> Result<(), ReleaseError> {
        if let Err(error) = self.admit(batch, &receipt) {
            erase(&mut values);
            return Err(error);
        }
        let (id, paid) = (noise_stream(&receipt), receipt.into_event());
        // Room for all was made at once. Where it might still have to be made, what is added would
        // be put together elsewhere first.
        assert!(self.promised.len() < self.promised.capacity(), "no more than were announced");
        self.promised.push(Promised { values, key, id, paid });
        Ok(())
    }

    /// Overwrites a sum that is not to be released after all.
    pub fn discard(&self, mut values: Vec<R>) {
        erase(&mut values);
    }

    #[inline]
    fn admit(&self, batch: &Batch, receipt: &Receipt) -> Result<(), ReleaseError> {
        let drawn = batch.mark();
        if !drawn.stands_for(receipt.event(), &self.event) {
            return Err(other_event(receipt, &drawn.event(self.event.clone())));
        }
        if !drawn.is_for(receipt) {
            let (node, serial) = (receipt.node(), receipt.serial());
            return Err(ReleaseError::OtherBatch { node, serial });
        }
        Ok(())
    }

    /// Adds all noise, and hands over what is released, in order, with what was paid for it.
    pub fn release(mut self, mut take: impl FnMut(Released<Vec<R>>, Arc<Event>)) {
        let to = self.promised.iter_mut();
        add_gaussian_to_all(to.map(|p| (p.key, p.id, &mut *p.values)), self.sigma);
        for Promised { values, paid, .. } in self.promised.drain(..) {
            take(Released::by_mechanism(values), paid);
        }
    }
}

impl<R: Real> Drop for Several<'_, R> {
    fn drop(&mut self) {
        self.promised.iter_mut().for_each(|promised| erase(&mut promised.values));
    }
}
