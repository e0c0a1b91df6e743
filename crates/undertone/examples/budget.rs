//! Budgets: a ledger that refuses, noise that fits, and nodes that allow different things.

use std::error::Error;
use std::fmt::Write;

use undertone::Study;
use undertone::privacy::accountant::Accountant;
use undertone::privacy::calibrate::Target;
use undertone::privacy::event::Event;
use undertone::privacy::ledger::{Budget, Filter, Header, Ledger};
use undertone::privacy::mechanism::GaussianMechanism;
use undertone::privacy::noise::Key;
use undertone::privacy::release::ClippedSum;
use undertone::privacy::units::{
    Adjacency, ClipNorm, Delta, Epsilon, Probability, Scale, Sensitivity, Unit,
};

/// What is printed.
pub fn report() -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    writeln!(text, "1. a ledger pays until its budget is spent\n")?;
    until_it_refuses(&mut text)?;
    writeln!(text, "\n2. noise for 1000 rounds on 2% of the records each\n")?;
    noise_that_fits(&mut text)?;
    writeln!(text, "\n3. three kinds of nodes, the same noise: who stops when\n")?;
    different_budgets(&mut text)?;
    Ok(text)
}

/// Nothing can be released without a receipt, and there is no receipt beyond the budget.
fn until_it_refuses(text: &mut String) -> Result<(), Box<dyn Error>> {
    let header = Header {
        node: 0,
        budget: Budget { epsilon: Epsilon::new(1.0)?, delta: Delta::new(1e-5)? },
        adjacency: Adjacency::AddRemove,
        unit: Unit::Record,
        filter: Filter::Gaussian { reserve: Delta::new(0.0)? },
    };
    let mut ledger = Ledger::open(header, Vec::new())?;
    let (clip, key) = (ClipNorm::new(1.0)?, Key::from_seed(1));
    let ages: [f64; 4] = [0.34, 0.51, 0.29, 0.66]; // in centuries
    for sigma in [12.0, 8.0, 6.0, 6.0] {
        let mechanism = GaussianMechanism {
            sensitivity: Sensitivity::contribution(clip),
            sigma: Scale::new(sigma)?,
        };
        let receipt = match ledger.debit(mechanism.event()) {
            Ok(receipt) => receipt,
            Err(refusal) => {
                writeln!(text, "sigma {sigma:4}: refused: {refusal}")?;
                continue;
            }
        };
        let mut sum = ClippedSum::new(1, clip);
        ages.iter().for_each(|age| sum.add(&[*age]));
        let released = mechanism.release(sum, receipt, &key)?;
        let spent = 100.0 * ledger.spent();
        writeln!(text, "sigma {sigma:4}: released {:8.3}, {spent:3.0}% spent", released.get()[0])?;
    }
    writeln!(text, "{}", ledger.guarantee())?;
    Ok(())
}

/// The least noise that a budget allows, rounded up.
fn noise_that_fits(text: &mut String) -> Result<(), Box<dyn Error>> {
    let one = Sensitivity::under_only(Adjacency::AddRemove, 1.0)?;
    let rate = Probability::new(0.02)?;
    let rounds = |z: Scale| Event::gaussian(one, z).poisson_sampled(rate).repeated(1000);
    for epsilon in [0.5, 1.0, 3.0] {
        let target = Target {
            epsilon: Epsilon::new(epsilon)?,
            delta: Delta::new(1e-5)?,
            adjacency: Adjacency::AddRemove,
            accountant: Accountant::Best,
        };
        let z = target.noise(rounds)?;
        let price = target.accountant.epsilon(&rounds(z), target.adjacency, target.delta)?;
        writeln!(
            text,
            "epsilon {epsilon:3}: noise multiplier {:.4}, which costs {:.6} by {}",
            z.get(),
            price.epsilon.get(),
            price.accountant
        )?;
    }
    Ok(())
}

/// A node whose budget is spent takes no more gradient steps, and goes on mixing.
fn different_budgets(text: &mut String) -> Result<(), Box<dyn Error>> {
    let outcome = Study::from_toml(PLAN)?.run()?.remove(0);
    let run = &outcome.runs[0].run;
    for (guarantee, stopped) in run.guarantees.iter().zip(&run.stopped) {
        let steps = stopped.map_or("all its steps".into(), |steps| format!("{steps} steps"));
        writeln!(
            text,
            "node {}: {steps}, epsilon {} of {}",
            guarantee.node, guarantee.epsilon, guarantee.budget.epsilon
        )?;
    }
    writeln!(text, "accuracy {:.3}", outcome.last("accuracy").unwrap_or(f64::NAN))?;
    Ok(())
}

const PLAN: &str = r#"
name = "budgets"
seed = 1
[network]
nodes = 4
schedule = "exponential"
[data]
source = "census"
records = 2400
holdout = 400
[model]
kind = "logistic"
[algorithm]
name = "priv-sgp"
step = 4.0
sampling = "poisson"
batch = 50
[privacy]
epsilon = 2.0
delta = 1e-5
clip = 1.0
noise = { sigma = 0.04 }
[[privacy.node]]
node = 1
epsilon = 1.0
delta = 1e-5
[[privacy.node]]
node = 2
epsilon = 4.0
delta = 1e-5
[run]
rounds = 100
precision = "f64"
stop-on-budget = true
[evaluate]
metrics = ["accuracy"]
every = 100
"#;

#[allow(dead_code)] // A test calls `report` in its place.
fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", report()?);
    Ok(())
}
