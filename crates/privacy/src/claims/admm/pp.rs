//! PP-ADMM (000 Algorithm 2): a random linear term in the objective, a tolerance, noise on top.

use super::{Subproblem, convexity};
use crate::claims::gaussian::{classic_sigma, lemma_3_rho, zcdp_epsilon};
use crate::claims::{Claim, Comparison, Guarantee, Verdict, clip, delta, epsilon, priced};
use crate::event::{Event, Gaussian, ObjectiveNoise, ObjectivePerturbation};
use crate::units::{Adjacency, Delta, Epsilon, OutOfRange, Rho, Scale, Sensitivity};

pub(crate) const CLAIM: Claim = Claim {
    algorithm: "pp-admm",
    paper: "000 Theorem 6",
    verdict: Verdict::Unsound,
    reason: "two tolerances differ by 2 beta/m, not beta/m, and (eps, delta) does not give zCDP",
    shipped: "noise on the output (gdp); noise in the objective as an option (rdp of its profile)",
    counterexample: Some("CE-10"),
    example,
};

/// The regulariser that step 1 asks for: `2.8 N c1/((eps1 - eps3) n)`.
pub fn claimed_ridge(
    epsilon_1: Epsilon,
    epsilon_3: Epsilon,
    nodes: u64,
    records: u64,
    smoothness: f64,
) -> Result<Scale, OutOfRange> {
    let gap = epsilon_1.get() - epsilon_3.get();
    Scale::new(2.8 * nodes as f64 * smoothness / (gap * records as f64))
}

/// The noise in the objective: `2 sqrt(2 ln(1.25/delta1))/(n eps3)`, by the classic formula.
pub fn claimed_objective_sigma(
    epsilon_3: Epsilon,
    delta_1: Delta,
    records: u64,
) -> Result<Scale, OutOfRange> {
    classic_sigma(epsilon_3, delta_1, 2.0 / records as f64)
}

/// The noise on the output: `beta/(sqrt(2 rho2) m)`, half of what `rho2` needs.
pub fn claimed_output_sigma(
    tolerance: f64,
    rho_2: Rho,
    convexity: Scale,
) -> Result<Scale, OutOfRange> {
    Scale::new(tolerance / ((2.0 * rho_2.get()).sqrt() * convexity.get()))
}

/// Theorem 6: `T (eps1^2/(4 ln(1/delta1)) + rho2)` for the run.
pub fn theorem_6_rho(
    epsilon_1: Epsilon,
    delta_1: Delta,
    rho_2: Rho,
    rounds: u64,
) -> Result<Rho, OutOfRange> {
    Rho::new(rounds as f64 * (lemma_3_rho(epsilon_1, delta_1)?.get() + rho_2.get()))
}

/// Mode OUT: the noise on the output carries all of the privacy.
///
/// # Guarantee
///
/// Exactly `mu = sqrt(T) (2V/n + 2 beta)/(m s2)` under replace-one, `V/n` under add-remove, for any
/// solver whose gradient at the returned point was checked to be at most `beta`, whatever linear
/// term was added to the objective.
///
/// # References
///
/// Theory 2.2 (mode OUT) and A1, in place of 000 Theorem 6.
pub fn output_event(problem: &Subproblem, output: Scale, rounds: u64) -> Result<Event, OutOfRange> {
    Ok(Event::gaussian(problem.sensitivity()?, output).repeated(rounds))
}

/// Mode OBJ: the noise in the objective carries the privacy, that on the output the tolerance.
///
/// # Guarantee
///
/// Both adjacencies, for generalised linear losses whose derivative keeps its sign, with an
/// unconstrained smooth minimiser; `smoothness` bounds one record's Hessian (`c1` for features
/// clipped to 1). The noise on the output pays for `2 beta/m`.
///
/// # References
///
/// Theory 2.2 (mode OBJ), A2 and A3; Redberg, Koskela, Wang 2023 for derivatives of both signs.
pub fn objective_event(
    problem: &Subproblem,
    smoothness: f64,
    objective: Scale,
    output: Scale,
    rounds: u64,
) -> Result<Event, OutOfRange> {
    let records = problem.records as f64;
    let gradient = problem.lipschitz.get() / records;
    let perturbed = Event::ObjectivePerturbation(ObjectivePerturbation {
        noise: ObjectiveNoise::Gaussian(Gaussian {
            sensitivity: Sensitivity::both(gradient, 2.0 * gradient)?,
            sigma: objective,
        }),
        curvature: Scale::new(smoothness / (records * problem.convexity.get()))?,
        sign_definite: true,
    });
    let tolerance = Event::gaussian(problem.tolerance_sensitivity()?, output);
    Ok(Event::Composed(vec![perturbed, tolerance]).repeated(rounds))
}

/// The paper's experiment: all that follows from a target and its fixed choices (5 nodes of 7000
/// records, 30 rounds, eta 0.5, two neighbours, tolerance 10^-3.5, logistic loss).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Defaults {
    /// Budget of one round for the noise in the objective.
    pub rho_1: Rho,
    /// Budget of one round for the tolerance.
    pub rho_2: Rho,
    /// What `rho_1` is taken to give.
    pub epsilon_1: Epsilon,
    /// `lam`, the regularisation of all nodes.
    pub ridge: Scale,
    /// The local problem.
    pub problem: Subproblem,
    /// Standard deviation of the noise in the objective.
    pub objective: Scale,
    /// Standard deviation of the noise on the output.
    pub output: Scale,
    /// What the paper reports for the run.
    pub claimed: Guarantee,
}

impl Defaults {
    /// Number of rounds, `T`.
    pub const ROUNDS: u64 = 30;
    const NODES: u64 = 5;
    const RECORDS: u64 = 7000;

    /// The paper's parameters for a target.
    pub fn new(target: Epsilon, at: Delta) -> Result<Defaults, OutOfRange> {
        let total = lemma_3_rho(target, at)?.get();
        let rounds = Self::ROUNDS as f64;
        let (rho_1, rho_2) = (Rho::new(0.999 * total / rounds)?, Rho::new(0.001 * total / rounds)?);
        let epsilon_1 = zcdp_epsilon(rho_1, at)?;
        let epsilon_3 = Epsilon::new(0.99 * epsilon_1.get())?;
        let ridge = claimed_ridge(epsilon_1, epsilon_3, Self::NODES, Self::RECORDS, 0.25)?;
        let convexity = convexity(ridge.get() / Self::NODES as f64, 1.0, 0.5, 2)?;
        let tolerance = 10f64.powf(-3.5);
        let problem =
            Subproblem { records: Self::RECORDS, lipschitz: clip(1.0), convexity, tolerance };
        let claimed = Guarantee { epsilon: zcdp_epsilon(Rho::new(total)?, at)?, delta: at };
        Ok(Defaults {
            rho_1,
            rho_2,
            epsilon_1,
            ridge,
            problem,
            objective: claimed_objective_sigma(epsilon_3, at, Self::RECORDS)?,
            output: claimed_output_sigma(tolerance, rho_2, convexity)?,
            claimed,
        })
    }
}

fn example() -> Comparison {
    let defaults = Defaults::new(epsilon(1.0), delta(1e-4)).expect("literals in range");
    let event = output_event(&defaults.problem, defaults.output, Defaults::ROUNDS)
        .expect("literals in range");
    let instance = "n 7000, T 30, eta 0.5, 2 neighbours, beta 10^-3.5, the paper's split of rho";
    priced(instance, Some(defaults.claimed), &event, Adjacency::Replace)
}
