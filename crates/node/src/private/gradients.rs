//! Gradients of batches of a node's records.

use std::sync::Arc;

use undertone_graph::NodeId;
use undertone_model::{Batch, Dataset, Scratch, Table, Tabled};
use undertone_privacy::event::Event;
use undertone_privacy::ledger::Receipt;
use undertone_privacy::mechanism::{Exposure, GaussianMechanism, Masked, MaskedGaussian};
use undertone_privacy::noise::Key;
use undertone_privacy::release::{ClippedSum, Norm, Released, Secret};
use undertone_privacy::sampler::{Drawn, Sampler};
use undertone_privacy::units::{Adjacency, ClipNorm, OutOfRange, Probability, Sensitivity};
use undertone_protocol::{Answer, PublicBits};
use undertone_real::Real;

use super::answers::sum_event;
use super::{Noise, exposed};
use crate::oracle::OracleError;

/// A node's records, of which only noisy sums of clipped gradients leave.
pub struct PrivateGradients<R: Real> {
    objective: Arc<dyn Tabled<R>>,
    /// The node's own; how many they are is public.
    data: Dataset<R>,
    clip: ClipNorm,
    kind: Kind<R>,
    /// Round by round, over and over; rounds without a batch have none.
    schedule: Vec<Option<Drawing>>,
    /// The event of the first round that has a batch.
    first: Arc<Event>,
    scratch: Scratch<R>,
    /// Memory for the next sum.
    sum: Vec<R>,
}

/// Why gradients cannot be remembered.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TableError {
    /// Twice the clip norm is too much.
    #[error(transparent)]
    Clip(#[from] OutOfRange),
    /// Nobody has proved what a batch of a fixed size is worth here.
    #[error(
        "remembered gradients need poisson sampling, or all records: when others were drawn would \
         tell who was drawn with a fixed size"
    )]
    FixedSize,
}

/// How the batch of a round is drawn, the noise that is meant for its sum, and what that costs.
struct Drawing {
    sampler: Sampler,
    noise: Noise,
    event: Arc<Event>,
}

/// What is answered.
enum Kind<R> {
    Gradients,
    /// Of which every coordinate is answered with a chance.
    Masked(Probability),
    /// From gradients that were asked for before.
    Differences(Table<R>),
    /// The gradient of one record, with the variance reduction that paper 003 prints.
    Printed(Printed<R>),
}

/// The state of the printed SAGA.
struct Printed<R> {
    table: Table<R>,
    /// The mean of the table; none before the first question fills it.
    mean: Option<Vec<R>>,
    /// Of the public choice of records.
    seed: u64,
}

impl<R: Real> PrivateGradients<R> {
    /// Noise of a standard deviation that is meant for the sum, the same in every round.
    pub fn new(
        objective: Arc<dyn Tabled<R>>,
        data: Dataset<R>,
        sampler: Sampler,
        clip: ClipNorm,
        noise: Noise,
    ) -> Self {
        Self::scheduled(objective, data, clip, &[Some((sampler, noise))])
    }

    /// With a schedule of samplers and of the noise of their sums that depends on no data, over and
    /// over. In a round without a sampler nothing is answered, and nothing is paid.
    pub fn scheduled(
        objective: Arc<dyn Tabled<R>>,
        data: Dataset<R>,
        clip: ClipNorm,
        schedule: &[Option<(Sampler, Noise)>],
    ) -> Self {
        let unpriced = |drawing: &Option<(Sampler, Noise)>| {
            drawing.map(|(sampler, noise)| Drawing { sampler, noise, event: Arc::new(Event::NoOp) })
        };
        let mut gradients = Self {
            objective,
            data,
            clip,
            kind: Kind::Gradients,
            schedule: schedule.iter().map(unpriced).collect(),
            first: Arc::new(Event::NoOp),
            scratch: Scratch::default(),
            sum: Vec::new(),
        };
        gradients.price();
        gradients
    }

    /// Answers differences from remembered gradients, of which one record moves the sum by twice
    /// the clip norm. The table is read for records that are drawn only, so that a round which does
    /// not draw a record is the same with and without it.
    ///
    /// # Guarantee
    ///
    /// That of the sampled event, for Poisson sampling and for all records. What others remember
    /// depends on when they were drawn, and may be given away: with Poisson sampling that tells
    /// nothing about this record. With batches of a fixed size it does, so they are refused.
    ///
    /// # References
    ///
    /// Theory 7.2, "noisy-mean SAGA".
    pub fn with_table(mut self) -> Result<Self, TableError> {
        ClipNorm::new(2.0 * self.clip.get())?;
        let told = |drawing: &Drawing| {
            matches!((drawing.sampler, drawing.noise), (Sampler::FixedSize(_), Noise::Gaussian(_)))
        };
        if self.schedule.iter().flatten().any(told) {
            return Err(TableError::FixedSize);
        }
        self.kind = Kind::Differences(Table::new(&*self.objective, self.data.records()));
        self.price();
        Ok(self)
    }

