//! Releases of more than one secret: SAGA as printed, and clip norms that adapt.

use undertone_model::Batch;
use undertone_privacy::ledger::Receipt;
use undertone_privacy::mechanism::{Exposure, QuantileGaussian};
use undertone_privacy::noise::Key;
use undertone_privacy::release::{Norm, Secret};
use undertone_privacy::sampler::{Drawn, Sampler, TableSampler};
use undertone_privacy::units::Sensitivity;
use undertone_protocol::Answer;
use undertone_real::Real;

use super::{Kind, PrivateGradients, Workspace, vouched};
use crate::oracle::OracleError;
use crate::private::adaptive::AdaptiveClip;
use crate::private::{Noise, exposed, printed};

impl<R: Real> PrivateGradients<R> {
    /// The noisy sum over a batch; the noisy share of short gradients moves the clip norm.
    pub(super) fn release_adaptive(
        &mut self,
        at: &[R],
        clip: AdaptiveClip,
        (sampler, noise): (Sampler, Noise),
        (receipt, key): (Receipt, &Key),
        workspace: &mut Workspace<R>,
    ) -> Result<Answer<R>, OracleError> {
        let records = self.data.records();
        let expected = sampler.expected_size(records);
        let (sum, count) = match noise {
            Noise::Exposed => {
                let batch = exposed::draw(&sampler, records, &receipt, key);
                let (secret, within) = self.secret(at, &batch, Drawn::full(), workspace);
                let count = within as f64 - 0.5 * batch.len() as f64;
                (Exposure.release(secret, receipt)?, count)
            }
            Noise::Gaussian(sigma) => {
                let mechanism = clip.mechanism(sigma)?;
                let batch = sampler.draw(records, &receipt, key)?;
                let (secret, within) = self.secret(at, batch.indices(), batch.drawn(), workspace);
                let size = batch.indices().len() as u64;
                let counted = QuantileGaussian::count_of(within, size, batch.drawn());
                let released = mechanism.release(secret, counted, receipt, key)?;
                let count = released.get().1;
                (released.map(|(sum, _)| sum), count)
            }
        };
        self.clip = clip.next(self.clip, count, expected);
        Ok(Answer::Released(sum))
    }

    /// The noisy estimator of SAGA with its table.
    pub(super) fn release_printed(
        &mut self,
        at: &[R],
        (sampler, noise): (Sampler, Noise),
        receipt: Receipt,
        key: &Key,
        workspace: &mut Workspace<R>,
    ) -> Result<Answer<R>, OracleError> {
        let records = self.data.records();
        let mut sum = workspace.memory(self.objective.dimension());
        let contribution = self.contribution();
        let (objective, data, clip) = (&*self.objective, &self.data, self.clip);
        let scratch = &mut workspace.scratch;
        let Kind::Printed(printed) = &mut self.kind else {
            unreachable!("only asked for what is printed")
        };
        let mut exchange = |batch: &[usize], sum: &mut Vec<R>| {
            printed.exchange(objective, at, Batch::of(data, batch), clip, scratch, sum)
        };
        let released = match noise {
            Noise::Exposed => {
                let batch = exposed::draw(&sampler, records, &receipt, key);
                let mean = exchange(&batch, &mut sum);
                let share = R::from_f64(1.0 / sampler.expected_size(records).max(1.0));
                sum.iter_mut().zip(mean).for_each(|(sum, mean)| *sum = share * *sum + mean);
                // Nothing bounds what leaves without noise.
                let moved = Sensitivity::contribution(contribution);
                Exposure.release(Secret::declare(sum, Norm::L2, moved), receipt)?
            }
            Noise::Gaussian(sigma) => {
                let mechanism = printed::mechanism(&sampler, records, clip, sigma)?;
                let batch = TableSampler { table: mechanism.table }.draw(records, &receipt, key)?;
                let mean = exchange(batch.indices(), &mut sum);
                let sum = vouched(sum, contribution, batch.drawn());
                let mean = Secret::declare(mean, Norm::L2, mechanism.of_mean()?);
                mechanism.release(sum, mean, receipt, key)?
            }
        };
        Ok(Answer::Released(released))
    }
}
