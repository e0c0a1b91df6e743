//! From the words of a plan to what is priced.

use undertone_privacy::units::{ClipNorm, Probability, Scale};

use crate::experiment::Algorithm;
use crate::experiment::protection::at;
use crate::plan::{AlgorithmWord, ClipPlan, NoisePlan, Plan, PlanError};
use crate::private::{AdaptiveClip, Answers};

/// Where nothing is hidden, nothing is clipped: longer than any gradient whose square is finite.
const UNCLIPPED: f64 = 1e150;

pub(super) fn clip(plan: &Plan) -> Result<ClipNorm, PlanError> {
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

/// What an algorithm asks for.
pub(super) fn answers(plan: &Plan, algorithm: Algorithm) -> Result<Answers, PlanError> {
    let wrong = at("algorithm");
    let answers = match algorithm {
        Algorithm::PrivSgp { reduced: true, .. } => Answers::Differences,
        // As printed the oracle's answer is the whole estimator.
        Algorithm::PrivSgp { .. } if plan.algorithm.name == AlgorithmWord::PrivSgpVr => {
            Answers::Printed
        }
        Algorithm::QDpsgd2 { lattice, .. } => {
            let lattice = Scale::new(lattice.step()).map_err(wrong)?;
            Answers::Points { lattice, printed: false }
        }
        Algorithm::Sdm { transmit, .. } => {
            Answers::Masked(Probability::new(transmit).map_err(wrong)?)
        }
        Algorithm::TwoStage { .. } => Answers::Steps,
        _ => Answers::Gradients,
    };
    let Some(ClipPlan::Adaptive(written)) = plan.privacy.as_ref().map(|privacy| privacy.clip)
    else {
        return Ok(answers);
    };
    if answers != Answers::Gradients {
        let message = match answers {
            Answers::Differences | Answers::Printed => {
                "gradients are remembered as they were clipped; take one norm, such as 1.0"
            }
            _ => "only plain sums of gradients have a norm that adapts; take one, such as 1.0",
        };
        return Err(PlanError::new("privacy.clip", message));
    }
    let start = ClipNorm::new(written.start).map_err(at("privacy.clip.start"))?;
    let noise = Scale::new(written.noise).map_err(at("privacy.clip.noise"))?;
    let clip = AdaptiveClip::new(start, written.quantile, written.rate, noise);
    clip.map(Answers::Adaptive).map_err(at("privacy.clip"))
}

/// Whether nodes can stop on their budgets.
pub(super) fn check_stop(plan: &Plan) -> Result<(), PlanError> {
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