    /// Answers every coordinate with a chance only, and forgets the others.
    ///
    /// # Guarantee
    ///
    /// [`Event::SdmMask`], which is priced under add-remove; replacing a record costs a removal and
    /// an addition of the whole run.
    ///
    /// # References
    ///
    /// Theory 3.3.
    pub fn masked(mut self, transmit: Probability) -> Self {
        self.kind = Kind::Masked(transmit);
        self.price();
        self
    }

    /// Answers `v - T + mean(T)` for one record, where `T` is the table of its last gradients and
    /// is filled at the first point: SAGA as paper 003 prints it. The sampler is not used.
    ///
    /// # Guarantee
    ///
    /// Replace-one. Which record is chosen is public, so there is no amplification: rounds that
    /// choose the replaced record move by at most four times the clip norm, the others by less, and
    /// every round is paid for as a Gaussian of that sensitivity. Bounds (S) and (C) of theory 7.2
    /// are tighter; they need a mechanism for `Event::SagaTable`.
    ///
    /// # References
    ///
    /// Paper 003, algorithm 1; theory 7.2 (C).
    pub fn printed(mut self, seed: u64) -> Self {
        let table = Table::new(&*self.objective, self.data.records());
        self.kind = Kind::Printed(Printed { table, mean: None, seed });
        self.price();
        self
    }

    /// What to debit in a round; nothing if it has no batch.
    pub fn event_of(&self, round: u64) -> Option<&Arc<Event>> {
        self.in_round(round).map(|drawing| &drawing.event)
    }

    /// What to debit in the first round that has a batch.
    pub fn event(&self) -> &Arc<Event> {
        &self.first
    }

    /// All of so many rounds, as it has to be planned.
    pub fn plan(&self, rounds: u64) -> Event {
        let length = self.schedule.len().max(1) as u64;
        let times = |k: u64| rounds / length + u64::from(k < rounds % length);
        let parts = (0..).zip(&self.schedule).filter_map(|(k, drawing)| {
            let event = &drawing.as_ref()?.event;
            Some(Event::clone(event).repeated(times(k)))
        });
        let mut parts: Vec<Event> = parts.collect();
        if parts.len() == 1 { parts.remove(0) } else { Event::Composed(parts) }
    }

    /// How many records there are; public.
    pub fn records(&self) -> usize {
        self.data.records()
    }

