//! Gradients of batches of a node's records.

mod estimators;
mod paying;
mod plain;
mod schedule;
mod workspace;

use std::sync::Arc;

use undertone_model::{Batch, Dataset, Table, Tabled};
use undertone_privacy::event::Event;
use undertone_privacy::ledger::Receipt;
use undertone_privacy::mechanism::{Exposure, GaussianMechanism, Masked, MaskedGaussian};
use undertone_privacy::noise::Key;
use undertone_privacy::release::{ClippedSum, Released};
use undertone_privacy::sampler::{self, Drawn, Sampler};
use undertone_privacy::units::{ClipNorm, OutOfRange, Probability, Sensitivity};
use undertone_protocol::{Answer, PublicBits, Question};
use undertone_real::Real;

use self::schedule::{Drawing, Schedule};
pub(crate) use self::workspace::Workspace;
use super::adaptive::AdaptiveClip;
use super::printed::{self, Printed};
use super::{Noise, exposed};
use crate::oracle::OracleError;

/// A node's records, of which only noisy sums of clipped gradients leave.
pub struct PrivateGradients<R: Real> {
    objective: Arc<dyn Tabled<R>>,
    /// The node's own; how many they are is public.
    data: Dataset<R>,
    clip: ClipNorm,
    kind: Kind<R>,
    schedule: Schedule,
    /// The event of the first round that has a batch.
    first: Arc<Event>,
    /// None while it is lent.
    workspace: Option<Box<Workspace<R>>>,
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
    /// Nobody has proved what such a batch is worth with a table that is read as a whole.
    #[error(
        "SAGA as printed has a proved price with poisson sampling, or with a single record a round"
    )]
    Printed,
}

/// What is answered.
enum Kind<R> {
    /// Clipped to a norm that follows a quantile.
    Adaptive(AdaptiveClip),
    Gradients,
    /// Of which every coordinate is answered with a chance.
    Masked(Probability),
    /// From gradients that were asked for before.
    Differences(Table<R>),
    /// The gradient of one record, with the variance reduction that paper 003 prints.
    Printed(Printed<R>),
}

