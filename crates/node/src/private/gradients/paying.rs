//! What gradients cost.

use std::sync::Arc;

use undertone_privacy::event::Event;
use undertone_real::Real;

use super::{Drawing, Kind, PrivateGradients};
use crate::private::answers::sum_event;
use crate::private::{Noise, printed};

impl<R: Real> PrivateGradients<R> {
    /// What to debit in a round; nothing if it has no batch.
    pub fn event_of(&self, round: u64) -> Option<&Arc<Event>> {
        self.in_round(round).map(|drawing| &drawing.event)
    }

    /// The same to pay with.
    pub(crate) fn take_event(&mut self, round: u64) -> Option<Arc<Event>> {
        let Drawing { event, returned, .. } = self.schedule.in_round_mut(round)?;
        Some(returned.take().unwrap_or_else(|| Arc::clone(event)))
    }

    /// Takes back what was paid with.
    pub(crate) fn return_event(&mut self, round: u64, event: Arc<Event>) {
        if let Some(drawing) = self.schedule.in_round_mut(round) {
            drawing.returned = Some(event);
        }
    }

    /// What to debit in the first round that has a batch.
    pub fn event(&self) -> &Arc<Event> {
        &self.first
    }

    /// All of so many rounds, as it has to be planned.
    pub fn plan(&self, rounds: u64) -> Event {
        let schedule = self.schedule.rounds();
        let length = schedule.len().max(1) as u64;
        let times = |k: u64| rounds / length + u64::from(k < rounds % length);
        let parts = (0..).zip(schedule).filter_map(|(k, drawing)| {
            let event = &drawing.as_ref()?.event;
            Some(Event::clone(event).repeated(times(k)))
        });
        let mut parts: Vec<Event> = parts.collect();
        if parts.len() == 1 { parts.remove(0) } else { Event::Composed(parts) }
    }

    /// Writes the events of the schedule.
    pub(super) fn price(&mut self) {
        let (sensitivity, records) = (self.sensitivity(), self.data.records());
        let transmit = match &self.kind {
            Kind::Masked(transmit) => Some(*transmit),
            _ => None,
        };
        for Drawing { sampler, noise, event, returned } in
            self.schedule.rounds_mut().iter_mut().flatten()
        {
            *returned = None;
            *event = Arc::new(match (&self.kind, *noise) {
                (Kind::Printed(_), Noise::Gaussian(sigma)) => {
                    let mechanism = printed::mechanism(sampler, records, self.clip, sigma);
                    mechanism.expect("checked before it is priced").event()
                }
                (Kind::Adaptive(clip), Noise::Gaussian(sigma)) => {
                    let mechanism = clip.mechanism(sigma).expect("checked before it is priced");
                    sampler.event(mechanism.event())
                }
                _ => sum_event(sampler, *noise, sensitivity, transmit),
            });
        }
        let first = self.schedule.rounds().iter().flatten().next();
        self.first =
            first.map_or_else(|| Arc::new(Event::NoOp), |drawing| Arc::clone(&drawing.event));
    }
}