    /// What is asked for when this is to be answered.
    pub(crate) fn kept(&self) -> &'static str {
        match self.kind {
            Kind::Gradients | Kind::Printed(_) => "gradients",
            Kind::Masked(_) => "masked gradients",
            Kind::Differences(_) => "differences of gradients",
        }
    }

    /// Computes and releases the answer of a round.
    pub(crate) fn release(
        &mut self,
        round: u64,
        at: &[R],
        receipt: Receipt,
        key: &Key,
    ) -> Result<Answer<R>, OracleError> {
        let Some(&Drawing { sampler, noise, .. }) = self.in_round(round) else {
            return Ok(Answer::Refused);
        };
        let sensitivity = self.sensitivity();
        if let Kind::Printed(_) = self.kind {
            let secret = self.printed_secret(at, &receipt);
            return Ok(Answer::Released(noise.release(secret, sensitivity, receipt, key)?));
        }
        let secret = match noise {
            Noise::Exposed => {
                let batch = exposed::draw(&sampler, self.data.records(), &receipt, key);
                self.secret(at, &batch, Drawn::full())
            }
            Noise::Gaussian(_) => {
                let batch = sampler.draw(self.data.records(), &receipt, key)?;
                self.secret(at, batch.indices(), batch.drawn())
            }
        };
        if let Kind::Masked(transmit) = self.kind {
            return Ok(Answer::Masked(match noise {
                Noise::Exposed => {
                    let bits = exposed::bits(&receipt, key);
                    some(Exposure.release(secret, receipt)?, transmit, bits)
                }
                Noise::Gaussian(sigma) => {
                    let gaussian = GaussianMechanism { sensitivity, sigma };
                    MaskedGaussian { gaussian, transmit }.release(secret, receipt, key)?
                }
            }));
        }
        Ok(Answer::Released(noise.release(secret, sensitivity, receipt, key)?))
    }

    /// Takes the memory of a question for the next answer.
    pub(crate) fn reuse(&mut self, memory: Vec<R>) {
        self.sum = memory;
    }

    fn in_round(&self, round: u64) -> Option<&Drawing> {
        let length = self.schedule.len().max(1) as u64;
        self.schedule.get((round % length) as usize)?.as_ref()
    }

    /// What one record contributes at most.
    fn contribution(&self) -> ClipNorm {
        match self.kind {
            Kind::Gradients | Kind::Masked(_) | Kind::Printed(_) => self.clip,
            Kind::Differences(_) => {
                ClipNorm::new(2.0 * self.clip.get()).expect("checked when the table was made")
            }
        }
    }

    fn sensitivity(&self) -> Sensitivity {
        match self.kind {
            Kind::Printed(_) => Sensitivity::under_only(Adjacency::Replace, 4.0 * self.clip.get())
                .expect("four clip norms are finite"),
            _ => Sensitivity::contribution(self.contribution()),
        }
    }

    /// Writes the events of the schedule.
    fn price(&mut self) {
        let sensitivity = self.sensitivity();
        let transmit = match &self.kind {
            Kind::Masked(transmit) => Some(*transmit),
            _ => None,
        };
        for Drawing { sampler, noise, event } in self.schedule.iter_mut().flatten() {
            *event = Arc::new(match &self.kind {
                // Which record is chosen is public.
                Kind::Printed(_) => noise.event(sensitivity),
                _ => sum_event(sampler, *noise, sensitivity, transmit),
            });
        }
        let first = self.schedule.iter().flatten().next();
        self.first =
            first.map_or_else(|| Arc::new(Event::NoOp), |drawing| Arc::clone(&drawing.event));
    }

    /// Sums the clipped gradients of a batch, or their differences.
    fn secret(&mut self, at: &[R], batch: &[usize], drawn: Drawn) -> ClippedSum<R> {
        let mut sum = std::mem::take(&mut self.sum);
        sum.resize(self.objective.dimension(), R::ZERO);
        let (clip, scratch) = (self.clip.get(), &mut self.scratch);
        let chosen = Batch::of(&self.data, batch);
        match &mut self.kind {
            Kind::Differences(table) => {
                self.objective.exchange(at, chosen, clip, table, scratch, &mut sum)
            }
            _ => self.objective.clipped_sum(at, chosen, clip, scratch, &mut sum),
        };
        ClippedSum::trust_clipped(sum, self.contribution(), drawn)
    }

    /// `v - T + mean(T)` of one record; the mean is that of before.
    fn printed_secret(&mut self, at: &[R], receipt: &Receipt) -> Secret<Vec<R>> {
        let mut sum = std::mem::take(&mut self.sum);
        sum.resize(self.objective.dimension(), R::ZERO);
        let sensitivity = self.sensitivity();
        let (objective, data, clip) = (&self.objective, &self.data, self.clip.get());
        let (scratch, records) = (&mut self.scratch, data.records());
        let share = R::from_f64(1.0 / records.max(1) as f64);
        let Kind::Printed(Printed { table, mean, seed }) = &mut self.kind else {
            unreachable!("only asked for what is printed")
        };
        let mean = mean.get_or_insert_with(|| {
            objective.exchange(at, Batch::all(data), clip, table, scratch, &mut sum);
            sum.iter().map(|v| *v * share).collect()
        });
        let mut bits = PublicBits::new(*seed, NodeId(receipt.node()), receipt.serial(), 0);
        let chosen: Option<usize> = (records > 0).then(|| bits.below(records as u64) as usize);
        let batch = chosen.as_slice();
        objective.exchange(at, Batch::of(data, batch), clip, table, scratch, &mut sum);
        for (sum, mean) in sum.iter_mut().zip(mean) {
            let difference = *sum;
            *sum += *mean;
            *mean += share * difference;
        }
        Secret::declare(sum, Norm::L2, sensitivity)
    }
}

/// Without privacy the mask may be public, and is only there to be unbiased.
fn some<R: Real>(
    values: Released<Vec<R>>,
    transmit: Probability,
    mut bits: PublicBits,
) -> Released<Masked<R>> {
    values.map(|values| {
        let chosen = |_: &usize| bits.uniform() < transmit.get();
        let indices: Vec<usize> = (0..values.len()).filter(chosen).collect();
        let sent = indices.iter().map(|k| values[*k]).collect();
        Masked { dimension: values.len(), indices, values: sent }
    })
}
