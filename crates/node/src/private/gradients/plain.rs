//! Sums of gradients and nothing else, which several nodes make together.

use std::sync::Arc;

use undertone_model::{Batch, Tabled};
use undertone_privacy::ledger::Receipt;
use undertone_privacy::mechanism::GaussianMechanism;
use undertone_privacy::noise::Key;
use undertone_privacy::release::Pending;
use undertone_privacy::sampler::{self, Drawn};
use undertone_privacy::units::ClipNorm;
use undertone_real::Real;

use super::{Kind, LONG, PrivateGradients, vouched};
use crate::oracle::OracleError;
use crate::private::Noise;

impl<R: Real> PrivateGradients<R> {
    /// The objective and the clip norm, if all there is to do in a round is to sum the gradients of
    /// a batch, which does not change anything here, and to add noise at once.
    pub(crate) fn plain_sum(&self, round: u64) -> Option<(&Arc<dyn Tabled<R>>, ClipNorm)> {
        let plain = matches!(self.kind, Kind::Gradients) && self.law(round).is_some();
        (plain && self.objective.dimension() < LONG).then_some((&self.objective, self.clip))
    }

    /// The records of a batch. They may be far: whoever answers for many nodes asks for them, and
    /// has others to look after until they come.
    pub(crate) fn chosen<'a>(&'a self, batch: &'a sampler::Batch) -> Batch<'a, R> {
        Batch::of(&self.data, batch.indices())
    }

    /// Releases a plain sum, whose noise is added later.
    #[inline(always)]
    pub(crate) fn promise(
        &self,
        round: u64,
        sum: Vec<R>,
        drawn: Drawn,
        (receipt, key): (Receipt, &Key),
    ) -> Result<Pending<R>, OracleError> {
        let drawing = self.in_round(round).expect("a batch was drawn for it");
        let Noise::Gaussian(sigma) = drawing.noise else { unreachable!("a batch has a law") };
        let mechanism = GaussianMechanism { sensitivity: self.sensitivity(), sigma };
        Ok(mechanism.promise(vouched(sum, self.contribution(), drawn), receipt, key)?)
    }
}
