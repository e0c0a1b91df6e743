//! Minimisers of a node's objective.

use std::sync::Arc;

use undertone_model::solve::{Minimum, Solver, Terms};
use undertone_privacy::event::Event;
use undertone_privacy::ledger::{Ledger, Store};
use undertone_privacy::mechanism::{
    AboveThresholdMechanism, AboveThresholdRun, Exposure, GaussianMechanism,
    ObjectivePerturbationMechanism,
};
use undertone_privacy::noise::Key;
use undertone_privacy::release::{Norm, Released, Secret};
use undertone_privacy::units::{Adjacency, Sensitivity};
use undertone_protocol::Answer;
use undertone_real::Real;

use crate::oracle::{OracleError, debit, narrow};

/// A node's records, of which only minimisers of convex problems leave, each with noise on it or in
/// its objective.
///
/// # Guarantee
///
/// That of the mechanisms, for problems that are at least as convex as was planned: one that is
/// less is refused. A minimiser leaves only if the solver has certified its tolerance, which the
/// mechanisms charge for; otherwise the node stops.
///
/// # References
///
/// Theory 2.1 to 2.3, 6.2 to 6.4, A1 to A3 and B10.
pub struct PrivateMinimiser {
    solver: Solver,
    /// Of the node's own objective, beside its losses: half of `|x|^2` times this.
    ridge: f64,
    tolerance: f64,
    protection: MinimiserProtection,
    /// The comparisons of a node that is sparing, once they have begun.
    comparisons: Option<AboveThresholdRun>,
}

/// How minimisers are protected.
#[derive(Clone, Debug)]
pub enum MinimiserProtection {
    /// Iteration by iteration.
    Steps {
        /// The convexity (ridge and quadratic term) that each is planned for, and its mechanism.
        steps: Arc<[(f64, MinimiserMechanism)]>,
        /// From one question to the next so many rounds pass.
        every: u64,
    },
    /// Only what is worth it, so many times.
    Sparing(Arc<Sparing>),
}

/// What lets a minimiser out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MinimiserMechanism {
    /// Nothing is hidden.
    Exposed,
    /// Noise on the minimiser.
    Output(GaussianMechanism),
    /// Noise in the objective, and on the minimiser for the solver's tolerance.
    Objective(ObjectivePerturbationMechanism),
}

/// IPP-ADMM as redesigned: a minimiser is sent, with noise, if it lowers the clipped losses by more
/// than a threshold, by a noisy comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Sparing {
    /// The comparisons of the whole run.
    pub comparisons: AboveThresholdMechanism,
    /// What is sent.
    pub output: GaussianMechanism,
    /// Losses are cut to this.
    pub loss_clip: f64,
    /// By how much the mean of the losses has to fall.
    pub threshold: f64,
    /// The convexity that is planned for.
    pub convexity: f64,
}

impl MinimiserMechanism {
    /// What to debit.
    pub fn event(&self) -> Event {
        match self {
            Self::Exposed => Exposure.event(),
            Self::Output(mechanism) => mechanism.event(),
            Self::Objective(mechanism) => mechanism.event(),
        }
    }
}

impl MinimiserProtection {
    /// All that will be debited.
    pub fn plan(&self) -> Event {
        match self {
            Self::Steps { steps, .. } => {
                let mut parts: Vec<(Event, u64)> = Vec::new();
                for (_, mechanism) in steps.iter() {
                    let event = mechanism.event();
                    match parts.last_mut() {
                        Some((last, times)) if *last == event => *times += 1,
                        _ => parts.push((event, 1)),
                    }
                }
                let all = parts.into_iter().map(|(event, times)| event.repeated(times));
                Event::Composed(all.collect())
            }
            Self::Sparing(sparing) => Event::Composed(vec![
                sparing.comparisons.event(),
                sparing.output.event().repeated(sparing.comparisons.cutoff),
            ]),
        }
    }
}

/// A question for a minimiser, with the meaning of
/// [`Question::Primal`](undertone_protocol::Question).
pub(crate) struct Minimisation<'a, R> {
    pub(crate) round: u64,
    pub(crate) at: &'a Released<Vec<R>>,
    pub(crate) linear: &'a [R],
    pub(crate) quadratic: f64,
}

impl PrivateMinimiser {
    /// With a solver for the node's losses.
    pub fn new(
        solver: Solver,
        ridge: f64,
        tolerance: f64,
        protection: MinimiserProtection,
    ) -> Self {
        Self { solver, ridge, tolerance, protection, comparisons: None }
    }

    /// How many records there are; public.
    pub fn records(&self) -> usize {
        self.solver.records()
    }

