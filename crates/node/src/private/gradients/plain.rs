//! Sums of gradients and nothing else, which several nodes make together.

use std::sync::Arc;

use undertone_model::{Batch, Tabled};
use undertone_privacy::sampler;
use undertone_privacy::units::{ClipNorm, Scale};
use undertone_real::Real;

use super::{Kind, PrivateGradients};
use crate::private::Noise;

impl<R: Real> PrivateGradients<R> {
    /// The objective, the clip norm and the noise, if all there is to do in a round is to sum the
    /// gradients of a batch, which does not change anything here, and to add noise.
    #[inline]
    pub(crate) fn plain_sum(&self, round: u64) -> Option<(&Arc<dyn Tabled<R>>, ClipNorm, Scale)> {
        let Noise::Gaussian(sigma) = self.in_round(round)?.noise else { return None };
        matches!(self.kind, Kind::Gradients).then_some((&self.objective, self.clip, sigma))
    }

    /// The records of a batch. They may be far: whoever answers for many nodes asks for them, and
    /// has others to look after until they come.
    #[inline(always)]
    pub(crate) fn chosen<'a>(&'a self, batch: &'a sampler::Batch) -> Batch<'a, R> {
        Batch::of(&self.data, batch.indices())
    }
}
