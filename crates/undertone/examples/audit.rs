//! An attack on what is released: how much can be told from the messages of a node?
//!
//! Two worlds differ in one record. An attacker sees twenty-five noisy sums, and guesses the world
//! from their likelihood ratio, which for Gaussian noise grows with their mean. From how often the
//! guess is right follows a *lower* bound on epsilon, by Clopper and Pearson, wrong with a chance
//! of at most one in a million. The ledger promises an *upper* bound. If the lower one is above,
//! the program is broken; if it is below, nothing is proved by it: the ledger's theorem is the
//! proof.
//!
//! Two mistakes are planted, to see that the attack finds them.

use std::error::Error;
use std::fmt::Write;

use undertone::privacy::accountant::Accountant;
use undertone::privacy::calibrate::Target;
use undertone::privacy::event::Event;
use undertone::privacy::ledger::{Budget, Filter, Header, Ledger, Tally};
use undertone::privacy::mechanism::GaussianMechanism;
use undertone::privacy::noise::Key;
use undertone::privacy::release::ClippedSum;
use undertone::privacy::units::{Adjacency, ClipNorm, Delta, Epsilon, Sensitivity, Unit};

const DELTA: f64 = 1e-5;
/// Releases of a trial.
const ROUNDS: u64 = 25;
/// Trials of each world; half of them choose the threshold, the others are counted.
const TRIALS: u64 = 4000;
/// The chance that a lower bound is wrong.
const MISTAKE: f64 = 1e-6;

/// What the program does with its ledgers.
#[derive(Clone, Copy)]
enum Program {
    /// One ledger for all rounds, which is how it is meant.
    Shipped,
    /// Planted: a ledger for every round, each of which thinks that it is the only one.
    Forgetful,
    /// Planted: the first ledger is lost after every round and opened anew with its old key, so
    /// that all rounds have the same noise, and a round without the record can be subtracted.
    SameKey,
}

/// What is printed.
pub fn report() -> Result<String, Box<dyn Error>> {
    let mut text =
        String::from("program            promised epsilon   attacked, at least   verdict\n");
    for (name, program, epsilon) in [
        ("as shipped", Program::Shipped, 1.0),
        ("as shipped", Program::Shipped, 4.0),
        ("forgets its past", Program::Forgetful, 1.0),
        ("uses a key twice", Program::SameKey, 1.0),
    ] {
        let lower = attack(program, epsilon)?;
        let verdict = if lower > epsilon { "BROKEN" } else { "no contradiction" };
        writeln!(text, "{name:18} {epsilon:16.2} {lower:20.3}   {verdict}")?;
    }
    Ok(text)
}

fn attack(program: Program, epsilon: f64) -> Result<f64, Box<dyn Error>> {
    let budget = Budget { epsilon: Epsilon::new(epsilon)?, delta: Delta::new(DELTA)? };
    let rounds = match program {
        Program::Shipped => ROUNDS,
        Program::Forgetful | Program::SameKey => 1, // as far as each ledger knows
    };
    let sensitivity = Sensitivity::under_only(Adjacency::AddRemove, 1.0)?;
    let target = Target {
        epsilon: budget.epsilon,
        delta: budget.delta,
        adjacency: Adjacency::AddRemove,
        accountant: Accountant::Gdp,
    };
    let sigma = target.noise(|sigma| Event::gaussian(sensitivity, sigma).repeated(rounds))?;
    let header = Header {
        node: 0,
        budget,
        adjacency: Adjacency::AddRemove,
        unit: Unit::Record,
        filter: Filter::Gaussian { reserve: Delta::new(0.0)? },
    };
    let ledger = Ledger::open(header, Tally::default())?;
    let world = World { program, ledger, mechanism: GaussianMechanism { sensitivity, sigma } };
    let half = TRIALS / 2;
    let trials = |present: bool, from: u64| -> Result<Vec<f64>, Box<dyn Error>> {
        let side = u64::from(present) << 32;
        (from..from + half).map(|trial| world.statistic(present, side | trial)).collect()
    };
    let threshold = best_threshold(&trials(true, 0)?, &trials(false, 0)?);
    Ok(lower_bound(&trials(true, half)?, &trials(false, half)?, threshold))
}