    pub(crate) fn answer<R: Real, S: Store>(
        &mut self,
        problem: &Minimisation<'_, R>,
        ledger: &mut Ledger<S>,
        key: &Key,
    ) -> Result<Answer<R>, OracleError> {
        match self.protection.clone() {
            MinimiserProtection::Steps { steps, every } => {
                let step = steps.get((problem.round / every.max(1)) as usize);
                let Some((planned, mechanism)) = step else { return Ok(Answer::Refused) };
                if !self.is_convex(problem, *planned) {
                    return Ok(Answer::Refused);
                }
                self.release(problem, mechanism, ledger, key)
            }
            MinimiserProtection::Sparing(sparing) => {
                if !self.is_convex(problem, sparing.convexity) {
                    return Ok(Answer::Refused);
                }
                self.release_sparingly(problem, &sparing, ledger, key)
            }
        }
    }

    /// At least as much as was planned, or the sensitivity would be larger.
    fn is_convex<R>(&self, problem: &Minimisation<'_, R>, planned: f64) -> bool {
        self.ridge + problem.quadratic >= planned
    }

    fn release<R: Real, S: Store>(
        &mut self,
        problem: &Minimisation<'_, R>,
        mechanism: &MinimiserMechanism,
        ledger: &mut Ledger<S>,
        key: &Key,
    ) -> Result<Answer<R>, OracleError> {
        let Some(receipt) = debit(ledger, mechanism.event())? else { return Ok(Answer::Refused) };
        let released = match mechanism {
            MinimiserMechanism::Exposed => {
                let no_bound = Sensitivity::under_only(Adjacency::Replace, f64::MAX)?;
                let found = self.solve(problem, &[])?;
                Exposure.release(Secret::declare(found.point, Norm::L2, no_bound), receipt)?
            }
            MinimiserMechanism::Output(mechanism) => {
                let found = self.solve(problem, &[])?;
                let secret = Secret::declare(found.point, Norm::L2, mechanism.sensitivity);
                mechanism.release(secret, receipt, key)?
            }
            MinimiserMechanism::Objective(mechanism) => {
                let perturbation = mechanism.perturb(receipt, key)?;
                let found = self.solve(problem, perturbation.term())?;
                perturbation.release(found.point)?
            }
        };
        Ok(Answer::Released(narrow(released)))
    }

    /// Compares, and releases if it is worth it. After the last time nothing is computed any more.
    fn release_sparingly<R: Real, S: Store>(
        &mut self,
        problem: &Minimisation<'_, R>,
        sparing: &Sparing,
        ledger: &mut Ledger<S>,
        key: &Key,
    ) -> Result<Answer<R>, OracleError> {
        if self.comparisons.is_none() {
            let Some(receipt) = debit(ledger, sparing.comparisons.event())? else {
                return Ok(Answer::Refused);
            };
            self.comparisons = Some(sparing.comparisons.start(receipt, key)?);
        }
        if self.comparisons.as_ref().is_some_and(AboveThresholdRun::is_over) {
            return Ok(Answer::Refused);
        }
        let found = self.solve(problem, &[])?;
        let at: Vec<f64> = problem.at.get().iter().map(|v| v.to_f64()).collect();
        let better = self.solver.improvement(&at, &found.point, sparing.loss_clip);
        let query = Secret::declare(better, Norm::L1, sparing.comparisons.sensitivity);
        let Some(run) = &mut self.comparisons else { return Ok(Answer::Refused) };
        // As public as the point that it is about.
        let threshold = problem.at.clone().map(|_| sparing.threshold);
        if !*run.ask(query, &threshold)?.get() {
            return Ok(Answer::Below);
        }
        let Some(receipt) = debit(ledger, sparing.output.event())? else {
            return Ok(Answer::Refused);
        };
        let secret = Secret::declare(found.point, Norm::L2, sparing.output.sensitivity);
        let released = sparing.output.release(secret, receipt, key);
        Ok(Answer::Released(narrow(released?)))
    }

    fn solve<R: Real>(
        &mut self,
        problem: &Minimisation<'_, R>,
        term: &[f64],
    ) -> Result<Minimum, OracleError> {
        let mut linear: Vec<f64> = problem.linear.iter().map(|v| v.to_f64()).collect();
        linear.iter_mut().zip(term).for_each(|(linear, b)| *linear += b);
        let quadratic = self.ridge + problem.quadratic;
        let terms = Terms { quadratic, linear: &linear };
        Ok(self.solver.minimise(&terms, self.tolerance)?)
    }
}
