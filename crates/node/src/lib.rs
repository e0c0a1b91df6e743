//! Where data meets a protocol: the oracle that answers its questions, and the checked plan.
//! It is never async, parses no files, and lets nothing out that the ledger did not pay for.
//!
//! ```
//! use undertone_node::{Bound, Noise, Oracle, Private, PrivateVector};
//! use undertone_privacy::ledger::Budget;
//! use undertone_privacy::noise::Key;
//! use undertone_privacy::units::{Delta, Epsilon};
//! use undertone_protocol::{Answer, Question};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let vector = PrivateVector::new(vec![0.5, 7.0], Bound::Box { radius: 1.0 }, 1); // 7 becomes 1
//! let budget = Budget { epsilon: Epsilon::new(1.0)?, delta: Delta::new(1e-5)? };
//! let noise = Noise::calibrated(&vector.sensitivity(), budget.epsilon, budget.delta)?;
//! let plan = noise.event(vector.sensitivity());
//! let private = Private::Vector(vector, noise);
//! let mut oracle = Oracle::open(3, private, plan, budget, Key::from_seed(1), Vec::new())?;
//! let answer: Answer<f64> = oracle.answer(Question::Vector)?;
//! assert!(answer.released().is_some());
//! assert_eq!(oracle.answer(Question::Vector)?, Answer::Refused); // paid for once
//! # Ok(())
//! # }
//! ```

#![deny(missing_docs)]

mod experiment;
mod oracle;
pub mod plan;
mod private;

pub use experiment::{
    Algorithm, AssembleError, Claim, Constant, Constants, Estimated, Examples, Experiment,
    Forecast, Group, Learner, Minimiser, Origin, OwnObjective, PaperChoice, Problem, Records, Row,
    Visitor, Wanted, recycling_converges, schedule_of,
};
pub use oracle::{Oracle, OracleError};
pub use private::{
    AdaptiveClip, Bound, MinimiserMechanism, MinimiserProtection, Noise, Private, PrivateGradients,
    PrivateMinimiser, PrivatePoints, PrivateStatistics, PrivateSteps, PrivateVector, Sparing,
    SumNoise, TableError,
};