struct World {
    program: Program,
    /// Empty, of which others are made.
    ledger: Ledger<Tally>,
    mechanism: GaussianMechanism,
}

impl World {
    /// What the attacker computes from the messages of one trial.
    fn statistic(&self, present: bool, trial: u64) -> Result<f64, Box<dyn Error>> {
        let mut ledger = self.open()?;
        let (mut total, mut first) = (0.0, 0.0);
        for round in 0..ROUNDS {
            let key = Key::from_seed(match self.program {
                Program::Forgetful => trial ^ ((round + 1) << 40),
                Program::Shipped | Program::SameKey => trial,
            });
            if !matches!(self.program, Program::Shipped) {
                ledger = self.open()?;
            }
            // With one key for all, the record only comes in after the first round.
            let here = present && (round > 0 || !matches!(self.program, Program::SameKey));
            let receipt = ledger.debit(self.mechanism.event())?;
            let mut sum = ClippedSum::<f64>::new(1, ClipNorm::new(1.0)?);
            if here {
                sum.add(&[1.0]);
            }
            let released = self.mechanism.release(sum, receipt, &key)?.into_inner()[0];
            if round == 0 {
                first = released;
            }
            total += released;
        }
        Ok(match self.program {
            Program::SameKey => total - ROUNDS as f64 * first,
            Program::Shipped | Program::Forgetful => total,
        })
    }

    fn open(&self) -> Result<Ledger<Tally>, Box<dyn Error>> {
        Ok(self.ledger.open_alike(0, Tally::default())?)
    }
}

/// Where the guess "present" begins: the quantile of either world that bounds epsilon best.
fn best_threshold(present: &[f64], absent: &[f64]) -> f64 {
    let mut all: Vec<f64> = present.iter().chain(absent).copied().collect();
    all.sort_by(f64::total_cmp);
    let candidates = (1..20).map(|k| all[k * all.len() / 20]);
    let bounded = candidates.map(|threshold| (lower_bound(present, absent, threshold), threshold));
    bounded.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(0.0, |(_, threshold)| threshold)
}

/// By `P(present | present) <= e^epsilon P(present | absent) + delta`, and the same for the rest.
fn lower_bound(present: &[f64], absent: &[f64], threshold: f64) -> f64 {
    let above = |values: &[f64]| values.iter().filter(|v| **v > threshold).count();
    let (n, right, wrong) = (present.len(), above(present), above(absent));
    let one = |hits: usize, slips: usize| {
        let (hits, slips) = (at_least(hits, n), at_most(slips, n));
        ((hits - DELTA) / slips).max(1.0).ln()
    };
    one(right, wrong).max(one(n - wrong, n - right))
}

/// Clopper and Pearson: the largest chance with which so few successes are not yet a wonder. Four
/// such bounds are taken, which share the chance of a mistake.
fn at_most(successes: usize, trials: usize) -> f64 {
    let (mut low, mut high) = (successes as f64 / trials as f64, 1.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if tail(successes, trials, middle) > MISTAKE / 4.0 { low = middle } else { high = middle }
    }
    high
}

fn at_least(successes: usize, trials: usize) -> f64 {
    1.0 - at_most(trials - successes, trials)
}

/// The chance of at most so many successes.
fn tail(successes: usize, trials: usize, chance: f64) -> f64 {
    if chance >= 1.0 {
        return if successes < trials { 0.0 } else { 1.0 };
    }
    let odds = (chance / (1.0 - chance)).ln();
    let mut logarithm = trials as f64 * (-chance).ln_1p();
    let mut sum = logarithm.exp();
    for k in 0..successes {
        logarithm += odds + ((trials - k) as f64 / (k + 1) as f64).ln();
        sum += logarithm.exp();
    }
    sum
}

#[allow(dead_code)] // A test calls `report` in its place.
fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", report()?);
    Ok(())
}
