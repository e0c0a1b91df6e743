//! From the words of a plan to what is priced.

use undertone_privacy::sampler::{FixedSizeSampler, PoissonSampler, Sampler};
use undertone_privacy::units::{ClipNorm, OutOfRange, Probability, Scale};

use crate::experiment::protection::at;
use crate::plan::{AlgorithmWord, ClipPlan, NoisePlan, Plan, PlanError, SamplingWord};
use crate::private::AdaptiveClip;

/// What nodes answer in a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::experiment) enum Answers {
    /// Sums of gradients, clipped to a norm that adapts.
    Adaptive(AdaptiveClip),
    /// Sums of differences from remembered gradients.
    Differences,
    /// Sums of gradients.
    Gradients,
    /// The estimator of SAGA as printed, which is a mean.
    Printed,
}

/// Where nothing is hidden, nothing is clipped: longer than any gradient whose square is finite.
const UNCLIPPED: f64 = 1e150;

pub(in crate::experiment) fn clip(plan: &Plan) -> Result<ClipNorm, PlanError> {
    let norm = match plan.privacy.as_ref().map(|privacy| privacy.clip) {
        None => UNCLIPPED,
        Some(ClipPlan::Adaptive(adaptive)) => adaptive.start,
        Some(ClipPlan::Norm(norm)) => norm,
        Some(ClipPlan::Within(_)) => {
            let message = "with a model it is the norm that gradients are clipped to, such as 1.0";
            return Err(PlanError::new("privacy.clip", message));
        }
    };
    ClipNorm::new(norm).map_err(at("privacy.clip"))
}

pub(in crate::experiment) fn answers(plan: &Plan) -> Result<Answers, PlanError> {
    let reduced = plan.algorithm.name == AlgorithmWord::PrivSgpVr;
    let printed = plan.algorithm.printed == Some(true);
    let Some(ClipPlan::Adaptive(written)) = plan.privacy.as_ref().map(|privacy| privacy.clip)
    else {
        return Ok(match (reduced, printed) {
            (true, true) => Answers::Printed,
            (true, false) => Answers::Differences,
            (false, _) => Answers::Gradients,
        });
    };
    if reduced {
        let message = "gradients are remembered as they were clipped; take one norm, such as 1.0";
        return Err(PlanError::new("privacy.clip", message));
    }
    let start = ClipNorm::new(written.start).map_err(at("privacy.clip.start"))?;
    let noise = Scale::new(written.noise).map_err(at("privacy.clip.noise"))?;
    let clip = AdaptiveClip::new(start, written.quantile, written.rate, noise);
    clip.map(Answers::Adaptive).map_err(at("privacy.clip"))
}

/// Whether nodes can stop on their budgets.
pub(in crate::experiment) fn check_stop(plan: &Plan) -> Result<(), PlanError> {
    let error = |message: &str| Err(PlanError::new("run.stop-on-budget", message));
    match plan.privacy.as_ref().map(|privacy| privacy.noise) {
        _ if !plan.run.stop_on_budget => Ok(()),
        None => error("there is no budget to stop on; add [privacy] with epsilon and delta"),
        Some(NoisePlan::Sound) => error(
            "the noise is calibrated so that the budget lasts for all rounds; give noise = \
             { sigma = 0.1 }, or leave it out",
        ),
        Some(NoisePlan::Fixed { .. } | NoisePlan::Paper) => Ok(()),
    }
}

pub(in crate::experiment) fn sampler(plan: &Plan, records: usize) -> Result<Sampler, OutOfRange> {
    let batch = plan.algorithm.batch.unwrap_or(1);
    Ok(match plan.algorithm.sampling.expect("checked") {
        SamplingWord::Full => Sampler::Full,
        SamplingWord::Single => Sampler::FixedSize(FixedSizeSampler::new(1, records)?),
        SamplingWord::FixedSize => {
            Sampler::FixedSize(FixedSizeSampler::new(batch as usize, records)?)
        }
        SamplingWord::Poisson => {
            let probability = Probability::new(batch as f64 / records as f64)?;
            Sampler::Poisson(PoissonSampler { probability })
        }
    })
}