impl<R: Real> PrivateGradients<R> {
    /// Whether gradients are remembered, or the clip norm moves.
    pub(super) fn remembers(&self) -> bool {
        match self.kind {
            Kind::Gradients | Kind::Masked(_) => false,
            Kind::Adaptive(_) | Kind::Differences(_) | Kind::Printed(_) => true,
        }
    }

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
            let event = Arc::new(Event::NoOp);
            drawing.map(|(sampler, noise)| Drawing { sampler, noise, event, returned: None })
        };
        let mut gradients = Self {
            objective,
            data,
            clip,
            kind: Kind::Gradients,
            schedule: match schedule {
                [one] => Schedule::Always([unpriced(one)]),
                rounds => Schedule::Rounds(rounds.iter().map(unpriced).collect()),
            },
            first: Arc::new(Event::NoOp),
            workspace: None,
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
        if self.schedule.rounds().iter().flatten().any(told) {
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

    /// Answers the sum of `v - T` over a batch, by its expected size, and `mean(T)`, where `T` is
    /// the table of the last gradients and is filled at the first point: SAGA as paper 003 prints
    /// it. The noise is meant for this answer, which is a mean and no sum.
    ///
    /// # Guarantee
    ///
    /// That of [`TableGaussian`](undertone_privacy::mechanism::TableGaussian): bound (S) with
    /// Poisson sampling, (C) with a single index. Other batches have no proved price and are
    /// refused, unless there is no noise and hence no guarantee.
    ///
    /// # References
    ///
    /// Paper 003, algorithm 1; theory 7.2.
    pub fn printed(mut self) -> Result<Self, TableError> {
        let records = self.data.records();
        for drawing in self.schedule.rounds().iter().flatten() {
            if let Noise::Gaussian(sigma) = drawing.noise {
                printed::mechanism(&drawing.sampler, records, self.clip, sigma)?;
            }
        }
        self.kind = Kind::Printed(Printed::new(&*self.objective, records));
        self.price();
        Ok(self)
    }

    /// Clips to a norm that follows a quantile of the gradients' norms, and starts where that does.
    ///
    /// # Guarantee
    ///
    /// See [`AdaptiveClip`].
    pub fn adaptive(mut self, clip: AdaptiveClip) -> Result<Self, OutOfRange> {
        for drawing in self.schedule.rounds().iter().flatten() {
            if let Noise::Gaussian(sigma) = drawing.noise {
                clip.mechanism(sigma)?;
            }
        }
        self.clip = clip.start();
        self.kind = Kind::Adaptive(clip);
        self.price();
        Ok(self)
    }

    /// What gradients are clipped to in the next round; public.
    pub fn clip(&self) -> ClipNorm {
        self.clip
    }

    /// How many records there are; public.
    pub fn records(&self) -> usize {
        self.data.records()
    }

    /// What is asked for when this is to be answered.
    pub(crate) fn kept(&self) -> &'static str {
        match self.kind {
            Kind::Adaptive(_) | Kind::Gradients | Kind::Printed(_) => "gradients",
            Kind::Masked(_) => "masked gradients",
            Kind::Differences(_) => "differences of gradients",
        }
    }

    /// Whether such questions are answered.
    pub(crate) fn answers(&self, question: &Question<R>) -> bool {
        match self.kind {
            Kind::Adaptive(_) | Kind::Gradients | Kind::Printed(_) => {
                matches!(question, Question::Gradient { .. })
            }
            Kind::Masked(_) => matches!(question, Question::Masked { .. }),
            Kind::Differences(_) => matches!(question, Question::Difference { .. }),
        }
    }

    /// The law of a round's batch and the number of records it is drawn from. None if the batch is
    /// drawn with what is computed from it.
    pub(crate) fn law(&self, round: u64) -> Option<(Sampler, usize)> {
        let drawing = match self.kind {
            Kind::Printed(_) | Kind::Adaptive(_) => None,
            Kind::Differences(_) | Kind::Gradients | Kind::Masked(_) => self.in_round(round),
        };
        let drawing = drawing.filter(|drawing| matches!(drawing.noise, Noise::Gaussian(_)))?;
        Some((drawing.sampler, self.data.records()))
    }

    /// Computes and releases the answer of a round, from a batch that was drawn by its law if it
    /// has one.
    pub(crate) fn release(
        &mut self,
        round: u64,
        at: &[R],
        batch: Option<sampler::Batch>,
        (receipt, key): (Receipt, &Key),
        workspace: &mut Workspace<R>,
    ) -> Result<Answer<R>, OracleError> {
        let Some(&Drawing { sampler, noise, .. }) = self.in_round(round) else {
            return Ok(Answer::Refused);
        };
        if let Kind::Printed(_) = self.kind {
            return self.release_printed(at, (sampler, noise), receipt, key, workspace);
        }
        if let Kind::Adaptive(clip) = self.kind {
            return self.release_adaptive(at, clip, (sampler, noise), (receipt, key), workspace);
        }
        let secret = match batch {
            Some(batch) => self.secret(at, batch.indices(), batch.drawn(), workspace).0,
            None => {
                let batch = exposed::draw(&sampler, self.data.records(), &receipt, key);
                self.secret(at, &batch, Drawn::full(), workspace).0
            }
        };
        let sensitivity = self.sensitivity();
        Ok(match (noise, &self.kind) {
            (Noise::Exposed, Kind::Masked(transmit)) => {
                let bits = exposed::bits(&receipt, key);
                Answer::Masked(some(Exposure.release(secret, receipt)?, *transmit, bits))
            }
            (Noise::Gaussian(sigma), Kind::Masked(transmit)) => {
                let gaussian = GaussianMechanism { sensitivity, sigma };
                let masked = MaskedGaussian { gaussian, transmit: *transmit };
                Answer::Masked(masked.release(secret, receipt, key)?)
            }
            (Noise::Exposed, _) => Answer::Released(Exposure.release(secret, receipt)?),
            (Noise::Gaussian(sigma), _) => {
                let mechanism = GaussianMechanism { sensitivity, sigma };
                let promised = mechanism.promise(secret, receipt, key)?;
                match workspace.scratch.threads() {
                    1 if self.objective.dimension() >= LONG => Answer::Pending(Box::new(promised)),
                    threads => Answer::Released(promised.finish_on(threads)),
                }
            }
        })
    }

    /// Computes on so many threads from now on.
    pub(crate) fn on(&mut self, threads: usize) {
        self.workspace = Some(Box::new(Workspace::on(threads)));
    }

    /// Where it keeps what is computed in.
    pub(crate) fn workspace(&mut self) -> &mut Option<Box<Workspace<R>>> {
        &mut self.workspace
    }

    fn in_round(&self, round: u64) -> Option<&Drawing> {
        self.schedule.in_round(round)
    }

    /// What one record contributes at most.
    fn contribution(&self) -> ClipNorm {
        match self.kind {
            Kind::Adaptive(_) | Kind::Gradients | Kind::Masked(_) => self.clip,
            Kind::Differences(_) | Kind::Printed(_) => {
                ClipNorm::new(2.0 * self.clip.get()).expect("checked when the table was made")
            }
        }
    }

    fn sensitivity(&self) -> Sensitivity {
        Sensitivity::contribution(self.contribution())
    }

    /// Sums the clipped gradients of a batch, or their differences, and counts those that were not
    /// shortened.
    fn secret(
        &mut self,
        at: &[R],
        batch: &[usize],
        drawn: Drawn,
        workspace: &mut Workspace<R>,
    ) -> (ClippedSum<R>, u64) {
        let mut sum = workspace.memory(self.objective.dimension());
        let (clip, scratch) = (self.clip.get(), &mut workspace.scratch);
        let chosen = Batch::of(&self.data, batch);
        let clipped = match &mut self.kind {
            Kind::Differences(table) => {
                self.objective.exchange(at, chosen, clip, table, scratch, &mut sum)
            }
            _ => self.objective.clipped_sum(at, chosen, clip, scratch, &mut sum),
        };
        let within = batch.len() as u64 - clipped.shortened;
        (vouched(sum, self.contribution(), drawn), within)
    }
}

/// Answers of so many numbers get their noise when they are read: by then they would not be near.
pub(crate) const LONG: usize = 1 << 13;

/// The objective clips every gradient, and what it remembers is clipped as well.
fn vouched<R: Real>(sum: Vec<R>, contribution: ClipNorm, drawn: Drawn) -> ClippedSum<R> {
    ClippedSum::trust_clipped(sum, contribution, drawn)
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
